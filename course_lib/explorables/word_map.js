/* Words as points. Cosines are computed here, from the rounded vectors and over all of their numbers; neighbours(),
   analogy() and senses() of word_map.py are the reference. A view is { points, scores, listed }: where each word
   stands, by what the list is ordered, and the words in it, best first. */
import { button, decoded, dropdown, h, legendKey, on, oneStop, scrollable, sum, svg, tie } from "./common.js";

export const NUM = 8, LONGEST = 12;
const dot = (a, b) => { let s = 0; for (let i = 0; i < a.length; i++) s += a[i] * b[i]; return s; };
const normal = v => { const length = Math.sqrt(dot(v, v)); return v.map(x => x / length); };
const minus = (a, b, k = 1) => a.map((x, i) => x - k * b[i]);

/* Vectors of length 1 from integers of 8 bits. */
export function unpack(text, num) {
  const view = decoded(text), width = view.byteLength / num;
  return Array.from({ length: num }, (_, r) =>
    normal(Array.from({ length: width }, (_, j) => view.getInt8(r * width + j))));
}
const best = (scores, without) => scores.map((_, i) => i).filter(i => !without.includes(i))
  .sort((i, j) => scores[j] - scores[i]).slice(0, NUM);
export function neighbours(unit, plane, word) {
  const scores = unit.map(u => dot(u, unit[word]));
  return { points: plane, scores, listed: best(scores, [word]) };
}
export function analogy(unit, [a, b, c]) {
  const step = minus(unit[b], unit[a]), down = minus(unit[c], unit[a]);
  const first = normal(step), second = normal(minus(down, first, dot(first, down)));
  const wanted = minus(unit[c], step, -1), goal = normal(wanted), scores = unit.map(u => dot(u, goal));
  const place = u => { const from = minus(u, unit[a]); return [dot(from, first), dot(from, second)]; };
  return { points: unit.map(place), scores, listed: best(scores, [a, b, c]), goal: place(wanted) };
}
export function senses(unit, sides) {
  const means = sides.map(side => normal(unit[0].map((_, j) => sum(side.map(i => unit[i][j])))));
  const points = unit.map(u => means.map(m => dot(u, m))), scores = points.map(p => Math.min(...p));
  return { points, scores, listed: best(scores, sides.flat()) };
}
/* The place of word i by its score; the words that define the senses are left out. */
export const placed = ({ scores }, i, sides) =>
  1 + scores.filter((score, j) => !sides.flat().includes(j) && score > scores[i]).length;
/* Of the words in the list, how many are among the NUM nearest to word i in the picture. */
export function kept({ points, listed }, i) {
  const near = points.map((p, j) => [Math.hypot(p[0] - points[i][0], p[1] - points[i][1]), j])
    .filter(([, j]) => j !== i).sort((a, b) => a[0] - b[0]).slice(0, NUM).map(([, j]) => j);
  return listed.filter(j => near.includes(j)).length;
}

/* ---- the page ---- */
const TRAITS = ["view", "trail", "question", "sense"];
const NAMES = [["senses", "two senses, one vector"], ["neighbours", "walk from neighbour to neighbour"],
  ["analogy", "an analogy"]];
const W = 600, H = 420, MARGIN = 26;

function render({ model, el }) {
  const words = model.get("words"), unit = unpack(model.get("rows"), words.length), plane = model.get("plane"),
    share = model.get("kept"), pairs = model.get("pairs"), questions = model.get("questions");
  const at = Object.fromEntries(words.map((word, i) => [word, i])), sorted = [...words].sort();
  const { live, say, state, change, mount } = tie(model, TRAITS);

  function now() {
    const s = state(), here = at[s.trail.at(-1)], asked = s.question.map(w => at[w]);
    const sides = pairs[s.sense].map(side => side.map(w => at[w]));
    const drawn = s.view === "neighbours" ? neighbours(unit, plane, here)
      : s.view === "analogy" ? analogy(unit, asked) : senses(unit, sides);
    return { s, here, asked, sides, drawn };
  }
  const cosine = v => v.toFixed(2).replace("-", "−");
  function story({ s, here, asked, sides, drawn }) {
    const { scores, listed, points } = drawn, first = listed[0];
    if (s.view === "neighbours") {
      const found = kept(drawn, here);
      return `Nearest to ${words[here]}: ${words[first]}, cosine ${cosine(scores[first])}. The list goes by all 100 `
        + `numbers. The picture keeps ${Math.round(100 * share)} % of what tells these words apart: of the ${NUM} that stand `
        + `nearest in it, the list has ${found || "none"}.`;
    }
    if (s.view === "analogy") {
      const [a, b, c] = s.question, free = scores.indexOf(Math.max(...scores));
      return `${a} is to ${b} as ${c} is to ${words[first]}: cosine ${cosine(scores[first])}. The words of the question `
        + `are no answers. Were they, it would be ${words[free]}, ${cosine(scores[free])}`
        + `${asked.includes(free) ? "." : ": the same."}`;
    }
    const i = at[s.sense], place = placed(drawn, i, sides), [x, y] = points[i];
    return `${s.sense}: cosine ${cosine(x)} with ${pairs[s.sense][0].join(", ")}; ${cosine(y)} with `
      + `${pairs[s.sense][1].join(", ")}. By the smaller of the two it has place ${place} of `
      + `${words.length - sides.flat().length}: ${place > 10 ? "in these texts it kept the company of one sense."
        : "one row of the table stands for both senses."}`;
  }
  const set = values => change(values, story);
  const walk = i => set({ view: "neighbours", trail: [...state().trail, words[i]].slice(-LONGEST) });

  const view = dropdown(NAMES, v => set({ view: v }));
  const start = dropdown(sorted.map(w => [w, w]), w => set({ trail: [w] }));
  const back = button("one word back", () => set({ trail: state().trail.slice(0, -1) }));
  const sense = dropdown(Object.keys(pairs).map(w => [w, w]), w => set({ sense: w }));
  const ready = dropdown(questions.map((q, i) => [i, `${q[0]} : ${q[1]} = ${q[2]} : ?`]),
    i => set({ question: questions[i] }), "your own");
  const ask = [0, 1, 2].map(k => dropdown(sorted.map(w => [w, w]), w =>
    set({ question: state().question.map((old, j) => j === k ? w : old) })));
  const controls = {
    neighbours: h("div", { className: "cl-top" }, h("label", {}, "Word", start), back),
    analogy: h("div", { className: "cl-top" }, h("label", {}, "Question", ready), h("label", {}, "or", ask[0]),
      h("label", {}, "is to", ask[1]), h("label", {}, "as", ask[2])),
    senses: h("div", { className: "cl-top" }, h("label", {}, "Word of two senses", sense)) };

  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true", class: "cl-wm-map" });
  const trail = h("p", { className: "cl-note" }), axes = h("p", { className: "cl-note" });
  const items = Array.from({ length: NUM }, () => {
    const label = h("span", {}), value = h("span", {}), bar = h("span", { className: "cl-bar cl-prob" });
    return { label, value, bar, node: button([h("span", { className: "cl-wm-line" }, label, value), bar], () =>
      walk(now().drawn.listed[items.findIndex(item => item.label === label)])) };
  });
  oneStop(items.map(item => [item.node]));
  const head = h("h4", {});

  let shown = [];                                                    // where each word is in the picture
  on(picture, "click", event => {
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    const far = shown.map(([x, y]) => Math.hypot(x - p.x, y - p.y)), i = far.indexOf(Math.min(...far));
    if (far[i] < 16) walk(i);
  });

  function draw({ s, here, asked, sides, drawn }) {
    const { points, listed, goal } = drawn, all = goal ? [...points, goal] : points;
    const low = [0, 1].map(k => Math.min(...all.map(p => p[k]))), high = [0, 1].map(k => Math.max(...all.map(p => p[k])));
    const scale = Math.min((W - 3 * MARGIN) / (high[0] - low[0]), (H - 2 * MARGIN) / (high[1] - low[1]));
    const left = (W - MARGIN - scale * (high[0] - low[0])) / 2;
    const put = p => [left + scale * (p[0] - low[0]), H - MARGIN - scale * (p[1] - low[1])];
    shown = points.map(put);
    const main = s.view === "neighbours" ? [here] : s.view === "analogy" ? asked : [at[s.sense]];
    const company = s.view === "senses" ? sides.flat() : [];
    const kind = i => main.includes(i) ? "cl-wm-main" : company.includes(i) ? "cl-wm-company"
      : listed.includes(i) ? "cl-wm-near" : "";
    const order = [...new Set([...main, ...company, ...listed, ...words.keys()])], taken = [], nodes = [], texts = [];
    const line = (from, to, name) => svg("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: name });
    const arrow = (from, to) => {
      const [x, y] = [to[0] - from[0], to[1] - from[1]], r = Math.hypot(x, y) || 1, [u, v] = [x / r, y / r];
      const tip = [[0, 0], [-9 * u - 4 * v, -9 * v + 4 * u], [-9 * u + 4 * v, -9 * v - 4 * u]]
        .map(([a, b]) => `${to[0] + a},${to[1] + b}`).join(" ");
      return [line(from, to, "cl-wm-arrow"), svg("polygon", { points: tip, class: "cl-wm-tip" })];
    };
    if (s.view === "neighbours") {
      nodes.push(...listed.map(i => line(shown[here], shown[i], "cl-wm-link")));
      nodes.push(...s.trail.slice(1).map((w, k) => line(shown[at[s.trail[k]]], shown[at[w]], "cl-wm-trail")));
    } else if (s.view === "analogy") {
      const [a, b, c] = asked.map(i => shown[i]), end = put(goal);
      nodes.push(...arrow(a, b), ...arrow(c, end), line(a, c, "cl-wm-link"), line(b, end, "cl-wm-link"),
        svg("circle", { cx: end[0], cy: end[1], r: 8, class: "cl-wm-goal" }));
    } else nodes.push(...company.map(i => line(shown[main[0]], shown[i], "cl-wm-link")));
    for (const i of order) {
      const [x, y] = shown[i], own = kind(i), long = 7 * words[i].length + 2, must = own === "cl-wm-main";
      nodes.push(svg("circle", { cx: x, cy: y, r: must ? 6 : own ? 4 : 2, class: `cl-wm-dot ${own}` }));
      const spots = [[x + 6, y + 4], [x - 6 - long, y + 4], [x - long / 2, y - 8], [x - long / 2, y + 16]];
      const free = ([left, base]) => left > 0 && left + long < W && taken.every(([l, t, r, b]) =>
        left > r || left + long < l || base - 11 > b || base + 2 < t);
      const spot = spots.find(free) ?? (must ? spots[0] : null);
      if (!spot) continue;
      taken.push([spot[0], spot[1] - 11, spot[0] + long, spot[1] + 2]);
      texts.push(svg("text", { x: spot[0], y: spot[1], class: `cl-wm-word ${own}` }, words[i]));
    }
    picture.replaceChildren(...nodes, ...texts);
    axes.textContent = s.view === "neighbours" ? "Across and up: the two directions along which these words differ most."
      : s.view === "analogy" ? `The plane through the three words. Arrows: from ${s.question[0]} to ${s.question[1]}, and `
        + `the same step from ${s.question[2]}. Words that look near the circle may be far from it in the other `
        + `directions: trust the list.`
        : `Across: cosine with the mean of ${pairs[s.sense][0].join(", ")}. Up: with that of ${pairs[s.sense][1].join(", ")}.`;
  }
  function show() {
    const all = now(), { s, drawn: { listed, scores } } = all;
    draw(all);
    for (const [name, node] of Object.entries(controls)) node.hidden = name !== s.view;
    view.value = s.view;
    start.value = s.trail.at(-1);
    sense.value = s.sense;
    const known = questions.findIndex(q => q.join() === s.question.join());
    ready.value = known < 0 ? "" : String(known);
    ask.forEach((node, k) => {
      node.value = s.question[k];
      for (const option of node.options) option.disabled = s.question.some((w, j) => j !== k && w === option.value);
    });
    back.disabled = s.trail.length < 2;
    head.textContent = s.view === "neighbours" ? `nearest to ${s.trail.at(-1)}` : s.view === "analogy" ? "answers"
      : "nearest to both senses";
    trail.textContent = s.view === "neighbours" && s.trail.length > 1 ? `Your way: ${s.trail.join(" → ")}` : "";
    items.forEach(({ label, value, bar, node }, k) => {
      const v = scores[listed[k]];
      label.textContent = words[listed[k]];
      value.textContent = cosine(v);
      node.dataset.score = v;
      bar.style.width = `${Math.max(0, 100 * v)}%`;
    });
    return all;
  }
  const end = mount(el, h("div", {}, h("div", { className: "cl-top" }, h("label", {}, "What to look at", view)),
    ...Object.values(controls),
    h("div", { className: "cl-wm-both" },
      h("div", {}, scrollable("The map; every word of it can be chosen above or in the list", picture), axes, trail),
      h("div", { className: "cl-wm-list", role: "group", "aria-label": "Words by cosine; Enter walks to one" }, head,
        ...items.map(item => item.node), h("p", { className: "cl-legend" }, legendKey("prob", "cosine")))), live),
    show, story);
  say(story(now()));
  return end;
}
export default { render };
