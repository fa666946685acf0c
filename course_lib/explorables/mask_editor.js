/* Who may attend to whom. The functions above render() compute every number that is shown; mask_editor.py has the same
   functions and is their reference. Words are 0-based here, 1-based on the page. */
import { button, columnHead, dropdown, h, numbered, oneStop, same, scrollable, showChoice, sum,
  tie } from "./common.js";

export function maskedWeights(scores, mask) {
  return scores.map((row, i) => {
    const most = Math.max(...row.filter((_, j) => mask[i][j]));
    const e = row.map((s, j) => mask[i][j] ? Math.exp(s - most) : 0), total = sum(e);
    return e.map(v => total > 0 ? v / total : 0);
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
const REACHED = ["not reached", "after one layer", "after two layers"];
const HELP = "Press a cell to open or close it. Arrow keys move from cell to cell.";

function render({ model, el }) {
  const words = model.get("words"), scores = model.get("scores"), presets = model.get("presets"), n = words.length;
  const name = i => `${i + 1} “${words[i]}”`;
  const { live, change, mount } = tie(model, ["mask"]);
  const judged = h("p", { "data-verdict": "" });
  let drawn = false;
  const set = (mask, said) => change({ mask }, found => `${said} ${found}`);
  const preset = dropdown(numbered(presets.map(p => p.label)), i => set(presets[i].mask, `Mask: ${presets[i].label}.`),
    "your own mask");

  // the mask and its weights: one button for each pair
  function toggle(i, j) {
    const mask = model.get("mask").map((row, r) => row.map((may, c) => r === i && c === j ? !may : may));
    const row = maskedWeights(scores, mask)[i];
    set(mask, `Word ${name(i)} ${mask[i][j] ? "may attend" : "may not attend"} to ${name(j)}. `
      + (mask[i].some(Boolean) ? `Its row: ${row.map(a => a.toFixed(2)).join(", ")}.`
        : "Its row is empty: the output is zero."));
  }
  const cells = words.map((_, i) => words.map((_, j) =>
    button("", () => toggle(i, j), { className: "cl-cell", "data-pair": `${i},${j}` })));
  oneStop(cells);
  const sums = words.map(() => h("td"));
  const head = (...extra) => h("thead", {}, h("tr", {}, h("td"),
    ...words.map(w => columnHead(w)), ...extra));
  const edited = h("table", { "aria-label": "Attention weights; each cell is a button that opens or closes it" },
    head(columnHead("sum")),
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
    weights.forEach((row, i) => { sums[i].textContent = sum(row).toFixed(2); });
    marks.forEach((row, i) => row.forEach((mark, j) => {
      mark.dataset.first = first[i][j];
      mark.replaceChildren(h("span", { "aria-hidden": "true" }, first[i][j] ? String(first[i][j]) : "·"),
        h("span", { className: "cl-unseen" }, REACHED[first[i][j]]));
    }));
    judged.textContent = verdict(words, mask);
    judged.hidden = drawn;                                           // after a change the live region says it
    drawn = true;
    showChoice(preset, presets.findIndex(p => same(p.mask, mask)));
    return judged.textContent;
  }

  return mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Mask", preset)),
    h("div", { className: "cl-mask" },
      h("div", {}, h("h4", {}, "Weights: who asks (row), who is asked (column)"), scrollable("Weights", edited)),
      h("div", {}, h("h4", {}, "Reach: 1 after one layer, 2 after two, framed if later"),
        scrollable("Reach", reached))),
    h("p", { className: "cl-help" }, HELP), judged, live), show, found => found);
}
export default { render };
