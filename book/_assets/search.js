/* The search. A hit is a section; it shows the sentence around the words that were asked for and opens at its heading.
   Words are compared by their stems; synonyms count as the word itself; a word that no page has is replaced by the nearest one. */
(() => {
  "use strict";
  const STOP = new Set(("a about all also an and any are as at be been between by can could do does for from get gets had has have how i if in into is it " +
    "its itself just me my no not of on one or our out over same should so some that the their them then there these they this to too us use used using " +
    "vs was we what when where which who whose why will with would you your mean work works explain difference need").split(" "));
  const KINDS = [[/^book\/deeper\//, 0.8], [/^book\/glossary/, 0.9], [/^book\/(api\/|results|slide-map|teaching-plan|formulas|notation|references)/, 0.25],
    [/^book\/\d\d-/, 1], [/^exercises\//, 0.45], [/./, 0.8]];
  const SHOWN = 30;
  const $ = (tag, props = {}, ...children) => { const node = Object.assign(document.createElement(tag), props); node.append(...children); return node; };

  const split = text => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f'’]/g, "").match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu) ?? [];
  function stem(word) {
    let w = word.replace(/ies$/, "y").replace(/isation/, "ization").replace(/is(e|ed|er|ing)$/, "iz$1").replace(/our$/, "or");
    if (w.length > 3) w = w.replace(/([^su])s$/, "$1");
    if (w.length > 5) w = w.replace(/(?:ing|ed)$/, "").replace(/([bdgmnprt])\1$/, "$1");
    return w.length > 4 ? w.replace(/e$/, "") : w;
  }
  /* "mini-batches" -> mini, batch; a text has minibatch as well, behind its words. */
  const words = text => split(text).flatMap(word => word.split("-")).map(stem);
  const joined = text => split(text).filter(word => word.includes("-")).map(word => stem(word.replaceAll("-", "")));
  const line = list => ` ${list.join(" ")} `;
  const indexed = text => line(words(text)) + line(joined(text));
  const times = (text, phrase) => { let n = 0, at = -1; while ((at = text.indexOf(phrase, at + 1)) >= 0) n++; return n; };

  const groups = courseSections.synonyms.map(group => group.map(words));
  const vocabulary = new Map();
  const sections = courseSections.pages.flatMap(([page, list]) => list.map(([address, title, text, terms]) => {
    for (const word of split(`${title} ${text}`).flatMap(w => w.split("-"))) vocabulary.set(word, (vocabulary.get(word) ?? 0) + 1);
    const body = indexed(text);
    return { page, address, title, text, body, length: body.length / 6, head: indexed(title), above: indexed(page),
      terms: terms.map(term => line(words(term))), kind: KINDS.find(([pattern]) => pattern.test(address))[1] * (title === "Sources" ? 0.4 : 1) };
  }));
  const average = sections.reduce((sum, section) => sum + section.length, 0) / sections.length;
  const known = new Set([...vocabulary.keys()].map(stem));

  /* The least number of letters left out, put in, replaced or exchanged with their neighbor; at most `most` + 1. */
  function distance(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return most + 1;
    let before = [], row = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
      }
      [before, row] = [row, next];
    }
    return row[b.length];
  }
  function nearest(word) {
    const most = word.length > 7 ? 2 : 1;
    let best = null, least = Infinity;
    if (word.length > 3) for (const [other, count] of vocabulary) {
      const cost = distance(word, other, most) - Math.log(count) / 100 - (other[0] === word[0]) / 2;
      if (distance(word, other, most) <= most && cost < least && count > 1) [best, least] = [other, cost];
    }
    return best;
  }
  function corrected(query) {
    const aliases = new Set(groups.flat(2));
    return query.replace(/[\p{L}\p{N}]+/gu, word => {
      const [stemmed] = words(word);
      if (!stemmed || known.has(stemmed) || aliases.has(stemmed) || sections.some(section => section.body.includes(` ${stemmed} `))) return word;
      return nearest(word.toLowerCase()) ?? word;
    });
  }

  /* What is asked for: groups of phrases, of which each may stand for the others. */
  function concepts(query) {
    const all = words(query), found = [];
    for (let i = 0; i < all.length;) {
      let best = null, size = 0;
      for (const group of groups) for (const phrase of group)
        if (phrase.length > size && phrase.every((word, k) => word === all[i + k])) [best, size] = [group, phrase.length];
      const joined = i + 1 < all.length && known.has(stem(all[i] + all[i + 1])) && !STOP.has(all[i]) ? stem(all[i] + all[i + 1]) : null;
      if (best) found.push(best.map(line));
      else if (joined) found.push([line([joined]), line(all.slice(i, i + 2))]);
      else if (!STOP.has(all[i])) found.push([line([all[i]])]);
      i += best ? size : joined ? 2 : 1;
    }
    return found.length ? found : all.map(word => [line([word])]);
  }

  function ranked(query) {
    const wanted = concepts(query), whole = line(words(query).filter(word => !STOP.has(word))), full = line(words(query));
    const rare = wanted.map(phrases =>
      Math.log(1 + sections.length / (1 + sections.filter(s => phrases.some(p => s.body.includes(p) || s.head.includes(p))).length)));
    const most = rare.reduce((a, b) => a + b, 0);
    return sections.map(section => {
      let score = 0, matched = 0;
      wanted.forEach((phrases, k) => {
        const n = Math.max(...phrases.map(phrase => times(section.body, phrase)));
        const inHead = phrases.some(phrase => section.head.includes(phrase)), inPage = phrases.some(phrase => section.above.includes(phrase));
        if (!n && !inHead && !inPage) return;
        matched += rare[k] * (n || inHead ? 1 : 0.5);
        score += rare[k] * (n / (n + 0.6 + 0.6 * section.length / average) + 1.2 * inHead + 0.35 * inPage
          + 1.2 * phrases.some(phrase => section.terms.includes(phrase)));
      });
      if (section.terms.includes(full)) score += (full === whole ? 2.4 : 4.8) * most;      /* "out-of-vocabulary" before "vocabulary" */
      else if (section.terms.includes(whole)) score += 2.4 * most;
      if (section.head.trim() === whole.trim()) score += 0.7 * most;
      else if (wanted.length > 1 && section.head.includes(whole)) score += 0.4 * most;
      if (wanted.length > 1 && section.body.includes(whole)) score += 0.4 * most;
      return { section, score: score * section.kind * (matched / most) ** 2 };
    }).filter(hit => hit.score > 0).sort((a, b) => b.score - a.score);
  }

  /* The sentence with most of the words; its words are marked. */
  function sentence(text, wanted) {
    const parts = text.split(/(?<=[.?!:])\s+(?=[\p{Lu}“"(])/u);
    const count = part => { const tokens = indexed(part); return wanted.filter(phrases => phrases.some(phrase => tokens.includes(phrase))).length; };
    const counts = parts.map(count), at = Math.max(0, counts.indexOf(Math.max(...counts)));
    let best = parts[at] ?? "";
    const marked = new Set(wanted.flat().flatMap(phrase => phrase.trim().split(" ")));
    const isMarked = word => [...words(word), ...joined(word)].some(w => marked.has(w));
    if (best.length > 260) {
      const first = best.split(" ").findIndex(isMarked), list = best.split(" "), from = Math.max(0, first - 12);
      best = (from ? "… " : "") + list.slice(from, from + 38).join(" ") + " …";
    }
    return best.split(/(\s+)/).flatMap(word => {
      const [, before, core, after] = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/su.exec(word);
      return core && isMarked(core) ? [before, $("mark", {}, core), after] : [word];
    });
  }

  function hit({ section }, wanted) {
    const place = section.title === section.page ? "" : section.page;
    return $("li", {}, $("a", { href: section.address }, section.title), ...(place ? [$("span", { className: "course-hit-page" }, place)] : []),
      $("p", {}, ...sentence(section.text, wanted)));
  }

  function main() {
    const query = (new URLSearchParams(window.location.search).get("q") ?? "").trim().slice(0, 200);
    const results = document.getElementById("search-results");
    for (const field of document.querySelectorAll('input[name="q"]')) field.value = query;
    if (!query) return;
    const better = corrected(query), changed = better.toLowerCase() !== query.toLowerCase();
    const hits = ranked(better), wanted = concepts(better);
    const status = $("p", { className: "search-summary", role: "status" });
    if (changed) status.append(`No page contains “${query}”. Did you mean `, $("a", { href: `?q=${encodeURIComponent(better)}` }, better), "? ");
    status.append(hits.length ? `${hits.length} section${hits.length > 1 ? "s" : ""} found${hits.length > SHOWN ? `, the best ${SHOWN} shown` : ""}.`
      : `“${query}” did not match any section. Try another word, or look into the `);
    if (!hits.length) status.append($("a", { href: "book/glossary.html" }, "glossary"), ".");
    results.replaceChildren($("h2", { className: "course-results" }, `Results for “${query}”`), status, $("ol", { className: "course-hits" }, ...hits.slice(0, SHOWN).map(each => hit(each, wanted))));
    results.dataset.ready = "true";
  }
  window.courseRanked = query => ranked(corrected(query)).slice(0, 5).map(({ section, score }) => [section.address, section.title, score]);
  main();
})();
