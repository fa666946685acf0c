/* Sinusoidal positions on one sentence. The functions above render() compute every number that is shown;
   course_lib/transformer/positions.py is their reference. Positions and pairs count from 0. */

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
const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
/* p(k)'p(j) for every j below num. */
export function products(k, num, width, base) {
  const here = encoding(k, width, base);
  return Array.from({ length: num }, (_, j) => dot(here, encoding(j, width, base)));
}
/* |p(k + o) - p(k)| for every k. */
export function offsetDistance(offset, width, base) {
  return 2 * Math.sqrt(frequencies(width, base).reduce((sum, w) => sum + Math.sin(w * offset / 2) ** 2, 0));
}

/* ---- the page ---- */
const STATE = ["words", "position", "offset", "pair", "width", "base"];
const SVG = "http://www.w3.org/2000/svg";
const W = 640, H = 130, EDGE = 12;
const five = v => (Math.abs(v) < 5e-6 ? 0 : v).toFixed(5);
const signed = v => (v > 0 ? "+" : v < 0 ? "−" : "") + Math.abs(v);

function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k in node && !k.startsWith("aria")) node[k] = v; else node.setAttribute(k, v);
  }
  node.append(...children);
  return node;
}
function drawn(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(props)) node.setAttribute(k, v);
  node.append(...children);
  return node;
}

/* The sine and the cosine of one pair along the sentence, a dot at every word, a line at k and one at k + o. */
function wave(svg, s, omega) {
  const last = s.words.length - 1, x = k => EDGE + k / last * (W - 2 * EDGE), y = v => H / 2 - v * (H / 2 - EDGE);
  const curve = f => Array.from({ length: 241 }, (_, t) =>
    `${t ? "L" : "M"}${x(last * t / 240).toFixed(1)} ${y(f(omega * last * t / 240)).toFixed(1)}`).join("");
  const upright = (k, kind) => drawn("line", { class: kind, x1: x(k), x2: x(k), y1: 0, y2: H });
  svg.replaceChildren(
    drawn("line", { class: "cl-zero", x1: 0, x2: W, y1: H / 2, y2: H / 2 }),
    upright(s.position, "cl-now"), upright(s.position + s.offset, "cl-then"),
    drawn("path", { class: "cl-sin", d: curve(Math.sin) }), drawn("path", { class: "cl-cos", d: curve(Math.cos) }),
    ...s.words.flatMap((_, k) => [
      drawn("circle", { class: "cl-sin-dot", cx: x(k), cy: y(Math.sin(omega * k)), r: 5 }),
      drawn("rect", { class: "cl-cos-dot", x: x(k) - 4, y: y(Math.cos(omega * k)) - 4, width: 8, height: 8 })]));
}
/* A clock: the hand at k, and dashed where the offset takes it. Position 0 points up, turning is clockwise. */
function clock(s, omega) {
  const hand = (k, kind) => drawn("line", { class: kind, x1: 30, y1: 30,
    x2: 30 + 24 * Math.sin(omega * k), y2: 30 - 24 * Math.cos(omega * k) });
  return drawn("svg", { viewBox: "0 0 60 60", "aria-hidden": "true", class: "cl-clock" },
    drawn("circle", { class: "cl-zero", cx: 30, cy: 30, r: 27 }),
    hand(s.position, "cl-now"), hand(s.position + s.offset, "cl-then"));
}

function render({ model, el }) {
  const state = () => Object.fromEntries(STATE.map(k => [k, model.get(k)]));
  let own = false, built = "";
  const live = h("p", { className: "cl-live", "aria-live": "polite" },
    "Choose a word, move the offset, look at another clock, or change width and base.");
  const hands = (s, k) => encoding(k, s.width, s.base).slice(2 * s.pair, 2 * s.pair + 2);
  /* Write to the model, redraw, and say what changed. The offset never leaves the sentence, nor the pair the width. */
  function change(values, say) {
    const s = { ...state(), ...values }, last = s.words.length - 1;
    s.offset = Math.max(-s.position, Math.min(last - s.position, s.offset));
    s.pair = Math.min(s.pair, s.width / 2 - 1);
    own = true;
    for (const k of STATE) model.set(k, s[k]);
    model.save_changes();
    own = false;
    show();
    live.textContent = say(s);
  }
  const product = s => five(products(s.position, s.words.length, s.width, s.base)[s.position + s.offset]);
  const place = s => `Position ${s.position}, ${s.words[s.position]}. Offset ${signed(s.offset)} leads to position `
    + `${s.position + s.offset}, ${s.words[s.position + s.offset]}: inner product ${product(s)}.`;

  const select = (name, choices) => {
    const node = h("select", {}, ...choices.map(v => h("option", { value: String(v) }, String(v))));
    node.addEventListener("change", () => change({ [name]: +node.value }, s =>
      `Width ${s.width}, base ${s.base}: ${s.width / 2} clocks. Inner product of the two words ${product(s)}.`));
    return node;
  };
  const width = select("width", model.get("widths")), base = select("base", model.get("bases"));
  const words = h("div", { className: "cl-buttons cl-words", role: "group", "aria-label": "Stand at a word" });
  const clocks = h("div", { className: "cl-buttons cl-clocks", role: "group", "aria-label": "Look at a clock" });
  const offset = h("input", { type: "range", step: 1 }), reached = h("output", { className: "cl-reached" });
  offset.addEventListener("input", () => change({ offset: +offset.value }, place));
  const svg = drawn("svg", { viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true", class: "cl-wave" });
  const at = e => {
    const box = svg.getBoundingClientRect(), last = state().words.length - 1;
    const x = (e.clientX - box.left) / box.width * W;
    return Math.max(0, Math.min(last, Math.round((x - EDGE) / (W - 2 * EDGE) * last)));
  };
  const go = e => { if (at(e) !== state().position) change({ position: at(e) }, place); };
  svg.addEventListener("pointerdown", e => { svg.setPointerCapture(e.pointerId); go(e); });
  svg.addEventListener("pointermove", e => { if (e.buttons) go(e); });
  const table = h("table"), reading = h("p", { className: "cl-reading" }), turn = h("p", { className: "cl-reading" });
  const whole = h("p", { className: "cl-reading" });
  const scroll = h("div", { className: "cl-scroll", tabIndex: 0, role: "region", "aria-label": "Inner products" }, table);
  const key = (kind, text) =>
    h("span", {}, h("span", { className: `cl-key cl-key-${kind}`, "aria-hidden": "true" }), text);

  /* Buttons are made anew only when their number or names change, so that the focus stays. */
  function build(s) {
    words.replaceChildren(...s.words.map((word, k) => {
      const b = h("button", { type: "button" }, `${k} ${word}`);
      b.addEventListener("click", () => change({ position: k }, place));
      return b;
    }));
    clocks.replaceChildren(...frequencies(s.width, s.base).map((omega, i) => {
      const b = h("button", { type: "button" }, h("span", { className: "cl-face" }),
        h("span", {}, `clock ${i}`), h("span", { className: "cl-speed" }));
      b.addEventListener("click", () => change({ pair: i }, t => {
        const w = frequencies(t.width, t.base)[i];
        return `Clock ${i}: ${five(w)} radians a word, a full turn in ${(2 * Math.PI / w).toFixed(1)} words.`;
      }));
      return b;
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
    wave(svg, s, omega);
    [...clocks.children].forEach((b, i) => {
      b.setAttribute("aria-pressed", String(i === s.pair));
      b.firstChild.replaceChildren(clock(s, all[i]));
      b.lastChild.textContent = `${all[i].toPrecision(3)} rad`;
    });
    const here = hands(s, k), there = turned(here, omega * s.offset);
    const pairOf = (name, j, [a, b]) => h("output", { [`data-${name}`]: JSON.stringify([a, b]) },
      `${s.words[j]} (${j}): sin ${five(a)}, cos ${five(b)}`);
    reading.replaceChildren(`Clock ${s.pair} at `, pairOf("here", k, here), "; at ", pairOf("there", other, there), ".");
    turn.replaceChildren("The offset ", signed(s.offset), " turns it by ",
      h("output", { "data-angle": omega * s.offset }, five(omega * s.offset)), " radians, wherever it was. A full turn takes ",
      `${(2 * Math.PI / omega).toFixed(1)} words.`);
    const values = products(k, s.words.length, s.width, s.base), far = offsetDistance(s.offset, s.width, s.base);
    whole.replaceChildren(`All ${all.length} clocks, offset ${signed(s.offset)}: inner product `,
      h("output", { "data-dot": values[other] }, five(values[other])), ", distance ",
      h("output", { "data-distance": far }, five(far)), ". Move the word: both stay.");
    const half = 100 / s.width, bar = v => `margin-left:${(50 + half * Math.min(v, 0)).toFixed(2)}%;`
      + `width:${(half * Math.abs(v)).toFixed(2)}%`;
    const col = text => h("th", { scope: "col" }, text);
    table.replaceChildren(
      h("thead", {}, h("tr", {}, col("position"), col("word"), col("offset"), col("inner product"), col("bar"))),
      h("tbody", {}, ...values.map((v, j) => h("tr", { className: j === k ? "cl-chosen" : j === other ? "cl-reach" : "" },
        h("td", {}, String(j)), h("th", { scope: "row" }, s.words[j]), h("td", {}, signed(j - k)),
        h("td", { "data-product": v }, five(v)),
        h("td", { className: "cl-bars" }, h("span", { className: "cl-track", "aria-hidden": "true" },
          h("span", { className: "cl-bar cl-prob", style: bar(v) })))))));
  }

  el.classList.add("cl-x");
  el.append(h("div", { className: "cl-sinusoids", role: "group", "aria-label": model.get("alt") },
    h("div", { className: "cl-top" }, h("label", {}, "Width", width), h("label", {}, "Base", base)), words,
    h("div", { className: "cl-row" }, h("label", {}, "Offset", offset), reached),
    svg, h("p", { className: "cl-legend" }, key("sin", "sine"), key("cos", "cosine"), key("now", "the word"),
      key("then", "the word at the offset")),
    clocks, reading, turn, whole, scroll, live));
  show();
  const heard = () => {
    if (own) return;
    show();
    live.textContent = `The figure was changed from outside. ${place(state())}`;
  };
  for (const k of STATE) model.on("change:" + k, heard);
  return () => { for (const k of STATE) model.off("change:" + k, heard); };
}
export default { render };
