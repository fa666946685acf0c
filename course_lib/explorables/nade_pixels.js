/* A trained NADE, pixel by pixel. The functions above render() compute every number that is shown; run() in
   nade_pixels.py is their reference. Pixels and steps are counted from 0 here, rows, columns and steps from 1 on the
   page. A pixel is 1 (ink), 0 (empty) or -1 (open). */
import { button, decoded, dropdown, h, numbered, on, oneStop, same, showChoice, tie, xorshift } from "./common.js";

const OPEN = -1;
const sigmoid = z => 1 / (1 + Math.exp(-z));
const softplus = z => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));

/* Weights from base64: W (n, H), c (H), V (n, H), b (n), little-endian float32. */
export function unpack(text, hidden, order) {
  const view = decoded(text);
  const all = Float32Array.from({ length: view.byteLength / 4 }, (_, j) => view.getFloat32(4 * j, true));
  const n = order.length, H = hidden, ends = [n * H, H, n * H, n];
  let at = 0;
  const [W, c, V, b] = ends.map(size => all.subarray(at, at += size));
  return { n, H, order, W, c, V, b };
}
/* The running sum a: predict pixel i from it, then add the column of W if the pixel is ink. Ends at the first pixel
   that is open and not yet drawn. */
export function run(m, given, steps, seed) {
  const x = [...given], p = Array(m.n).fill(null), u = m.order.map(xorshift(seed)), a = Float64Array.from(m.c);
  let logProb = 0;
  for (let k = 0; k < m.n; k++) {
    const i = m.order[k];
    let z = m.b[i];
    for (let h = 0; h < m.H; h++) z += m.V[i * m.H + h] * sigmoid(a[h]);
    p[i] = sigmoid(z);
    if (x[i] === OPEN) {
      if (k >= steps) return { x, p, u, known: k, logProb };
      x[i] = u[k] >= 1 - p[i] ? 1 : 0;
    }
    logProb -= softplus(x[i] ? -z : z);
    if (x[i]) for (let h = 0; h < m.H; h++) a[h] += m.W[i * m.H + h];
  }
  return { x, p, u, known: m.n, logProb };
}
/* How many given pixels come after an open one in the order: the pixels before them are drawn without seeing them. */
export function late(given, order) {
  const first = order.findIndex(i => given[i] === OPEN);
  return first < 0 ? 0 : order.slice(first).filter(i => given[i] !== OPEN).length;
}

/* ---- the page ---- */
const TRAITS = ["given", "steps", "seed"];
const NAMES = { 1: "ink", 0: "empty", [OPEN]: "open" };
const pixels = num => num === 1 ? "1 pixel" : `${num} pixels`;

function render({ model, el }) {
  const order = model.get("order"), starts = model.get("starts"), n = order.length, side = Math.round(Math.sqrt(n));
  const m = unpack(model.get("weights"), model.get("hidden"), order), place = order.map((_, i) => order.indexOf(i));
  const { live, say, state, change, mount } = tie(model, TRAITS,
    "Set pixels of the image, then let the model draw the others.");
  const results = s => run(m, s.given, s.steps, s.seed);
  const name = i => `row ${Math.floor(i / side) + 1}, column ${i % side + 1}`;
  let here = order[0];

  const nats = r => `ln p = ${(+r.logProb.toFixed(4) || 0).toFixed(4)} nats`;
  const progress = r => r.known === n ? `All ${pixels(n)} are known: ${nats(r)}.`
    : `Known so far: ${r.known} of ${n}, ${nats(r)}. Next: ${name(order[r.known])}, probability of ink `
      + `${r.p[order[r.known]].toFixed(4)}.`;

  /* A pixel set by hand: what was drawn after it is taken back, since it was drawn without it. */
  function set(i, value) {
    const s = state(), given = s.given.map((v, j) => j === i ? value : v), back = s.steps > place[i];
    change({ given, steps: Math.min(s.steps, place[i]) }, () =>
      `${name(i)} is ${NAMES[value]}.${back ? " What was drawn from there on is taken back." : ""}`);
  }
  const cycle = i => { const v = state().given[i]; set(i, v === OPEN ? 1 : v === 1 ? 0 : OPEN); };

  const cells = Array.from({ length: n }, (_, i) => {
    const cell = button("", () => cycle(i), { "data-pixel": i });
    on(cell, "focus", () => { here = i; describe(i); });
    return on(cell, "mouseenter", () => describe(i));
  });
  const stop = oneStop(Array.from({ length: side }, (_, row) => cells.slice(side * row, side * (row + 1))));
  stop(cells[here]);
  const image = h("div", { className: "cl-grid", role: "group", style: `--side:${side}`,
    "aria-label": "Image. Arrow keys move, Space changes a pixel, 1 is ink, 0 is empty, Delete opens it." }, ...cells);
  on(image, "keydown", e => {
    const i = cells.indexOf(e.target), value = { 1: 1, 0: 0, Delete: OPEN, Backspace: OPEN }[e.key];
    if (i < 0 || value === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    set(i, value);
  });
  const shades = Array.from({ length: n }, (_, i) =>
    on(h("span", { className: "cl-shade" }), "mouseenter", () => describe(i)));
  const chances = h("div", { className: "cl-grid", "aria-hidden": "true", style: `--side:${side}` }, ...shades);

  const detail = h("p", { className: "cl-detail" });
  function describe(i) {
    const s = state(), r = results(s), k = place[i], p = r.p[i];
    const factor = p === null ? "Its probability is not known yet: pixels before it are open."
      : `p(ink | the ${pixels(k)} before it) = ${p.toFixed(4)}.`;
    const why = s.given[i] !== OPEN ? `You set it: ${NAMES[s.given[i]]}.`
      : r.x[i] !== OPEN ? `Drawn: u = ${r.u[k].toFixed(4)} ${r.x[i] ? "≥" : "<"} ${(1 - p).toFixed(4)} = 1 − p, so `
        + `${NAMES[r.x[i]]}.`
        : r.known === k ? "It is drawn next." : "It is open.";
    detail.textContent = `${name(i)}, step ${k + 1} of ${n}. ${factor} ${why}`;
  }

  const start = dropdown([["none", "nothing"], ...numbered(starts.map(t => t.label))], value => {
    const { label, given } = starts[value] ?? { label: "nothing", given: Array(n).fill(OPEN) };
    change({ given, steps: 0 }, () => `Given: ${label}.`);
  }, "your own pixels");
  const one = button("draw the next pixel", () => {
    const at = results(state()).known, i = order[at];
    if (at === n) return say("Nothing is open.");
    here = i;
    stop(cells[i]);
    change({ steps: at + 1 }, r => `${name(i)}: p = ${r.p[i].toFixed(4)}, u = ${r.u[at].toFixed(4)}, so `
      + `${NAMES[r.x[i]]}.`);
  });
  const rest = button("draw the rest", () => change({ steps: n }, () => "The rest is drawn."));
  const again = button("sample again", () =>
    change({ steps: n, seed: state().seed + 1 }, () => "Other draws."));
  const back = button("take back what was drawn", () => change({ steps: 0 }, () => "What was drawn is taken back."));
  const clear = button("clear", () => change({ steps: 0, given: Array(n).fill(OPEN) }, () => "All pixels are open."));

  const status = h("p", { "data-status": "", role: "status" }), warning = h("p", { className: "cl-warning" });
  function show() {
    const s = state(), r = results(s), behind = late(s.given, order), some = s.given.some(v => v !== OPEN);
    cells.forEach((cell, i) => {
      const given = s.given[i] !== OPEN, next = r.known < n && order[r.known] === i;
      cell.className = "cl-pixel" + (r.x[i] === 1 ? " cl-ink" : r.x[i] === OPEN ? " cl-open" : "")
        + (given ? " cl-given" : "") + (next ? " cl-next" : "");
      cell.dataset.value = r.x[i];
      const whence = given ? ", set by you" : r.x[i] === OPEN ? "" : ", drawn";
      cell.setAttribute("aria-label", `${name(i)}: ${NAMES[r.x[i]]}${whence}`
        + (r.p[i] === null ? "" : `, probability of ink ${r.p[i].toFixed(2)}`));
      shades[i].className = "cl-shade" + (r.p[i] === null ? " cl-open" : "");
      shades[i].dataset.p = r.p[i] ?? "";
      shades[i].style.setProperty("--p", r.p[i] === null ? "0%" : `${(100 * r.p[i]).toFixed(1)}%`);
    });
    status.textContent = progress(r);
    status.dataset.logProb = r.logProb;
    warning.textContent = behind
      ? `Careful: ${pixels(behind)} that you set come after open ones in the model's order. The pixels before them are `
        + "drawn without looking ahead, so the result is not a draw from p(open | given)."
      : some ? "What you set comes first in the model's order: the drawn pixels follow p(open | given)."
        : "Nothing is set: the model draws from p(x).";
    warning.classList.toggle("cl-careful", behind > 0);
    const match = starts.findIndex(t => same(t.given, s.given));
    if (match < 0 && !some) start.value = "none"; else showChoice(start, match);
    describe(here);
    return r;
  }

  return mount(el, h("div", { className: "cl-nade" },
    h("div", { className: "cl-top" }, h("label", {}, "Given", start)),
    h("div", { className: "cl-pair" },
      h("figure", {}, h("figcaption", {}, "image: set by you (framed) and drawn"), image),
      h("figure", {}, h("figcaption", {}, "probability of ink, given the pixels before"), chances)),
    detail,
    h("div", { className: "cl-buttons" }, one, rest, again, back, clear),
    status, warning, live), show, () => "");
}
export default { render };
