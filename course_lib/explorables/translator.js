/* A whole transformer in the page: two lanes that flow down, the encoder and the decoder, each with its stream and what
   is added to it. translator_model.js computes every number. Heads, rows and columns are counted from 0 here, from 1 on
   the page. */
import { button, dropdown, h, on, oneStop, same, scrollable, tie } from "./common.js";
import { ATTENTIONS, compared, compose, italian, parse, terms, total, translated, unpack } from "./translator_model.js";

const TRAITS = ["sentence", "network", "off", "shown", "place"];
const NETWORKS = ["trained as it is", "trained with heads dropped"];
const PART = { encoder: "encoder", decoder: "decoder", cross: "cross-attention" };
const STEPS = { q: "queries", k: "keys", v: "values", scores: "scores", weights: "weights", out: "output" };
const sub = (name, i) => `<i>${name}</i><sub>${i}</sub>`;
/* Where each side reads, what its stream is called before and after each part, as in (15.3) and (15.7). */
const STREAM = { encoder: ["x", "u"], decoder: ["h", "u"], cross: ["u", "w"], ffn1: ["u", "z"], ffn2: ["w", "z"] };

/* Name, equation and width of a box. */
function about(key) {
  const [part, ...rest] = key.split("."), name = rest.at(-1), head = +rest[0] + 1, [from, to] = STREAM[part] ?? [];
  const reads = part === "cross" ? `<i>m<sub>s</sub></i>` : `LN(${sub(from, "s")})`;
  const at = (step, i = "t") => `<i>${step}</i><sub>${i}</sub>`, LN = `LN(${sub(from, "t")})`;
  const [title, equation] = {
    x: ["embedding and position",
      `${sub(part === "encoder" ? "x" : "h", "t")} = √<i>D</i> <i>E</i>[word] + <i>p</i>(<i>t</i>)`],
    m: ["what the encoder hands over", `${sub("m", "t")} = LN(${sub("z", "t")})`],
    last: ["last norm", `${sub("y", "t")} = LN(${sub("z", "t")})`],
    logits: ["logits, one for each Italian word", `${sub("l", "t")} = <i>E y</i><sub>t</sub>`],
    p: ["probabilities of the next word", `${sub("p", "t")} = softmax(${sub("l", "t")})`],
    normed: ["norm", `${LN} = <i>γ</i> (${sub(from, "t")} − <i>μ</i>) / √(<i>σ</i>² + <i>ε</i>) + <i>β</i>`],
    mixed: ["the heads, mixed", `<i>W</i><sup>O</sup> [head 1, head 2, head 3]<sub>t</sub> + <i>b</i>`],
    sum: ["the stream, after the sum", `${sub(to, "t")} = ${sub(from, "t")} + ${part.startsWith("ffn") ? `FFN(${LN})`
      : "Att"}`],
    hidden: ["hidden layer", `ReLU(<i>W</i><sub>1</sub> ${LN} + <i>b</i><sub>1</sub>)`],
    q: ["queries", `${at("q")} = <i>W<sup>Q</sup></i> ${LN} + <i>b</i>`],
    k: ["keys", `${at("k", "s")} = <i>W<sup>K</sup></i> ${reads} + <i>b</i>`],
    v: ["values", `${at("v", "s")} = <i>W<sup>V</sup></i> ${reads} + <i>b</i>`],
    scores: ["scores", `${at("e", "ts")} = ${at("q")} · ${at("k", "s")} / √<i>K</i>`],
    weights: ["weights", `${at("α")} = softmax(${at("e")})`],
    out: part.startsWith("ffn") ? ["output", `<i>W</i><sub>2</sub> hidden + <i>b</i><sub>2</sub>`]
      : ["output", `Σ<sub>s</sub> ${at("α", "ts")} ${at("v", "s")}`],
  }[name];
  const rows = part === "encoder" || part === "ffn1" ? "S" : "T", keys = part === "decoder" ? "T" : "S";
  const whose = part === "ffn1" ? "encoder, FFN" : part === "ffn2" ? "decoder, FFN" : rest.length > 1 ? `${PART[part]}, head ${head}` : PART[part];
  return { part, name, title: `${whose}: ${title}`, equation,
    shape: { q: `${rows} × K`, k: `${keys} × K`, v: `${keys} × K`, scores: `${rows} × ${keys}`, hidden: `${rows} × F`,
      weights: `${rows} × ${keys}`, out: `${rows} × ${part.startsWith("ffn") ? "D" : "K"}`, logits: "T × V", p: "T × V",
    }[name] ?? `${rows} × D` };
}
const fixed = (v, digits = 2) => v === -Infinity ? "−∞"
  : v.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
const bracket = v => v < 0 ? `(${fixed(v, 3)})` : fixed(v, 3);
/* A table of numbers as small squares: blue above zero, orange below, the darker the farther. */
function picture(rows, mark = -1) {
  const most = Math.max(1e-9, ...rows.flat().filter(Number.isFinite).map(Math.abs)), wide = rows[0].length;
  const square = (v, i, j) => !Number.isFinite(v) || Math.abs(v) < most / 50 ? ""
    : `<rect x="${j}" y="${i}" width="1" height="1" class="${v < 0 ? "cl-tr-low" : "cl-tr-high"}" `
      + `fill-opacity="${(Math.abs(v) / most).toFixed(2)}"/>`;
  const frame = mark < 0 ? "" : `<rect x="0" y="${mark}" width="${wide}" height="1" class="cl-tr-mark"/>`;
  return `<svg viewBox="0 0 ${wide} ${rows.length}" preserveAspectRatio="none" aria-hidden="true">`
    + rows.map((row, i) => row.map((v, j) => square(v, i, j)).join("")).join("") + frame + "</svg>";
}

function render({ model, el }) {
  const g = model.get("grammar"), sizes = model.get("sizes"), measured = model.get("measured"), all = measured.sentences;
  const nets = model.get("weights").map(text => unpack(text, sizes)), K = sizes.width / sizes.heads;
  const heads = ATTENTIONS.flatMap(part => Array.from({ length: sizes.heads }, (_, n) => [part, n]));
  const { live, say, state, change, mount } = tie(model, TRAITS);
  const isOff = (s, pair) => s.off.some(other => same(other, pair));
  const setting = off => heads.reduce((k, pair, i) => k + (off.some(other => same(other, pair)) ? 2 ** i : 0), 0);
  const right = (network, off) => measured.networks[network].right[setting(off)];
  const called = ([part, n]) => `${PART[part]} head ${n + 1}`;
  const words = ids => ids.filter(id => id !== 2).map(id => g.italian[id]), text = ids => words(ids).join(" ");

  /* what the two networks write, now and with all heads */
  let last = {};
  function compute(s) {
    const of = [s.sentence, s.off];
    if (!same(of, last.of)) {
      const ids = s.sentence.split(" ").map(word => g.english.indexOf(word));
      last = { of, ids, now: nets.map(m => translated(m, ids, s.off)), full: nets.map(m => translated(m, ids)) };
    }
    return last;
  }
  function story({ s, found }) {
    const off = s.off.length === heads.length ? "All heads are off."
      : s.off.length ? `Off: ${s.off.map(called).join(", ")}.` : "All heads are on.";
    return `${off} ` + NETWORKS.map((name, k) => {
      const now = text(found.now[k].written), was = text(found.full[k].written);
      const differs = now !== was ? `, not “${was}”` : s.off.length ? ", as before" : "";
      return `The network ${name} writes “${now}”${differs}; right ${right(k, s.off)} of ${all}.`;
    }).join(" ");
  }
  const set = values => change(values, story);

  /* the sentence, word by word */
  const edit = (slot, value) => set({ sentence: compose(g, { ...parse(g, state().sentence), [slot]: value }) });
  const word = (slot, label, choices) => {
    const node = dropdown(choices, value => edit(slot, slot === "denied" ? value === "true" : value));
    node.setAttribute("aria-label", label);
    node.dataset.slot = slot;
    return node;
  };
  const plain = words => Object.keys(words).map(w => [w, w]), described = [["", "—"], ...plain(g.adjectives)];
  const fields = { adjective: word("adjective", "adjective of the subject", described),
    subject: word("subject", "subject", [...plain(g.pronouns), ...plain(g.nouns)]),
    denied: word("denied", "affirmed or denied", [["false", "—"], ["true", "not"]]),
    verb: word("verb", "verb", plain(g.verbs)),
    adjective2: word("adjective2", "adjective of the object", described),
    object: word("object", "object", [...plain(g.nouns), ...plain(g.pastimes)]) };
  const the = [0, 1].map(() => h("span", {}, "the"));

  /* what is written */
  const group = `cl-tr-${Math.random().toString(36).slice(2)}`;
  const rows = NETWORKS.map((name, k) => {
    const radio = on(h("input", { type: "radio", name: group, "data-network": k }), "change", () => set({ network: k }));
    return { radio, label: h("label", {}, radio, name), said: h("td", { lang: "it", "data-says": k }),
      share: h("td", { "data-right": k }), full: h("td", {}) };
  });

  /* the words that a cross-attention head attends to, for each word that is written */
  const only = h("input", { type: "checkbox" }), named = h("span", {});
  on(only, "change", () => switches.find(({ part, n }) => part === "cross" && n === strip.of[0]).input.click());
  const attended = h("div", { className: "cl-tr-strip" }), plainly = h("p", { className: "cl-tr-plain" });
  const chosen = h("div", { className: "cl-tr-strip", role: "group", lang: "it" });
  let strip = {};
  const largest = row => row.indexOf(Math.max(...row));
  function attention(s, found) {
    const now = found.now[s.network], n = /^cross\.\d\./.test(s.shown) ? +s.shown.split(".")[1] : 2;
    const weights = now.values[`cross.${n}.weights`], source = s.sentence.split(" "), said = words(now.written);
    const parts = compared(words(found.full[s.network].written), said);
    if (!same(strip.of, [n, parts])) {
      const nodes = said.map((w, t) => button(w, () =>
        set({ shown: `cross.${n}.weights`, place: [t, largest(strip.weights[t])] }), { "data-written": t }));
      let t = 0;
      chosen.replaceChildren(...parts.map(([w, fresh]) => {
        if (w === null) return h("u", { className: "cl-tr-gap" }, h("span", { className: "cl-unseen" }, "(missing)"));
        nodes[t].classList.toggle("cl-tr-fresh", fresh);
        return nodes[t++];
      }));
      strip = { of: [n, parts], nodes, stop: oneStop([nodes]) };
    }
    strip.weights = weights;
    const i = Math.max(0, Math.min(s.place[0], said.length - 1)), row = weights[i], most = largest(row);
    const percent = v => `${Math.round(100 * v)}\u00a0%`;
    strip.nodes.forEach((node, t) => node.setAttribute("aria-pressed", String(t === i)));
    if (strip.nodes.length && !chosen.contains(document.activeElement)) strip.stop(strip.nodes[i]);
    chosen.setAttribute("aria-label", "Italian words that the network writes; choose one");
    attended.replaceChildren(...source.map((w, k) => {
      const node = h("span", { className: "cl-tr-chip", "data-weight": row[k] }, h("span", {}, w), h("b", {}, percent(row[k])));
      node.style.setProperty("--p", `${(40 * row[k]).toFixed(0)}%`);
      return node;
    }));
    const gone = isOff(s, ["cross", n]), others = s.off.filter(pair => !same(pair, ["cross", n]));
    const without = words(translated(nets[s.network], found.ids, gone ? others : [...others, ["cross", n]]).written).join(" ");
    only.checked = !gone;
    named.textContent = `cross-attention head ${n + 1} is on`;
    attended.classList.toggle("cl-tr-gone", gone);
    plainly.textContent = `Before the network writes “${said[i] ?? "the end"}”, head ${n + 1} attends to the English words with these weights; `
      + `“${source[most]}” has the largest, ${percent(row[most])}. It passes on the average of the words’ vectors, weighted so. `
      + (gone ? `The head is off, so its average is not used; with it the network writes “${without}”.`
        : `Without this head the network writes “${without}”.`);
  }

  /* the boxes */
  const boxes = [];
  const box = (key, label, kind = "") => {
    const art = h("span", { className: "cl-tr-art" }), own = key.split(".").slice(0, -1).join(".");
    const node = button([h("span", {}, label), art], () => set({ shown: key }), { "data-box": key,
      className: `cl-tr-box ${kind}` });
    const { title } = about(key);
    node.setAttribute("aria-label", title.includes(label) ? title : `${label}, ${title}`);
    boxes.push({ key, node, art, own: /\.\d\./.test(key) ? own : key });
    return node;
  };
  const switches = heads.map(([part, n]) => {
    const input = on(h("input", { type: "checkbox", "data-head": `${part},${n}` }), "change", () => {
      const rest = state().off.filter(pair => !same(pair, [part, n]));
      set({ off: input.checked ? rest : heads.filter(pair => same(pair, [part, n]) || isOff(state(), pair)) });
    });
    return { part, n, input, share: h("span", { className: "cl-tr-without" }) };
  });
  const layer = (part, label) => h("div", { className: "cl-tr-part", role: "group", "aria-label": label },
    h("span", { className: "cl-tr-name" }, label), box(`${part}.normed`, "norm", "cl-tr-thin"),
    h("div", { className: "cl-tr-heads" }, ...switches.filter(one => one.part === part).map(({ n, input, share }) =>
      h("div", {}, box(`${part}.${n}.weights`, `head ${n + 1}`, "cl-tr-head"), h("label", {}, input, share)))),
    box(`${part}.mixed`, "mix: Wᴼ", "cl-tr-thin"));
  const network = part => h("div", { className: "cl-tr-part cl-tr-row", role: "group", "aria-label": "FFN" },
    h("span", { className: "cl-tr-name" }, "FFN"), box(`${part}.normed`, "norm", "cl-tr-thin"),
    box(`${part}.hidden`, "hidden", "cl-tr-thin"), box(`${part}.out`, "out", "cl-tr-thin"));
  const lane = (label, ...pieces) => h("div", { className: "cl-tr-lane", role: "group", "aria-label": label },
    h("h4", {}, label), ...pieces);
  const stream = (key, label) => box(key, label, "cl-tr-stream");
  const english = h("p", { className: "cl-tr-words" }), given = h("p", { className: "cl-tr-words", lang: "it" });
  const lanes = [
    lane("Encoder", english, stream("encoder.x", "x"), layer("encoder", "self-attention"),
      stream("encoder.sum", "+ u"), network("ffn1"), stream("ffn1.sum", "+ z"), box("encoder.m", "m", "cl-tr-end")),
    lane("Decoder", given, stream("decoder.x", "h"), layer("decoder", "self-attention, causal"),
      stream("decoder.sum", "+ u"), layer("cross", "cross-attention, reads m too"), stream("cross.sum", "+ w"),
      network("ffn2"), stream("ffn2.sum", "+ z"),
      h("div", { className: "cl-tr-row" }, box("decoder.last", "norm", "cl-tr-thin"),
        box("decoder.logits", "logits", "cl-tr-thin"), box("decoder.p", "softmax", "cl-tr-thin")))];

  /* one box, open */
  const title = h("h4", {}), equation = h("span", { className: "cl-maths" }), shape = h("span", {});
  const art = h("span", { className: "cl-tr-open" });
  const steps = h("div", { className: "cl-tr-steps", role: "group", "aria-label": "Values of the head" });
  const note = h("p", { className: "cl-tr-note" }), tokens = h("div", { className: "cl-tr-tokens", role: "group" });
  const grid = h("div", { className: "cl-tr-grid", role: "group" }), sums = h("p", { className: "cl-tr-sum" });
  const first = Object.keys(STEPS).map(step => button(STEPS[step], () =>
    set({ shown: [...state().shown.split(".").slice(0, 2), step].join(".") }), { "data-step": step }));
  steps.append(...first);

  function told(s, { part, name }, found, i, j, columns) {
    const m = nets[s.network], { values: v, read } = found.now[s.network], ids = part === "encoder" ? found.ids : read;
    const apart = terms(m, v, ids, s.shown, i, j), { products, plus, all: scores, after } = apart;
    const value = `<b data-total="${total(apart, j, K)}">${fixed(v[s.shown][i][j], 3)}</b>`;
    if (after === "softmax") {
      const most = Math.max(...scores), parts = scores.filter(Number.isFinite).map(e => Math.exp(e - most));
      return `${columns[j]}: ` + (scores[j] === -Infinity ? `masked: <i>e</i><sup>−∞</sup> = 0 = ${value}`
        : `<i>e</i><sup>${fixed(scores[j])}</sup> / (sum of ${parts.length} such) = `
          + `${fixed(Math.exp(scores[j] - most), 3)} / ${fixed(parts.reduce((a, b) => a + b), 3)} = ${value}, `
          + `both divided by <i>e</i><sup>${fixed(most)}</sup>`);
    }
    if (after === "masked") return `a later word: hidden by the causal mask, ${value}`;
    const zero = products.filter(([a]) => name === "out" && part.startsWith("ffn") && a === 0).length;
    const shown = zero ? products.filter(([a]) => a !== 0) : products;
    const one = name === "sum" ? shown.map(([a]) => bracket(a)) : shown.map(([a, b]) => `${bracket(a)}·${bracket(b)}`);
    const line = one.join(" + ") + (plus ? ` + ${bracket(plus)}` : "") + (zero ? ` (${zero} hidden numbers are 0)` : "");
    const [open, close] = { relu: ["max(0, ", ")"], root: ["(", `) / √${K}`] }[after] ?? ["", ""];
    const gone = after === "off" ? `${fixed(total({ ...apart, after: "" }, j, K), 3)}; the head is off: ` : "";
    return `${open}${line}${close} = ${gone}${value}`;
  }

  let cells = [];
  function opened(s, found) {
    const now = found.now[s.network], what = about(s.shown), { part, name } = what, value = now.values[s.shown];
    const left = part === "encoder" || part === "ffn1", keys = part === "cross" && (name === "k" || name === "v");
    const source = s.sentence.split(" "), read = now.read.map(id => g.italian[id]);
    const said = left || keys ? source : read, asked = part === "decoder" ? read : source;
    const columns = name === "scores" || name === "weights" ? asked : name === "logits" || name === "p" ? g.italian
      : value[0].map((_, j) => String(j + 1));
    const i = Math.min(s.place[0], value.length - 1), j = Math.min(s.place[1], columns.length - 1);
    const head = /\.\d\./.test(s.shown) ? [part, +s.shown.split(".")[1]] : null;
    title.textContent = what.title;
    equation.innerHTML = what.equation;
    shape.textContent = `${what.shape} = ${value.length} × ${value[0].length}`;
    steps.hidden = !head;
    first.forEach(node => node.setAttribute("aria-pressed", String(node.dataset.step === name)));
    art.innerHTML = picture(value, i);
    const kinds = head ? Object.entries(measured.networks[s.network]["first wrong word"][
      heads.findIndex(pair => same(pair, head))]) : [];
    const wrong = kinds.reduce((a, [, n]) => a + n, 0);
    note.hidden = !head;
    note.textContent = !head ? "" : !wrong ? `Without this head alone, none of ${all} sentences goes wrong.`
      : `Without this head alone, ${wrong} of ${all} sentences go wrong. The first wrong word: `
        + `${kinds.sort((a, b) => b[1] - a[1]).map(([kind, n]) => `${kind} ${n}`).join(", ")}.`;
    const most = Math.max(1e-9, ...value[i].filter(Number.isFinite).map(Math.abs));
    if (!same(cells.of, [s.shown, said, columns])) {
      const words = said.map((w, t) => button(w, () => set({ place: [t, state().place[1]] }), { "data-row": t }));
      const numbers = columns.map((w, n) => button([h("span", {}, w), h("b", {})],
        () => set({ place: [state().place[0], n] }), { "data-column": n }));
      tokens.replaceChildren(...words);
      grid.replaceChildren(...numbers);
      cells = { of: [s.shown, said, columns], words, numbers, rows: oneStop([words]), columns: oneStop([numbers]) };
    }
    cells.words.forEach((node, t) => node.setAttribute("aria-pressed", String(t === i)));
    cells.numbers.forEach((node, n) => {
      const v = value[i][n];
      node.lastChild.textContent = fixed(v);
      node.style.setProperty("--p", `${Number.isFinite(v) ? (45 * Math.abs(v) / most).toFixed(0) : 0}%`);
      node.className = v < 0 ? "cl-tr-minus" : "cl-tr-plus";
      node.dataset.v = v;
      node.setAttribute("aria-pressed", String(n === j));
      node.setAttribute("aria-label", `${said[i]}, ${columns[n]}: ${fixed(v)}`);
    });
    if (!tokens.contains(document.activeElement)) cells.rows(cells.words[i]);
    if (!grid.contains(document.activeElement)) cells.columns(cells.numbers[j]);
    tokens.setAttribute("aria-label", `Rows: ${left || keys ? "words of the source" : "words that the decoder reads"}`);
    grid.setAttribute("aria-label", `Row “${said[i]}”. Arrow keys move, Enter takes a number apart.`);
    sums.innerHTML = told(s, what, found, i, j, columns);
  }

  function show() {
    const s = state(), found = compute(s), parts = parse(g, s.sentence), one = parts.subject in g.pronouns;
    for (const [slot, node] of Object.entries(fields)) node.value = String(parts[slot]);
    const stem = fields.denied.options[1];
    stem.textContent = one ? "do not" : "does not";
    [...fields.verb.options].forEach(o => { o.textContent = o.value + (one || parts.denied ? "" : "s"); });
    fields.adjective.hidden = the[0].hidden = one;
    fields.adjective2.hidden = the[1].hidden = parts.object in g.pastimes;
    rows.forEach(({ radio, said, share, full }, k) => {
      const now = words(found.now[k].written), was = words(found.full[k].written);
      radio.checked = s.network === k;
      said.replaceChildren(...compared(was, now).flatMap(([w, fresh], t) => [t ? " " : "", w === null
        ? h("u", { className: "cl-tr-gap" }, h("span", { className: "cl-unseen" }, "(missing)"))
        : fresh ? h("u", {}, w) : w]));
      share.textContent = `${right(k, s.off)} of ${all}`;
      full.textContent = `${right(k, [])}`;
    });
    english.textContent = s.sentence;
    given.textContent = found.now[s.network].read.map(id => g.italian[id]).join(" ");
    const open = /\.\d\./.test(s.shown) ? s.shown.split(".").slice(0, -1).join(".") : s.shown;
    boxes.forEach(({ key, node, art: small, own }) => {
      small.innerHTML = picture(found.now[s.network].values[key]);
      node.setAttribute("aria-pressed", String(own === open));
    });
    switches.forEach(({ part, n, input, share }) => {
      const off = isOff(s, [part, n]);
      input.checked = !off;
      input.closest("div").classList.toggle("cl-tr-off", off);
      const left = right(s.network, [[part, n]]);
      share.textContent = left;
      input.setAttribute("aria-label",
        `${called([part, n])} is on; without it alone ${left} of ${all} sentences are right`);
    });
    attention(s, found);
    opened(s, found);
    return { s, found };
  }

  live.classList.add("cl-unseen");                                    // for a screen reader: the table shows the same
  const limits = `Measured on ${all} sentences that neither network was trained on. Two networks on one small grammar: `
    + "which head does what changes with the seed, and other networks need not be like either.";
  const cross = heads.filter(([part]) => part === "cross");
  const end = mount(el, h("div", { className: "cl-tr" },
    h("div", { className: "cl-tr-sentence", role: "group", "aria-label": "English sentence, word by word" },
      h("b", {}, "English"), the[0], fields.adjective, fields.subject, fields.denied, fields.verb, the[1],
      fields.adjective2, fields.object),
    h("div", { className: "cl-tr-look" }, h("span", {}, "attention weights"), attended, h("span", {}, "Italian"), chosen,
      h("span", {}, "head"), h("label", { className: "cl-tr-only" }, only, named), plainly),
    h("details", { className: "cl-tr-inside" }, h("summary", {}, "Inside the network: every box, its numbers, and a second network"),
    scrollable("What the two networks write", h("table", { className: "cl-tr-said" }, h("thead", {}, h("tr", {},
      ...["network", "Italian, with these heads", "right now", "all heads on"].map(t => h("th", { scope: "col" }, t)))),
    h("tbody", {}, ...rows.map(({ label, said, share, full }) => h("tr", {}, h("th", { scope: "row" }, label),
      said, share, full))))),
    h("div", { className: "cl-buttons cl-tr-buttons" }, button("all heads on", () => set({ off: [] })),
      button("all cross heads off", () => set({ off: cross })),
      h("span", {}, `Beside a switch: how many of ${all} sentences are right without this head alone.`)),
    h("div", { className: "cl-tr-cols" }, ...lanes,
      h("div", { className: "cl-tr-detail", role: "group", "aria-label": "The open box" }, title,
        h("p", { className: "cl-tr-what" }, equation, shape), steps, art, tokens, grid, sums, note))),
    h("p", { className: "cl-note" }, limits), live), show, story);
  say(story(show()));
  return end;
}
export default { render };
