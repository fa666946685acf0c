/* What the scripts of all figures share: nodes of the page, the tie between a figure and its model, keys in a grid, and
   a few functions of numbers. base.py puts this text before each script, so that what travels stays one module. */

/* An element of HTML. What the element has as a property is set as one, everything else as an attribute. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k in node) node[k] = v; else node.setAttribute(k, v);
  }
  node.append(...children);
  return node;
}
export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(props)) node.setAttribute(k, v);
  node.append(...children);
  return node;
}
export const on = (node, event, f) => { node.addEventListener(event, f); return node; };
/* `label` is a text or a list of nodes. */
export const button = (label, f, props = {}) =>
  on(h("button", { type: "button", ...props }, ...[label].flat()), "click", f);
export const columnHead = (...content) => h("th", { scope: "col" }, ...content);
/* Choices are pairs of value and text; `other` is what is shown, and cannot be chosen, while none of them holds. */
export function dropdown(choices, f, other = null) {
  const node = h("select", {}, ...(other ? [h("option", { value: "", disabled: true }, other)] : []),
    ...choices.map(([value, text]) => h("option", { value: String(value) }, String(text))));
  return on(node, "change", () => f(node.value));
}
export const numbered = labels => labels.map((label, i) => [i, label]);
/* Shows choice i of a numbered dropdown; -1, as findIndex says it, is the other. */
export const showChoice = (node, i) => { node.value = i < 0 ? "" : String(i); };
/* What may be wider than a phone: it can be reached and scrolled by keyboard. */
export const scrollable = (label, node) =>
  h("div", { className: "cl-scroll", tabIndex: 0, role: "region", "aria-label": label }, node);
export const legendKey = (kind, text) =>
  h("span", {}, h("span", { className: `cl-key cl-${kind}`, "aria-hidden": "true" }), text);
export const refused = (field, is) => field.setAttribute("aria-invalid", String(is));

/* Ties a figure to its model, of which it shows the traits `names`; `hint` is read in the live region at first.
   change(values, sentence)  by the reader: writes, redraws, says sentence(what show() returned)
   mount(el, figure, show, summary, whole)  draws, and from then on follows the model: a change from outside redraws and
     says summary(what show() returned), unless whole(state) is false: traits may arrive one by one. Returns the end. */
export function tie(model, names, hint = "") {
  const live = h("p", { className: "cl-live", "aria-live": "polite" }, hint);
  const say = text => { live.textContent = text; };
  const state = () => Object.fromEntries(names.map(name => [name, model.get(name)]));
  let own = false, redraw;
  function write(values) {
    own = true;                                                      // the model calls its listeners at once, us too
    try {
      for (const [name, value] of Object.entries(values)) model.set(name, value);
      model.save_changes();
    } finally { own = false; }
  }
  function change(values, sentence) {
    write(values);
    say(sentence(redraw()));
  }
  function mount(el, figure, show, summary, whole = () => true) {
    redraw = show;
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", model.get("alt"));
    el.classList.add("cl-x");
    el.append(figure);
    show();
    const heard = () => { if (!own && whole(state())) say(`The figure was changed from outside. ${summary(show())}`); };
    for (const name of names) model.on("change:" + name, heard);
    return () => { for (const name of names) model.off("change:" + name, heard); };
  }
  return { live, say, state, write, change, mount };
}

const modified = event => event.ctrlKey || event.metaKey || event.altKey;        // the browser's own, as "back" is
/* The one of `nodes`, now at place `at`, that an arrow key, Home or End leads to; undefined for every other key. */
export function alongLine(event, nodes, at) {
  const end = nodes.length - 1, back = at - 1, forth = at + 1;
  const to = { ArrowRight: forth, ArrowDown: forth, ArrowLeft: back, ArrowUp: back, Home: 0, End: end }[event.key];
  if (to === undefined || modified(event)) return undefined;
  event.preventDefault();
  return nodes[Math.min(end, Math.max(0, to))];
}
/* Rows of nodes as one stop of Tab, which remembers its place: arrow keys, Home and End lead from node to node.
   Returns the function that sets the stop. */
export function oneStop(grid) {
  const stop = node => grid.flat().forEach(other => { other.tabIndex = other === node ? 0 : -1; });
  grid.forEach((row, i) => row.forEach((node, j) => {
    on(node, "focus", () => stop(node));
    on(node, "keydown", event => {
      const vertical = grid.length > 1 && (event.key === "ArrowUp" || event.key === "ArrowDown");
      const to = vertical ? alongLine(event, grid.map(other => other[j]), i) : alongLine(event, row, j);
      to?.focus();
    });
  }));
  stop(grid[0][0]);
  return stop;
}

export const sum = values => values.reduce((a, b) => a + b, 0);
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
export const thousands = v => v.toLocaleString("en");
/* The bytes of base64 text. */
export const decoded = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
/* xorshift with 32 bits (Marsaglia, 2003): reproducible draws in (0, 1). */
export function xorshift(seed) {
  let state = Math.imul(seed, 2654435769) >>> 0 || 1;
  return () => {
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}
