/* Who may attend to whom. The functions above render() compute every number that is shown; mask_editor.py has the same
   functions and is their reference. Words are 0-based here, 1-based on the page. */
export function maskedWeights(scores, mask) {
  return scores.map((row, i) => {
    const most = Math.max(...row.filter((_, j) => mask[i][j]));
    const e = row.map((s, j) => mask[i][j] ? Math.exp(s - most) : 0), sum = e.reduce((a, b) => a + b, 0);
    return e.map(v => sum > 0 ? v / sum : 0);
  });
}
/* The first layer after which output i can depend on input j, residual connections included; 0 for none. */
export function firstLayer(mask, layers = 2) {
  const n = mask.length, step = mask.map((row, i) => row.map((may, j) => may || i === j));
  let reached = step.map((row, i) => row.map((_, j) => i === j));
  const first = step.map(row => row.map(() => 0));
  for (let layer = 1; layer <= layers; layer++) {
    reached = step.map(row => row.map((_, j) => row.some((may, k) => may && reached[k][j])));
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) if (reached[i][j] && !first[i][j]) first[i][j] = layer;
  }
  return first;
}
export function verdict(words, mask) {
  const first = firstLayer(mask), n = words.length, later = [];
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) if (first[i][j]) later.push([first[i][j], i, j]);
  if (!later.length) return "Causal: no output reaches a later word, after one layer or two.";
  const once = later.filter(([layer]) => layer === 1), [, i, j] = once[0] ?? later[0];
  return `Not causal: output ${i + 1}, “${words[i]}”, reads word ${j + 1}, “${words[j]}”. Later words reached: `
    + `${once.length} of ${n * (n - 1) / 2} pairs after one layer, ${later.length} after two.`;
}

/* ---- the page ---- */
function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k in node && !k.startsWith("aria")) node[k] = v; else node.setAttribute(k, v);
  }
  node.append(...children);
  return node;
}
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const REACHED = ["not reached", "after one layer", "after two layers"];

function render({ model, el }) {
  const words = model.get("words"), scores = model.get("scores"), presets = model.get("presets"), n = words.length;
  const name = i => `${i + 1} “${words[i]}”`;
  const live = h("p", { className: "cl-live", "aria-live": "polite" },
    "Press a cell to open or close it. Arrow keys move from cell to cell.");
  const judged = h("p", { "data-verdict": "" });
  let own = false;
  function change(mask, text) {
    own = true;
    model.set("mask", mask);
    model.save_changes();
    own = false;
    show();
    live.textContent = text() + " " + judged.textContent;
  }

  const preset = h("select", {}, h("option", { value: "", disabled: true }, "your own mask"),
    ...presets.map((p, i) => h("option", { value: String(i) }, p.label)));
  preset.addEventListener("change", () => {
    const { mask, label } = presets[+preset.value];
    change(mask, () => `Mask: ${label}.`);
  });

  // the mask and its weights: one button for each pair, one of them in the order of tabs
  const cells = words.map((_, i) => words.map((_, j) => {
    const cell = h("button",
      { type: "button", className: "cl-cell", tabIndex: i + j ? -1 : 0, "data-pair": `${i},${j}` });
    cell.addEventListener("click", () => {
      const mask = model.get("mask").map((row, r) => row.map((may, c) => r === i && c === j ? !may : may));
      change(mask, () => {
        const row = maskedWeights(scores, mask)[i], open = mask[i].filter(Boolean).length;
        return `Word ${name(i)} ${mask[i][j] ? "may attend" : "may not attend"} to ${name(j)}. `
          + (open ? `Its row: ${row.map(a => a.toFixed(2)).join(", ")}.` : "Its row is empty: the output is zero.");
      });
    });
    cell.addEventListener("focus", () => cells.flat().forEach(c => { c.tabIndex = c === cell ? 0 : -1; }));
    cell.addEventListener("keydown", event => {
      const move = MOVES[event.key];
      if (!move) return;
      event.preventDefault();
      cells[Math.min(n - 1, Math.max(0, i + move[0]))][Math.min(n - 1, Math.max(0, j + move[1]))].focus();
    });
    return cell;
  }));
  const sums = words.map(() => h("td"));
  const head = (...extra) => h("thead", {}, h("tr", {}, h("td"),
    ...words.map(w => h("th", { scope: "col" }, w)), ...extra));
  const edited = h("table", { "aria-label": "Attention weights; each cell is a button that opens or closes it" },
    head(h("th", { scope: "col" }, "sum")),
    h("tbody", {}, ...words.map((w, i) => h("tr", {}, h("th", { scope: "row" }, w),
      ...cells[i].map(cell => h("td", {}, cell)), sums[i]))));
  const marks = words.map((_, i) => words.map((_, j) =>
    h("td", { className: "cl-reach" + (j > i ? " cl-later" : ""), "data-reach": `${i},${j}` })));
  const reached = h("table", { "aria-label": "Which output reaches which input, and after how many layers" }, head(),
    h("tbody", {}, ...words.map((w, i) => h("tr", {}, h("th", { scope: "row" }, w), ...marks[i]))));

  function show() {
    const mask = model.get("mask"), weights = maskedWeights(scores, mask), first = firstLayer(mask);
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const may = mask[i][j], a = weights[i][j];
      cell.setAttribute("aria-pressed", String(may));
      cell.setAttribute("aria-label", `${name(i)} attends to ${name(j)}: ${may ? a.toFixed(2) : "closed"}`);
      cell.dataset.a = a;
      cell.style.setProperty("--a", a);
      cell.textContent = may ? a.toFixed(2) : "–";
    }));
    weights.forEach((row, i) => { sums[i].textContent = row.reduce((a, b) => a + b, 0).toFixed(2); });
    marks.forEach((row, i) => row.forEach((mark, j) => {
      mark.dataset.first = first[i][j];
      mark.replaceChildren(h("span", { "aria-hidden": "true" }, first[i][j] ? String(first[i][j]) : "·"),
        h("span", { className: "cl-unseen" }, REACHED[first[i][j]]));
    }));
    judged.textContent = verdict(words, mask);
    const match = presets.findIndex(p => same(p.mask, mask));
    preset.value = match < 0 ? "" : String(match);
  }

  const scroll = (label, table) =>
    h("div", { className: "cl-scroll", tabIndex: 0, role: "region", "aria-label": label }, table);
  el.classList.add("cl-x");
  el.append(h("div", { role: "group", "aria-label": model.get("alt") },
    h("div", { className: "cl-top" }, h("label", {}, "Mask", preset)),
    h("div", { className: "cl-mask" },
      h("div", {}, h("h4", {}, "Weights: who asks (row), who is asked (column)"), scroll("Weights", edited)),
      h("div", {}, h("h4", {}, "Reach: 1 after one layer, 2 after two, framed if later"), scroll("Reach", reached))),
    judged, live));
  show();
  const heard = () => {
    if (own) return;
    show();
    live.textContent = "The mask was changed from outside. " + judged.textContent;
  };
  model.on("change:mask", heard);
  return () => model.off("change:mask", heard);
}
export default { render };
