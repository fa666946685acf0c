/* A computation graph, one step at a time. steps() has the rule of each operation, as the chapter's autodiff has;
   steps() in computation_graph.py walks the library's own values and is its reference. */
import { button, dropdown, h, on, refused, scrollable, svg, tie } from "./common.js";

/* Nodes in the order in which they are computed; (x, y) is the middle of the box. */
const input = (name, x, y) => ({ name, parents: [], x, y });
const node = (name, op, parents, x, y) => ({ name, op, parents, x, y });
export const GRAPHS = {
  loss: { title: "L = (y − βx)²", start: [3, 2, 7], nodes: [
    input("β", 65, 40), input("x", 65, 130), node("βx", "*", [0, 1], 225, 85),
    input("y", 225, 185), node("y − βx", "-", [3, 2], 385, 130), node("L", "square", [4], 545, 130)] },
  twice: { title: "y = (ab + c) a", start: [2, -3, 10], nodes: [
    input("a", 65, 40), input("b", 65, 130), node("ab", "*", [0, 1], 225, 110),
    input("c", 225, 200), node("ab + c", "+", [2, 3], 385, 150), node("y", "*", [4, 0], 545, 100)] },
};
const OPERATIONS = {
  "*": { f: (a, b) => a * b, rule: (g, a, b) => [g * b, g * a], sign: "×" },
  "+": { f: (a, b) => a + b, rule: g => [g, g], sign: "+" },
  "-": { f: (a, b) => a - b, rule: g => [g, -g], sign: "−" },
  square: { f: a => a ** 2, rule: (g, a) => [g * 2 * a], sign: "²" },
};
export const edges = ({ nodes }) => nodes.flatMap((n, k) => n.parents.map(p => [k, p])).sort((a, b) => b[0] - a[0]);
const inner = ({ nodes }) => nodes.flatMap((n, k) => n.op ? [k] : []);
export const length = graph => inner(graph).length + 1 + edges(graph).length;

/* Values and gradients after `step` steps of pass number `passes`, null where there is none; and what the last step
   did. */
export function steps(graph, inputs, step, passes = 1) {
  const { nodes } = graph, order = inner(graph), numbers = inputs[Symbol.iterator](), all = [];
  nodes.forEach(n => all.push(n.op ? OPERATIONS[n.op].f(...n.parents.map(p => all[p])) : numbers.next().value));
  const back = Math.max(0, step - order.length);
  const values = all.map((v, k) => nodes[k].op && order.indexOf(k) >= step ? null : v);
  const run = count => {                                             // the pass alone, and its last contribution
    const found = nodes.map(() => null);
    let last = null;
    if (count) found[nodes.length - 1] = 1;
    for (const [k, p] of edges(graph).slice(0, Math.max(0, count - 1))) {
      const { op, parents } = nodes[k];
      const part = OPERATIONS[op].rule(found[k], ...parents.map(q => all[q]))[parents.indexOf(p)];
      last = { from: k, to: p, g: found[k], part, before: found[p] };
      found[p] = (found[p] ?? 0) + part;
    }
    return { found, last };
  };
  const now = run(back), whole = passes > 1
    ? run(length(graph) - order.length).found.map(g => g * (passes - 1)) : nodes.map(() => null);
  const gradients = now.found.map((g, k) => g === null ? whole[k] : g + (whole[k] ?? 0));
  return { values, gradients, last: now.last, computed: step && step <= order.length ? order[step - 1] : null,
    seeded: back === 1 };
}

/* ---- the page ---- */
const TRAITS = ["graph", "inputs", "step", "passes"], MOST = 3, LARGEST = 10, W = 112, H = 66;
const short = v => (Math.round(1e4 * v) / 1e4 || 0).toString().replace("-", "−");

function render({ model, el }) {
  const { live, say, state, change, mount } = tie(model, TRAITS);
  const results = s => steps(GRAPHS[s.graph], s.inputs, s.step, s.passes);
  const bracket = v => v < 0 ? `(${short(v)})` : short(v);

  function story({ s, r }) {
    const graph = GRAPHS[s.graph], { nodes } = graph, end = s.step === length(graph);
    if (!s.step && s.passes === 1) return "Only the inputs are known. Step forward.";
    if (r.computed !== null) {
      const n = nodes[r.computed], args = n.parents.map(p => bracket(r.values[p]));
      const what = n.op === "square" ? `${args[0]}²` : args.join(` ${OPERATIONS[n.op].sign} `);
      return `Forward: ${n.name} = ${what} = ${short(r.values[r.computed])}.`;
    }
    const top = nodes[nodes.length - 1].name;
    if (r.seeded) return `Backward: the derivative of ${top} by itself is 1.`
      + (s.passes > 1 ? " It is added to what is there." : "");
    const { from, to, g, part, before } = r.last, n = nodes[from], other = n.parents.map(p => bracket(r.values[p]));
    const slope = n.op === "square" ? `2 × ${other[0]}` : n.op === "*" ? other[1 - n.parents.indexOf(to)]
      : n.op === "-" && to === n.parents[1] ? "(−1)" : "1";
    return `Backward: ${n.name} passes ${bracket(g)} × ${slope} = ${short(part)} to ${nodes[to].name}.`
      + (before !== null ? ` It was ${short(before)} by the other path: the sum is ${short(before + part)}.` : "")
      + (s.passes > 1 ? ` Pass ${s.passes}, never cleared: ${short(r.gradients[to])} stands there.`
        : end ? " All gradients are complete." : "");
  }
  const set = values => change(values, story);

  const which = dropdown(Object.entries(GRAPHS).map(([k, g]) => [k, g.title]), graph =>
    set({ graph, inputs: GRAPHS[graph].start, step: 0, passes: 1 }));
  const seed = s => inner(GRAPHS[s.graph]).length + 1;                // the first step backward
  const least = s => s.passes > 1 ? seed(s) : 0, most = s => length(GRAPHS[s.graph]);
  /* A button that cannot go on stays in the order of Tab, with the focus that it has. */
  const to = (text, values, may) => {
    const node = button(text, () => { const s = state(); if (may(s)) set(values(s)); });
    return { node, off: s => node.setAttribute("aria-disabled", String(!may(s))) };
  };
  const buttons = [
    to("step", s => ({ step: s.step + 1 }), s => s.step < most(s)),
    to("step back", s => ({ step: s.step - 1 }), s => s.step > least(s)),
    to("to the end", s => ({ step: most(s) }), s => s.step < most(s)),
    to("begin again", () => ({ step: 0, passes: 1 }), () => true),
    to("backward once more, without clearing", s => ({ passes: s.passes + 1, step: seed(s) }),
      s => s.step === most(s) && s.passes < MOST)];
  const fields = [0, 1, 2].map(k => {
    const field = h("input", { type: "text", inputMode: "decimal" }), name = h("span", {});
    on(field, "change", () => {
      const v = Number(field.value.trim().replace("−", "-").replace(",", "."));
      const bad = !field.value.trim() || !(Math.abs(v) <= LARGEST);
      refused(field, bad);
      if (bad) return say(`Not a number from −${LARGEST} to ${LARGEST}: the graph keeps what it had.`);
      set({ inputs: state().inputs.map((old, i) => i === k ? v : old) });
    });
    return { field, name, label: h("label", {}, name, field) };
  });

  const net = svg("svg", { class: "cl-cg-net", viewBox: "0 0 610 240", role: "img" });
  function show() {
    const s = state(), graph = GRAPHS[s.graph], r = results(s), { nodes } = graph;
    const touched = r.last ? r.last.to : r.seeded ? nodes.length - 1 : r.computed;
    const drawn = edges(graph).map(([k, p]) => {
      const [a, b] = [nodes[p], nodes[k]], lit = r.last && r.last.from === k && r.last.to === p;
      const far = b.x - a.x > 200, line = far ? `M${a.x + W / 2} ${a.y}C330 0 430 20 ${b.x - W / 2} ${b.y - 14}`
        : `M${a.x + W / 2} ${a.y}L${b.x - W / 2} ${b.y}`;
      return svg("path", { d: line, class: `cl-cg-edge${lit ? " cl-cg-lit" : ""}`, "data-edge": `${k} ${p}` });
    });
    const boxes = nodes.map((n, k) => {
      const text = (content, dy, kind) => svg("text", { x: n.x, y: n.y + dy, class: `cl-cg-${kind}` }, content);
      const v = r.values[k], g = r.gradients[k];
      return svg("g", { class: `cl-cg-node${k === touched ? " cl-cg-now" : ""}`, "data-value": v ?? "",
        "data-gradient": g ?? "" },
        svg("rect", { x: n.x - W / 2, y: n.y - H / 2, width: W, height: H, rx: 7 }), text(n.name, -15, "name"),
        text(v === null ? "·" : short(v), 5, "value"), text(g === null ? "—" : `grad ${short(g)}`, 25, "grad"));
    });
    net.replaceChildren(...drawn, ...boxes);
    net.setAttribute("aria-label", nodes.map((n, k) =>
      `${n.name}: value ${r.values[k] === null ? "not yet" : short(r.values[k])}, `
      + `gradient ${r.gradients[k] === null ? "none yet" : short(r.gradients[k])}`).join("; "));
    let at = 0;
    nodes.forEach(n => {
      if (n.op) return;
      const f = fields[at++];
      f.name.textContent = n.name;
      f.field.value = short(s.inputs[at - 1]);
      refused(f.field, false);
    });
    which.value = s.graph;
    for (const each of buttons) each.off(s);
    return { s, r };
  }

  const end = mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Graph", which), ...fields.map(f => f.label)),
    scrollable("graph", net),
    h("div", { className: "cl-buttons" }, ...buttons.map(each => each.node)), live), show, story);
  say(story(show()));
  return end;
}
export default { render };
