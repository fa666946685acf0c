/* Two recurrent encoder-decoders of chapter attention. written() computes every number that is shown; the library's own model,
   stepped by written() in alignment.py, is its reference. */
import { button, decoded, dropdown, h, oneStop, scrollable, sum, svg, tie } from "./common.js";
import { compared, compose, italian, LONGEST, parse, softmax } from "./translator_model.js";

const half16 = b => (b & 0x8000 ? -1 : 1)
  * (b & 0x7c00 ? 2 ** ((b >> 10 & 31) - 15) * (1 + (b & 1023) / 1024) : (b & 1023) * 2 ** -24);
/* Parameters from base64, in the order of parameters() in Python; `looks`: with the additive score. */
export function unpackGru(text, { source, target, hidden: H, embedding: E }, looks) {
  const view = decoded(text);
  const all = Float64Array.from({ length: view.byteLength / 2 }, (_, j) => half16(view.getUint16(2 * j, true)));
  let at = 0;
  const take = size => all.subarray(at, at += size);
  const matrix = (to, from) => ({ to, from, rows: take(to * from) });
  const cell = () => ({ x: matrix(3 * H, E), h: matrix(3 * H, H), b: take(3 * H), old: take(H) });
  return { H, E, source: take(source * E), target: matrix(target, E), forward: cell(), backward: cell(),
    decoder: cell(), bridge: matrix(H, 2 * H), bridgeBias: take(H),
    score: looks ? { W: matrix(H, H), U: matrix(H, 2 * H), v: take(H) } : null,
    readout: matrix(E, 3 * H), readoutBias: take(E), bias: take(target) };
}
const times = (m, x) => Array.from({ length: m.to }, (_, o) => {
  let s = 0;
  for (let i = 0; i < m.from; i++) s += m.rows[o * m.from + i] * x[i];
  return s;
});
const plus = (a, b) => a.map((v, i) => v + b[i]), sigmoid = v => 1 / (1 + Math.exp(-v));
function step(cell, x, h) {
  const H = h.length, a = plus(times(cell.x, x), cell.b), k = times(cell.h, h);
  return h.map((old, j) => {
    const r = sigmoid(a[j] + k[j]), z = sigmoid(a[H + j] + k[H + j]);
    return (1 - z) * Math.tanh(a[2 * H + j] + r * (k[2 * H + j] + cell.old[j])) + z * old;
  });
}
/* { ids, p, weights }: what is written up to the end, the probabilities of each word, the weights on the source. */
export function written(m, source, start = 1, end = 2) {
  const zero = Array(m.H).fill(0), embedded = source.map(id => Array.from(m.source.subarray(id * m.E, (id + 1) * m.E)));
  const over = (cell, xs) => { let now = zero; return xs.map(x => now = step(cell, x, now)); };
  const there = over(m.forward, embedded), back = over(m.backward, [...embedded].reverse()).reverse();
  const states = there.map((state, s) => [...state, ...back[s]]), last = [...there.at(-1), ...back[0]];
  const keys = m.score ? states.map(state => times(m.score.U, state)) : null;
  let state = plus(times(m.bridge, last), m.bridgeBias).map(Math.tanh), read = start;
  const ids = [], p = [], all = [];
  while (!ids.length || ids.at(-1) !== end && ids.length < LONGEST) {
    state = step(m.decoder, Array.from(m.target.rows.subarray(read * m.E, (read + 1) * m.E)), state);
    const asked = m.score ? times(m.score.W, state) : null;
    const weights = m.score ? softmax(keys.map(key => sum(key.map((v, j) => m.score.v[j] * Math.tanh(asked[j] + v)))))
      : states.map((_, s) => +(s === states.length - 1));
    const c = m.score ? last.map((_, j) => sum(weights.map((alpha, s) => alpha * states[s][j]))) : last;
    const out = plus(times(m.readout, [...state, ...c]), m.readoutBias).map(Math.tanh);
    const chances = softmax(plus(times(m.target, out), m.bias));
    p.push(chances);
    all.push(weights);
    ids.push(read = chances.indexOf(Math.max(...chances)));
  }
  return { ids, p, weights: all };
}
/* For each word of the grammar's translation the places of the words that it comes from, as translate() has it. */
export function known(g, s) {
  const one = s.subject in g.pronouns, found = [];
  let i = 0;
  const noun = adjective => {
    found.push([i], [i + (adjective ? 2 : 1)]);
    if (adjective) found.push([i + 1]);
    i += adjective ? 3 : 2;
  };
  if (one) i = 1; else noun(s.adjective);
  if (s.denied) { found.push([i, i + 1]); i += 2; }
  found.push(one ? [0, i] : [i]);
  i += 1;
  if (s.object in g.pastimes) found.push([i], [i]); else noun(s.adjective2);
  return found;
}

/* ---- the page ---- */
const TRAITS = ["sentence", "place"], LABELS = ["one vector", "attention"];
const W = 620, TOP = 26, GAP = 96;

function render({ model, el }) {
  const g = model.get("grammar"), measured = model.get("measured"), { live, say, state, change, mount } = tie(model, TRAITS);
  const networks = model.get("weights").map((text, k) => unpackGru(text, model.get("sizes"), k === 1));
  const words = ids => ids.filter(id => id !== 2).map(id => g.italian[id]);
  function now() {
    const s = state(), source = s.sentence.split(" "), ids = source.map(w => g.english.indexOf(w));
    const found = networks.map(m => written(m, ids)), parts = parse(g, s.sentence), right = italian(g, parts).split(" ");
    const t = Math.min(s.place, found[1].ids.length - 1), ok = words(found[1].ids).join(" ") === right.join(" ");
    return { s, source, found, parts, right, t, places: ok ? known(g, parts) : null };
  }
  const named = id => id === 2 ? "the end" : `“${g.italian[id]}”`;
  function story({ source, found, right, t, places }) {
    const row = found[1].weights[t], best = row.indexOf(Math.max(...row)), id = found[1].ids[t], frames = places?.[t];
    const wrong = found.map(f => words(f.ids).join(" ") !== right.join(" "));
    return `Step ${t + 1}: ${named(id)}, probability ${found[1].p[t][id].toFixed(2)}, looks most at “${source[best]}”, `
      + `${row[best].toFixed(2)}. ` + (frames ? `It comes from ${frames.map(s => `“${source[s]}”`).join(" and ")}. ` : "")
      + (wrong[0] && !wrong[1] ? "With one vector the sentence comes out wrong, with attention right."
        : wrong[0] ? "Neither gets the sentence right." : wrong[1] ? "Here one vector is right and attention is not."
          : "Both get the sentence right.");
  }
  const set = values => change(values, story);
  const edit = (slot, value) => set({ sentence: compose(g, { ...parse(g, state().sentence), [slot]: value }), place: 0 });
  const field = (slot, label, choices) => {
    const node = dropdown(choices, v => edit(slot, slot === "denied" ? v === "true" : v));
    node.setAttribute("aria-label", label);
    return node;
  };
  const plain = table => Object.keys(table).map(w => [w, w]), described = [["", "—"], ...plain(g.adjectives)];
  const fields = { adjective: field("adjective", "adjective of the subject", described),
    subject: field("subject", "subject", [...plain(g.pronouns), ...plain(g.nouns)]),
    denied: field("denied", "affirmed or denied", [["false", "—"], ["true", "not"]]),
    verb: field("verb", "verb", plain(g.verbs)), adjective2: field("adjective2", "adjective of the object", described),
    object: field("object", "object", [...plain(g.nouns), ...plain(g.pastimes)]) };
  const before = button("← word", () => set({ place: now().t - 1 }), { "aria-label": "word before" });
  const next = button("next word →", () => set({ place: now().t + 1 }));
  const said = LABELS.map(() => h("td", { lang: "it" })), picture = svg("svg", { class: "cl-al-lines", "aria-hidden": "true" });
  const body = h("tbody", {}), head = h("tr", {}), guesses = h("ol", { className: "cl-al-guesses" });
  const share = ([low, high, of]) => `${low === high ? low : `${low} to ${high}`} of ${of}`;
  const lengths = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "words of the translation"),
    ...Object.keys(measured).map(n => h("th", { scope: "col" }, n)))), h("tbody", {}, ...LABELS.map((label, k) =>
    h("tr", {}, h("th", { scope: "row" }, label), ...Object.values(measured).map(each => h("td", {}, share(each[k])))))));

  function show() {
    const all = now(), { source, found, parts, right, t, places } = all, { ids, weights, p } = found[1];
    for (const [slot, node] of Object.entries(fields)) node.value = String(parts[slot]);
    fields.adjective.hidden = parts.subject in g.pronouns;
    fields.adjective2.hidden = parts.object in g.pastimes;
    found.forEach((each, k) => said[k].replaceChildren(...compared(right, words(each.ids)).flatMap(([w, wrong], i) =>
      [i ? " " : "", w === null ? h("u", {}, h("span", { className: "cl-unseen" }, "(missing)"), "…") : wrong ? h("u", {}, w)
        : w])));
    before.disabled = t === 0;
    next.disabled = t === ids.length - 1;
    const across = (i, n) => W * (i + 0.5) / n, label = (w, x, y, own) =>
      svg("text", { x, y, class: own ? "cl-al-own" : "" }, w);
    picture.setAttribute("viewBox", `0 0 ${W} ${TOP + GAP + 34}`);
    picture.replaceChildren(...source.map((_, s) => svg("line", { x1: across(t, ids.length), y1: TOP + GAP,
      x2: across(s, source.length), y2: TOP, class: "cl-al-line", "stroke-width": 0.5 + 9 * weights[t][s],
      "stroke-opacity": 0.15 + 0.85 * weights[t][s] })),
    ...source.map((w, s) => label(w, across(s, source.length), TOP - 8, places?.[t]?.includes(s))),
    ...ids.map((id, i) => label(id === 2 ? "end" : g.italian[id], across(i, ids.length), TOP + GAP + 20, i === t)));
    head.replaceChildren(h("th", { scope: "col" }, "written"), ...source.map(w => h("th", { scope: "col" }, w)));
    const steps = ids.map((id, i) => button(id === 2 ? "(end)" : g.italian[id], () => set({ place: i }),
      { "aria-pressed": String(i === t), lang: id === 2 ? "en" : "it" }));
    const held = body.contains(document.activeElement);
    body.replaceChildren(...ids.map((_, i) => h("tr", { className: i === t ? "cl-al-now" : "" },
      h("th", { scope: "row" }, steps[i]), ...weights[i].map((alpha, s) => {
        const cell = h("td", { className: places?.[i]?.includes(s) ? "cl-al-known" : "" },
          h("span", { className: "cl-al-shade", style: `--p:${(100 * alpha).toFixed(1)}%`, "aria-hidden": "true" }),
          alpha.toFixed(2));
        cell.dataset.alpha = alpha;
        return cell;
      }))));
    oneStop(steps.map(node => [node]));
    steps.forEach((node, i) => { node.tabIndex = i === t ? 0 : -1; });
    if (held) steps[t].focus();
    const order = p[t].map((_, id) => id).sort((a, b) => p[t][b] - p[t][a]).slice(0, 3);
    guesses.replaceChildren(...order.map(id => {
      const item = h("li", {}, h("span", { lang: "it" }, id === 2 ? "(end)" : g.italian[id]), ` ${p[t][id].toFixed(3)}`);
      item.dataset.p = p[t][id];
      return item;
    }));
    return all;
  }
  const end = mount(el, h("div", {}, h("div", { className: "cl-top" }, ...Object.values(fields)),
    scrollable("What both write", h("table", { className: "cl-al-said" }, h("tbody", {}, ...LABELS.map((name, k) =>
      h("tr", {}, h("th", { scope: "row" }, name), said[k]))))),
    h("p", { className: "cl-note" }, "Underlined: not what the grammar says."),
    h("div", { className: "cl-buttons" }, before, next), scrollable("Where the step looks", picture), live,
    h("div", { className: "cl-al-both" },
      scrollable("All weights; a row for each word that is written", h("table", { className: "cl-al-table" },
        h("thead", {}, head), body)),
      h("div", {}, h("h4", {}, "likeliest next"), guesses)),
    h("p", { className: "cl-note" }, "Framed: the words that it comes from, by the grammar."),
    h("h4", {}, "right of 400 new sentences, three trainings"),
    scrollable("Right by number of words", lengths)), show, story);
  say(story(now()));
  return end;
}
export default { render };
