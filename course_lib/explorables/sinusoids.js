/* Sinusoidal positions on one sentence. The functions above render() compute every number that is shown;
   course_lib/transformer/positions.py is their reference. Positions and pairs count from 0. */
import { button, columnHead, dropdown, h, legendKey, on, scrollable, sum, svg, tie } from "./common.js";

/* n^(-2i/D), radians a word, for every pair i. */
export function frequencies(width, base) {
  return Array.from({ length: width / 2 }, (_, i) => base ** (-2 * i / width));
}
/* p(k): sine, cosine, sine, cosine, ... */
export function encoding(k, width, base) {
  return frequencies(width, base).flatMap(w => [Math.sin(w * k), Math.cos(w * k)]);
}
/* The pair (sine, cosine) after another `angle` radians: the block of the rotation matrix. */
export function turned([sine, cosine], angle) {
  const c = Math.cos(angle), s = Math.sin(angle);
  return [c * sine + s * cosine, -s * sine + c * cosine];
}
const dot = (a, b) => sum(a.map((v, i) => v * b[i]));
/* p(k)'p(j) for every j below num. */
export function products(k, num, width, base) {
  const here = encoding(k, width, base);
  return Array.from({ length: num }, (_, j) => dot(here, encoding(j, width, base)));
}
/* |p(k + o) - p(k)| for every k. */
export function offsetDistance(offset, width, base) {
  return 2 * Math.sqrt(sum(frequencies(width, base).map(w => Math.sin(w * offset / 2) ** 2)));
}

/* ---- the page ---- */
const TRAITS = ["words", "position", "offset", "pair", "width", "base"];
const W = 640, H = 130, EDGE = 12;
const five = v => (Math.abs(v) < 5e-6 ? 0 : v).toFixed(5);
const signed = v => (v > 0 ? "+" : v < 0 ? "−" : "") + Math.abs(v);

/* The sine and the cosine of one pair along the sentence, a dot at every word, a line at k and one at k + o; behind them
   the sines of all other pairs, from the shortest wave to the longest. */
function wave(plot, s, omega, all) {
  const last = s.words.length - 1, x = k => EDGE + k / last * (W - 2 * EDGE), y = v => H / 2 - v * (H / 2 - EDGE);
  const curve = f => Array.from({ length: 241 }, (_, t) =>
    `${t ? "L" : "M"}${x(last * t / 240).toFixed(1)} ${y(f(omega * last * t / 240)).toFixed(1)}`).join("");
  const upright = (k, kind) => svg("line", { class: kind, x1: x(k), x2: x(k), y1: 0, y2: H });
  plot.replaceChildren(
    svg("line", { class: "cl-zero", x1: 0, x2: W, y1: H / 2, y2: H / 2 }),
    upright(s.position, "cl-now"), upright(s.position + s.offset, "cl-then"),
    ...all.filter(w => w !== omega).map(w => svg("path",
      { class: "cl-others", "data-omega": w, d: curve(v => Math.sin(w / omega * v)) })),
    svg("path", { class: "cl-sin", d: curve(Math.sin) }), svg("path", { class: "cl-cos", d: curve(Math.cos) }),
    ...s.words.flatMap((_, k) => [
      svg("circle", { class: "cl-sin-dot", cx: x(k), cy: y(Math.sin(omega * k)), r: 5 }),
      svg("rect", { class: "cl-cos-dot", x: x(k) - 4, y: y(Math.cos(omega * k)) - 4, width: 8, height: 8 })]));
}
/* A clock: the hand at k, and dashed where the offset takes it. Position 0 points up, turning is clockwise. */
function clock(s, omega) {
  const hand = (k, kind) => svg("line", { class: kind, x1: 30, y1: 30,
    x2: 30 + 24 * Math.sin(omega * k), y2: 30 - 24 * Math.cos(omega * k) });
  return svg("svg", { viewBox: "0 0 60 60", "aria-hidden": "true", class: "cl-clock" },
    svg("circle", { class: "cl-zero", cx: 30, cy: 30, r: 27 }),
    hand(s.position, "cl-now"), hand(s.position + s.offset, "cl-then"));
}

function render({ model, el }) {
  const { live, state, change: apply, mount } = tie(model, TRAITS,
    "Choose a word, move the offset, look at another clock, or change width and base.");
  let built = "";
  const hands = (s, k) => encoding(k, s.width, s.base).slice(2 * s.pair, 2 * s.pair + 2);
  /* What the reader sets; the offset never leaves the sentence, nor the pair the width. */
  function change(values, sentence) {
    const s = { ...state(), ...values }, last = s.words.length - 1;
    s.offset = Math.max(-s.position, Math.min(last - s.position, s.offset));
    s.pair = Math.min(s.pair, s.width / 2 - 1);
    apply(s, sentence);
  }
  const product = s => five(products(s.position, s.words.length, s.width, s.base)[s.position + s.offset]);
  const place = s => `Position ${s.position}, ${s.words[s.position]}. Offset ${signed(s.offset)} leads to position `
    + `${s.position + s.offset}, ${s.words[s.position + s.offset]}: inner product ${product(s)}.`;

  const setting = name => dropdown(model.get(`${name}s`).map(v => [v, v]), v => change({ [name]: +v }, s =>
    `Width ${s.width}, base ${s.base}: ${s.width / 2} clocks. Inner product of the two words ${product(s)}.`));
  const width = setting("width"), base = setting("base");
  const words = h("div", { className: "cl-buttons cl-words", role: "group", "aria-label": "Stand at a word" });
  const clocks = h("div", { className: "cl-buttons cl-clocks", role: "group", "aria-label": "Look at a clock" });
  const offset = h("input", { type: "range", step: 1 }), reached = h("output", { className: "cl-reached" });
  on(offset, "input", () => change({ offset: +offset.value }, place));
  const plot = svg("svg", { viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true", class: "cl-wave" });
  const at = e => {
    const box = plot.getBoundingClientRect(), last = state().words.length - 1;
    const x = (e.clientX - box.left) / box.width * W;
    return Math.max(0, Math.min(last, Math.round((x - EDGE) / (W - 2 * EDGE) * last)));
  };
  const go = e => { if (at(e) !== state().position) change({ position: at(e) }, place); };
  on(plot, "pointerdown", e => { plot.setPointerCapture(e.pointerId); go(e); });
  on(plot, "pointermove", e => { if (e.buttons) go(e); });
  const table = h("table"), reading = h("p", { className: "cl-reading" }), turn = h("p", { className: "cl-reading" });
  const whole = h("p", { className: "cl-reading" });

  /* Buttons are made anew only when their number or names change, so that the focus stays. */
  function build(s) {
    words.replaceChildren(...s.words.map((word, k) =>
      button(`${k} ${word}`, () => change({ position: k }, place))));
    clocks.replaceChildren(...frequencies(s.width, s.base).map((_, i) => {
      const face = h("span", { className: "cl-face" }), speed = h("span", { className: "cl-speed" });
      return button([face, h("span", {}, `clock ${i}`), speed], () => change({ pair: i }, t => {
        const w = frequencies(t.width, t.base)[i];
        return `Clock ${i}: ${five(w)} radians a word, a full turn in ${(2 * Math.PI / w).toFixed(1)} words.`;
      }));
    }));
  }
  function show() {
    const s = state(), k = s.position, other = k + s.offset, all = frequencies(s.width, s.base), omega = all[s.pair];
    const now = JSON.stringify([s.words, s.width]);
    if (now !== built) { built = now; build(s); }
    width.value = String(s.width);
    base.value = String(s.base);
    [...words.children].forEach((b, j) => {
      b.setAttribute("aria-pressed", String(j === k));
      b.classList.toggle("cl-other", j === other);
    });
    Object.assign(offset, { min: -k, max: s.words.length - 1 - k });
    offset.value = s.offset;
    offset.setAttribute("aria-valuetext", `${signed(s.offset)}, ${s.words[other]}`);
    reached.textContent = `${signed(s.offset)}: ${s.words[other]}`;
    wave(plot, s, omega, all);
    [...clocks.children].forEach((b, i) => {
      b.setAttribute("aria-pressed", String(i === s.pair));
      b.firstChild.replaceChildren(clock(s, all[i]));
      b.lastChild.textContent = `${all[i].toPrecision(3)} rad`;
    });
    const here = hands(s, k), there = turned(here, omega * s.offset);
    const pairOf = (name, j, [a, b]) => h("output", { [`data-${name}`]: JSON.stringify([a, b]) },
      `${s.words[j]} (${j}): sin ${five(a)}, cos ${five(b)}`);
    reading.replaceChildren(`Clock ${s.pair} at `, pairOf("here", k, here), "; at ",
      pairOf("there", other, there), ".");
    turn.replaceChildren("The offset ", signed(s.offset), " turns it by ",
      h("output", { "data-angle": omega * s.offset }, five(omega * s.offset)), " radians, wherever it was. "
      + `A full turn takes ${(2 * Math.PI / omega).toFixed(1)} words.`);
    const values = products(k, s.words.length, s.width, s.base), far = offsetDistance(s.offset, s.width, s.base);
    whole.replaceChildren(`All ${all.length} clocks, offset ${signed(s.offset)}: inner product `,
      h("output", { "data-dot": values[other] }, five(values[other])), ", distance ",
      h("output", { "data-distance": far }, five(far)), ". Move the word: both stay.");
    const half = 100 / s.width, bar = v => `margin-left:${(50 + half * Math.min(v, 0)).toFixed(2)}%;`
      + `width:${(half * Math.abs(v)).toFixed(2)}%`;
    table.replaceChildren(
      h("thead", {}, h("tr", {},
        ...["position", "word", "offset", "inner product", "bar"].map(text => columnHead(text)))),
      h("tbody", {}, ...values.map((v, j) => h("tr",
        { className: j === k ? "cl-chosen" : j === other ? "cl-reach" : "" },
        h("td", {}, String(j)), h("th", { scope: "row" }, s.words[j]), h("td", {}, signed(j - k)),
        h("td", { "data-product": v }, five(v)),
        h("td", { className: "cl-bars" }, h("span", { className: "cl-track", "aria-hidden": "true" },
          h("span", { className: "cl-bar cl-prob", style: bar(v) })))))));
    return s;
  }

  return mount(el, h("div", { className: "cl-sinusoids" },
    h("div", { className: "cl-top" }, h("label", {}, "Width", width), h("label", {}, "Base", base)), words,
    h("div", { className: "cl-row" }, h("label", {}, "Offset", offset), reached),
    plot, h("p", { className: "cl-legend" }, legendKey("key-sin", "sine"), legendKey("key-cos", "cosine"),
      legendKey("key-others", "the sines of the other clocks"),
      legendKey("key-now", "the word"), legendKey("key-then", "the word at the offset")),
    clocks, reading, turn, whole, scrollable("Inner products", table), live), show, place,
  s => s.pair < s.width / 2 && [s.position, s.position + s.offset].every(k => k in s.words));     // else more is to come
}
export default { render };
