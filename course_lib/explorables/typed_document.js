/* A document that is typed, weighed against a few fixed ones. weighed() computes every number that is shown; weighed()
   in typed_document.py is its reference. */
import { columnHead, h, on, scrollable, sum, tie } from "./common.js";

export const LONGEST = 200;
const count = list => list.reduce((m, w) => m.set(w, (m.get(w) ?? 0) + 1), new Map());
export const wordsOf = text => text.split(/\s+/)
  .map(w => w.replace(/^[.,:;?!"'()]+|[.,:;?!"'()]+$/g, "").toLowerCase()).filter(w => w);
/* Per word, in the order of first use: count, tf, df, and idf and weight, NaN where no document holds it; and the
   cosine with each document. */
export function weighed(text, documents, added = 1) {
  const docs = documents.map(wordsOf), typed = wordsOf(text), N = docs.length, mine = count(typed);
  const df = count(docs.flatMap(doc => [...new Set(doc)])), idf = w => Math.log((N + 1) / (df.get(w) + 1)) + added;
  const words = [...mine.keys()].map(word => {
    const tf = mine.get(word) / typed.length, known = df.has(word);
    return { word, count: mine.get(word), tf, df: df.get(word) ?? 0, idf: known ? idf(word) : NaN,
      weight: known ? tf * idf(word) : NaN };
  });
  const own = new Map(words.filter(w => w.df).map(w => [w.word, w.weight]));
  const norm = values => Math.sqrt(sum(values.map(v => v * v)));
  const cosines = docs.map(doc => {
    const theirs = [...count(doc)].map(([w, n]) => [w, n / doc.length * idf(w)]);
    const length = norm(theirs.map(([, v]) => v)) * norm([...own.values()]);
    return length > 0 ? sum(theirs.map(([w, v]) => v * (own.get(w) ?? 0))) / length : 0;
  });
  return { words, cosines };
}

/* ---- the page ---- */
const TRAITS = ["typed", "added"];
const three = v => Number.isNaN(v) ? "–" : v.toFixed(3);

function render({ model, el }) {
  const documents = model.get("documents"), N = documents.length, { live, say, state, change, mount } = tie(model, TRAITS);
  const now = () => { const s = state(); return { s, w: weighed(s.typed, documents, s.added) }; };
  function story({ s, w }) {
    const known = w.words.filter(word => word.df).sort((a, b) => b.weight - a.weight), [first] = known;
    if (!first) return "No word of the six documents is typed: all weights are 0, and no document is near.";
    const near = w.cosines.indexOf(Math.max(...w.cosines)), lost = w.words.filter(word => !word.df).map(word => word.word);
    const top = first.weight <= 0 ? "No word has a weight: every document has what is typed. "
      : `Most weight: ${first.word}, ${three(first.tf)} · ${three(first.idf)} = ${three(first.weight)}`
        + `${first.df === N ? ", though every document has it" : ""}. `;
    return top + (w.cosines[near] > 0 ? `Nearest document: ${near + 1}, cosine ${w.cosines[near].toFixed(2)}. ` : "")
      + (lost.length ? `No column in the table: ${lost.join(", ")}. ` : "")
      + (s.added ? "" : "Without the added 1, a word of every document counts for nothing.");
  }
  const field = on(h("input", { type: "text", maxLength: LONGEST, autocomplete: "off", spellcheck: false }), "input",
    () => change({ typed: field.value.slice(0, LONGEST) }, story));
  const plus = on(h("input", { type: "checkbox" }), "change", () => change({ added: +plus.checked }, story));
  const body = h("tbody", {}), bars = () => h("span", { className: "cl-bar cl-prob" });
  const rows = documents.map((text, i) => {
    const value = h("span", {}), bar = bars();
    return { value, bar, node: h("li", {}, h("span", { className: "cl-td-line" }, h("span", {}, text), value), bar) };
  });

  function show() {
    const all = now(), { s, w } = all, most = Math.max(1e-9, ...w.words.map(word => word.weight || 0));
    if (document.activeElement !== field) field.value = s.typed;
    plus.checked = s.added === 1;
    body.replaceChildren(...[...w.words].sort((a, b) => (b.df ? b.weight : -1) - (a.df ? a.weight : -1)).map(word => {
      const bar = bars();
      bar.hidden = !(word.weight > 0);
      bar.style.width = `${100 * (word.weight || 0) / most}%`;
      const row = h("tr", {}, h("th", { scope: "row" }, word.word),
        ...[String(word.count), three(word.tf), `${word.df} of ${N}`, three(word.idf), three(word.weight)]
          .map(text => h("td", {}, text)), h("td", { className: "cl-bars", "aria-hidden": "true" }, bar));
      row.dataset.weight = word.weight;
      return row;
    }));
    rows.forEach(({ value, bar, node }, i) => {
      value.textContent = w.cosines[i].toFixed(2);
      bar.style.width = `${100 * w.cosines[i]}%`;
      node.dataset.cosine = w.cosines[i];
    });
    return all;
  }
  const table = h("table", {}, h("thead", {}, h("tr", {},
    ...["word", "count", "tf", "documents with it", "idf", "weight", ""].map(text => columnHead(text)))), body);
  const end = mount(el, h("div", {},
    h("label", { className: "cl-td-typed" }, "Your document", field),
    h("label", { className: "cl-td-plus" }, plus, "the added 1 of (10.1)"),
    scrollable("Words and their weights", table),
    h("h4", {}, `the collection, and its cosine with yours`), h("ol", { className: "cl-td-docs" },
      ...rows.map(row => row.node)), live), show, story);
  say(story(now()));
  return end;
}
export default { render };
