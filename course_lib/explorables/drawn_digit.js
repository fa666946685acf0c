/* A digit that a trained network drew. All numbers were computed before, by trace() in drawn_digit.py, and are read
   from the model's traits. Pixels are counted from 0 here, rows, columns and steps from 1 on the page. */
import { button, decoded, dropdown, h, on, oneStop, tie } from "./common.js";

function floats(text) {
  const view = decoded(text);
  return Array.from({ length: view.byteLength / 4 }, (_, j) => view.getFloat32(4 * j, true));
}
/* One drawing: x, u and p of each pixel, and effect[i][j] for j < i, NaN where i does not read j. */
export function unpack({ x, u, p, effect }) {
  const values = floats(effect), bits = [...x].map(Number);
  return { x: bits, u: floats(u), p: floats(p),
    effect: bits.map((_, i) => values.slice(i * (i - 1) / 2, i * (i + 1) / 2)) };
}
/* The earlier pixel that moves pixel i most, -1 if none does. */
export const strongest = row =>
  row.reduce((best, e, j) => Math.abs(e) > (best < 0 ? 0 : Math.abs(row[best])) ? j : best, -1);

/* ---- the page ---- */
const TRAITS = ["network", "drawing", "steps", "pixel"];
const NAMES = ["empty", "ink"];
const signed = v => `${v < 0 ? "−" : "+"}${Math.abs(v).toFixed(2)}`;

function render({ model, el }) {
  const side = model.get("side"), n = side * side, traces = model.get("traces"),
    { live, say, state, change, mount } = tie(model, TRAITS);
  const all = traces.map(({ drawings }) => drawings.map(unpack)),
    name = i => `row ${Math.floor(i / side) + 1}, column ${i % side + 1}`;
  const now = () => { const s = state(); return { s, t: all[s.network][s.drawing] }; };

  function story({ s, t }) {
    const i = s.pixel;
    if (i > s.steps) {
      return `${name(i)} comes later: its probability is known once the ${i} pixels before it are drawn.`;
    }
    const j = strongest(t.effect[i]), blind = t.effect[i].filter(Number.isNaN).length;
    return `${name(i)}: p(ink) = ${t.p[i].toFixed(4)}, given the ${i} pixels before it. `
      + (i < s.steps ? `u = ${t.u[i].toFixed(4)} ${t.x[i] ? "≥" : "<"} ${(1 - t.p[i]).toFixed(4)} = 1 − p, so `
        + `${NAMES[t.x[i]]}. `
        : "It is drawn next. ")
      + (j < 0 ? "" : `Moved most by ${name(j)}: ${signed(t.effect[i][j])} if it is ink and not empty. `)
      + (blind ? `${blind} ${blind > 1 ? "pixels" : "pixel"} before it: not read.` : "It reads all of them.");
  }
  const set = values => change(values, story);
  const stepTo = k => set({ steps: k, pixel: Math.min(k, n - 1) });

  const network = dropdown(traces.map((t, i) => [i, t.name]), v => set({ network: +v }));
  const drawing = dropdown(all[0].map((_, i) => [i, `draw ${i + 1}`]), v => set({ drawing: +v }));
  const next = button("draw the next pixel", () => stepTo(Math.min(n, state().steps + 1)));
  const line = button("draw the row", () => stepTo(Math.min(n, side * (Math.floor(state().steps / side) + 1))));
  const rest = button("draw the rest", () => stepTo(n)), again = button("begin again", () => stepTo(0));

  const cells = Array.from({ length: n }, (_, i) => button("", () => set({ pixel: i })));
  const stop = oneStop(Array.from({ length: side }, (_, r) => cells.slice(side * r, side * (r + 1))));
  const plain = () => Array.from({ length: n }, () => h("span", {})), chances = plain(), moves = plain();
  const grid = (children, props) => h("div", { className: "cl-dd-grid", style: `--side:${side}`, ...props },
    ...children);
  const scale = h("p", { className: "cl-note" });
  const figure = (caption, node) => h("figure", {}, h("figcaption", {}, caption), node);
  function show() {
    const { s, t } = now(), row = t.effect[s.pixel], known = s.pixel <= s.steps;
    const most = known ? Math.max(0, ...row.map(e => Math.abs(e) || 0)) : 0;
    cells.forEach((cell, i) => {
      const what = i < s.steps ? NAMES[t.x[i]] : i === s.steps ? "drawn next" : "open";
      cell.className = i < s.steps ? (t.x[i] ? "cl-dd-ink" : "") : i === s.steps
        ? "cl-dd-open cl-dd-next" : "cl-dd-open";
      cell.dataset.value = i < s.steps ? t.x[i] : -1;
      cell.setAttribute("aria-pressed", String(i === s.pixel));
      const e = known && i < s.pixel ? (Number.isNaN(row[i]) ? ", not read" : `, moves it by ${signed(row[i])}`) : "";
      cell.setAttribute("aria-label", `${name(i)}: ${what}`
        + (i <= s.steps ? `, probability of ink ${t.p[i].toFixed(2)}` : "") + e);
      chances[i].className = i <= s.steps ? "cl-dd-shade" : "cl-dd-open";
      chances[i].dataset.p = i <= s.steps ? t.p[i] : "";
      chances[i].style.setProperty("--p", i <= s.steps ? `${(100 * t.p[i]).toFixed(1)}%` : "0%");
      const read = known && i < s.pixel, blind = read && Number.isNaN(row[i]), e0 = read && !blind ? row[i] : 0;
      moves[i].className = blind ? "cl-dd-blind" : read ? (e0 < 0 ? "cl-dd-down" : "cl-dd-up") : i === s.pixel
        ? "cl-dd-here" : "cl-dd-open";
      moves[i].textContent = blind ? "×" : i === s.pixel ? "●" : Math.abs(e0) >= 0.05 ? (e0 < 0 ? "−" : "+") : "";
      moves[i].dataset.effect = read ? row[i] : "";
      moves[i].style.setProperty("--p", most ? `${(80 * Math.abs(e0) / most).toFixed(1)}%` : "0%");
    });
    if (!cells.includes(document.activeElement)) stop(cells[s.pixel]);
    network.value = s.network;
    drawing.value = s.drawing;
    scale.textContent = `+ more ink likely if that pixel is ink, − less; × not read. Full shade: ${most.toFixed(2)}.`;
    return { s, t };
  }

  const image = grid(cells, { role: "group", "aria-label": "Image. Arrow keys move, Enter looks at a pixel." });
  const end = mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Network", network), h("label", {}, "Drawing", drawing)),
    h("div", { className: "cl-buttons" }, next, line, rest, again),
    h("div", { className: "cl-dd-row" }, figure("drawn so far", image),
      figure("what moves the pixel ●", grid(moves, { "aria-hidden": "true" })),
      figure("probability of ink", grid(chances, { "aria-hidden": "true" }))),
    scale, live), show, story);
  say(story(now()));
  return end;
}
export default { render };
