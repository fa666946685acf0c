/* A GPT writes with a cache of keys and values and without, operation by operation. The functions above render()
   compute every number that is shown; cache_steps.py has the same functions and is their reference. A size is
   [layers, width, heads, feed-forward width, vocabulary]. */
import { button, columnHead, dropdown, h, numbered, on, refused, scrollable, showChoice, thousands,
  tie } from "./common.js";

const EMBED = 0, PROJECT = 1, APPEND = 2, SCORES = 3, SOFTMAX = 4, SUM = 5, OUT = 6, FEED = 7, LOGITS = 8, NUM = 9;

/* Positions that a pass (from 1) computes, and keys that each of them meets. */
export function rows(prompt, number, cached) {
  const keys = prompt + number - 1;
  return [cached && number > 1 ? 1 : keys, keys];
}
/* Multiplications in attention and in products with weights, exponentials, numbers put into the cache; all layers. */
export function work([L, D, H, F, V], operation, fresh, keys, cached) {
  const weights = { [EMBED]: 0, [PROJECT]: 3 * L * fresh * D * D, [OUT]: L * fresh * D * D,
    [FEED]: 2 * L * fresh * D * F, [LOGITS]: V * D };
  return { attention: operation === SCORES || operation === SUM ? L * fresh * keys * D : 0,
    weights: weights[operation] ?? 0, exponentials: operation === SOFTMAX ? L * H * fresh * keys : 0,
    stored: operation === APPEND && cached ? 2 * L * fresh * D : 0 };
}
const multiplications = w => w.attention + w.weights;
/* The sum of operations 0 to at, nine to a pass. */
export function running(size, prompt, at, cached) {
  const total = { attention: 0, weights: 0, exponentials: 0, stored: 0 };
  for (let i = 0; i <= at; i++) {
    const one = work(size, i % NUM, ...rows(prompt, Math.floor(i / NUM) + 1, cached), cached);
    for (const k of Object.keys(total)) total[k] += one[k];
  }
  return total;
}
export const totals = (size, prompt, tokens, cached) => running(size, prompt, tokens * NUM - 1, cached);
/* tokens, its half, its quarter, ..., at most six of them, ascending. */
export function halvings(tokens) {
  return [5, 4, 3, 2, 1, 0].map(k => tokens >> k).filter(t => t > 0);
}
/* What has happened in this pass, for each position read (row) and operation (column). */
export function cells(prompt, at, cached) {
  const operation = at % NUM, [fresh, keys] = rows(prompt, Math.floor(at / NUM) + 1, cached);
  return Array.from({ length: keys }, (_, i) => {
    const row = Array.from({ length: NUM }, (_, column) => {
      const computed = column <= operation && i >= keys - fresh && (column !== APPEND || cached)
        && (column !== LOGITS || i === keys - 1);
      return computed ? (column === operation ? "now" : "done") : "";
    });
    if (i < keys - fresh || (cached && operation > APPEND)) {
      row[APPEND] = operation === SCORES || operation === SUM ? "read" : "kept";
    }
    return row;
  });
}

/* ---- the page ---- */
const TRAITS = ["at", "prompt", "layers", "width", "heads", "feed_forward", "vocabulary", "tokens"];
const SIZE = ["layers", "width", "heads", "feed_forward", "vocabulary"];
const LABELS = { layers: "layers L", width: "width D", heads: "heads H", feed_forward: "feed-forward F",
  vocabulary: "vocabulary V", tokens: "new tokens t" };
const MARKS = { now: "●", done: "✓", kept: "▪", read: "◂", "": "" };
const SAID = { now: "computed now", done: "computed in this pass", kept: "kept in the cache",
  read: "read from the cache", "": "not computed" };
/* How this operation's count comes about, in words and numbers. */
function counted([L, D, H, F, V], operation, [fresh, keys], cached) {
  const product = (names, ...factors) => `${names} = ${factors.map(thousands).join(" × ")}`;
  if (operation === EMBED) return "a look-up, no multiplication";
  if (operation === PROJECT) return product("L × rows × 3 D²", L, fresh, 3 * D * D);
  if (operation === APPEND) return cached ? product("numbers: 2 L D × rows", 2 * L * D, fresh) : "there is no cache";
  if (operation === SCORES || operation === SUM) return product("L × rows × keys × D", L, fresh, keys, D);
  if (operation === SOFTMAX) return product("exponentials: L × H × rows × keys", L, H, fresh, keys);
  if (operation === OUT) return product("L × rows × D²", L, fresh, D * D);
  if (operation === FEED) return product("L × rows × 2 D F", L, fresh, 2 * D * F);
  return product("for the last row: V × D", V, D);
}

function render({ model, el }) {
  const words = model.get("words"), operations = model.get("operations"), presets = model.get("presets");
  const bounds = model.get("bounds");
  const { live, say, state, change, mount } = tie(model, TRAITS, "Step through the operations, or set another size.");
  const sizeOf = s => SIZE.map(k => s[k]);
  const lastOf = s => (words.length - s.prompt) * NUM - 1;
  const place = s => {
    const number = Math.floor(s.at / NUM) + 1, reads = s.prompt + number - 1;
    return { number, operation: s.at % NUM, reads, target: words[reads] };
  };
  function summary(s) {
    const { number, operation } = place(s), size = sizeOf(s);
    const [a, b] = [true, false].map(c => running(size, s.prompt, s.at, c));
    const [[p], [q, keys]] = [true, false].map(c => rows(s.prompt, number, c));
    return `Pass ${number}, ${operations[operation]}. With the cache ${p} of ${keys} rows, without ${q}. So far `
      + `${thousands(multiplications(a))} multiplications with it and ${thousands(multiplications(b))} without.`;
  }

  // where both stand
  const to = at => {
    const last = lastOf(state());
    if (at < 0 || at > last) return say(`This is the ${at < 0 ? "first" : "last"} operation.`);
    change({ at }, summary);
  };
  const now = () => state().at, pass = () => Math.floor(now() / NUM);
  const back = button("step back", () => to(now() - 1)), next = button("next operation", () => to(now() + 1));
  const token = button("next word", () => to((pass() + 1) * NUM)), begin = button("from the start", () => to(0));
  const slider = h("input", { type: "range", min: 0, step: 1 });
  on(slider, "input", () => to(+slider.value));
  const prompt = dropdown([1, 2, 3, 4].map(n => [n, n]), value => change({ at: 0, prompt: +value }, s =>
    `${s.prompt === 1 ? "One word is" : `${s.prompt} words are`} given. ${summary(s)}`));

  // the size
  const fields = Object.fromEntries([...SIZE, "tokens"].map(k => {
    const field = h("input", { type: "text", inputMode: "numeric" });
    return [k, on(field, "change", () => set(k, field))];
  }));
  function set(k, field) {
    const [low, high] = bounds[k], value = /^\s*\d{1,6}\s*$/.test(field.value) ? +field.value : NaN, s = state();
    const within = value >= low && value <= high, sizes = { width: s.width, heads: s.heads, [k]: value };
    const divides = sizes.width % sizes.heads === 0;
    refused(field, !within || !divides);
    if (!within) return say(`${LABELS[k]}: expected a whole number from ${low} to ${thousands(high)}.`);
    if (!divides) return say(`${sizes.heads} heads do not divide a width of ${sizes.width}.`);
    change({ [k]: value }, told);
  }
  const told = s => {
    const [a, b] = [true, false].map(c => totals(sizeOf(s), s.prompt, s.tokens, c));
    const [x, y] = [a, b].map(multiplications);
    return `${thousands(s.tokens)} new tokens take ${thousands(x)} multiplications with the cache and `
      + `${thousands(y)} without, ${(y / x).toFixed(1)} times as many; the cache holds ${thousands(a.stored)} numbers.`;
  };
  const preset = dropdown(numbered(presets.map(p => p.label)), i => {
    for (const k of SIZE) refused(fields[k], false);
    change(Object.fromEntries(SIZE.map(k => [k, presets[i][k]])), told);
  }, "your own size");

  // what both have done
  const heading = h("p", { "data-place": "" });
  const grids = [true, false].map(cached => {
    const body = h("tbody"), heads = operations.map(name => columnHead(name));
    const note = h("p", { [`data-${cached ? "with" : "without"}`]: "" });
    const label = cached ? "With the cache" : "Without a cache";
    const name = `${label}: positions and operations of this pass`;
    const table = h("table", { className: "cl-cs-grid", "aria-label": name },
      h("thead", {}, h("tr", {}, h("td"), ...heads)), body);
    return { cached, body, heads, note, node: h("div", {}, h("h4", {}, label), scrollable(label, table), note) };
  });
  const legend = h("p", { className: "cl-legend" }, ...["now", "done", "kept", "read"].map(k =>
    h("span", {}, h("span", { "aria-hidden": "true" }, `${MARKS[k]} `), SAID[k])));
  const sums = h("tbody"), bill = h("tbody"), growth = h("p", { "data-growth": "" });
  const columns = ["now, with", "now, without", "so far, with", "so far, without"].map(name => columnHead(name));
  const table = (label, heads, body) => scrollable(label, h("table", { className: "cl-cs-bill", "aria-label": label },
    h("thead", {}, h("tr", {}, h("td"), ...heads)), body));

  function show() {
    const s = state(), size = sizeOf(s), { number, operation, reads, target } = place(s), last = lastOf(s);
    heading.textContent = `Pass ${number} reads ${reads} ${reads === 1 ? "word" : "words"} and predicts “${target}”. `
      + `Operation ${operation + 1} of ${NUM}: ${operations[operation]}`
      + (operation === EMBED || operation === LOGITS ? "." : `, in each of the ${s.layers} layers.`);
    for (const { cached, body, heads, note } of grids) {
      const [fresh, keys] = rows(s.prompt, number, cached);
      heads.forEach((head, c) => { head.className = c === operation ? "cl-cs-here" : ""; });
      body.replaceChildren(...cells(s.prompt, s.at, cached).map((row, i) => h("tr", {},
        h("th", { scope: "row" }, words[i]), ...row.map(cell => h("td", { "data-cell": cell },
          h("span", { "aria-hidden": "true" }, MARKS[cell]), h("span", { className: "cl-unseen" }, SAID[cell]))))));
      note.textContent = `${fresh} of ${keys} ${keys === 1 ? "row" : "rows"}. `
        + counted(size, operation, [fresh, keys], cached);
    }
    const four = [...[true, false].map(c => work(size, operation, ...rows(s.prompt, number, c), c)),
      ...[true, false].map(c => running(size, s.prompt, s.at, c))];
    four.forEach((w, j) => { columns[j].dataset.counts = JSON.stringify(w); });
    const counts = { "multiplied in attention": w => w.attention, "multiplied with weights": w => w.weights,
      "multiplications in all": multiplications, "exponentials": w => w.exponentials,
      "put into the cache": w => w.stored };
    sums.replaceChildren(...Object.entries(counts).map(([label, of]) =>
      h("tr", {}, h("th", { scope: "row" }, label), ...four.map(w => h("td", {}, thousands(of(w)))))));
    const rowsOf = halvings(s.tokens).map(t => [t, ...[true, false].map(c => totals(size, s.prompt, t, c))]);
    bill.replaceChildren(...rowsOf.map(([t, a, b]) => h("tr", { "data-bill": JSON.stringify([t, a, b]) },
      h("th", { scope: "row" }, thousands(t)),
      ...[a.attention, b.attention, a.weights, b.weights, multiplications(a), multiplications(b)]
        .map(v => h("td", {}, thousands(v))),
      h("td", {}, (multiplications(b) / multiplications(a)).toFixed(1)), h("td", {}, thousands(a.stored)))));
    const [[t0, a0, b0], [t1, a1, b1]] = rowsOf.slice(-2), by = (x, y) => `× ${(y / x).toFixed(2)}`;
    growth.textContent = `From ${thousands(t0)} to ${thousands(t1)} new tokens: attention `
      + `${by(a0.attention, a1.attention)} with the cache and ${by(b0.attention, b1.attention)} without; `
      + `products with weights ${by(a0.weights, a1.weights)} and ${by(b0.weights, b1.weights)}.`;
    slider.max = last;
    slider.value = s.at;
    slider.setAttribute("aria-valuetext", `pass ${number}, ${operations[operation]}`);
    prompt.value = String(s.prompt);
    for (const [k, field] of Object.entries(fields)) {
      if (field.getAttribute("aria-invalid") !== "true") field.value = s[k];
    }
    showChoice(preset, presets.findIndex(p => SIZE.every(k => p[k] === s[k])));
    [[back, s.at === 0], [begin, s.at === 0], [next, s.at === last], [token, s.at + NUM > last]]
      .forEach(([control, idle]) => control.setAttribute("aria-disabled", String(idle)));
    return s;
  }

  return mount(el, h("div", { className: "cl-cs" },
    h("div", { className: "cl-top" }, h("label", {}, "Words given", prompt)),
    h("div", { className: "cl-buttons" }, begin, back, next, token),
    h("div", { className: "cl-row" }, h("label", {}, "Operation", slider)),
    heading, h("div", { className: "cl-cs-ways" }, ...grids.map(g => g.node)), legend,
    table("Counts", columns, sums),
    live,
    h("fieldset", {}, h("legend", {}, "The bill of a longer text"),
      h("div", { className: "cl-top" }, h("label", {}, "Size", preset)),
      h("div", { className: "cl-cs-sizes" }, ...Object.entries(fields).map(([k, f]) => h("label", {}, LABELS[k], f))),
      table("The bill", ["attention, cached", "attention, not cached", "weights, cached", "weights, not cached",
        "all, cached", "all, not cached", "ratio", "numbers in the cache"].map(name => columnHead(name)), bill),
      growth)),
  show, summary, s => s.at <= lastOf(s));                            // else Python moves `at` next
}
export default { render };
