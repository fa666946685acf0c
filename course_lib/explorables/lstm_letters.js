/* An LSTM that reads letters, all of it, in the page. run() computes every number that is shown; run() in
   lstm_letters.py is its reference. Cells are counted from 0 here, from 1 on the page. Two line ends are read before
   every text. */
import { button, decoded, dropdown, h, on, oneStop, refused, scrollable, sum, svg, thousands, tie } from "./common.js";

const BEFORE = "\n\n", LONGEST = 160, GATES = "ifo";
const sigmoid = z => 1 / (1 + Math.exp(-z));
/* The number of 16 bits of half precision; weights are finite. */
const half = b => (b & 0x8000 ? -1 : 1)
  * (b & 0x7c00 ? 2 ** ((b >> 10 & 31) - 15) * (1 + (b & 1023) / 1024) : (b & 1023) * 2 ** -24);

/* Weights from base64, each row by row: W_x (4H, V), W_h (4H, H), b (4H), W_hy (V, H), b_y (V). */
export function unpack(text, V, H) {
  const view = decoded(text);
  const all = Float64Array.from({ length: view.byteLength / 2 }, (_, j) => half(view.getUint16(2 * j, true)));
  let at = 0;
  const take = size => all.subarray(at, at += size);
  return { V, H, Wx: take(4 * H * V), Wh: take(4 * H * H), b: take(4 * H), Wy: take(V * H), by: take(V) };
}
/* After each letter: gates i, f, o and the candidate g, memory c, output h, logits. `held` is "", or as "f=1". */
export function run(m, ids, cell = 0, held = "") {
  const { V, H } = m;
  let h = new Float64Array(H), c = new Float64Array(H);
  return ids.map(id => {
    const z = Float64Array.from(m.b, (b, k) => {
      let s = b + m.Wx[k * V + id];
      for (let j = 0; j < H; j++) s += m.Wh[k * H + j] * h[j];
      return s;
    });
    const gates = [0, 1, 2].map(k => z.slice(k * H, (k + 1) * H).map(sigmoid)), g = z.slice(3 * H).map(Math.tanh);
    if (held) gates[GATES.indexOf(held[0])][cell] = +held[2];
    const [i, f, o] = gates;
    c = c.map((v, k) => f[k] * v + i[k] * g[k]);
    h = c.map((v, k) => o[k] * Math.tanh(v));
    const logits = Array.from({ length: V }, (_, v) => {
      let s = m.by[v];
      for (let j = 0; j < H; j++) s += m.Wy[v * H + j] * h[j];
      return s;
    });
    return { gates: gates.map(gate => [...gate]), c: [...c], h: [...h], logits };
  });
}
export function softmax(logits) {
  const most = Math.max(...logits), e = logits.map(v => Math.exp(v - most)), total = sum(e);
  return e.map(v => v / total);
}

/* ---- the page ---- */
const TRAITS = ["typed", "letter", "cell", "held"], STEP = 11;
const ROWS = { c: [26, 90], f: [128, 24], i: [160, 24], o: [192, 24], h: [226, 34] };                // top and height
const HELD = ["", "i=0", "i=1", "f=0", "f=1", "o=0", "o=1"];
const WORDS = { "": "as learned", "i=0": "i held at 0", "i=1": "i held at 1", "f=0": "f held at 0",
  "f=1": "f held at 1",
  "o=0": "o held at 0", "o=1": "o held at 1" };
const glyph = v => v === "\n" ? "↵" : v === " " ? "␣" : v;
const named = v => v === "\n" ? "line end" : v === " " ? "space" : v;
const fixed = v => v.toFixed(2).replace("-", "−");

function render({ model, el }) {
  const symbols = model.get("symbols"), H = model.get("hidden"), follows = model.get("follows");
  const m = unpack(model.get("weights"), symbols.length, H), { live, say, state, change, mount } = tie(model, TRAITS);
  const read = s => [...BEFORE + s.typed], at = s => Math.min(s.letter, s.typed.length + 1);
  const results = s => run(m, read(s).map(v => symbols.indexOf(v)), s.cell, s.held);

  function story({ s, all }) {
    const t = at(s), now = all[t], [i, f, o] = now.gates.map(gate => gate[s.cell]);
    return `After “${named(read(s)[t])}”, cell ${s.cell + 1}: c = ${fixed(now.c[s.cell])}, i = ${fixed(i)}, `
      + `f = ${fixed(f)}, o = ${fixed(o)}, h = ${fixed(now.h[s.cell])}.${s.held ? ` Its gate ${WORDS[s.held]}.` : ""}`;
  }
  const set = values => change(values, story);

  const field = h("textarea", { rows: 3, maxLength: LONGEST, spellcheck: false,
    "aria-label": "Text that the model reads" });
  on(field, "input", () => {
    const unknown = [...field.value].filter(v => !symbols.includes(v));
    refused(field, unknown.length > 0);
    if (unknown.length) {
      return say(`The model has never seen “${unknown[0]}”: it reads the text that stood here before.`);
    }
    set({ typed: field.value, letter: field.value.length + 1 });
  });
  const held = dropdown(HELD.map(v => [v, WORDS[v]]), v => set({ held: v }));
  const slider = on(h("input", { type: "range", min: 0 }), "input", () => set({ letter: +slider.value }));
  const cells = Array.from({ length: H }, (_, k) => button(String(k + 1), () => set({ cell: k })));
  const columns = 12, grid = Array.from({ length: Math.ceil(H / columns) },
    (_, r) => cells.slice(columns * r, columns * (r + 1)));
  const stop = oneStop(grid);

  const labels = svg("svg", { class: "cl-ll-labels", width: 58, height: 264, "aria-hidden": "true" });
  const chart = svg("svg", { class: "cl-ll-chart", height: 264, role: "img" });
  on(chart, "click", e => set({ letter: Math.max(0, Math.min(state().typed.length + 1,
    Math.floor((e.clientX - chart.getBoundingClientRect().left) / STEP))) }));
  /* A likely letter is a button: the text goes on with it after the letter that is looked at; what stood there goes. */
  function type(letter) {
    const s = state(), typed = s.typed.slice(0, Math.max(0, at(s) + 1 - BEFORE.length)) + letter;
    if (typed.length > LONGEST) return say(`The text has ${LONGEST} letters, and no room for another.`);
    field.setAttribute("aria-invalid", "false");
    set({ typed, letter: typed.length + 1 });
  }
  const likely = Array.from({ length: 5 }, () => ({ button: button("", e => type(e.currentTarget.value)),
    bar: h("span", { className: "cl-bar cl-prob" }), p: h("span", {}) }));
  const list = h("ol", { className: "cl-ll-likely" }, ...likely.map(one =>
    h("li", {}, one.button, h("span", { className: "cl-track" }, one.bar), one.p)));
  const text = (x, y, content, kind = "") => svg("text", { x, y, class: kind }, content);
  function draw(s, all) {
    const letters = read(s), T = letters.length, t = at(s), width = STEP * T, x = k => STEP * (k + 0.5), k = s.cell;
    const most = Math.max(1, ...all.map(now => Math.abs(now.c[k])));
    chart.setAttribute("width", width);
    chart.setAttribute("viewBox", `0 0 ${width} 264`);
    chart.setAttribute("aria-label", `c of cell ${k + 1} after each letter: ${all.map((now, j) =>
      `${named(letters[j])} ${fixed(now.c[k])}`).join(", ")}`);
    const curve = (row, values, high) => {
      const [top, height] = ROWS[row], y = v => top + height / 2 * (1 - v / high);
      return [svg("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "cl-ll-zero" }),
        svg("polyline", { points: values.map((v, j) => `${x(j)},${y(v).toFixed(2)}`).join(" "),
          class: `cl-ll-line cl-ll-${row}` })];
    };
    const bars = (row, values) => values.map((v, j) => svg("rect",
      { x: STEP * j + 2, width: STEP - 4, height: Math.max(0.5, v * ROWS[row][1]),
      y: ROWS[row][0] + ROWS[row][1] * (1 - v), class: `cl-ll-gate${s.held[0] === row ? " cl-ll-held" : ""}` }));
    const gate = g => all.map(now => now.gates[GATES.indexOf(g)][k]);
    chart.replaceChildren(svg("rect", { x: STEP * t, y: 0, width: STEP, height: 264, class: "cl-ll-here" }),
      ...letters.map((v, j) => text(x(j), 15, glyph(v),
        j < BEFORE.length ? "cl-ll-letter cl-ll-before" : "cl-ll-letter")),
      ...curve("c", all.map(now => now.c[k]), most), ...["f", "i", "o"].flatMap(g => bars(g, gate(g))),
      ...curve("h", all.map(now => now.h[k]), 1));
    labels.replaceChildren(text(0, 15, "letter"), text(0, 68, "c"), text(0, 84, `±${most.toFixed(1)}`, "cl-ll-small"),
      ...["f", "i", "o"].map(g => text(0, ROWS[g][0] + 16, `${g} 0–1`)), text(0, 242, "h"),
        text(0, 258, "±1", "cl-ll-small"));
    const p = softmax(all[t].logits), best = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, 5);
    best.forEach((v, j) => {
      const one = likely[j];
      list.children[j].dataset.p = p[v];
      one.button.value = symbols[v];
      one.button.textContent = glyph(symbols[v]);
      one.button.setAttribute("aria-label", `go on with ${named(symbols[v])}, probability ${p[v].toFixed(2)}`);
      one.bar.style.width = `${100 * p[v]}%`;
      one.p.textContent = p[v].toFixed(2);
    });
    const strongest = Math.max(...all[t].c.map(Math.abs));
    cells.forEach((cell, j) => {
      const v = all[t].c[j];
      cell.style.setProperty("--p", `${(50 * Math.abs(v) / strongest).toFixed(0)}%`);
      cell.className = v < 0 ? "cl-ll-low" : "cl-ll-high";
      cell.dataset.c = v;
      cell.setAttribute("aria-pressed", String(j === k));
      cell.setAttribute("aria-label", `cell ${j + 1}, c = ${fixed(v)}`);
    });
  }
  function show() {
    const s = state(), all = results(s);
    if (field.value !== s.typed && field.getAttribute("aria-invalid") !== "true") field.value = s.typed;
    slider.max = s.typed.length + 1;
    slider.value = at(s);
    slider.setAttribute("aria-valuetext", `after ${named(read(s)[at(s)])}, letter ${at(s) - 1}`);
    held.value = s.held;
    if (!cells.includes(document.activeElement)) stop(cells[s.cell]);
    draw(s, all);
    return { s, all };
  }

  const note = `Cell ${follows.cell + 1} follows the place in the line: over ${thousands(follows.letters)} letters of the `
    + `test text, its c has a correlation of ${fixed(follows.correlation)} with the number of letters since the line began; `
    + `the last letter alone gives ${fixed(follows["last letter alone"])}. It was chosen on the `
    + `validation text as the strongest of ${H}.`;
  const region = scrollable("letter by letter", chart);
  const end = mount(el, h("div", {},
    h("div", { className: "cl-ll-top" },
      h("label", { className: "cl-ll-text" }, "Type here", field),
      h("fieldset", {}, h("legend", {}, "cells, shaded by c now"), h("div", { className: "cl-ll-cells", role: "group",
        "aria-label": "Cells. Arrow keys move, Enter chooses." }, ...cells))),
    h("div", { className: "cl-top" }, h("label", {}, "Gates of this cell", held),
      h("label", { className: "cl-ll-slider" }, "Letter", slider)),
    h("div", { className: "cl-ll-row" }, labels, region, h("div", { className: "cl-ll-next" }, h("span", {},
      "next letter"), list)),
    live, h("p", { className: "cl-note" }, note)), show, story);
  say(story(show()));
  region.scrollLeft = region.scrollWidth;
  return end;
}
export default { render };
