/* Attention by layer and head in a BERT: words to the left look at words to the right. The weights come with the page;
   the functions above render() read them and say which are largest; bert_attention.py is their reference. Layers, heads
   and words are counted from 0 here, layers and heads from 1 on the page. */
import { button, decoded, dropdown, h, numbered, oneStop, same, scrollable, sum, svg, tie } from "./common.js";

/* Layers of heads of rows, from 16-bit counts of steps. */
export function unpack(text, [layers, heads], T, steps) {
  const view = decoded(text);
  let at = 0;
  const many = (count, f) => Array.from({ length: count }, f);
  return many(layers, () => many(heads, () => many(T, () => many(T, () => view.getUint16(2 * at++, true) / steps))));
}
/* [from, to, weight], the largest first; of equal ones the earlier row and column. */
export const largest = (weights, count = 3) =>
  weights.flatMap((row, i) => row.map((a, j) => [i, j, a])).sort((a, b) => b[2] - a[2]).slice(0, count);
export const mean = values => sum(values) / values.length;
/* How sharply a head looks: the largest weight of each row, on average. */
export const sharpness = weights => mean(weights.map(row => Math.max(...row)));
/* What a head is worth: nats a hidden word, without it minus with it, over the words of all sentences. */
export const worth = (texts, row) =>
  mean(texts.flatMap(({ costs }) => costs[row].map((v, i) => v - costs[0][i])));

/* ---- the page ---- */
const TRAITS = ["sentence", "shown", "word", "side", "untrained"], ROW = 26;
const LOOKS = "looks", LOOKED = "looked at";
const HELP = "Choose a head, then a word: on the left it looks, on the right it is looked at. "
  + "[CLS] stands before a sentence, [SEP] behind it; ## goes on with a word.";

function render({ model, el }) {
  const size = model.get("size"), texts = model.get("texts"), steps = model.get("steps"), [layers, H] = size;
  const read = (text, which) => unpack(text[which], size, text.pieces.length, steps);
  const maps = texts.map(text => ({ trained: read(text, "trained"), untrained: read(text, "untrained") }));
  const { live, state, change, mount } = tie(model, TRAITS, HELP);
  const two = v => v.toFixed(2), signed = v => (v <= -.005 ? "−" : "+") + two(Math.abs(v));
  const name = ([layer, head]) => `layer ${layer + 1}, head ${head + 1}`;
  const three = ({ map, pieces }) =>
    largest(map).map(([i, j, a]) => `${pieces[i]} looks at ${pieces[j]} ${two(a)}`).join("; ");
  const off = ({ gain, all, shown }) => `With ${name(shown)} off, a hidden word of this sentence costs ${signed(gain)} nats; `
    + `over all ${texts.length} sentences ${signed(all)}.`;
  const ofWord = ({ s, line, pieces }) => {
    const order = [...line.keys()].sort((a, b) => line[b] - line[a]).slice(0, 3);
    return `${pieces[s.word]} ${s.side === LOOKS ? "looks at" : "is looked at by"} `
      + order.map(j => `${pieces[j]} ${two(line[j])}`).join(", ") + ".";
  };

  const given = dropdown(numbered(texts.map(({ pieces }) => pieces.slice(1, -1).join(" ").replaceAll(" ##", ""))),
    i => change({ sentence: +i, word: Math.min(state().word, texts[+i].pieces.length - 1) },
      found => `Another sentence. The three largest: ${three(found)}.`));
  const which = button("", () => change({ untrained: !state().untrained }, found =>
    `${found.s.untrained ? "The twin that has read nothing" : "The trained model"}. The three largest: ${three(found)}.`));
  const heads = Array.from({ length: layers }, (_, l) => Array.from({ length: H }, (_, n) => {
    const sharp = h("span", {}), cost = h("span", {});
    const node = button([h("b", {}, `head ${n + 1}`), sharp, cost], () => change({ shown: [l, n] },
      found => `${name([l, n])}. The three largest: ${three(found)}. ${off(found)}`.replace(/^l/, "L")),
    { className: "cl-ba-head", "data-head": `${l},${n}` });
    return { node, sharp, cost };
  }));
  oneStop(heads.map(row => row.map(({ node }) => node)));

  const picture = h("div", { className: "cl-ba-map", role: "group", "aria-label": "Who looks at whom" });
  const title = h("h4", {}), told = h("p", {}), word = h("p", {}), cost = h("table", { "aria-label": "What the head is worth" });
  let drawn = -1, words = [], links;

  function draw(s) {                                                 // the two columns of words, anew for each sentence
    const { pieces } = texts[s.sentence], T = pieces.length;
    drawn = s.sentence;
    const choose = (i, side) => {
      const number = h("span", {});
      return { number, node: button([h("b", {}, pieces[i]), number], () => change({ word: i, side }, ofWord),
        { className: `cl-ba-${side === LOOKS ? "left" : "right"}`, "data-word": `${i},${side}` }) };
    };
    words = pieces.map((_, i) => [choose(i, LOOKS), choose(i, LOOKED)]);
    links = svg("svg", { viewBox: `0 0 100 ${T * ROW}`, preserveAspectRatio: "none", "aria-hidden": "true",
      style: `height:${T * ROW}px` });
    const column = side => h("div", {}, ...words.map(pair => pair[side].node));
    picture.replaceChildren(column(0), links, column(1));
    oneStop(words.map(pair => pair.map(({ node }) => node)));
  }

  function show() {
    const s = state(), [L, N] = s.shown, text = texts[s.sentence], { pieces, costs } = text, row = 1 + L * H + N;
    const map = maps[s.sentence][s.untrained ? "untrained" : "trained"][L][N];
    if (drawn !== s.sentence) draw(s);
    given.value = String(s.sentence);
    which.textContent = s.untrained ? "show the trained model" : "show the untrained twin";
    const chosen = (i, j) => s.side === LOOKS ? i === s.word : j === s.word;
    const line = s.side === LOOKS ? map[s.word] : map.map(each => each[s.word]);
    const middle = i => (i + .5) * ROW;
    const all = largest(map, map.length ** 2).reverse().filter(([i, j, a]) => chosen(i, j) || a >= .05);
    links.replaceChildren(...[...all.filter(([i, j]) => !chosen(i, j)), ...all.filter(([i, j]) => chosen(i, j))]
      .map(([i, j, a]) => svg("line", { x1: 0, y1: middle(i), x2: 100, y2: middle(j), "data-link": `${i},${j}`, "data-a": a,
        class: chosen(i, j) ? "cl-ba-on" : "", "stroke-width": 1 + 5 * a,
        "stroke-opacity": chosen(i, j) ? Math.min(1, .15 + a) : .5 * a })));
    words.forEach((pair, i) => pair.forEach(({ node, number }, side) => {
      const own = s.word === i && (side === 0) === (s.side === LOOKS), shows = (side === 0) !== (s.side === LOOKS);
      number.textContent = shows ? two(line[i]).replace(/^0/, "") : "";
      number.dataset.a = shows ? line[i] : "";
      node.setAttribute("aria-pressed", String(own));
      node.setAttribute("aria-label", `${pieces[i]}: ${side ? "who looks at it" : "where it looks"}`
        + (shows ? `; weight ${two(line[i])}` : ""));
    }));
    const gains = costs[row].map((v, i) => v - costs[0][i]), most = gains.indexOf(Math.max(...gains));
    heads.forEach((each, l) => each.forEach(({ node, sharp, cost: price }, n) => {
      const a = sharpness(maps[s.sentence].trained[l][n]), b = worth(texts, 1 + l * H + n);
      sharp.textContent = `sharp ${two(a)}`;
      price.textContent = `off ${signed(b)}`;
      Object.assign(node.dataset, { sharp: a, worth: b });
      node.setAttribute("aria-pressed", String(same(s.shown, [l, n])));
      node.setAttribute("aria-label", `${name([l, n])}: its rows' largest weight is ${two(a)} on average; `
        + `off, it costs ${signed(b)} nats a hidden word`);
    }));
    const found = { s, map, pieces, line, shown: s.shown, gain: mean(gains), all: worth(texts, row) };
    title.textContent = `Layer ${L + 1}, head ${N + 1}, ${s.untrained ? "of a twin that has read nothing" : "trained"}`;
    told.textContent = `The three largest: ${three(found)}.`;
    word.textContent = ofWord(found);
    const cells = (label, ...values) => h("tr", {}, h("th", { scope: "row" }, label), ...values.map(v =>
      h("td", typeof v === "number" ? { "data-nats": v } : {}, typeof v === "number" ? two(v) : v)));
    cost.replaceChildren(
      h("thead", {}, h("tr", {}, h("td"), ...["all heads", "this one off"].map(t => h("th", { scope: "col" }, t)))),
      h("tbody", {}, cells("mean of the sentence", mean(costs[0]), mean(costs[row])),
        cells(`“${pieces[most + 1]}”, which needs it most`, costs[0][most], costs[row][most])));
    return found;
  }

  return mount(el, h("div", { className: "cl-ba" },
    h("div", { className: "cl-top" }, h("label", {}, "Sentence", given), which),
    h("div", { className: "cl-ba-cols" },
      scrollable("Who looks at whom", picture),
      h("div", {}, h("h4", {}, "Heads of the trained model: how sharply they look, and what it costs to switch them off"),
        ...heads.map((row, l) => h("div", { className: "cl-ba-layer", role: "group", "aria-label": `layer ${l + 1}` },
          h("span", {}, `layer ${l + 1}`), ...row.map(({ node }) => node))),
        title, told, word, h("h4", {}, "Nats of a hidden word, trained model"), scrollable("What the head is worth", cost))),
    live), show, found => `The three largest: ${three(found)}.`);
}
export default { render };
