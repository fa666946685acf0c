/* MADE's masks on three to five variables. The functions above render() decide every connection; made_masks.py has the
   same functions and is their reference. Variables are 0-based here, 1-based on the page. A mask is
   mask[above][below]. */
import { button, columnHead, dropdown, h, on, svg, tie, xorshift } from "./common.js";

export const positions = order => order.map((_, i) => order.indexOf(i) + 1);
/* With a leak the output takes equal degrees too. */
export function masksOf(order, degrees, leak = false) {
  const position = positions(order), below = [position, ...degrees];
  const hidden = degrees.map((row, l) => row.map(m => below[l].map(b => m >= b)));
  return [...hidden, position.map(m => below[degrees.length].map(b => leak ? m >= b : m > b))];
}
/* reach[i][j]: a path leads from input j to output i. */
export function reach(masks) {
  return masks.slice(1).reduce((paths, mask) => mask.map(row =>
    paths[0].map((_, j) => row.some((may, k) => may && paths[k][j]))), masks[0]);
}
/* Inputs and hidden units with a path to one output, layer by layer from the input on. */
export function used(masks, output) {
  const found = [masks[masks.length - 1][output]];
  for (let l = masks.length - 2; l >= 0; l--) {
    found.unshift(masks[l][0].map((_, j) => masks[l].some((row, k) => found[0][k] && row[j])));
  }
  return found;
}
/* Hidden units that no path joins to an input, or to an output. */
export function idle(masks) {
  const above = [masks[masks.length - 1].map(() => true)];
  for (let l = masks.length - 1; l > 0; l--) {
    above.unshift(masks[l][0].map((_, j) => masks[l].some((row, k) => above[0][k] && row[j])));
  }
  let below = masks[0][0].map(() => true);
  return masks.slice(0, -1).map((mask, l) => {
    below = mask.map(row => row.some((may, j) => may && below[j]));
    return below.map((reached, k) => !(reached && above[l][k]));
  });
}
/* Degrees as MADE draws them: 1 to n - 1, in each layer at least the smallest of the layer below. */
export function draw(seed, n, widths) {
  const uniform = xorshift(seed);
  let low = 1;
  return widths.map(width => {
    const row = Array.from({ length: width }, () => low + Math.floor(uniform() * (n - low)));
    low = Math.min(...row);
    return row;
  });
}

/* ---- the page ---- */
const TRAITS = ["order", "degrees", "output", "seed", "leak"];
const STEP = 64, RISE = 84, RADIUS = 17;                             // pixels of the drawing
const names = list => list.length ? list.map(i => `x${i + 1}`).join(", ") : "nothing";
const factor = (order, i) => {
  const before = order.slice(0, order.indexOf(i)).sort((a, b) => a - b);
  return `p(x${i + 1}${before.length ? " | " + names(before) : ""})`;
};
/* The message of check_causal: it names the first factor that depends on itself, variables counted from 0. */
const itself = reads => reads.findIndex((row, i) => row[i]);
export const verdict = reads => itself(reads) < 0 ? "No factor depends on itself: the contract finds nothing."
  : `The contract, which counts from 0: factor ${itself(reads)} depends on x_${itself(reads)}, `
    + "which is the variable that it predicts.";
/* Everything the page shows of a state. */
function results(state) {
  const masks = masksOf(state.order, state.degrees, state.leak), reads = reach(masks), dead = idle(masks);
  const lit = state.output < 0 ? null : [...used(masks, state.output), state.order.map((_, i) => i === state.output)];
  return { state, masks, reads, dead, lit, rows: [positions(state.order), ...state.degrees, positions(state.order)] };
}
const sources = (reads, i) => reads[i].flatMap((may, j) => may ? [j] : []);

function render({ model, el }) {
  const { live, state, change, mount } = tie(model, TRAITS,
    "Set the degree of a hidden unit: click it, or focus it and press an arrow key. "
    + "Point at an output to see its paths.");
  const summary = ({ state: { order, leak }, reads, dead }) => {
    if (leak) return `The output takes equal degrees. ${verdict(reads)}`
      + (itself(reads) < 0 ? "" : " It may copy its input: the loss falls below what a distribution can have.");
    const lost = order.flatMap((i, k) => order.slice(0, k).filter(j => !reads[i][j])).length;
    const idleUnits = dead.flat().filter(Boolean).length;
    return (lost ? `${lost} of the allowed dependences ${lost > 1 ? "have" : "has"} no path. `
      : "Nothing allowed is lost. ")
      + (idleUnits ? `Dead units: ${idleUnits}.` : "No unit is dead.");
  };

  /* n, layers and widths: degrees are drawn anew where the shape changes */
  const counted = values => dropdown(values.map(v => [v, v]), () => shape());
  const variables = counted([3, 4, 5]), layers = counted([1, 2]), width = counted([2, 3, 4, 5, 6]);
  function shape() {
    const n = +variables.value, now = state(), widths = Array(+layers.value).fill(+width.value);
    const order = n === now.order.length ? now.order : Array.from({ length: n }, (_, i) => (i + 1) % n);
    change({ order, degrees: draw(now.seed, n, widths), output: now.output < n ? now.output : -1 }, got =>
      `${n} variables in the order ${names(order)}; degrees drawn anew. ${summary(got)}`);
  }
  const again = button("draw the degrees anew", () => {
    const now = state();
    change({ seed: now.seed + 1, degrees: draw(now.seed + 1, now.order.length, now.degrees.map(r => r.length)) },
      got => `Degrees drawn anew. ${summary(got)}`);
  });
  const order = h("div", { className: "cl-mm-order", role: "group", "aria-label": "Order of drawing" });
  const exchange = k => {
    const next = [...state().order];
    [next[k], next[k + 1]] = [next[k + 1], next[k]];
    change({ order: next }, got => `Order of drawing: ${names(next)}. ${summary(got)}`);
  };

  const net = svg("svg", { class: "cl-mm-net", role: "group", "aria-label": "Network: inputs below, outputs above" });
  const units = new Map();                 // the focusable groups, kept so that the focus stays where it is
  const setDegree = (l, k, m) => {
    const now = state(), n = now.order.length, to = Math.min(n, Math.max(1, m));
    const degrees = now.degrees.map((row, a) => row.map((v, b) => a === l && b === k ? to : v));
    change({ degrees }, got => `Hidden layer ${l + 1}, unit ${k + 1}: degree ${to}${got.dead[l][k]
      ? ", a dead unit" : ""}. ${summary(got)}`);
  };
  const choose = i => {
    if (state().output === i) return;
    change({ output: i }, ({ state: now, reads }) => i < 0 ? "No output is chosen."
      : `${factor(now.order, i)}: paths lead to it from ${names(sources(reads, i))}.`);
  };
  function unit(key, l, k, kind) {
    if (units.has(key)) return units.get(key);
    const g = svg("g", { class: "cl-mm-unit" }, svg("circle", { r: RADIUS }), svg("text", { dy: ".35em" }));
    if (kind === "hidden") {
      g.setAttribute("tabindex", 0);
      g.setAttribute("role", "spinbutton");
      g.setAttribute("aria-valuemin", 1);
      on(g, "click", () => setDegree(l, k, state().degrees[l][k] % state().order.length + 1));
      on(g, "keydown", e => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const step = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[e.key];
        const m = step ? state().degrees[l][k] + step : e.key === "Home" ? 1 : e.key === "End" ? Infinity : +e.key;
        if (m || step) { e.preventDefault(); setDegree(l, k, m); }
      });
    } else if (kind === "output") {
      g.setAttribute("tabindex", 0);
      g.setAttribute("role", "button");
      for (const name of ["focus", "mouseenter", "click"]) on(g, name, () => choose(k));
      on(g, "keydown", e => {
        if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(k); }
        if (e.key === "Escape") choose(-1);
      });
    }
    units.set(key, g);
    return g;
  }

  function drawNet({ state: now, masks, lit, dead, rows }) {
    const n = now.order.length, W = STEP * Math.max(...rows.map(r => r.length)), H = (rows.length - 1) * RISE + 92;
    const x = (l, k) => (k + 0.5) * W / rows[l].length, y = l => H - 46 - l * RISE;
    net.setAttribute("viewBox", `0 0 ${W} ${H}`);
    net.style.maxWidth = `${1.35 * W}px`;
    const lines = masks.flatMap((mask, l) => mask.flatMap((row, k) => row.flatMap((may, j) => may ? [svg("line", {
      x1: x(l, j), y1: y(l), x2: x(l + 1, k), y2: y(l + 1), "data-edge": `${l} ${k} ${j}`,
      class: (lit && lit[l + 1][k] ? "cl-mm-lit" : "")
        + (l === masks.length - 1 && rows[l + 1][k] === rows[l][j] ? " cl-mm-leak" : "") })] : [])));
    lines.sort((a, b) => a.getAttribute("class").length - b.getAttribute("class").length);
    const keep = new Set(), groups = rows.flatMap((row, l) => row.map((m, k) => {
      const kind = l === 0 ? "input" : l === rows.length - 1 ? "output" : "hidden", key = `${kind} ${l} ${k}`;
      const g = unit(key, l - 1, k, kind), gone = kind === "hidden" && dead[l - 1][k];
      keep.add(key);
      g.setAttribute("transform", `translate(${x(l, k)} ${y(l)})`);
      g.setAttribute("class",
        `cl-mm-unit cl-mm-${kind}${lit && lit[l][k] ? " cl-mm-lit" : ""}${gone ? " cl-mm-dead" : ""}`);
      g.lastChild.textContent = m;
      if (kind === "hidden") {
        g.setAttribute("aria-valuemax", n);
        g.setAttribute("aria-valuenow", m);
        g.setAttribute("aria-valuetext", `${m}${gone ? ", dead unit" : ""}`);
        g.setAttribute("aria-label", `degree of unit ${k + 1}, hidden layer ${l}`);
      }
      if (kind === "output") {
        g.setAttribute("aria-pressed", String(now.output === k));
        g.setAttribute("aria-label", `output ${factor(now.order, k)}, degree ${m}`);
      }
      return g;
    }));
    for (const key of [...units.keys()]) if (!keep.has(key)) { units.get(key).remove(); units.delete(key); }
    const label = (l, k, dy, text) => svg("text", { x: x(l, k), y: y(l) + dy, class: "cl-mm-label" }, text);
    const labels = now.order.flatMap((_, i) =>
      [label(0, i, 36, `x${i + 1}`), label(rows.length - 1, i, -27, `p(x${i + 1} | …)`)]);
    for (const old of net.querySelectorAll("line, .cl-mm-label")) old.remove();
    net.prepend(...lines);
    net.append(...labels);
    if (groups.some(g => g.parentNode !== net)) net.append(...groups);           // all: Tab goes from below upwards
  }

  const leaks = on(h("input", { type: "checkbox", "data-leak": "" }), "change", () => {
    const now = state(), first = itself(reach(masksOf(now.order, now.degrees, true)));       // its path is shown
    change({ leak: leaks.checked, ...(leaks.checked && first >= 0 ? { output: first } : {}) }, got =>
      leaks.checked ? summary(got) : `The output takes smaller degrees only, as it must. ${summary(got)}`);
  });
  const table = h("table", { className: "cl-mm-table" }), sentences = h("ul", { className: "cl-mm-list" });
  const sorted = h("input", { type: "checkbox" });
  on(sorted, "change", () => show());
  function drawTable({ state: now, reads }) {
    const listed = sorted.checked ? now.order : now.order.map((_, i) => i);
    const cell = (i, j) => {
      const may = now.order.indexOf(j) < now.order.indexOf(i);
      const kind = reads[i][j] ? (may ? "reads" : "leak") : may ? "lost" : "never";
      return h("td", { className: `cl-mm-${kind}`, "data-cell": `${i} ${j}`, "data-kind": kind },
        { reads: "●", leak: "✗", lost: "○", never: "·" }[kind]);
    };
    table.replaceChildren(h("caption", {}, "Who reads whom: the pattern of the Jacobian"),
      h("thead", {}, h("tr", {}, columnHead("factor"), ...listed.map(j => columnHead(`x${j + 1}`)))),
      h("tbody", {}, ...listed.map(i => h("tr", { className: i === now.output ? "cl-mm-row" : "" },
        h("th", { scope: "row" }, `of x${i + 1}`), ...listed.map(j => cell(i, j))))));
    sentences.replaceChildren(...now.order.map(i => h("li", { "data-factor": i },
      `${factor(now.order, i)} reads ${names(sources(reads, i))}.`)));
  }
  function show() {
    const now = state(), got = results(now);
    leaks.checked = now.leak;
    variables.value = now.order.length;
    layers.value = now.degrees.length;
    width.value = now.degrees[0].length;
    const at = [...order.children].indexOf(document.activeElement?.closest?.(".cl-mm-swap"));
    order.replaceChildren(h("span", {}, "Drawn: "), ...now.order.flatMap((i, k) => {
      const out = [h("span", { className: "cl-mm-place" }, `x${i + 1}`)];
      if (k < now.order.length - 1) {
        out.push(button("⇄", () => exchange(k), { className: "cl-mm-swap",
          "aria-label": `exchange x${i + 1} and x${now.order[k + 1] + 1}` }));
      }
      return out;
    }));
    if (at >= 0) order.children[at]?.focus();
    drawNet(got);
    drawTable(got);
    return got;
  }

  return mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Variables", variables), h("label", {}, "Hidden layers", layers),
      h("label", {}, "Units in a layer", width), again,
      h("label", {}, leaks, "plant a fault: into the output, equal degrees pass too (≥ for >)")), order,
    h("div", { className: "cl-mm-cols" }, net,
      h("div", {}, table, h("p", { className: "cl-legend" }, h("span", {}, "● reads"),
        h("span", {}, "○ may read, but no path is left"), h("span", {}, "· must not read"),
        h("span", {}, "✗ must not, and does")),
        h("label", { className: "cl-mm-check" }, sorted, "list in the order of drawing"), sentences)),
    h("p", { className: "cl-note" }, "Circles hold degrees. A dashed circle is a dead unit: no path joins it to an "
      + "input, or to an output."),
    live), show, summary);
}
export default { render };
