/* An encoder-decoder transformer of one block on each side, all of it. run() computes every number that translator.js
   shows; run() in translator.py is its reference. terms() takes one of these numbers apart into the products that it is
   a sum of. A value is a list of rows, one a word; heads, words and components are counted from 0. */
import { decoded, sum } from "./common.js";

export const ATTENTIONS = ["encoder", "decoder", "cross"], LONGEST = 11;
/* The number of 16 bits of half precision; weights are finite. */
const half = b => (b & 0x8000 ? -1 : 1)
  * (b & 0x7c00 ? 2 ** ((b >> 10 & 31) - 15) * (1 + (b & 1023) / 1024) : (b & 1023) * 2 ** -24);

/* Parameters from base64, in the order of parameters() in Python. */
export function unpack(text, { source, target, width: D, heads: H, hidden: F }) {
  const view = decoded(text);
  const all = Float64Array.from({ length: view.byteLength / 2 }, (_, j) => half(view.getUint16(2 * j, true)));
  let at = 0;
  const take = size => all.subarray(at, at += size), norm = () => ({ gamma: take(D), beta: take(D) });
  const linear = (from, to) => ({ from, to, weight: take(from * to), bias: take(to) });
  const tables = { source: take(source * D), target: take(target * D) };
  const attention = () => ({ norm: norm(), qkv: linear(D, 3 * D), out: linear(D, D) });
  const network = () => ({ norm: norm(), widen: linear(D, F), narrow: linear(F, D) });
  const encoder = attention(), ffn1 = network(), ends1 = norm();
  const decoder = attention(), cross = attention(), ffn2 = network(), ends2 = norm();
  return { D, H, K: D / H, V: target, ...tables, encoder, ffn1, ends1, decoder, cross, ffn2, ends2 };
}

/* ---- forward ---- */
const dot = (weight, at, x) => { let s = 0; for (let i = 0; i < x.length; i++) s += weight[at + i] * x[i]; return s; };
/* Outputs `first` to `first + size - 1` of a layer. */
const apply = (f, x, first = 0, size = f.to) =>
  Array.from({ length: size }, (_, o) => f.bias[first + o] + dot(f.weight, (first + o) * f.from, x));
const moments = x => {
  const mean = sum(x) / x.length;
  return [mean, Math.sqrt(sum(x.map(v => (v - mean) ** 2)) / x.length + 1e-5)];
};
const normalise = (n, x) => {
  const [mean, spread] = moments(x);
  return x.map((v, j) => n.gamma[j] * (v - mean) / spread + n.beta[j]);
};
export function softmax(scores) {
  const most = Math.max(...scores), e = scores.map(s => Math.exp(s - most)), total = sum(e);
  return e.map(v => v / total);
}
const position = (t, j, D) => (j % 2 ? Math.cos : Math.sin)(t / 10000 ** ((j - j % 2) / D));
const embed = (m, table, ids) => ids.map((id, t) =>
  Array.from({ length: m.D }, (_, j) => Math.sqrt(m.D) * table[id * m.D + j] + position(t, j, m.D)));
const added = (a, b) => a.map((row, t) => row.map((v, j) => v + b[t][j]));
const silent = (off, part, head) => off.some(([p, n]) => p === part && n === head);

/* x + W_O [heads]: the heads read LN(x), and take keys and values from there or from `memory`. */
function attend(m, v, part, x, memory, off) {
  const f = m[part], { D, H, K } = m, put = (name, rows) => v[`${part}.${name}`] = rows;
  const y = put("normed", x.map(row => normalise(f.norm, row))), from = memory ?? y, joined = y.map(() => []);
  for (let n = 0; n < H; n++) {
    const q = put(`${n}.q`, y.map(row => apply(f.qkv, row, n * K, K)));
    const k = put(`${n}.k`, from.map(row => apply(f.qkv, row, D + n * K, K)));
    const w = put(`${n}.v`, from.map(row => apply(f.qkv, row, 2 * D + n * K, K)));
    const scores = put(`${n}.scores`, q.map((a, t) =>
      k.map((b, s) => part === "decoder" && s > t ? -Infinity : dot(a, 0, b) / Math.sqrt(K))));
    const weights = put(`${n}.weights`, scores.map(softmax)), gone = silent(off, part, n);
    put(`${n}.out`, weights.map(a => Array.from({ length: K }, (_, j) =>
      gone ? 0 : sum(a.map((alpha, s) => alpha * w[s][j])))));
    v[`${part}.${n}.out`].forEach((row, t) => joined[t].push(...row));
  }
  return put("sum", added(x, put("mixed", joined.map(row => apply(f.out, row)))));
}
function feed(m, v, part, x) {
  const f = m[part], put = (name, rows) => v[`${part}.${name}`] = rows;
  const y = put("normed", x.map(row => normalise(f.norm, row)));
  const hidden = put("hidden", y.map(row => apply(f.widen, row).map(a => Math.max(0, a))));
  return put("sum", added(x, put("out", hidden.map(row => apply(f.narrow, row)))));
}
function encode(m, source, off) {
  const v = { "encoder.x": embed(m, m.source, source) };
  const z = feed(m, v, "ffn1", attend(m, v, "encoder", v["encoder.x"], null, off));
  v["encoder.m"] = z.map(row => normalise(m.ends1, row));
  return v;
}
function decode(m, v, target, off) {
  const x = v["decoder.x"] = embed(m, m.target, target);
  const w = attend(m, v, "cross", attend(m, v, "decoder", x, null, off), v["encoder.m"], off);
  const last = v["decoder.last"] = feed(m, v, "ffn2", w).map(row => normalise(m.ends2, row));
  v["decoder.logits"] = last.map(row => Array.from({ length: m.V }, (_, id) => dot(m.target, id * m.D, row)));
  v["decoder.p"] = v["decoder.logits"].map(softmax);
  return v;
}
/* All values, by name, when the decoder reads `target`, which begins with the start symbol. `off`: pairs [part, head]. */
export const run = (m, source, target, off = []) => decode(m, encode(m, source, off), target, off);
/* The likeliest word each time, up to the end symbol: what is read, what is written, and all values. */
export function translated(m, source, off = [], start = 1, end = 2) {
  const values = encode(m, source, off), read = [start];
  for (;;) {
    decode(m, values, read, off);
    const p = values["decoder.p"].at(-1), best = p.indexOf(Math.max(...p));
    if (best === end || read.length === LONGEST) return { values, read, written: [...read.slice(1), best] };
    read.push(best);
  }
}

/* ---- one number, taken apart ---- */
/* What values[key][i][j] is computed from: { products: [[a, b], ...], plus, after }, where `after` is what is done to
   the sum: "", "relu", "root" (divided by the root of K), "off", "masked" or "softmax" (then `products` is empty, and
   `all` has what the softmax runs over). */
export function terms(m, v, ids, key, i, j) {
  const [part, ...rest] = key.split("."), name = rest.at(-1), f = m[part], { D, K } = m;
  const products = (weight, at, x) => Array.from(x, (b, n) => [b, weight[at + n]]);
  const layer = (g, o, x, after = "") => ({ products: products(g.weight, o * g.from, x), plus: g.bias[o], after });
  const scaled = (n, x) => {
    const [mean, spread] = moments(x);
    return { products: [[n.gamma[j], (x[j] - mean) / spread]], plus: n.beta[j], after: "" };
  };
  const both = (a, b) => ({ products: [[a[i][j], 1], [b[i][j], 1]], plus: 0, after: "" });
  const before = { encoder: "encoder.x", decoder: "decoder.x", cross: "decoder.sum", ffn1: "encoder.sum",
    ffn2: "cross.sum" }[part];
  if (key === "encoder.m") return scaled(m.ends1, v["ffn1.sum"][i]);
  if (key === "decoder.last") return scaled(m.ends2, v["ffn2.sum"][i]);
  if (key === "decoder.logits") return { products: products(m.target, j * D, v["decoder.last"][i]), plus: 0, after: "" };
  if (key === "decoder.p") return { products: [], all: v["decoder.logits"][i], after: "softmax" };
  if (name === "x") {
    const table = part === "encoder" ? m.source : m.target;
    return { products: [[Math.sqrt(D), table[ids[i] * D + j]]], plus: position(i, j, D), after: "" };
  }
  if (name === "normed") return scaled(f.norm, v[before][i]);
  if (name === "sum") return both(v[before], v[`${part}.${f.qkv ? "mixed" : "out"}`]);
  if (name === "hidden") return layer(f.widen, j, v[`${part}.normed`][i], "relu");
  if (part.startsWith("ffn")) return layer(f.narrow, j, v[`${part}.hidden`][i]);
  if (name === "mixed") return layer(f.out, j, [0, 1, 2].slice(0, m.H).flatMap(n => v[`${part}.${n}.out`][i]));
  const n = +rest[0], of = which => v[`${part}.${n}.${which}`];
  if (name === "q") return layer(f.qkv, n * K + j, v[`${part}.normed`][i]);
  if (name === "k" || name === "v") {
    return layer(f.qkv, (name === "k" ? D : 2 * D) + n * K + j, v[part === "cross" ? "encoder.m" : `${part}.normed`][i]);
  }
  if (name === "scores") {
    return { products: of("q")[i].map((a, k) => [a, of("k")[j][k]]), plus: 0,
      after: of("scores")[i][j] === -Infinity ? "masked" : "root" };
  }
  if (name === "weights") return { products: [], all: of("scores")[i], after: "softmax" };
  const used = of("weights")[i].map((alpha, s) => [alpha, of("v")[s][j]]);
  return { products: used, plus: 0, after: of("out")[i].every(o => o === 0) ? "off" : "" };
}
/* The number that terms() stand for. */
export function total({ products, plus, all, after }, j, K) {
  if (after === "softmax") return softmax(all)[j];
  const s = sum(products.map(([a, b]) => a * b)) + plus;
  return { relu: Math.max(0, s), root: s / Math.sqrt(K), off: 0, masked: -Infinity }[after] ?? s;
}

/* ---- the language ---- */
/* A sentence in its six places, and back; `denied` is true or false, an adjective may be "". */
export function parse(g, sentence) {
  const words = sentence.split(" "), s = { adjective: "", adjective2: "", denied: words.includes("not") };
  const noun = () => {
    words.shift();
    const described = words[0] in g.adjectives ? words.shift() : "";
    return [described, words.shift()];
  };
  if (words[0] in g.pronouns) s.subject = words.shift(); else [s.adjective, s.subject] = noun();
  if (s.denied) words.splice(0, 2);
  const verb = words.shift();
  s.verb = verb in g.verbs ? verb : verb.slice(0, -1);
  if (words[0] in g.pastimes) s.object = words[0]; else [s.adjective2, s.object] = noun();
  return s;
}
export function compose(g, s) {
  const noun = (adjective, word) => ["the", ...(adjective ? [adjective] : []), word], one = s.subject in g.pronouns;
  const verb = s.denied ? [one ? "do" : "does", "not", s.verb] : [one ? s.verb : `${s.verb}s`];
  return [...(one ? [s.subject] : noun(s.adjective, s.subject)), ...verb,
    ...(s.object in g.pastimes ? [s.object] : noun(s.adjective2, s.object))].join(" ");
}
/* The Italian of the grammar, as translate() in toy_translation.py has it. */
export function italian(g, s) {
  const noun = (adjective, word) => {
    const [article, own] = g.nouns[word];
    return [article, own, ...(adjective ? [g.adjectives[adjective][+(article === "la")]] : [])];
  };
  const one = s.subject in g.pronouns, verb = g.verbs[s.verb][one ? g.pronouns[s.subject] : 3];
  return [...(one ? [] : noun(s.adjective, s.subject)), ...(s.denied ? ["non"] : []), verb,
    ...(s.object in g.pastimes ? g.pastimes[s.object] : noun(s.adjective2, s.object))].join(" ");
}
/* Sentence b, written against a: pairs of a word and whether it is new. Words of a that are gone with none in their place
   are one pair of null and true. */
export function compared(a, b) {
  const best = Array.from({ length: a.length + 1 }, () => Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i][j] = a[i] === b[j] ? 1 + best[i + 1][j + 1] : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const found = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    let gone = 0, come = 0;
    while (i < a.length && (j === b.length || a[i] !== b[j]) || j < b.length && a[i] !== b[j]) {
      if (j === b.length || i < a.length && best[i + 1][j] >= best[i][j + 1]) { i++; gone++; }
      else { found.push([b[j++], true]); come++; }
    }
    if (gone && !come) found.push([null, true]);
    if (j < b.length) { found.push([b[j], false]); i++; j++; }
  }
  return found;
}
