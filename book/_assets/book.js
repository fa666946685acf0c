/* What scrolls sideways in its own box can be reached and scrolled by keyboard, and a formula keeps its number in sight; what
   opens a list says which; long lists are open on wide screens; the arrow keys lead to the pages before and after. */
(() => {
  "use strict";
  const BOXES = "div.math, .afm-view, .cell_output .output, .cell_output pre, .highlight pre, " +
                ".pst-scrollable-table-container, .bd-article table.table";

  function mark() {
    for (const box of document.querySelectorAll(`${BOXES}, .cl-scroll`)) {
      const wide = box.scrollWidth > box.clientWidth + box.matches("div.math") && getComputedStyle(box).overflowX !== "visible";
      box.classList.toggle("course-scrolls", wide);         // shown by an edge
      const number = box.querySelector("mjx-assistive-mml mlabeledtr > mtd")?.textContent.trim();
      if (number) box.dataset.number = number;
      if (box.matches(".cl-scroll")) continue;              // is always a tab stop
      if (wide) box.tabIndex = 0;
      else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    }
  }

  function name() {
    for (const toggle of document.querySelectorAll(".bd-sidebar-primary summary:not([aria-label])")) {
      const link = toggle.closest("li")?.querySelector("a");
      toggle.setAttribute("aria-label", `Sections of ${link?.textContent.trim() || "this part"}`);
    }
  }

  function wholeNames() {                                  // what a narrow column cuts off is read by pointing at it
    for (const link of document.querySelectorAll(".page-toc a, .bd-sidebar-primary .bd-links a")) link.title = link.textContent.trim();
  }

  function leaf(event) {                                   // to the page before or after, unless the key has another use where it is pressed
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, button, summary, [contenteditable], [tabindex], .afm-view, dialog")) return;
    const place = { ArrowLeft: ".left-prev", ArrowRight: ".right-next" }[event.key];
    const link = place && document.querySelector(`.prev-next-area ${place}`);
    if (link) link.click();
  }

  function follow() {                                      // the section that is read: in the list of contents and in the bar
    const links = [...document.querySelectorAll("#pst-page-toc-nav a")], bar = document.querySelector(".header-article-items__start");
    const title = document.querySelector(".bd-article h1"), where = document.createElement("span");
    const entries = [...document.querySelectorAll("#pst-page-toc-nav .toc-entry")];
    const heads = links.map(link => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    if (!title || !bar) return;
    where.className = "course-where";
    bar.after(where);
    let waits = false;
    const update = () => {
      waits = false;
      const last = heads.findLastIndex(head => head && head.getBoundingClientRect().top < window.innerHeight / 4);
      links.forEach((link, k) => {
        link.classList.toggle("active", k === last);
        if (k === last) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
      for (const entry of entries) entry.classList.toggle("active", last >= 0 && entry.contains(links[last]));
      const past = title.getBoundingClientRect().bottom < 48;
      where.textContent = past ? [own(title), last < 0 ? "" : own(links[last])].filter(Boolean).join(" \u203a ") : "";
    };
    window.addEventListener("scroll", () => { if (!waits) { waits = true; requestAnimationFrame(update); } }, { passive: true });
    update();
  }

  const own = node => [...node.childNodes].filter(child => !child.matches?.(".headerlink")).map(child => child.textContent).join("").trim();

  function unfold() {                                     // lists of slides: folded on a phone, open where there is room
    if (!window.matchMedia("(min-width: 992px)").matches) return;
    for (const list of document.querySelectorAll("details.course-slides.course-wide")) list.open = true;
  }

  function main() {
    name();
    wholeNames();
    unfold();
    follow();
    document.addEventListener("keydown", leaf);
    const sizes = new ResizeObserver(mark);
    sizes.observe(document.body);
    for (const box of document.querySelectorAll(BOXES)) sizes.observe(box);
  }

  window.addEventListener("load", main);
})();
