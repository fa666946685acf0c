/* One text under the objectives of chapter denoising. The functions above render() compute all that is shown; corruptions.py
   has the same functions and is their reference. */
import { button, columnHead, dropdown, h, numbered, on, oneStop, refused, same, scrollable, showChoice, sum, tie,
  xorshift } from "./common.js";

const MASK = "[M]", END = ".", SENTINELS = ["<X>", "<Y>", "<Z>", "<U>", "<V>", "<W>"];
const READINGS = 100, RIGHT = 0.25, MOST = 24, LONGEST = 14, LAST_SEED = 9999;
const CHOOSING = ["RoBERTa", "ELECTRA", "BART: masked", "BART: deleted"];

/* ---- what is drawn; u() is the next uniform number ---- */
export function halfEven(x) {
  const up = Math.round(x);
  return up - x === 0.5 && up % 2 ? up - 1 : up;
}
export function permutation(n, u) {
  const keys = Array.from({ length: n }, u);
  return keys.map((_, i) => i).sort((a, b) => keys[a] - keys[b]);
}
export function poisson(mean, v) {
  let k = 0, p = Math.exp(-mean), total = p;
  while (v >= total && k < 50) { k++; p *= mean / k; total += p; }
  return k;
}
export function poissonLengths(budget, mean, u) {
  const lengths = [];
  while (sum(lengths) < budget) lengths.push(Math.min(poisson(mean, u()), budget - sum(lengths)));
  return lengths;
}
const ascending = values => values.sort((a, b) => a - b);
export function placed(T, lengths, u) {
  const items = permutation(T - sum(lengths) + lengths.length, u).slice(0, lengths.length);
  let taken = 0;
  return ascending(items).map((item, number) => {
    const start = item - number + taken;
    taken += lengths[number];
    return [start, start + lengths[number]];
  });
}
export function split(total, parts, u) {
  const cuts = [0, ...ascending(permutation(total - 1, u).slice(0, parts - 1).map(i => i + 1)), total];
  return cuts.slice(1).map((cut, i) => cut - cuts[i]);
}
export function separateSpans(T, rate, mean, u) {
  const covered = Math.min(Math.max(halfEven(rate * T), 1), T - 1);
  const number = Math.min(Math.max(1, halfEven(covered / mean)), covered, T - covered + 1);
  const sizes = split(covered, number, u), gaps = split(T - covered + 2, number + 1, u);
  let at = -1;
  return sizes.map((size, i) => {
    const start = at + gaps[i];
    at = start + size;
    return [start, at];
  });
}

/* ---- what is made of a text ---- */
function exchanged(tokens, spans) {
  let reads = [], tells = [], at = 0;
  spans.forEach(([start, end], i) => {
    reads.push(...tokens.slice(at, start), SENTINELS[i]);
    tells.push(SENTINELS[i], ...tokens.slice(start, end));
    at = end;
  });
  return { reads: [...reads, ...tokens.slice(at)], tells: [...tells, SENTINELS[spans.length]] };
}
export function sentences(tokens) {
  const parts = [[]];
  for (const token of tokens) {
    parts[parts.length - 1].push(token);
    if (token === END) parts.push([]);
  }
  return parts.filter(part => part.length);
}
function gap(tokens) {
  const parts = sentences(tokens);
  if (parts.length < 2) return { reads: tokens, tells: [] };
  const scores = parts.map((part, i) => {
    const rest = parts.flatMap((other, j) => j === i ? [] : other), left = [...rest];
    const common = part.filter(t => left.includes(t) && left.splice(left.indexOf(t), 1)).length;
    return 2 * common / (part.length + rest.length);
  });
  const best = scores.indexOf(Math.max(...scores));
  return { reads: parts.flatMap((part, i) => i === best ? [MASK] : part), tells: parts[best] };
}
/* What objective i makes of the tokens at a reading: { reads, tells, at, turn }, as Task in Python. */
export function task({ objectives, words: tokens, seed, share, vocabulary }, i, reading) {
  const [name, paper] = objectives[i], T = tokens.length, rate = (share || paper) / 100;
  const u = xorshift((seed * 128 + reading) * 16 + (CHOOSING.includes(name) ? 0 : i) + 1), all = tokens.map((_, k) => k);
  const made = parts => ({ at: [], turn: [], ...parts });
  let reads;
  if (name === "BERT" || CHOOSING.includes(name)) {
    const [chance, fate, pick] = [0, 1, 2].map(() => Array.from({ length: T }, u));
    const others = [...new Set([...vocabulary, ...tokens])], chosen = all.filter(k => chance[k] < rate);
    const putIn = k => others[Math.floor(pick[k] * others.length)], change = f =>
      tokens.map((token, k) => chosen.includes(k) ? f(token, k) : token);
    if (name === "ELECTRA") {
      reads = change((token, k) => fate[k] < RIGHT ? token : putIn(k));
      return made({ reads, tells: reads.map((token, k) => token === tokens[k] ? "0" : "1"), at: all });
    }
    if (!name.startsWith("BART")) {
      reads = change((token, k) => fate[k] < 0.8 ? MASK : fate[k] < 0.8 + 0.1 ? putIn(k) : token);
      return made({ reads, tells: chosen.map(k => tokens[k]), at: chosen });
    }
    reads = name === "BART: masked" ? change(() => MASK) : tokens.filter((_, k) => !chosen.includes(k));
  } else if (name === "XLNet") {
    const order = permutation(T, u);
    return made({ reads: tokens, tells: order.map(k => tokens[k]), at: all, turn: all.map(k => order.indexOf(k) + 1) });
  } else if (name === "T5") return made(exchanged(tokens, separateSpans(T, rate, 3, u)));
  else if (name === "Pegasus") return made(gap(tokens));
  else if (name === "BART: infilled") {
    let at = 0;
    reads = placed(T, poissonLengths(halfEven(rate * T), 3, u), u).flatMap(([start, end]) => {
      const before = tokens.slice(at, start);
      at = end;
      return [...before, MASK];
    });
    reads.push(...tokens.slice(at));
  } else if (name === "BART: permuted") {
    const parts = sentences(tokens);
    reads = permutation(parts.length, u).flatMap(k => parts[k]);
  } else {
    const start = Math.floor(u() * T);
    reads = [...tokens.slice(start), ...tokens.slice(0, start)];
  }
  return made({ reads, tells: tokens });
}
const losses = ({ at, tells }) => at.length || tells.length;
/* Places with a loss for 100 tokens of the text, over all readings of a seed. */
export function perHundred(s, i) {
  let count = 0;
  for (let reading = 1; reading <= READINGS; reading++) count += losses(task(s, i, reading));
  return 100 * count / (READINGS * s.words.length);
}
export const cut = text => (text.match(/[^\s.?!]+|[.?!]/g) ?? []).map(t => ".?!".includes(t) ? END : t);

/* ---- the page ---- */
const SHARES = [[0, "as in the papers"], [30, "30 %"], [50, "50 %"]];
const isSign = token => token === MASK || SENTINELS.includes(token);

function render({ model, el }) {
  const fixed = { objectives: model.get("objectives"), vocabulary: model.get("vocabulary") }, texts = model.get("texts");
  const { live, say, state: settings, change, mount } = tie(model, ["words", "seed", "reading", "share", "row"]);
  const state = () => ({ ...fixed, ...settings() });
  const shown = (s, i) => task(s, i, s.objectives[i][0] === "BERT" ? 1 : s.reading);
  const times = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  function told(s) {
    const t = shown(s, s.row), [name, , rule] = s.objectives[s.row], n = losses(t);
    const tells = t.tells.length ? `tells “${t.tells.join(" ")}”` : "tells nothing";
    const kept = name === "BERT" && s.reading > 1 ? " The mask is that of the first reading." : "";
    const alone = name === "Pegasus" && !n ? " It needs two sentences." : "";
    return `${name}. ${rule} It reads ${times(t.reads.length, "token")} and ${tells}: `
      + `${times(n, "place")} with a loss for ${s.words.length} tokens of text.${kept}${alone}`;
  }
  const after = first => s => `${first(s)} ${told(s)}`;

  // the text, the share, the draw
  const take = words => change({ words }, after(() => `The text has ${words.length} tokens.`));
  const pick = dropdown(numbered(texts), i => {
    typed.value = "";
    refused(typed, false);
    take(cut(texts[i]));
  }, "your own text");
  const typed = h("input", { type: "text", className: "cl-co-typed", placeholder: "two sentences or more" });
  on(typed, "change", () => {
    const words = cut(typed.value);
    const fault = words.length < 2 || words.length > MOST || words.some(w => [...w].length > LONGEST || isSign(w));
    refused(typed, fault && words.length > 0);
    if (fault) say(`A text has 2 to ${MOST} words and full stops, a word at most ${LONGEST} letters, and no sign.`);
    else take(words);
  });
  const share = dropdown(SHARES, v => change({ share: +v }, after(s => s.share ? `${s.share} % are spoilt.` : "As in the papers.")));
  const again = button("read it again", () => {
    const reading = state().reading % READINGS + 1;
    change({ reading }, after(() => `Reading ${reading}: only BERT's mask is what it was.`));
  });
  const fresh = button("draw anew", () => {
    const seed = state().seed === LAST_SEED ? 0 : state().seed + 1;
    change({ seed, reading: 1 }, after(() => `Draw ${seed}, the first reading.`));
  });
  const back = button("begin again", () => {
    typed.value = "";
    refused(typed, false);
    change({ words: cut(texts[0]), seed: 7, reading: 1, share: 0, row: 0 }, after(() => "As at the beginning."));
  });
  const count = h("span", { className: "cl-co-count" });

  // a row for each objective
  const rows = fixed.objectives.map(([name], i) => {
    const chooser = button(name, () => change({ row: i }, told), { "data-row": i });
    const cells = ["reads", "tells", "losses", "hundred"].map(kind => h("td", { className: `cl-co-${kind}` }));
    return { chooser, cells, node: h("tr", {}, h("th", { scope: "row" }, chooser), ...cells) };
  });
  oneStop(rows.map(row => [row.chooser]));
  const heads = ["objective", "the model reads", "it must tell", "losses", "per 100"];
  const table = h("table", { "aria-label": "What each objective makes of the text" },
    h("thead", {}, h("tr", {}, ...heads.map(head => columnHead(head)))), h("tbody", {}, ...rows.map(row => row.node)));

  function token(text, k, original, at, turn) {
    const kind = isSign(text) ? "sign" : original !== undefined && text !== original ? "other" : "";
    const node = h("span", { className: `${kind && `cl-co-${kind}`} ${at.includes(k) ? "cl-co-loss" : ""}`.trim() }, text);
    if (turn.length) node.append(h("sup", {}, String(turn[k])));
    return [node, " "];
  }
  function show() {
    const s = state();
    showChoice(pick, texts.findIndex(text => same(cut(text), s.words)));
    share.value = String(s.share);
    count.textContent = `draw ${s.seed}, reading ${s.reading}`;
    rows.forEach(({ chooser, cells: [reads, tells, lost, hundred], node }, i) => {
      const t = shown(s, i), inPlace = t.at.length > 0 || t.reads.length === s.words.length && i < 2;
      const whole = same(t.tells, s.words) && !t.at.length, every = perHundred(s, i);
      chooser.setAttribute("aria-pressed", String(i === s.row));
      node.className = i === s.row ? "cl-co-is" : "";
      reads.replaceChildren(...t.reads.flatMap((text, k) => token(text, k, inPlace ? s.words[k] : undefined, t.at, t.turn)));
      if (whole) tells.replaceChildren(h("span", { className: "cl-co-loss" }, "the whole text"));
      else tells.replaceChildren(...t.tells.flatMap((text, k) =>
        token(text, k, undefined, t.at.length ? [] : t.tells.map((_, j) => j), [])));
      if (!t.tells.length) tells.textContent = "nothing";
      lost.textContent = String(losses(t));
      hundred.textContent = every.toFixed(0);
      Object.assign(node.dataset, { reads: t.reads.join(" "), tells: t.tells.join(" "), losses: losses(t),
        at: t.at.join(" "), turn: t.turn.join(" "), hundred: every });
    });
    return s;
  }

  say(told(state()));
  return mount(el, h("div", { className: "cl-co" },
    h("div", { className: "cl-top" }, h("label", {}, "Text", pick), h("label", {}, "or your own", typed)),
    h("div", { className: "cl-buttons" }, h("label", {}, "Spoilt ", share), again, fresh, back, count),
    scrollable("Objectives", table),
    h("p", { className: "cl-co-note" }, h("span", { className: "cl-co-loss" }, "Underlined"),
      ": a loss is taken here. The last column: losses for 100 tokens, over a hundred readings. No network is behind it."),
    live), show, told);
}
export default { render };
