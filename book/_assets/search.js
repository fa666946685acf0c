/* The search shows chapters before the pages of the library, and first the chapter that contains the words most often. */
(() => {
  "use strict";
  const CHAPTER = 1000, GLOSSARY = 30, LIBRARY = -20;    // added to what Sphinx gives: at most some hundred
  // Read from a folder, a page may not fetch another one: the results then come without their lines.
  if (window.location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const stemmer = new Stemmer();
  const query = (new URLSearchParams(window.location.search).get("q") ?? "").toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u).filter(Boolean).map(word => stemmer.stemWord(word));

  const chapters = Object.values(courseWords);
  const most = Object.fromEntries(query.map(word => [word, Math.max(1, ...chapters.map(words => words[word] ?? 0))]));

  function relevance(page) {                              // a word counts for 1 in the chapter that contains it most often
    return query.reduce((sum, word) => sum + (courseWords[page][word] ?? 0) / most[word], 0);
  }

  Scorer.score = ([page, , , , score]) => {
    if (page in courseWords) return CHAPTER * (1 + relevance(page)) + score / 1000;
    if (page === "book/glossary") return score + GLOSSARY;
    return /^book\/api\//.test(page) ? score + LIBRARY : score;
  };
})();
