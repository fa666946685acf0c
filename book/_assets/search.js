/* The search shows chapters before the other pages, and the pages of the library last. */
(() => {
  "use strict";
  // Read from a folder, a page may not fetch another one: the results then come without their lines.
  if (window.location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  Scorer.score = ([page, , , , score]) =>
    score + (/^book\/\d\d-/.test(page) ? 1000 : page === "book/glossary" ? 30 : /^book\/api\//.test(page) ? -20 : 0);
})();
