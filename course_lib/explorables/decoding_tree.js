/* The page of the decoding tree. Every number comes from decoding_search.js, which a page has before this. */
import { button, columnHead, dropdown, h, numbered, on, scrollable, sum, svg, tie } from "./common.js";
import { beginnings, follow, sequences } from "./decoding_search.js";

const TRAITS = ["tree", "strategy", "width", "exponent", "temperature", "top_k", "top_p", "seed", "step"];
const FATES = { kept: "kept", finished: "finished", dropped: "dropped", stopped: "left, the search was over",
  cut: "cut", behind: "behind a cut", "": "not looked at" };
const ROW = 38, BOX = 24, GAP = 9, LINE = 44;                        // pixels of the drawing
const fix = (v, d) => v === -Infinity ? "−∞" : (+v.toFixed(d) || 0).toFixed(d).replace("-", "−");
const fate = (kind, s) => kind === "dropped" && s.strategy === "sampling" ? "not drawn" : FATES[kind];
/* Heights of the nodes: sequences one below another, a beginning amid those that it leads to. */
function heights(nodes) {
  const y = new Map(), of = prefix => nodes.filter(b => b.tokens.length === prefix.length + 1
    && prefix.every((v, i) => v === b.tokens[i]));
  let leaves = 0;
  (function place(tokens, last) {
    const at = last ? leaves++ : (ys => sum(ys) / ys.length)(of(tokens).map(b => place(b.tokens, b.last)));
    y.set(String(tokens), at);
    return at;
  })([], false);
  return { y, leaves };
}

const HELP = "Take the search one step on. A change of the settings shows the result at once; step back to take it apart.";

function render({ model, el }) {
  const { live, state, change, mount } = tie(model, TRAITS);
  live.classList.add("cl-unseen");                                   // the page shows the step and the verdict already
  const trees = model.get("trees");
  const write = (tree, tokens) => tokens.map(v => tree.symbols[v]).join(tree.joiner);
  const most = () => Math.max(...trees[model.get("tree")].rows.map(row => row.length));

  /* all that is shown follows from the settings and the number of steps */
  function view() {
    const s = state(), tree = trees[s.tree], steps = follow(tree, s), t = Math.min(s.step, steps.length);
    const nodes = beginnings(tree, s), all = sequences(tree, s), fates = new Map();
    const name = b => `“${write(tree, b.tokens)}”`, scored = s.strategy === "beam search" && s.exponent > 0;
    steps.slice(0, t).forEach(step => {
      for (const kind of ["kept", "finished", "dropped", "stopped", "cut"]) {
        for (const b of step[kind]) fates.set(String(b.tokens), kind);
      }
    });
    for (const b of [...nodes, ...all]) {
      b.key = String(b.tokens);
      b.fate = b.q === 0 ? "cut" : b.score === -Infinity ? "behind" : fates.get(b.key) ?? "";
    }
    return { s, tree, steps, t, nodes, all, name, scored, found: t === steps.length ? steps.at(-1).done[0] : null };
  }
  function told({ s, tree, steps, t, name }) {
    if (!t) return `No step taken, of ${steps.length}.`;
    const { kept, finished, dropped, stopped, done, cut, u, open } = steps[t - 1], here = kept[0] ?? finished[0];
    const head = `Step ${t} of ${steps.length}: `, list = (what, f) => what.length ? what.map(f).join(", ") : "none";
    if (s.strategy === "sampling") {
      return `${head}u = ${u.toFixed(4)} falls to ${name(here)}, whose share reaches from ${fix(here.from, 4)} to `
        + `${fix(here.to, 4)}. Not drawn: ${list(dropped, name)}. Cut: ${list(cut, name)}.`;
    }
    if (s.strategy === "greedy") {
      return `${head}${name(here)} is the likeliest, ln p = ${fix(here.logProb, 3)}. Dropped: ${list(dropped, name)}.`;
    }
    return `${head}kept ${list(kept, b => `${name(b)} (ln p ${fix(b.logProb, 3)})`)}; finished `
      + `${list(finished, b => `${name(b)} (score ${fix(b.score, 3)})`)}; dropped ${list(dropped, name)}.`
      + (stopped.length ? ` The search is over: ${done.length === 1 ? "one has" : `${done.length} have`} finished, `
        + `and ${name(stopped[0])}, the best that is open, scores no better.` : "");
  }
  function verdict({ s, all, found, name, scored }) {
    if (!found) return "";
    const rank = 1 + all.filter(b => b.score > found.score + 1e-12).length, best = all[0];
    if (s.strategy === "sampling") {
      const possible = all.filter(b => b.score > -Infinity);
      return `Drawn: ${name(found)}, p = ${fix(Math.exp(found.logProb), 4)} in the model, `
        + `${fix(Math.exp(found.score), 4)} under the setting, which leaves ${possible.length} of ${all.length} `
        + `sequences. The likeliest in the model is ${name(best)}: ${fix(Math.exp(best.logProb), 4)}, under the `
        + `setting ${fix(Math.exp(best.score), 4)}.`;
    }
    const told = b => `p = ${fix(Math.exp(b.logProb), 4)}, ${scored ? "score" : "ln p ="} ${fix(b.score, 4)}`;
    return `Found: ${name(found)}, ${told(found)}. ` + (rank === 1 ? `That is the best of all ${all.length} sequences.`
      : `That is number ${rank} of ${all.length} sequences; the best is ${name(best)}, ${told(best)}.`);
  }
  /* What is said after a change: what was set, if anything, and what came of it. */
  const sentence = set => v => [set, told(v), verdict(v)].filter(Boolean).join(" ");

  /* controls: a change of the settings shows the result, whose steps can then be taken back */
  const end = () => trees[model.get("tree")].length;
  function choice(label, key, options) {
    const node = dropdown(options, chosen => {
      const value = key === "tree" ? +chosen : chosen;
      change({ [key]: value, step: key === "tree" ? trees[value].length : end() },
        sentence(`${label}: ${node.selectedOptions[0].textContent}.`));
    });
    return { key, node, box: h("label", {}, label, node), show: s => { node.value = String(s[key]); } };
  }
  function slider(label, key, strategy, props, read, put, text) {
    const node = h("input", { type: "range", "data-setting": key, ...props }), out = h("output", {});
    on(node, "input", () => change({ [key]: read(+node.value), step: end() },
      sentence(`${label} ${text(read(+node.value))}.`)));
    return { key, node, box: h("label", {}, h("span", {}, label), node, out), show: s => {
      if (key === "top_k") node.max = most();
      node.value = put(s[key]);
      node.setAttribute("aria-valuetext", text(s[key]));
      out.textContent = text(s[key]);
    }, strategy };
  }
  const asIs = v => v, orAll = (v, none) => v === none ? "all" : String(v);
  const controls = [choice("Tree", "tree", numbered(trees.map(tree => tree.label))),
    choice("Strategy", "strategy", ["greedy", "beam search", "sampling"].map(v => [v, v]))];
  const sliders = [
    slider("Width", "width", "beam search", { min: 1, max: 5, step: 1 }, asIs, asIs, String),
    slider("Length exponent", "exponent", "beam search", { min: 0, max: 2, step: .1 }, asIs, asIs, v => v.toFixed(1)),
    slider("Temperature", "temperature", "sampling", { min: 0, max: 2, step: .1 }, asIs, asIs, v => v.toFixed(1)),
    slider("Top-k", "top_k", "sampling", { min: 1, max: 3, step: 1 }, v => v === most() ? 0 : v,
      v => v === 0 ? most() : Math.min(v, most()), v => orAll(v >= most() ? 0 : v, 0)),
    slider("Top-p", "top_p", "sampling", { min: 5, max: 105, step: 10 }, v => Math.min(v, 100) / 100,
      v => v > .95 ? 105 : 100 * v, v => orAll(v, 1))];
  const go = f => () => {
    const { t, steps } = view();
    change({ step: Math.max(0, Math.min(steps.length, f(t, steps.length))) }, sentence(""));
  };
  const again = button("draw again", () =>
    change({ seed: model.get("seed") + 1, step: end() }, sentence("Other uniforms.")));
  const buttons = h("div", { className: "cl-buttons" }, button("one step on", go(t => t + 1)),
    button("one step back", go(t => t - 1)), button("to the end", go((t, n) => n)),
    button("to the start", go(() => 0)), again);

  const note = h("p", { className: "cl-dt-note" }), status = h("p", { "data-status": "" });
  const judged = h("p", { "data-verdict": "" }), key = h("p", { className: "cl-dt-key" });
  const cdf = h("div", { className: "cl-dt-cdf", "aria-hidden": "true" });
  const drawing = svg("svg", { role: "img", "aria-label": "The tree; its numbers are in the tables below" });
  const stage = scrollable("Tree", drawing);
  const rows = label => h("table", { "aria-label": label }, h("thead"), h("tbody"));
  const whole = rows("All sequences"), nodesTable = rows("All beginnings");

  /* the tree: a box for each beginning, p of its symbol above its line, what it is judged by below */
  function draw({ s, tree, nodes, all, found, scored }) {
    const { y, leaves } = heights(nodes), best = all[0].key;
    const boxes = Array.from({ length: tree.length }, (_, t) => 12 + 7.6 * Math.max(
      ...nodes.filter(b => b.tokens.length === t + 1).map(b => tree.symbols[b.tokens[t]].length)));
    const line = Math.min(110, Math.max(LINE, (stage.clientWidth - 84 - sum(boxes)) / tree.length - GAP));
    const xs = boxes.reduce((all, box) => [...all, all.at(-1) + GAP + line + box], [8]), W = Math.ceil(xs.at(-1) + 74);
    const x = t => xs[t], at = tokens => ROW * y.get(String(tokens)) + ROW / 2 + 4, H = ROW * leaves + 8;
    drawing.setAttribute("width", W);
    drawing.setAttribute("height", H);
    drawing.setAttribute("viewBox", `0 0 ${W} ${H}`);
    const order = ["behind", "cut", "", "dropped", "stopped", "kept", "finished"];
    drawing.replaceChildren(svg("circle", { cx: 8, cy: at([]), r: 5, class: "cl-dt-start" }),
      ...[...nodes].sort((a, b) => order.indexOf(a.fate) - order.indexOf(b.fate)).map(b => {
        const t = b.tokens.length, box = boxes[t - 1], left = x(t) - box;
        const y0 = at(b.tokens.slice(0, -1)), y1 = at(b.tokens);
        const trunk = x(t - 1) + GAP, middle = (trunk + left) / 2 - 4, text = (string, props) =>
          svg("text", { "text-anchor": "middle", ...props }, string);
        const node = svg("g", { class: `cl-dt-node cl-dt-${b.fate || "open"}`, "data-node": b.key, "data-fate": b.fate,
          "data-p": b.p, "data-q": b.q, "data-log-prob": b.logProb, "data-score": b.score },
        svg("path", { d: `M${x(t - 1)} ${y0}H${trunk}V${y1}H${left}` }),
        svg("rect", { x: left, y: y1 - BOX / 2, width: box, height: BOX, rx: 4 }));
        const put = (kind, d) => b.fate === kind && node.append(svg("path", { d, class: "cl-dt-mark" }));
        put("finished", `M${left + 3} ${y1 - BOX / 2 + 3}h${box - 6}v${BOX - 6}h${6 - box}Z`);
        put("dropped", `M${left - 10} ${y1 - 4}l8 8m0 -8l-8 8`);
        put("stopped", `M${left - 8} ${y1 - 5}v10m5 -10v10`);
        node.append(text(tree.symbols[b.tokens.at(-1)], { x: left + box / 2, y: y1 + 4.5, class: "cl-dt-symbol" }),
          text(fix(b.p, 2), { x: middle, y: y1 - 4 }),
          text(s.strategy !== "sampling" ? fix(b.logProb, 2) : b.q === 0 ? "cut" : fix(b.q, 2),
            { x: middle, y: y1 + 13, class: "cl-dt-below" }));
        if (b.last) {
          const value = scored ? b.score : Math.exp(s.strategy === "sampling" ? b.score : b.logProb);
          const result = found && b.key === String(found.tokens);
          node.append(text(fix(value, 3) + (b.key === best ? " ★" : "") + (result ? " ◄" : ""),
            { x: x(t) + 6, y: y1 + 4.5, "text-anchor": "start" }));
        }
        return node;
      }));
  }
  function table(node, heads, body) {
    node.tHead.replaceChildren(h("tr", {}, ...heads.map(text => columnHead(text))));
    node.tBodies[0].replaceChildren(...body.map(([props, first, ...cells]) => h("tr", props,
      h("th", { scope: "row" }, first), ...cells.map(cell => h("td", {}, cell)))));
  }
  /* where a sequence was left: at the first of its beginnings that did not go on */
  function left({ s, steps, t, nodes, found }, b) {
    const fates = b.tokens.map((_, i) => nodes.find(n => n.key === String(b.tokens.slice(0, i + 1))).fate);
    const i = fates.findIndex(f => f && f !== "kept"), kind = fates[i];
    if (i < 0) return fates.includes("kept") || !t ? "open" : fate("", s);
    if (kind !== "finished") return `${fate(kind, s)}${kind === "cut" || kind === "behind" ? "" : `, step ${i + 1}`}`;
    if (found && b.key === String(found.tokens)) return "the result";
    const counts = steps[t - 1].done.some(d => String(d.tokens) === b.key);
    return `finished, step ${i + 1}${counts ? "" : `, not among the ${s.width} best`}`;
  }
  const bars = (most, ...values) => h("div", { "aria-hidden": "true" }, ...values.map(([kind, v]) =>
    h("span", { className: `cl-bar ${kind}`, style: `width:${100 * v / most}%`, hidden: v === 0 })));
  function show() {
    const v = view(), { s, tree, steps, t, nodes, all, scored } = v, sampling = s.strategy === "sampling";
    for (const c of [...controls, ...sliders]) c.show(s);
    for (const c of sliders) c.box.hidden = c.strategy !== s.strategy;
    again.hidden = !sampling;
    note.textContent = tree.note;
    note.hidden = !tree.note;
    draw(v);
    key.textContent = `Above a line p of its symbol in the model, below it ${sampling ? "that under the setting"
      : "ln p of the beginning"}; at the end ${scored ? "the score" : "p"} of the sequence`
      + `${sampling ? " under the setting" : ""}. Thick frame: kept. Double: finished. Dashed, with a cross: `
      + `${sampling ? "not drawn. Dotted, struck out: cut" : "dropped; with two bars: left, as the search was over"}. `
      + `Thin: not looked at. ★ best of all${sampling ? " in the model" : ""}, ◄ result.`;
    status.textContent = told(v);
    status.dataset.t = t;
    judged.textContent = verdict(v);
    cdf.hidden = !sampling;
    if (sampling) {
      const step = steps[t - 1], drawn = step && (step.kept[0] ?? step.finished[0]);
      cdf.replaceChildren(...(step ? [...step.open.map(b => h("span", { style: `flex:${b.to - b.from} 0 0`,
        className: b === drawn ? "cl-dt-drawn" : "" }, tree.symbols[b.tokens.at(-1)])),
      h("i", { style: `left:${100 * step.u}%` })] : []));
    }
    const tallest = Math.exp(Math.max(...all.flatMap(b => sampling ? [b.logProb, b.score] : [b.logProb])));
    table(whole, ["sequence", "p", sampling ? "p, setting" : scored ? "score" : "ln p", "symbols", "fate",
      sampling ? "p in the model, under the setting (striped)" : "p"], all.map(b => {
      const p = Math.exp(b.logProb), q = Math.exp(b.score);
      return [{ "data-sequence": b.key, "data-p": p, "data-score": b.score }, write(tree, b.tokens), fix(p, 4),
        fix(sampling ? q : b.score, 4), String(b.tokens.length), left(v, b),
        bars(tallest, ["cl-prob", p], ...(sampling ? [["cl-share", q]] : []))];
    }));
    table(nodesTable, ["beginning", "p of its last symbol", ...(sampling ? ["under the setting"] : []),
      "ln p of the beginning", "fate"], nodes.map(b => [{}, write(tree, b.tokens), fix(b.p, 4),
      ...(sampling ? [b.q === 0 ? "cut" : fix(b.q, 4)] : []), fix(b.logProb, 4), fate(b.fate, s)]));
    return v;
  }

  const figure = h("div", { className: "cl-dt" },
    h("div", { className: "cl-top" }, ...controls.map(c => c.box)), note,
    h("div", { className: "cl-dt-sliders" }, ...sliders.map(c => c.box)), buttons, stage, key, cdf, status, judged,
    scrollable("All sequences", whole),
    h("details", {}, h("summary", {}, "The tree as a table"), scrollable("All beginnings", nodesTable)),
    h("p", { className: "cl-help" }, HELP), live);
  const leave = mount(el, figure, show, sentence(""));
  let wide = stage.clientWidth;
  const resized = new ResizeObserver(() => {
    if (stage.clientWidth !== wide) draw(view());
    wide = stage.clientWidth;
  });
  resized.observe(stage);
  return () => {
    resized.disconnect();
    leave();
  };
}
export default { render };
