/* BERT's 15 / 80 / 10 / 10 rule on one sentence. The functions above render() compute every number that is shown;
   bert_masking.py has the same functions and is their reference. */
import { button, columnHead, dropdown, h, numbered, on, oneStop, refused, same, scrollable, showChoice, thousands,
  tie } from "./common.js";

const BY_DRAW = -1, CHOSEN = 1;
const UNCHOSEN = 0, HIDDEN = 1, RANDOM = 2, KEPT = 3;
const DONE = ["", "[MASK]", "random", "unchanged"];

function mix(x) {
  x = Math.imul(x ^ x >>> 16, 0x85ebca6b);
  x = Math.imul(x ^ x >>> 13, 0xc2b2ae35);
  return (x ^ x >>> 16) >>> 0;
}
/* The first num numbers in [0, 1) of a seed. */
export function uniforms(seed, num) {
  const start = mix(seed), out = new Float64Array(num);
  for (let i = 0; i < num; i++) out[i] = mix(start + Math.imul(i, 0x9e3779b9) | 0) / 4294967296;
  return out;
}
/* What happens to a token: 0 not chosen, 1 hidden, 2 replaced, 3 kept. rate and shares in percent. */
export function fate(ordinary, rate, shares, u, f, hand = BY_DRAW) {
  const chosen = hand === BY_DRAW ? u < rate / 100 : hand === CHOSEN;
  if (!chosen || !ordinary) return UNCHOSEN;
  return f < shares[0] / 100 ? HIDDEN : f < shares[0] / 100 + shares[1] / 100 ? RANDOM : KEPT;
}
/* The ordinary words that may be put in: the vocabulary, then those of the sentence that it lacks. */
export function candidates(words, vocabulary, special) {
  return [...new Set([...vocabulary, ...words])].filter(word => !special.includes(word));
}
/* The draw that is shown: for each token its three numbers, its fate, and what the model reads. */
export function drawn({ words, vocabulary, special, rate, shares, seed, hand }) {
  const tokens = ["[CLS]", ...words, "[SEP]"], T = tokens.length, all = uniforms(seed, 3 * T);
  const others = candidates(words, vocabulary, special);
  return tokens.map((token, i) => {
    const u = all[i], f = all[T + i], r = all[2 * T + i], ordinary = !special.includes(token);
    const k = fate(ordinary, rate, shares, u, f, hand[i]);
    const read = k === HIDDEN ? "[MASK]" : k === RANDOM ? others[Math.floor(r * others.length)] : token;
    return { token, u, f, r, ordinary, byHand: hand[i] !== BY_DRAW, fate: k, read };
  });
}
/* Shares over many draws beside what is expected, with the standard error of the share; nothing chosen by hand. */
export function counts(ordinary, rate, shares, seed, draws) {
  const T = ordinary.length, all = uniforms(seed, 3 * T * draws), of = [0, 0, 0, 0];
  let empty = 0;
  for (let d = 0; d < draws; d++) {
    let none = true;
    for (let i = 0, at = 3 * T * d; i < T; i++) {
      if (!ordinary[i]) continue;
      const k = fate(true, rate, shares, all[at + i], all[at + T + i]);
      of[k]++;
      if (k) none = false;
    }
    if (none) empty++;
  }
  const m = ordinary.filter(Boolean).length, chosen = of[HIDDEN] + of[RANDOM] + of[KEPT];
  return [["tokens chosen", chosen, m * draws, rate / 100],
    ...[HIDDEN, RANDOM, KEPT].map((k, j) => [`chosen: ${DONE[k]}`, of[k], chosen, shares[j] / 100]),
    ["draws with nothing chosen", empty, draws, (1 - rate / 100) ** m]]
    .map(([label, count, num, p]) =>
      ({ label, count, of: num, expected: p, error: num ? Math.sqrt(p * (1 - p) / num) : NaN }));
}
/* Share i set to a value; the others make room: unchanged first, or [MASK] if i is unchanged, then the third. */
export function reshare(shares, i, value) {
  const out = [...shares], first = i === 2 ? 0 : 2, third = 3 - i - first;
  out[first] -= value - out[i];
  out[i] = value;
  if (out[first] < 0) { out[third] += out[first]; out[first] = 0; }
  return out;
}

/* ---- the page ---- */
const TRAITS = ["words", "rate", "shares", "seed", "step", "draws", "hand"];
const MOST = 20, LONGEST = 24, LAST_SEED = 999999;
const PRESETS = [["as the paper", 15, [80, 10, 10]], ["always [MASK]", 15, [100, 0, 0]],
  ["never [MASK]", 15, [0, 50, 50]], ["half of the tokens", 50, [80, 10, 10]]];
const percent = v => `${(100 * v).toFixed(2)}\u00a0%`;
const part = v => (v / 100).toFixed(2);

const steps = s => [
  `Choose. A token is chosen if its u is below ${part(s.rate)}. [CLS], [SEP] and other special tokens never are.`,
  `Decide. Of a chosen token, f below ${part(s.shares[0])} makes [MASK], f below ${part(s.shares[0] + s.shares[1])} a `
    + "random word; otherwise it stays unchanged.",
  "Read. This is the sentence that goes into the model. It is not told what was chosen.",
  "Ask. The loss is taken at the chosen tokens, also at those that were left unchanged, and nowhere else."];

function render({ model, el }) {
  const fixed = { vocabulary: model.get("vocabulary"), special: model.get("special") };
  const sentences = model.get("sentences");
  const { live, say, state: settings, change, mount } = tie(model, TRAITS,
    "Go through the four steps, draw again, change the rule, or choose a token by hand.");
  const state = () => ({ ...fixed, ...settings() });
  let built = "";
  /* What is known of the draw at this step, in one sentence. */
  function summary(s) {
    const chosen = drawn(s).filter(t => t.fate);
    if (!chosen.length) return "Nothing is chosen.";
    return `Chosen: ${chosen.map(t => t.token + (s.step === 1 ? "" : t.fate === RANDOM && s.step > 2
      ? ` (random: ${t.read})` : ` (${DONE[t.fate]})`)).join(", ")}.`;
  }

  // the sentence
  const pick = dropdown(numbered(sentences), i => {
    typed.value = "";
    refused(typed, false);
    take(sentences[i].split(" "));
  }, "your own words");
  const take = words => change({ words, hand: Array(words.length + 2).fill(BY_DRAW) }, s =>
    `The sentence has ${words.length} ${words.length === 1 ? "word" : "words"}. ${summary(s)}`);
  const typed = h("input", { type: "text", className: "cl-bm-typed", placeholder: "a sentence" });
  on(typed, "change", () => {
    const words = typed.value.split(/\s+/).filter(Boolean);
    const fault = words.length > MOST || words.some(w => [...w].length > LONGEST)
      || (words.length > 0 && words.every(w => fixed.special.includes(w)));
    refused(typed, fault);
    if (fault) say(`At most ${MOST} words of at most ${LONGEST} characters, and not all of them special.`);
    else if (words.length) take(words);
  });

  // the rule
  const slider = (label, low, high, set) => {
    const input = on(h("input", { type: "range", min: low, max: high, step: 1 }), "input", () => set(+input.value));
    const out = h("output", { className: "cl-bm-out" });
    return { input, out, row: h("div", { className: "cl-row" }, h("label", {}, h("span", {}, label), input), out) };
  };
  const ruled = s => `The rule: ${s.rate} % chosen; of these ${s.shares[0]} % [MASK], ${s.shares[1]} % random, `
    + `${s.shares[2]} % unchanged. ${summary(s)}`;
  const rate = slider("chosen", 1, 100, v => change({ rate: v }, ruled));
  const shares = ["[MASK]", "random", "unchanged"].map((label, i) =>
    slider(label, 0, 100, v => change({ shares: reshare(state().shares, i, v) }, ruled)));
  const preset = dropdown(numbered(PRESETS.map(([label]) => label)), i => {
    const [, r, parts] = PRESETS[i];
    change({ rate: r, shares: [...parts] }, ruled);
  }, "your own rule");

  // the draw and its steps
  const free = () => state().hand.map(() => BY_DRAW);
  const draw = seed => change({ seed, hand: free() }, s => `Draw of seed ${s.seed}. ${summary(s)}`);
  const seed = h("input", { type: "text", inputMode: "numeric", className: "cl-bm-seed" });
  on(seed, "change", () => {
    const value = /^\s*\d{1,6}\s*$/.test(seed.value) ? +seed.value : NaN;
    refused(seed, Number.isNaN(value));
    if (Number.isNaN(value)) say(`A seed is a whole number from 0 to ${LAST_SEED}.`); else draw(value);
  });
  const again = button("new draw", () => {
    refused(seed, false);
    draw(state().seed === LAST_SEED ? 0 : state().seed + 1);
  });
  const go = by => {
    const step = state().step + by;
    if (step < 1 || step > 4) return say(`This is the ${step < 1 ? "first" : "last"} step.`);
    change({ step }, s => `Step ${step} of 4. ${steps(s)[step - 1]} ${[summary, summary, read, asked][step - 1](s)}`);
  };
  const back = button("step back", () => go(-1)), next = button("next step", () => go(1));
  const release = button("take back what you chose", () => change({ hand: free() }, s => `As drawn. ${summary(s)}`));
  const read = s => `The model reads: ${drawn(s).map(t => t.read).join(" ")}`;
  const asked = s => {
    const at = drawn(s).flatMap((t, i) => t.fate ? [`${t.token} (position ${i})`] : []);
    return `It must predict: ${at.join(", ") || "nothing; this draw gives no loss"}.`;
  };
  function toggle(i) {
    const s = state(), t = drawn(s)[i], chosen = !t.fate, byDraw = t.u < s.rate / 100;
    const hand = s.hand.map((v, j) => j !== i ? v : chosen === byDraw ? BY_DRAW : +chosen);
    const how = `${chosen ? "chosen" : "not chosen"}, ${chosen === byDraw ? "as drawn" : "by hand"}`;
    change({ hand }, now => `“${t.token}” is ${how}. ${summary(now)}`);
  }

  // the table: a row for each token, with a button where it may be chosen
  const table = h("table", { "aria-label": "The tokens; a button chooses one by hand" });
  const [told, reading, asking] = ["step", "reads", "asks"].map(name => h("p", { [`data-${name}`]: "" }));
  let rows = [];
  function build(s) {
    rows = drawn(s).map((t, i) => {
      const cells = ["u", "chosen", "f", "done", "reads", "asked"].map(kind => h("td", { className: `cl-bm-${kind}` }));
      const chooser = t.ordinary ? button(t.token, () => toggle(i), { "data-token": i }) : null;
      return { row: h("tr", {}, h("th", { scope: "row" }, chooser ?? t.token), ...cells), cells, chooser };
    });
    const titles = ["token", "u", "chosen?", "f", "done", "reads", "asked"];
    table.replaceChildren(h("thead", {}, h("tr", {}, ...titles.map(t => columnHead(t)))),
      h("tbody", {}, ...rows.map(row => row.row)));
    oneStop([rows.flatMap(({ chooser }) => chooser ?? [])]);
  }

  // the counts
  const counted = h("table", { "aria-label": "Counted shares beside the expected ones" });
  const columns = ["counted", "share", "expected", "standard error", "off by"].map(t => columnHead(t));
  const tally = h("tbody");
  counted.append(h("thead", {}, h("tr", {}, h("td"), ...columns)), tally);
  const many = dropdown([1, 100, 10000].map(n => [n, thousands(n)]), value => change({ draws: +value }, s => {
    const [chosen, hidden] = counts(drawn(s).map(t => t.ordinary), s.rate, s.shares, s.seed, s.draws);
    const share = c => `${percent(c.count / c.of)}, where ${percent(c.expected)} are expected`;
    return `${thousands(s.draws)} ${s.draws === 1 ? "draw" : "draws"}: tokens chosen ${share(chosen)}`
      + (hidden.of ? `; of these [MASK] ${share(hidden)}.` : ".");
  }));

  function show() {
    const s = state(), tokens = drawn(s), now = JSON.stringify(s.words);
    if (now !== built) { built = now; build(s); }
    showChoice(pick, sentences.indexOf(s.words.join(" ")));
    showChoice(preset, PRESETS.findIndex(([, ...rule]) => same(rule, [s.rate, s.shares])));
    [[rate, s.rate], ...shares.map((one, i) => [one, s.shares[i]])].forEach(([one, value]) => {
      one.input.value = value;
      one.input.setAttribute("aria-valuetext", `${value} percent`);
      one.out.textContent = `${value} %`;
    });
    if (seed.getAttribute("aria-invalid") !== "true") seed.value = s.seed;
    many.value = String(s.draws);
    [[back, s.step === 1], [next, s.step === 4], [release, s.hand.every(v => v === BY_DRAW)]]
      .forEach(([control, idle]) => control.setAttribute("aria-disabled", String(idle)));
    tokens.forEach((t, i) => {
      const { row, cells: [u, chosen, f, done, reads, ask], chooser } = rows[i];
      Object.assign(row.dataset, { fate: t.fate, u: t.u, f: t.f, r: t.r, read: t.read });
      row.className = t.fate ? "cl-bm-is" : "";
      chooser?.setAttribute("aria-pressed", String(t.fate > 0));
      u.textContent = t.u.toFixed(4);
      chosen.textContent = !t.ordinary ? "never" : (t.fate ? "yes" : "no") + (t.byHand ? ", by hand" : "");
      f.textContent = s.step > 1 && t.fate ? t.f.toFixed(4) : "";
      done.textContent = s.step > 1 ? DONE[t.fate] : "";
      reads.textContent = s.step > 2 ? t.read : "";
      reads.classList.toggle("cl-bm-other", t.fate === HIDDEN || t.fate === RANDOM);
      ask.textContent = s.step > 3 && t.fate ? t.token : "";
    });
    told.textContent = `Step ${s.step} of 4. ${steps(s)[s.step - 1]}`;
    reading.textContent = s.step > 2 ? read(s) : "";
    asking.textContent = s.step > 3 ? asked(s) : "";
    tally.replaceChildren(...counts(tokens.map(t => t.ordinary), s.rate, s.shares, s.seed, s.draws).map(c => {
      const off = c.error > 0 ? (c.count / c.of - c.expected) / c.error : NaN;
      return h("tr", { "data-count": c.count, "data-of": c.of, "data-expected": c.expected, "data-error": c.error },
        h("th", { scope: "row" }, c.label), h("td", {}, `${thousands(c.count)} of ${thousands(c.of)}`),
        h("td", {}, c.of ? percent(c.count / c.of) : "–"),
        h("td", {}, percent(c.expected)), h("td", {}, c.of ? percent(c.error) : "–"),
        h("td", {}, Number.isNaN(off) ? "–" : `${off < 0 ? "−" : "+"}${Math.abs(off).toFixed(1)} s.e.`));
    }));
    return s;
  }

  return mount(el, h("div", { className: "cl-bm" },
    h("div", { className: "cl-top" }, h("label", {}, "Sentence", pick), h("label", {}, "or your own", typed)),
    h("div", { className: "cl-buttons" },
      h("label", { className: "cl-bm-label" }, "Seed", seed), again, back, next, release),
    told, scrollable("Tokens", table), reading, asking, live,
    h("div", { className: "cl-bm-cols" },
      h("fieldset", {}, h("legend", {}, "The rule"), h("div", { className: "cl-top" }, h("label", {}, "Rule", preset)),
        rate.row, h("p", {}, "and of the chosen tokens"), ...shares.map(one => one.row)),
      h("fieldset", {}, h("legend", {}, "Counted over many draws"),
        h("div", { className: "cl-top" }, h("label", {}, "Draws", many)), scrollable("Counts", counted)))),
  show, summary, s => s.hand.length === s.words.length + 2);         // else the other half of a change is on its way
}
export default { render };
