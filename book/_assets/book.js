/* What scrolls sideways in its own box can be reached and scrolled by keyboard; what opens a list says which; long lists
   are open on wide screens. */
(() => {
  "use strict";
  const BOXES = "div.math, .afm-view, .cell_output .output, .cell_output pre, .highlight pre, " +
                ".pst-scrollable-table-container, .bd-article table.table";

  function mark() {
    for (const box of document.querySelectorAll(`${BOXES}, .cl-scroll`)) {
      const wide = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible";
      box.classList.toggle("course-scrolls", wide);         // shown by an edge
      if (box.matches(".cl-scroll")) continue;              // is always a tab stop
      if (wide) box.tabIndex = 0;
      else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    }
  }

  function name() {
    for (const toggle of document.querySelectorAll(".bd-sidebar-primary summary:not([aria-label])")) {
      const link = toggle.closest("li")?.querySelector("a");
      toggle.setAttribute("aria-label", `Sections of ${link?.textContent.trim() || "this part"}`);
    }
  }

  function unfold() {                                     // lists of slides: folded on a phone, open where there is room
    if (!window.matchMedia("(min-width: 992px)").matches) return;
    for (const list of document.querySelectorAll("details.course-slides.course-wide")) list.open = true;
  }

  async function main() {
    name();
    unfold();
    mark();
    const sizes = new ResizeObserver(mark);
    sizes.observe(document.body);
    for (const box of document.querySelectorAll(BOXES)) sizes.observe(box);
    await window.MathJax?.startup?.promise;
    mark();                                               // formulas have their width now
  }

  window.addEventListener("load", main);
})();
