/* A small GPT, all of it, in the page: its attention weights head by head, and what it predicts with heads switched
   off. The functions above render() compute every number that is shown; attention_heads.py is their reference. Layers,
   heads and words are counted from 0 here, from 1 on the page; place 0 of the tokens is the start symbol. */
import { button, columnHead, decoded, dropdown, h, numbered, on, oneStop, same, scrollable, showChoice, sum,
  tie } from "./common.js";

const half = bits => {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * fraction / 1024);
};
/* Parameters from base64, in the order of parameters() in Python: each layer as norms, then weight and bias in turn. */
export function unpack(text, sizes, vocabulary) {
  const view = decoded(text);
  const all = Float64Array.from({ length: view.byteLength / 2 }, (_, j) => half(view.getUint16(2 * j, true)));
  const { layers, heads: H, width: D, hidden: F, window: W, eps, start } = sizes;
  let at = 0;
  const take = size => all.subarray(at, at += size), norm = () => ({ gamma: take(D), beta: take(D), eps });
  const linear = (from, to) => ({ from, to, weight: take(from * to), bias: take(to) });
  const tokens = take(vocabulary * D), positions = take(W * D);
  const blocks = Array.from({ length: layers }, () => ({ norm1: norm(), norm2: norm(),
    qkv: linear(D, 3 * D), out: linear(D, D), widen: linear(D, F), narrow: linear(F, D) }));
  return { H, D, V: vocabulary, start, tokens, positions, blocks, norm: norm() };
}
const apply = (f, x) => Float64Array.from(f.bias, (b, o) => {
  for (let i = 0; i < f.from; i++) b += f.weight[o * f.from + i] * x[i];
  return b;
});
const mean = values => sum(values) / values.length;
function normalise({ gamma, beta, eps }, x) {
  const centre = mean(x), variance = mean(x.map(v => (v - centre) ** 2));
  return x.map((v, i) => gamma[i] * (v - centre) / Math.sqrt(variance + eps) + beta[i]);
}
const gelu = v => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)));
export function softmax(scores) {
  const most = Math.max(...scores), e = scores.map(s => Math.exp(s - most)), total = sum(e);
  return e.map(v => v / total);
}
export const entropy = row => -sum(row.map(a => a > 0 ? a * Math.log(a) : 0));
/* How much probability went from one word to another, 0 to 1. */
export const moved = (p, q) => sum(p.map((v, i) => Math.abs(v - q[i]))) / 2;

/* Row i of a head: the softmax over places 0 to i of q_i k_j / sqrt(K); its output is zero if it is off. */
export function run(m, words, off = []) {
  const T = words.length + 1, K = m.D / m.H, scale = Math.sqrt(K), weights = [];
  let x = [m.start, ...words].map((id, t) =>
    Float64Array.from({ length: m.D }, (_, d) => m.tokens[id * m.D + d] + m.positions[t * m.D + d]));
  m.blocks.forEach((block, layer) => {
    const qkv = x.map(row => apply(block.qkv, normalise(block.norm1, row)));
    const joined = x.map(() => new Float64Array(m.D));
    weights.push(Array.from({ length: m.H }, (_, h) => {
      const silent = off.some(([l, g]) => l === layer && g === h);
      return qkv.map((q, i) => {
        const scores = Array.from({ length: i + 1 }, (_, j) => {
          let s = 0;
          for (let k = h * K; k < (h + 1) * K; k++) s += q[k] * qkv[j][m.D + k];
          return s / scale;
        });
        const a = softmax(scores);
        if (!silent) a.forEach((w, j) => {
          for (let k = h * K; k < (h + 1) * K; k++) joined[i][k] += w * qkv[j][2 * m.D + k];
        });
        return [...a, ...Array(T - 1 - i).fill(0)];
      });
    }));
    const add = (row, more) => row.map((v, d) => v + more[d]);
    x = x.map((row, i) => add(row, apply(block.out, joined[i])));
    x = x.map(row => add(row, apply(block.narrow, apply(block.widen, normalise(block.norm2, row)).map(gelu))));
  });
  const logits = x.map(row => {
    const y = normalise(m.norm, row);
    return Array.from({ length: m.V }, (_, v) => y.reduce((s, value, d) => s + value * m.tokens[v * m.D + d], 0));
  });
  const entropies = weights.map(layer => layer.map(head => head.map(entropy)));
  return { weights, entropy: entropies, logits, p: logits.map(softmax) };
}
/* The most likely words, [id, probability], best first. */
export const top = (p, count = 3) =>
  [...p.keys()].sort((a, b) => p[b] - p[a] || a - b).slice(0, count).map(v => [v, p[v]]);

/* ---- the page ---- */
const TRAITS = ["text_ids", "off", "shown"];
const HELP = "Choose a text or change its words; press a head to see it large; switch a head off and watch the predictions.";

function render({ model, el }) {
  const names = model.get("words"), sizes = model.get("sizes"), examples = model.get("examples");
  const m = unpack(model.get("weights"), sizes, names.length), most = sizes.window - 1;
  const { live, say, state, change: commit, mount } = tie(model, TRAITS);
  function change(values, sentence) {
    commit(values, sentence);
    told.hidden = live.textContent === told.textContent;             // what was just said is not shown twice
  }
  const isOff = (s, layer, head) => s.off.some(pair => same(pair, [layer, head]));
  const head = ([layer, number]) => `layer ${layer + 1}, head ${number + 1}`;
  const write = pairs => pairs.filter(([, p], i) => i === 0 || p >= 0.005)
    .map(([v, p]) => `${names[v]} ${p.toFixed(2)}`).join(", ");
  const next = found => `Most likely next: ${write(top(found.now.p.at(-1)))}.`;

  /* the text */
  const given = dropdown(numbered(examples.map(ids => ids.map(v => names[v]).join(" "))),
    i => change({ text_ids: [...examples[i]] }, found => `Another text. ${next(found)}`), "your own words");
  const known = numbered(names).filter(([v]) => v !== m.start);
  const choices = Array.from({ length: most }, (_, i) => {
    const node = dropdown(known, id => change({ text_ids: state().text_ids.map((v, j) => j === i ? +id : v) },
      found => `Word ${i + 1} is “${names[id]}”. ${next(found)}`));
    node.setAttribute("aria-label", `word ${i + 1}`);
    node.dataset.word = i;
    return node;
  });
  const longer = button("add the most likely word", () => {
    const s = state(), number = s.text_ids.length + 1;
    if (number > most) return say(`A text has ${most} words at most.`);
    const [[word]] = top(run(m, s.text_ids, s.off).p.at(-1).map((p, v) => v === m.start ? 0 : p), 1);
    change({ text_ids: [...s.text_ids, word] }, found => `Word ${number} is “${names[word]}”. ${next(found)}`);
  });
  const shorter = button("remove the last word", () => {
    const ids = state().text_ids.slice(0, -1);
    if (!ids.length) return say("A text has one word at least.");
    change({ text_ids: ids }, found => `${ids.length} ${ids.length === 1 ? "word" : "words"}. ${next(found)}`);
  });

  /* all heads: a button each, and a switch each */
  const moves = ({ s, shift, T }) => {
    const at = shift.indexOf(Math.max(...shift));
    return !s.off.length ? "All heads are on."
      : `Switched off: ${s.off.map(head).join("; ")}. The prediction moves most at place ${at + 1} of ${T}, `
        + `after “${names[[m.start, ...s.text_ids][at]]}”: ${shift[at].toFixed(2)} of the probability.`;
  };
  const small = m.blocks.map((_, l) => Array.from({ length: m.H }, (_, n) => {
    const picture = h("span", { className: "cl-ah-small", "aria-hidden": "true" }), note = h("span", {});
    const large = button([h("span", {}, `head ${n + 1}`), picture, note], () => change({ shown: [l, n] }, ({ now }) =>
      `Large: ${head([l, n])}. Mean entropy of its rows: ${mean(now.entropy[l][n]).toFixed(2)} nats.`),
    { className: "cl-ah-head", "data-head": `${l},${n}` });
    const box = on(h("input", { type: "checkbox", "aria-label": `${head([l, n])} is on`, "data-switch": `${l},${n}` }),
      "change", () => {
        const rest = state().off.filter(pair => !same(pair, [l, n]));
        change({ off: box.checked ? rest : [...rest, [l, n]].sort((a, b) => a[0] - b[0] || a[1] - b[1]) }, moves);
      });
    return { large, picture, note, box };
  }));
  oneStop(small.map(row => row.map(({ large }) => large)));
  const all = button("switch all heads on", () => change({ off: [] }, moves));

  /* one head with its numbers, and the predictions */
  const title = h("h4", {}), matrix = h("table", {}), told = h("p", {});
  const predicted = h("table", { "aria-label": "Predictions" });
  const cell = (i, j, a) => j > i ? h("td", { className: "cl-ah-closed" })
    : h("td", { "data-a": a, "data-pair": `${i},${j}`, style: `--a:${a}` }, a.toFixed(2).replace("0.", "."));

  function show() {
    const s = state(), [L, N] = s.shown;
    const now = run(m, s.text_ids, s.off), full = s.off.length ? run(m, s.text_ids) : now;
    const said = [m.start, ...s.text_ids].map(v => names[v]), T = said.length;
    const shift = now.p.map((p, t) => moved(p, full.p[t]));
    showChoice(given, examples.findIndex(ids => same(ids, s.text_ids)));
    choices.forEach((select, i) => {
      select.hidden = i >= s.text_ids.length;
      if (i < s.text_ids.length) select.value = String(s.text_ids[i]);
    });
    small.forEach((row, l) => row.forEach(({ large, picture, note, box }, n) => {
      const silent = isOff(s, l, n), spread = mean(now.entropy[l][n]);
      picture.innerHTML = `<svg viewBox="0 0 ${T} ${T}"><path d="M0 0V${T}H${T}Z"/>`
        + now.weights[l][n].map((a, i) => a.slice(0, i + 1).map((v, j) =>
          `<rect x="${j}" y="${i}" width="1" height="1" fill-opacity="${v}"/>`).join("")).join("") + "</svg>";
      note.textContent = silent ? "off" : spread.toFixed(2);
      large.dataset.entropy = spread;
      large.classList.toggle("cl-ah-off", silent);
      large.setAttribute("aria-pressed", String(same(s.shown, [l, n])));
      large.setAttribute("aria-label",
        `${head([l, n])}, ${silent ? "off" : "on"}, mean entropy ${spread.toFixed(2)} nats: show large`);
      box.checked = !silent;
    }));
    title.textContent = `Layer ${L + 1}, head ${N + 1}${isOff(s, L, N) ? ", switched off" : ""}: `
      + "who asks (row), who is asked (column)";
    matrix.setAttribute("aria-label", `Attention weights of ${head(s.shown)}`);
    matrix.replaceChildren(
      h("thead", {}, h("tr", {}, h("td"), ...[...said, "entropy"].map(w => columnHead(h("span", {}, w))))),
      h("tbody", {}, ...now.weights[L][N].map((row, i) => h("tr", {}, h("th", { scope: "row" }, said[i]),
        ...row.map((a, j) => cell(i, j, a)),
        h("td", { className: "cl-ah-entropy", "data-entropy": now.entropy[L][N][i] },
          now.entropy[L][N][i].toFixed(2))))));
    predicted.replaceChildren(
      h("thead", {}, h("tr", {}, ...["after", "most likely next", "with all heads on", "moved"]
        .map(t => columnHead(t)))),
      h("tbody", {}, ...said.map((w, t) => h("tr", { className: shift[t] >= 0.1 ? "cl-ah-moved" : "" },
        h("th", { scope: "row" }, w), h("td", { "data-top": JSON.stringify(top(now.p[t])) }, write(top(now.p[t]))),
        h("td", { "data-full": JSON.stringify(top(full.p[t])) }, write(top(full.p[t]))),
        h("td", { "data-moved": shift[t] }, shift[t].toFixed(2))))));
    const found = { s, now, full, shift, T };
    told.textContent = moves(found);
    told.hidden = false;
    return found;
  }

  return mount(el, h("div", { className: "cl-ah" },
    h("div", { className: "cl-top" }, h("label", {}, "Text", given)),
    h("div", { className: "cl-ah-words", role: "group", "aria-label": "Words of the text" }, ...choices),
    h("div", { className: "cl-buttons" }, longer, shorter, all),
    h("div", { className: "cl-ah-cols" },
      h("div", {}, h("h4", {}, "All heads, with mean entropy in nats"),
        ...small.map((row, l) => h("div", { className: "cl-ah-layer", role: "group", "aria-label": `layer ${l + 1}` },
          h("span", {}, `layer ${l + 1}`),
          ...row.map(({ large, box }) => h("div", {}, large, h("label", {}, box, "on"))))), told, live),
      h("div", {}, h("h4", {}, "Which word comes next?"), scrollable("Predictions", predicted))),
    h("div", {}, title, scrollable("Weights of one head", matrix)),
    h("p", { className: "cl-help" }, HELP)), show, next);
}
export default { render };
