/* The next word after two beginnings under one setting. The functions above render() compute every number that is
   shown; next_word.py has the same ones, made of the library's decoding, and is their reference. */
import { button, columnHead, decoded, dropdown, h, legendKey, numbered, on, scrollable, sum, thousands, tie,
  xorshift } from "./common.js";
import { reshape } from "./decoding_search.js";

/* ln p of every symbol from float32 in base64. */
export function logProbs(text) {
  const bytes = decoded(text);
  return Array.from({ length: bytes.byteLength / 4 }, (_, v) => bytes.getFloat32(4 * v, true));
}
/* What a setting leaves: { logP, kept, mass }; the mass is that of the kept in the distribution that was cut. */
export function after(logP, s) {
  const knobs = { top_k: s.cut === "top-k" || s.cut === "both" ? s.top_k : 0,
    top_p: s.cut === "top-p" || s.cut === "both" ? s.top_p : 1 };
  const heat = { temperature: s.temperature, top_k: 0, top_p: 1 };
  const cut = reshape(logP, { ...knobs, temperature: s.late ? 1 : s.temperature });
  const whole = reshape(logP, s.late ? { ...heat, temperature: 1 } : heat), kept = cut.map(v => v > -Infinity);
  return { logP: s.late ? reshape(cut, heat) : cut, kept,
    mass: sum(whole.map((v, i) => kept[i] ? Math.exp(v) : 0)) };
}
/* The symbols from the likeliest down; of those that tie the higher number first, as it is the one that top-p keeps. */
export const ranked = logP => logP.map((_, v) => v).filter(v => logP[v] > -Infinity)
  .sort((a, b) => logP[b] - logP[a] || b - a);
/* Symbols by inverse CDF, in the order of their numbers, from uniforms of four decimal places. */
export function draws(logP, seed, num) {
  let total = 0;
  const cdf = logP.map(v => total += Math.exp(v)), u = xorshift(seed);
  return Array.from({ length: num }, () => {
    const at = Math.floor(u() * 10000) / 10000 * total, found = cdf.findIndex(c => at < c);
    return found < 0 ? cdf.length - 1 : found;
  });
}
/* Rows of a column, as places [from, to): single words at first, and ever larger groups. */
export function places(num, single = 8) {
  const ends = [...Array.from({ length: single }, (_, i) => i + 1), 30, 100, 300].filter(end => end < num).concat(num);
  return ends.map((end, i) => [i ? ends[i - 1] : 0, end]);
}

/* ---- the page ---- */
const TRAITS = ["left", "right", "cut", "temperature", "top_k", "top_p", "late", "draws", "seed"];
const COUNTS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 100, 150, 200, 300, 400, 600, 1000];
const MOST = 40;
const three = v => v.toFixed(3);
const spelt = symbol => {
  const text = symbol.trim();
  return /[\p{L}\p{N}]/u.test(text) ? text : text ? `“${text}”` : symbol === "\n" ? "⏎" : "␣";
};
const share = v => v >= .9995 ? "all" : three(v);

function render({ model, el }) {
  const contexts = model.get("contexts"), symbols = model.get("symbols"), tables = model.get("tables").map(logProbs);
  const ranks = tables.map(ranked), place = ranks.map(order => new Map(order.map((v, r) => [v, r])));
  const start = Object.fromEntries(TRAITS.map(name => [name, model.get(name)]));
  const { live, say, state, change, mount } = tie(model, TRAITS);
  const words = n => `${thousands(n)} ${n === 1 ? "word" : "words"}`;
  const count = found => found.kept.filter(k => k).length;
  const named = { none: () => "No cut", "top-k": s => `Top-k ${s.top_k}`, "top-p": s => `Top-p ${s.top_p.toFixed(2)}`,
    both: s => `Top-k ${s.top_k}, then top-p ${s.top_p.toFixed(2)}` };
  const now = () => {
    const s = state(), shown = [s.left, s.right];
    return { s, shown, found: shown.map(i => after(tables[i], s)) };
  };
  const story = ({ s, shown, found }) => `${named[s.cut](s)}, temperature ${s.temperature.toFixed(2)}`
    + `${s.late ? ", applied last" : ""}: ` + shown.map((i, side) => `after “${contexts[i]}” `
      + `${words(count(found[side]))} of ${thousands(ranks[i].length)}, ${share(found[side].mass)} of the mass`)
      .join("; ") + "." + other(s, shown);
  const other = (s, shown) => {
    const cut = { "top-k": "top-p", "top-p": "top-k" }[s.cut];
    return cut ? ` ${named[cut](s)} would keep ${shown.map(i =>
      thousands(count(after(tables[i], { ...s, cut })))).join(" and ")}.` : "";
  };
  const drawnNow = ({ s, shown, found }) => shown.map((i, side) => draws(found[side].logP, s.seed, s.draws)
    .map(v => ({ v, rank: place[i].get(v) + 1 })));

  /* controls */
  const cuts = h("div", { className: "cl-buttons cl-nw-cuts", role: "group", "aria-label": "What cuts" },
    ...Object.keys(named).map(cut => button(cut === "none" ? "no cut" : cut, () => change({ cut }, story),
      { "data-cut": cut })));
  function slider(label, key, props, read, put, text) {
    const node = h("input", { type: "range", "data-setting": key, ...props }), out = h("output", {});
    on(node, "input", () => change({ [key]: read(+node.value) }, story));
    return { box: h("label", {}, h("span", {}, label), node, out), show: s => {
      node.value = put(s[key]);
      node.setAttribute("aria-valuetext", text(s[key]));
      out.textContent = text(s[key]);
    } };
  }
  const counts = [...COUNTS.filter(k => k < symbols.length), symbols.length];
  const nearest = k => counts.reduce((best, c, i) => Math.abs(c - k) < Math.abs(counts[best] - k) ? i : best, 0);
  const sliders = [
    slider("Temperature", "temperature", { min: 0, max: 2, step: .05 }, v => v, v => v, v => v.toFixed(2)),
    slider("Top-k", "top_k", { min: 0, max: counts.length - 1, step: 1 }, v => counts[v], nearest, thousands),
    slider("Top-p", "top_p", { min: .01, max: 1, step: .01 }, v => v, v => v, v => v.toFixed(2))];
  const late = on(h("input", { type: "checkbox" }), "change", () => change({ late: late.checked }, story));
  const drawMore = num => () => change({ draws: Math.min(MOST, model.get("draws") + num) }, v => {
    const lists = drawnNow(v);
    return v.shown.map((i, side) => `${contexts[i]} … ${spelt(symbols[lists[side].at(-1).v])}`).join("; ")
      + `. Drawn so far: ${v.s.draws}${v.s.draws === MOST ? ", as many as fit" : ""}.`;
  });
  const one = button("draw a word", drawMore(1)), ten = button("draw ten", drawMore(10));
  const buttons = h("div", { className: "cl-buttons" }, one, ten,
    button("other numbers", () => change({ seed: model.get("seed") + 1 }, () => "Words from other numbers.")),
    button("clear", () => change({ draws: 0 }, () => "No word is drawn.")),
    button("as at first", () => change(start, story)));

  /* a column */
  const side = key => {
    const choice = dropdown(numbered(contexts), v => change({ [key]: +v }, story));
    const body = h("tbody"), kept = h("p", { className: "cl-nw-kept" });
    const strip = h("div", { className: "cl-nw-strip", "aria-hidden": "true" });
    const said = h("p", { className: "cl-nw-drawn" });
    const table = h("table", {}, h("thead", {}, h("tr", {},
      ...["next word", "p", "becomes", ""].map(text => columnHead(text)))), body);
    const node = h("section", { className: "cl-nw-side", "data-side": key },
      h("label", {}, "After", choice), scrollable(`The next word, ${key}`, table), strip, kept, said);
    return { node, choice, body, strip, kept, said, key };
  };
  const sides = ["left", "right"].map(side);
  const compare = h("tbody"), compareHead = h("tr");

  function column(v, at, most) {
    const { s, shown, found } = v, i = shown[at], { logP, kept, mass } = found[at], box = sides[at];
    box.choice.value = String(i);
    const p = tables[i].map(Math.exp), q = logP.map(Math.exp);
    box.body.replaceChildren(...places(ranks[i].length).map(([from, to]) => {
      const inside = ranks[i].slice(from, to), P = sum(inside.map(w => p[w])), Q = sum(inside.map(w => q[w]));
      const stay = inside.filter(w => kept[w]).length, alone = to - from === 1;
      const name = alone ? spelt(symbols[inside[0]])
        : `${stay && stay < to - from ? `${thousands(stay)} of` : "rank"} ${thousands(from + 1)} to ${thousands(to)}`;
      return h("tr", { className: stay ? "" : "cl-nw-out", "data-from": from, "data-p": P, "data-q": Q,
        "data-stay": stay },
        h("th", { scope: "row", "data-symbol": alone ? inside[0] : "" }, name), h("td", {}, three(P)),
        h("td", {}, stay ? three(Q) : "cut"), h("td", { className: "cl-bars" }, h("span",
          { className: "cl-track", "aria-hidden": "true" },
          ...[["cl-model", P], ["cl-prob", Q]].map(([kind, value]) => h("span",
            { className: `cl-bar ${kind}`, style: `width:${(100 * value / most).toFixed(2)}%`, hidden: !value })))));
    }));
    box.strip.replaceChildren(h("span", { className: "cl-prob", style: `flex:${mass} 0 0` }),
      h("span", { className: "cl-share", style: `flex:${Math.max(0, 1 - mass)} 0 0`, hidden: mass > .9995 }));
    const n = count(found[at]);
    box.node.dataset.kept = n;
    box.node.dataset.mass = mass;
    box.kept.replaceChildren(h("strong", {}, `${words(n)} of ${thousands(ranks[i].length)}`),
      mass > .9995 ? ": all of the mass." : ` sum to ${three(mass)}; divided by that, to 1.`,
      s.cut === "top-k" && n > s.top_k ? ` What ties with number ${s.top_k} stays.` : "");
    const list = drawnNow(v)[at];
    box.said.dataset.drawn = JSON.stringify(list.map(d => d.v));
    box.said.replaceChildren(list.length ? `Drawn: ${list.map(({ v: w, rank }) =>
      spelt(symbols[w]) + (rank > 30 ? ` (${thousands(rank)})` : "")).join(", ")}` : "No word is drawn.");
  }
  function show() {
    const v = now(), { s, shown, found } = v;
    [...cuts.children].forEach(b => b.setAttribute("aria-pressed", String(b.getAttribute("data-cut") === s.cut)));
    for (const slider of sliders) slider.show(s);
    late.checked = s.late;
    one.disabled = ten.disabled = s.draws >= MOST;
    const largest = shown.flatMap((i, at) => places(ranks[i].length).flatMap(([from, to]) => {
      const inside = ranks[i].slice(from, to);
      return [tables[i], found[at].logP].map(row => sum(inside.map(w => Math.exp(row[w]))));
    }));
    shown.forEach((_, at) => column(v, at, Math.max(...largest)));
    compareHead.replaceChildren(columnHead(`cut, at temperature ${s.late ? "1" : s.temperature.toFixed(2)}`),
      ...shown.map(i => columnHead(`after “${contexts[i]}” stay`)));
    compare.replaceChildren(...["top-k", "top-p", "both"].map(cut => h("tr",
      { className: cut === s.cut ? "cl-chosen" : "" }, h("th", { scope: "row" }, named[cut](s)), ...shown.map(i => {
        const alone = after(tables[i], { ...s, cut }), num = count(alone);
        return h("td", { "data-cell": cut, "data-count": num, "data-share": alone.mass },
          `${words(num)}, ${share(alone.mass)} of the mass`);
      }))));
    return v;
  }
  const end = mount(el, h("div", { className: "cl-nw" },
    h("div", { className: "cl-buttons" }, cuts,
      h("label", { className: "cl-nw-late" }, late, "temperature after the cuts")),
    h("div", { className: "cl-nw-sliders" }, ...sliders.map(each => each.box)),
    h("div", { className: "cl-nw-sides" }, ...sides.map(each => each.node)),
    h("p", { className: "cl-legend" }, legendKey("model", "p in the model"), legendKey("prob", "what it becomes"),
      legendKey("share", "mass that is cut"), h("span", {}, "(512): rank of a drawn word beyond the 30th")),
    buttons,
    scrollable("What each cut keeps",
      h("table", { className: "cl-nw-compare" }, h("thead", {}, compareHead), compare)), live,
    h("p", { className: "cl-nw-note" },
      "Not shown: the words after the next one. Each step cuts a distribution of its own.")),
  show, story, s => [s.left, s.right].every(i => i in tables));
  say(story(now()));
  return end;
}
export default { render };
