/* The chain rule on three binary variables. The functions above render() compute every number that is shown;
   chain_rule.py has the same functions and is their reference. Variables and orders are 0-based here, 1-based on the
   page. Row r of the table is x = (r >> 2, r >> 1 & 1, r & 1). */
import { button, columnHead, dropdown, h, legendKey, numbered, on, refused, scrollable, showChoice, sum, svg, tie,
  xorshift } from "./common.js";

const ROWS = Array.from({ length: 8 }, (_, r) => [r >> 2, r >> 1 & 1, r & 1]);
const MAX_DRAWN = 10000;

/* The three factors of p(x): p(x_a), p(x_b | x_a), p(x_c | x_a, x_b) at their values in x. */
export function factors(x, c, order) {
  const [a, b, d] = order.map(i => x[i]), at = (slot, v) => v ? c[slot] : 1 - c[slot];
  return [at(0, a), at(1 + a, b), at(3 + 2 * a + b, d)];
}
export function jointFromConditionals(c, order) {
  return ROWS.map(x => { const [f, g, h] = factors(x, c, order); return f * g * h; });
}
/* p(x_i = 1 | fixed), fixed a list of [variable, value]; 1/2 where the context never happens. */
function given(joint, i, fixed) {
  const mass = [0, 0];
  ROWS.forEach((x, r) => { if (fixed.every(([j, v]) => x[j] === v)) mass[x[i]] += joint[r]; });
  const whole = mass[0] + mass[1];
  return whole > 0 ? mass[1] / whole : 0.5;
}
/* The contexts of the factor at place k: values of the variables before it, in the order of the seven slots. */
const contexts = k => [[[]], [[0], [1]], [[0, 0], [0, 1], [1, 0], [1, 1]]][k];
const slot = (k, values) => [0, 1, 3][k] + values.reduce((s, v) => 2 * s + v, 0);
const hasArrow = (dropped, i, j) => !dropped.some(d => d.includes(i) && d.includes(j));

export function conditionalsInOrder(joint, order) {
  return [0, 1, 2].flatMap(k => contexts(k).map(values =>
    given(joint, order[k], values.map((v, j) => [order[j], v]))));
}
/* The nearest model without the dropped arrows: each conditional given the parents that are left. */
export function project(c, order, dropped) {
  const joint = jointFromConditionals(c, order);
  return [0, 1, 2].flatMap(k => contexts(k).map(values => {
    const kept = values.map((v, j) => [order[j], v]).filter(([j]) => hasArrow(dropped, order[k], j));
    return kept.length === k ? c[slot(k, values)] : given(joint, order[k], kept);
  }));
}
export function kl(p, q) {
  return p.reduce((s, v, r) => v > 0 ? s + v * Math.log(v / q[r]) : s, 0);
}
/* Nats that each factor loses by its dropped parents; they add up to kl(p, q). */
export function costs(c, order, dropped) {
  const p = jointFromConditionals(c, order), q = project(c, order, dropped), lost = [0, 0, 0];
  ROWS.forEach((x, r) => {
    const full = factors(x, c, order), best = factors(x, q, order);
    if (p[r] > 0) for (const k of [0, 1, 2]) lost[k] += p[r] * Math.log(full[k] / best[k]);
  });
  return lost;
}
/* One sample, one variable after the other by inverse CDF: 0 if u < p(0 | before), else 1. */
export function draw(c, order, uniform) {
  const x = [0, 0, 0], steps = [], before = [];
  order.forEach((i, k) => {
    const u = uniform(), zero = 1 - c[slot(k, before)];
    x[i] = u >= zero ? 1 : 0; before.push(x[i]); steps.push({ i, u, zero });
  });
  return { x, steps };
}
export function counts(c, order, seed, num) {
  const uniform = xorshift(seed), n = Array(8).fill(0);
  let last = null;
  for (let s = 0; s < num; s++) {
    last = draw(c, order, uniform);
    n[4 * last.x[0] + 2 * last.x[1] + last.x[2]]++;
  }
  return { n, last };
}

/* ---- the page ---- */
const ORDERS = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
const TRAITS = ["conditionals", "order", "dropped", "drawn", "seed"];
const plain = s => s.replaceAll("x_", "x");
const short = v => String(+v.toFixed(4));
const nats = v => Math.max(0, v).toFixed(4) + " nats";
const names = order => order.map(i => `x${i + 1}`).join(", ");
const event = (i, v) => `x_${i + 1} = ${v}`;
const conditional = (left, right) => `p(${left}${right.length ? " | " + right.join(", ") : ""})`;
const parents = (s, k) => s.order.slice(0, k).filter(j => hasArrow(s.dropped, s.order[k], j));
const numbers = s => [0, 1, 2].reduce((n, k) => n + 2 ** parents(s, k).length, 0);

/* Everything the page shows of a state s: p, its best model q, and the conditionals c of q. */
function results(s) {
  const c = project(s.conditionals, s.order, s.dropped);
  const p = jointFromConditionals(s.conditionals, s.order), q = jointFromConditionals(c, s.order);
  return { s, c, p, q, cost: kl(p, q), total: sum(q).toFixed(6) };
}

/* "p(x_2 = 1)" with an italic x and a subscript. */
function maths(text) {
  const out = h("span", { className: "cl-maths" });
  for (const t of text.split(/(x_\d)/)) out.append(...(/^x_\d$/.test(t) ? [h("i", {}, "x"), h("sub", {}, t[2])] : [t]));
  return out;
}

/* The graph of the model: a circle for each variable, in the order of drawing, and an arrow from each of its parents,
   dotted when it is dropped. An arrow leads from place j to place k; its head is a triangle. */
const CENTRES = [28, 110, 192];
const ARROWS = [
  { j: 0, k: 1, line: "M46 58H86", head: "93,58 85,53.5 85,62.5" },
  { j: 1, k: 2, line: "M128 58H168", head: "175,58 167,53.5 167,62.5" },
  { j: 0, k: 2, line: "M39.5 45Q110 2 174 41.5", head: "180.5,45.5 175.5,37.4 170.8,45.2" },
];
function graph() {
  const labels = CENTRES.map(() => [svg("tspan", { "font-style": "italic" }), svg("tspan", { dy: 4, "font-size": 10 })]);
  const arrows = ARROWS.map(({ line, head }) => svg("g", {}, svg("path", { d: line }), svg("polygon", { points: head })));
  const node = svg("svg", { class: "cl-graph", viewBox: "0 18 220 59", role: "img" }, ...arrows,
    ...CENTRES.flatMap((x, k) => [svg("circle", { cx: x, cy: 58, r: 17 }),
      svg("text", { x, y: 62, "text-anchor": "middle" }, ...labels[k])]));
  return { node, show(s) {
    labels.forEach(([x, i], k) => { x.textContent = "x"; i.textContent = s.order[k] + 1; });
    const said = ARROWS.map(({ j, k }, a) => {
      const from = s.order[j] + 1, to = s.order[k] + 1, kept = hasArrow(s.dropped, s.order[j], s.order[k]);
      arrows[a].setAttribute("class", kept ? "" : "cl-gone");
      arrows[a].setAttribute("data-arrow", `${from}-${to}`);
      return `x${from} to x${to}${kept ? "" : " dropped"}`;
    });
    node.setAttribute("aria-label", `Graph. Arrows: ${said.join(", ")}.`);
  } };
}

/* One conditional: a slider and a number to type in, or only a number where a dropped parent leaves nothing to set. */
function conditionalRow(s, k, values, set, say) {
  const kept = values.map((v, j) => [s.order[j], v]).filter(([j]) => parents(s, k).includes(j));
  const label = conditional(event(s.order[k], 1), kept.map(([j, v]) => event(j, v))), at = slot(k, values);
  if (kept.length < k) {
    const out = h("output", { "data-slot": at });
    return {
      at, node: h("div", { className: "cl-row" }, maths(label), h("span", {}, "best: "), out),
      show: v => { out.textContent = short(v); out.dataset.p = v; },
    };
  }
  const range = h("input", { type: "range", min: 0, max: 1, step: 0.01, "data-slot": at });
  const text = h("input", { type: "text", inputMode: "decimal", autocomplete: "off", "data-slot": at,
    "aria-label": plain(label) + ", as a number" });
  let shown;
  on(range, "input", () => set(at, +range.value, label));
  on(text, "change", () => {
    const typed = text.value.trim().replace(",", "."), v = Number(typed), good = typed !== "" && v >= 0 && v <= 1;
    refused(text, !good);
    if (!good) say(`${label}: got "${text.value}"; expected a number from 0 to 1.`);
    else if (typed !== shown) set(at, v, label);
  });
  return {
    at, node: h("div", { className: "cl-row" }, h("label", {}, maths(label), range), text),
    show: v => {
      shown = short(v);
      range.value = v;
      range.setAttribute("aria-valuetext", shown);
      text.value = shown;
      text.dataset.p = v;
      text.removeAttribute("aria-invalid");
    },
  };
}

/* The eight rows: x, the factors of the model, their product, p where it differs, bars and counts. */
function fillTable(table, { s, c, p, q }, drawn) {
  const some = s.dropped.length > 0, col = columnHead;
  const product = s.order.map((i, k) => conditional(`x_${i + 1}`, parents(s, k).map(j => `x_${j + 1}`))).join(" ");
  const share = drawn.map(v => s.drawn ? v / s.drawn : 0), scale = Math.max(...p, ...q, ...share);
  const percent = v => (100 * v / scale).toFixed(2) + "%";
  const bar = (kind, v) => h("span", { className: `cl-bar cl-${kind}`, style: `width:${percent(v)}` });
  table.replaceChildren(
    h("thead", {}, h("tr", {}, col(maths("x_1 x_2 x_3")), col(h("span", { className: "cl-formula" },
      ...product.split(/(?<=\)) /).flatMap(f => [maths(f), " "]))), col(some ? "product q" : "product"),
      ...(some ? [col("joint p")] : []), col("bars"), col("drawn"))),
    h("tbody", {}, ...ROWS.map((x, r) => h("tr", { "data-row": r },
      h("th", { scope: "row" }, x.join(" ")),
      h("td", { className: "cl-product" }, factors(x, c, s.order).map(short).join(" × ")),
      h("td", { "data-q": q[r] }, q[r].toFixed(6)),
      ...(some ? [h("td", { "data-joint": p[r] }, p[r].toFixed(6))] : []),
      h("td", { className: "cl-bars" }, h("span", { className: "cl-track", "aria-hidden": "true" },
        bar("prob", q[r]), ...(s.drawn ? [bar("share", share[r])] : []),
        ...(some ? [h("span", { className: "cl-tick", style: `left:${percent(p[r])}` })] : []))),
      h("td", { "data-count": drawn[r] }, s.drawn ? String(drawn[r]) : "–")))));
}

function render({ model, el }) {
  const { live, say, state, change, mount } = tie(model, TRAITS,
    "Move a slider, take an arrow away, change the order or draw samples.");
  const presets = model.get("presets");
  let built = "", rows = [];
  const announce = text => say(plain(text));
  const set = (at, value, label) => change(
    { conditionals: state().conditionals.map((v, i) => i === at ? value : v), drawn: 0 },
    ({ total }) => plain(`${label} is ${short(value)}. The eight products sum to ${total}.`));

  const preset = dropdown(numbered(presets.map(p => p.label)), i => {
    const { joint, label } = presets[i];
    change({ conditionals: conditionalsInOrder(joint, state().order), drawn: 0 },
      got => `Joint: ${label}. The eight products sum to ${got.total}.`);
  }, "your own numbers");
  const order = dropdown(ORDERS.map(o => [o.join(""), names(o)]), chosen => {
    const s = state(), next = [...chosen].map(Number), before = jointFromConditionals(s.conditionals, s.order);
    change({ order: next, conditionals: conditionalsInOrder(before, next), drawn: 0 }, ({ p, cost }) => {
      const moved = Math.max(...p.map((v, r) => Math.abs(v - before[r]))).toFixed(6);
      return `Order ${names(next)}: other conditionals. The joint p moved by ${moved}.`
        + (s.dropped.length ? ` Without the dropped arrows this order costs ${nats(cost)}.` : "");
    });
  });

  // one fieldset for each factor, with a box for each possible parent
  const blocks = [0, 1, 2].map(k => {
    const b = { legend: h("legend"), boxes: [], rows: h("div"), cost: h("p", { className: "cl-note" }) };
    for (let j = 0; j < k; j++) {
      const box = h("input", { type: "checkbox" }), text = h("span");
      on(box, "change", () => {
        const { order: o, dropped } = state(), rest = dropped.filter(d => !(d.includes(o[j]) && d.includes(o[k])));
        change({ dropped: box.checked ? rest : [...rest, [o[j], o[k]].sort()], drawn: 0 }, ({ s, cost }) =>
          plain(`x_${o[k] + 1} ${box.checked ? "reads" : "no longer reads"} x_${o[j] + 1}. `
          + `Cost ${nats(cost)}, ${numbers(s)} numbers.`));
      });
      b.boxes.push({ box, text, node: h("label", {}, box, text) });
    }
    const boxes = h("div", { className: "cl-parents" }, ...b.boxes.map(({ node }) => node));
    b.node = h("fieldset", {}, b.legend, boxes, b.rows, b.cost);
    return b;
  });
  function build(s) {
    rows = [];
    blocks.forEach((b, k) => {
      const kept = parents(s, k), whole = kept.length === k;
      b.legend.replaceChildren(maths("Draw " + conditional(`x_${s.order[k] + 1}`, kept.map(j => `x_${j + 1}`))));
      b.boxes.forEach(({ box, text }, j) => {
        box.checked = hasArrow(s.dropped, s.order[k], s.order[j]);
        text.replaceChildren(maths(`x_${s.order[k] + 1} reads x_${s.order[j] + 1}`));
      });
      const mine = contexts(k).filter(values => whole || values.every((v, j) => !v || kept.includes(s.order[j])))
        .map(values => conditionalRow(s, k, values, set, announce));
      b.rows.replaceChildren(...mine.map(r => r.node));
      rows.push(...mine);
    });
  }

  const table = h("table"), drawing = graph(), total = h("output", { "data-sum": "" });
  const cost = h("p"), trace = h("p", { className: "cl-trace" });
  const take = num => () => change({ drawn: Math.min(MAX_DRAWN, state().drawn + num) }, ({ s, q, n }) => {
    const gap = Math.max(...q.map((v, r) => Math.abs(v - n[r] / s.drawn))).toFixed(3);
    return `Samples drawn: ${s.drawn}${s.drawn < MAX_DRAWN ? "" : ", the most that are kept"}. `
      + `Largest gap between share and probability: ${gap}.`;
  });
  const clear = button("clear", () => change({ drawn: 0 }, () => "Samples cleared."));
  const tick = legendKey("tick", "joint p, all arrows kept");

  function show() {
    const s = state(), now = JSON.stringify([s.order, s.dropped]), got = results(s), some = s.dropped.length > 0;
    if (now !== built) { built = now; build(s); }
    const { n, last } = counts(got.c, s.order, s.seed, s.drawn), each = costs(s.conditionals, s.order, s.dropped);
    order.value = s.order.join("");
    const match = presets.findIndex(t => t.joint.every((v, r) => Math.abs(v - got.p[r]) < 1e-9));
    showChoice(preset, match);
    drawing.show(s);
    rows.forEach(r => r.show(got.c[r.at]));
    blocks.forEach((b, k) => { b.cost.textContent = parents(s, k).length < k ? `Costs ${nats(each[k])}.` : ""; });
    fillTable(table, got, n);
    total.textContent = got.total;
    cost.replaceChildren(some ? "KL(p ‖ q), the cost of the dropped arrows: " : "No arrow is dropped: ",
      h("output", { "data-kl": got.cost }, nats(got.cost)), ` (${numbers(s)} numbers${some ? " instead of 7" : ""}).`);
    tick.hidden = !some;
    clear.setAttribute("aria-disabled", String(!s.drawn));            // `disabled` would take the focus away
    const steps = last?.steps.map(({ i, u, zero }) =>
      `u = ${u.toFixed(4)} ${u < zero ? "<" : "≥"} ${short(zero)}, so ${event(i, last.x[i])}`);
    trace.replaceChildren(...(last ? [maths(`Sample ${s.drawn}: ${steps.join("; ")}.`)] : []));
    return { ...got, n };
  }

  return mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Joint", preset), h("label", {}, "Order of drawing", order),
      drawing.node),
    h("div", { className: "cl-cols" },
      h("div", { className: "cl-factors" }, ...blocks.map(b => b.node)),
      h("div", { className: "cl-result" }, scrollable("Joint table and samples", table),
        h("p", { className: "cl-legend" }, legendKey("prob", "probability"),
          legendKey("share", "share of the samples"), tick),
        h("p", {}, "Sum of the eight products: ", total), cost,
        h("div", { className: "cl-buttons" },
          button("draw 1 sample", take(1)), button("draw 100 samples", take(100)), clear), trace)),
    live), show, got => `The eight products sum to ${got.total}.`);
}
export default { render };
