/* Language models and vector semantics on a logarithmic axis. The list is in order of time in the page itself; on a
   wide screen the style sheet puts each button at its place on the axis, on a phone it stays a list. */
import { alongLine, button, h, on, tie } from "./common.js";

const dot = () => h("span", { className: "cl-dot", "aria-hidden": "true" });
const WIDTH = 640, LANES = ["lm", "both", "vectors"];
const size = s => 34 + 7.6 * s.label.length;                       // a generous guess of a button's width in pixels

/* Give each system a row so that no two labels touch at WIDTH pixels, hence at any greater width. */
export function layout(systems) {
  const rows = {}, flip = {};
  let used = 0;
  for (const lane of LANES) {
    const taken = [];                                                // taken[row] = spans of x in that row
    for (const s of systems.filter(t => t.kind === lane)) {
      const x = s.position * WIDTH;
      flip[s.id] = x + size(s) > WIDTH;
      const span = flip[s.id] ? [x + 12 - size(s), x + 12] : [x - 12, x - 12 + size(s)];
      let row = 0;
      while ((taken[row] ||= []).some(([a, b]) => span[0] < b && a < span[1])) row++;
      taken[row].push(span);
      rows[s.id] = used + row;
    }
    used += taken.length;
  }
  return { rows, flip, used };
}

function render({ model, el }) {
  const systems = model.get("systems"), kinds = model.get("kinds"), existing = model.get("existing");
  const { rows, flip, used } = layout(systems), items = new Map();
  const { live, say, write, change, mount } = tie(model, ["selected", "shown"]);
  const isShown = s => model.get("shown").includes(s.kind);

  function panel(s) {
    const href = existing[s.id] ?? existing[s.chapter];
    const link = href ? [h("p", {}, h("a", { href, "data-chapter": s.chapter }, "Read the chapter"))] : [];
    return h("div", { className: "cl-panel", hidden: true },
      h("p", { className: "cl-idea" }, h("strong", {}, `${s.year}, ${s.who}. `), s.idea),
      h("p", {}, h("cite", {}, s.title), `. ${s.source}.`), ...(s.note ? [h("p", {}, s.note)] : []), ...link);
  }
  /* Show one panel: the one pointed at, else the one selected. */
  function open(id) {
    for (const [key, item] of items) {
      item.panel.hidden = key !== id;
      item.button.setAttribute("aria-expanded", String(key === id));
      item.button.tabIndex = key === model.get("selected") ? 0 : -1;
    }
  }
  function select(id, focus) {
    if (id !== model.get("selected")) write({ selected: id });
    open(id);
    if (focus) items.get(id).button.focus();
  }
  /* Hides what is not chosen, and says how much is left. */
  function filter() {
    const visible = systems.filter(isShown);
    for (const s of systems) items.get(s.id).node.hidden = !isShown(s);
    for (const [kind, box] of boxes) box.checked = model.get("shown").includes(kind);
    const at = systems.findIndex(s => s.id === model.get("selected"));
    if (visible.length && !visible.includes(systems[at])) {
      const near = (a, b) => Math.abs(systems.indexOf(a) - at) - Math.abs(systems.indexOf(b) - at);
      write({ selected: visible.slice().sort(near)[0].id });
    }
    open(visible.length ? model.get("selected") : "");
    const left = visible.length
      ? `${visible.length} of ${systems.length} systems are shown. Arrow keys go from one to the next.`
      : "Nothing is shown: choose a kind.";
    say(left);
    return left;
  }
  function keys(event, s) {
    const visible = systems.filter(isShown), to = alongLine(event, visible, visible.indexOf(s));
    if (to) select(to.id, true);
  }

  const list = h("ol", { className: "cl-list", role: "list" });
  for (const s of systems) {
    const label = [dot(), h("span", { className: "cl-year" }, `${s.year} `), h("span", {}, s.label)];
    const item = { panel: panel(s) }, show = () => select(s.id);
    item.button = button(label, show, { "data-id": s.id, style: `--x:${s.position};--row:${rows[s.id]}`,
      className: `cl-item cl-${s.kind}${flip[s.id] ? " cl-flip" : ""}` });
    on(item.button, "focus", show);
    on(item.button, "keydown", event => keys(event, s));
    const point = id => event => { if (event.pointerType === "mouse" && wide()) open(id()); };
    on(item.button, "pointerenter", point(() => s.id));
    on(item.button, "pointerleave", point(() => model.get("selected")));
    item.node = h("li", {}, item.button, item.panel);
    items.set(s.id, item);
    list.append(item.node);
  }
  // pointing would move the buttons of the phone's list, so there only a press opens
  const wide = () => getComputedStyle(list).getPropertyValue("--wide").trim() === "1";
  const boxes = new Map(kinds.map(([kind]) => [kind, h("input", { type: "checkbox", value: kind })]));
  for (const box of boxes.values()) on(box, "change", () =>
    change({ shown: [...boxes].filter(([, b]) => b.checked).map(([kind]) => kind) }, left => left));
  const ticks = h("div", { className: "cl-axis", "aria-hidden": "true" },
    ...model.get("ticks").map(([year, x]) => h("span", { style: `--x:${x}` }, String(year))));
  return mount(el, h("div", {},
    h("fieldset", { className: "cl-parents" }, h("legend", {}, "Show"), ...kinds.map(([kind, name]) =>
      h("label", { className: `cl-${kind}` }, boxes.get(kind), dot(), name))),
    h("div", { className: "cl-stage", style: `--rows:${used}` }, ticks, list),
    live), filter, left => left);
}
export default { render };
