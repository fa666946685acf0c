/* The reader's marks: sections read, questions answered. They are kept in this browser alone, under one name with the number
   of their form; where a browser keeps nothing, they last as long as the page. */
(() => {
  "use strict";
  const KEY = "from-the-chain-rule-to-bert/marks/1";
  let page = {}, lasting = true;                          // what this page knows; whether the browser keeps it

  /* {chapter: {s: [keys of sections], q: [keys of questions], of: [sections, questions]}} */
  const sound = all => Object.fromEntries(Object.entries(all ?? {}).filter(([, c]) =>
    [c?.s, c?.q, c?.of].every(Array.isArray)));

  function read() {
    if (!lasting) return page;
    try { return sound(JSON.parse(localStorage.getItem(KEY) ?? "{}")); } catch { return {}; }
  }

  function write(all) {
    page = all;
    const text = Object.keys(all).length ? JSON.stringify(all) : null;
    try {
      if (text === null) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, text);
      lasting = localStorage.getItem(KEY) === text;
    } catch { lasting = false; }
  }

  const here = document.querySelector("p.course-progress");
  const boxes = [...document.querySelectorAll("input[data-mark]")];
  const part = box => box.dataset.mark.split(":");        // "s" or "q", and the key

  function tick() {                                       // a box was changed: what the page shows is what is kept
    const all = read();
    const chapter = { s: [], q: [], of: [+here.dataset.sections, +here.dataset.questions] };
    for (const box of boxes) if (box.checked) chapter[part(box)[0]].push(part(box)[1]);
    if (chapter.s.length + chapter.q.length) all[here.dataset.doc] = chapter;
    else delete all[here.dataset.doc];
    write(all);
    show();
  }

  function line(read, sections, answered, questions) {
    return `${read} of ${sections} sections read` + (questions ? `, ${answered} of ${questions} questions answered` : "");
  }

  function write_once(element, text) {                    // a line that says the same is not said again
    if (element.textContent !== text) element.textContent = text;
  }

  function show_chapter(all) {
    const mine = all[here.dataset.doc];
    for (const box of boxes) box.checked = Boolean(mine?.[part(box)[0]].includes(part(box)[1]));
    const ticked = kind => boxes.filter(box => box.checked && part(box)[0] === kind).length;
    write_once(here.querySelector("span"), line(ticked("s"), +here.dataset.sections, ticked("q"), +here.dataset.questions) +
      (lasting ? "" : "; this browser keeps no marks: they end with this page"));
  }

  function show_sidebar(all) {                            // a bar under the name of each chapter that has marks
    for (const link of document.querySelectorAll(".bd-sidebar-primary li.toctree-l1 > a")) {
      const [doc, marks] = Object.entries(all).find(([doc]) => new URL(link.href).pathname.endsWith(`/${doc}.html`)) ?? [];
      const said = link.querySelector(".course-said") ?? Object.assign(document.createElement("span"), { className: "course-said" });
      if (!doc || !marks.s.length) {
        said.remove();
        link.style.removeProperty("--course-read");
        continue;
      }
      link.style.setProperty("--course-read", Math.min(1, marks.s.length / marks.of[0]));
      said.textContent = ` (${marks.s.length} of ${marks.of[0]} sections read)`;
      if (!said.parentNode) link.append(said);
    }
  }

  function show_table(all) {
    for (const row of document.querySelectorAll("table.course-marks tr[data-doc]")) {
      const marks = all[row.dataset.doc] ?? { s: [], q: [] };
      row.querySelector(".course-read").textContent = `${marks.s.length} of ${row.dataset.sections}`;
      row.querySelector(".course-answered").textContent = `${marks.q.length} of ${row.dataset.questions}`;
    }
  }

  function show() {
    const all = read();
    if (here) show_chapter(all);
    show_sidebar(all);
    show_table(all);
  }

  function forget(event) {                                // the second press takes the first back
    const button = event.currentTarget, said = button.parentNode.querySelector("[role=status]"), all = read();
    if (forget.former) {
      write(forget.former);
      forget.former = null;
      button.textContent = "Delete all marks";
      said.textContent = "The marks are back.";
    } else if (Object.keys(all).length) {
      forget.former = all;
      write({});
      button.textContent = "Undo";
      said.textContent = "All marks are deleted.";
    } else {
      said.textContent = "There are no marks in this browser.";
    }
    show();
  }

  for (const box of boxes) box.addEventListener("change", tick);
  document.querySelector(".course-forget button")?.addEventListener("click", forget);
  window.addEventListener("storage", show);               // another page of the book was marked
  window.addEventListener("pageshow", show);              // and on the way back
  show();
})();
