/* Ways through a tree of sequences. These functions compute every number that decoding_tree.js shows; decoding_tree.py
   has the same ones and is their reference. A tree is { symbols, end, root, length, joiner, rows }; a row holds
   [symbol, log p, row that follows] for each branch. A hypothesis is { tokens, logProb, score }. */
import { sum, xorshift } from "./common.js";

function logSoftmax(values) {
  const most = Math.max(...values), total = Math.log(sum(values.map(v => Math.exp(v - most))));
  return values.map(v => v - most - total);
}
/* The log-probabilities of one row after temperature, then top-k, then top-p; -Infinity for what is cut. */
export function reshape(logP, { temperature, top_k: k, top_p: p }) {
  if (temperature === 0) {
    const best = logP.indexOf(Math.max(...logP));
    return logP.map((_, i) => i === best ? 0 : -Infinity);
  }
  let out = logP.map(v => v / temperature);
  if (k && k < out.length) {
    const least = [...out].sort((a, b) => b - a)[k - 1];             // what ties with the k-th stays
    out = out.map(v => v >= least ? v : -Infinity);
  }
  if (p < 1) {
    const mass = logSoftmax(out).map(Math.exp), kept = [...out];
    const rank = out.map((_, i) => i).sort((a, b) => out[a] - out[b]);
    let tail = 0;                                                    // the mass of a value and all below it
    rank.forEach((i, r) => {
      tail += mass[i];
      if (!(tail > 1 - p) && r < rank.length - 1) kept[i] = -Infinity;
    });
    out = kept;
  }
  return logSoftmax(out);
}
/* The branches after a beginning: [{ v, step, changed, next }], changed only where a setting samples. */
export function branches(tree, row, s) {
  const logP = tree.rows[row].map(b => b[1]), changed = s.strategy === "sampling" ? reshape(logP, s) : logP;
  return tree.rows[row].map(([v, step, next], i) => ({ v, step, changed: changed[i], next }));
}
const over = (tree, tokens) => tokens.length === tree.length || tokens.at(-1) === tree.end;
/* Every beginning that a row of the tree leads to, depth first: { tokens, logProb, score, p, q, last }. p and q are the
   branch that leads to it, in the model and under the setting. */
export function beginnings(tree, s) {
  const out = [];
  (function visit(tokens, row, logProb, score) {
    for (const b of branches(tree, row, s)) {
      const node = { tokens: [...tokens, b.v], logProb: logProb + b.step, score: score + b.changed,
        p: Math.exp(b.step), q: Math.exp(b.changed) };
      node.last = over(tree, node.tokens);
      out.push(node);
      if (!node.last) visit(node.tokens, b.next, node.logProb, node.score);
    }
  })([], tree.root, 0, 0);
  if (s.strategy !== "sampling") {
    for (const b of out) b.score = b.logProb / b.tokens.length ** (s.strategy === "greedy" ? 0 : s.exponent);
  }
  return out;
}
/* The uniforms of a draw, cut to the four decimal places that are shown. */
export function uniforms(seed, n) {
  const uniform = xorshift(seed);
  return Array.from({ length: n }, () => Math.floor(uniform() * 10000) / 10000);
}
function beam(tree, s) {
  const k = s.width, steps = [];
  let going = [{ tokens: [], row: tree.root, logProb: 0 }], done = [];
  for (let t = 1; t <= tree.length; t++) {
    const all = going.flatMap(b => tree.rows[b.row].map(([v, step, row]) => {
      const logProb = b.logProb + step;
      return { tokens: [...b.tokens, v], row, logProb, score: logProb / t ** s.exponent };
    })).sort((a, b) => b.logProb - a.logProb);                       // stable: ties in the order of the symbols
    const finished = all.slice(0, k).filter(b => over(tree, b.tokens));          // only the first k may finish
    going = all.filter(b => !over(tree, b.tokens)).slice(0, k);
    done = [...done, ...finished].sort((a, b) => b.score - a.score).slice(0, k);
    const ends = !going.length || (done.length === k && going[0].score <= done.at(-1).score);
    const dropped = all.filter(b => !finished.includes(b) && !going.includes(b));
    steps.push({ kept: ends ? [] : going, finished, dropped, stopped: ends ? going : [], done, cut: [], u: null });
    if (ends) break;
  }
  return steps;
}
function walk(tree, s) {
  const sampling = s.strategy === "sampling", u = sampling ? uniforms(s.seed, tree.length) : [], steps = [];
  let here = { tokens: [], row: tree.root, logProb: 0, score: 0 };
  for (let t = 0; t < tree.length; t++) {
    const all = branches(tree, here.row, s).map(b => ({ tokens: [...here.tokens, b.v], row: b.next,
      q: Math.exp(b.changed), logProb: here.logProb + b.step, score: here.score + b.changed }));
    const open = all.filter(b => b.score > -Infinity);
    if (sampling) {                                                // inverse CDF: the first whose share reaches past u
      const total = sum(open.map(b => b.q));
      let cdf = 0;
      for (const b of open) { b.from = cdf / total; cdf += b.q; b.to = cdf / total; b.end = cdf; }
      here = open.find(b => u[t] * total < b.end) ?? open.at(-1);
    } else here = open.reduce((a, b) => b.score > a.score ? b : a);
    const last = over(tree, here.tokens);
    steps.push({ kept: last ? [] : [here], finished: last ? [here] : [], stopped: [], done: last ? [here] : [],
      dropped: open.filter(b => b !== here).sort((a, b) => b.score - a.score),
      cut: all.filter(b => !open.includes(b)), u: sampling ? u[t] : null, open });
    if (last) break;
  }
  return steps;
}
export const follow = (tree, s) => s.strategy === "beam search" ? beam(tree, s) : walk(tree, s);
/* Whole sequences, best first: by the score of the search, of a draw by the probability in the model. */
export const sequences = (tree, s) => beginnings(tree, s).filter(b => b.last)
  .sort((a, b) => s.strategy === "sampling" ? b.logProb - a.logProb : b.score - a.score);
