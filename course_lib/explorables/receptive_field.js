/* What a pixel of a masked network sees. field() goes through the layers backward, from one value to all that it is
   computed from; field() in receptive_field.py asks the library's networks and is its reference. Rows and columns are
   counted from 0 here, from 1 on the page. A set is one array of booleans for each group of channels, side x side. */
import { button, dropdown, h, on, oneStop, tie } from "./common.js";

/* What a masked layer reads for `need`: everything before the centre; at the centre, groups before its own (mask A)
   or up to it (mask B). `rows`: of the k // 2 rows above, too. */
function masked(need, side, k, kind, rows) {
  const p = (k - 1) / 2, found = need.map(() => Array(side * side).fill(false));
  need.forEach((set, g) => set.forEach((wanted, i) => {
    if (!wanted) return;
    const r = Math.floor(i / side), c = i % side;
    for (let y = Math.max(0, rows ? r - p : r); y <= r; y++) {
      for (let x = Math.max(0, c - p); x <= Math.min(side - 1, y < r ? c + p : c); x++) {
        found.forEach((plane, from) => {
          if (y < r || x < c || from < g || (kind === "B" && from === g)) plane[y * side + x] = true;
        });
      }
    }
  }));
  return found;
}
/* What an unmasked kernel that ends with the pixel's own row reads: the vertical stack's. */
function above(set, side, k) {
  const p = (k - 1) / 2, found = Array(side * side).fill(false);
  set.forEach((wanted, i) => {
    if (!wanted) return;
    const r = Math.floor(i / side), c = i % side;
    for (let y = Math.max(0, r - p); y <= r; y++) {
      for (let x = Math.max(0, c - p); x <= Math.min(side - 1, c + p); x++) found[y * side + x] = true;
    }
  });
  return found;
}
const either = (a, b) => a.map((v, i) => v || b[i]);
/* Which values colour `color` of `pixel` is computed from: found[colour][pixel]. */
export function field(s, side, pixel, color) {
  const groups = Array.from({ length: s.colors }, (_, g) => g), last = side * side;
  let h = groups.map(g => Array.from({ length: last }, (_,
    i) => i === pixel && g <= color));       // the head: 1 x 1, B
  if (s.network === "pixelcnn") {
    for (let l = 0; l < s.depth; l++) {
      const more = masked(h, side, s.kernel, "B", true);
      h = h.map((set, g) => either(set, more[g]));                   // a block adds to its input
    }
    return masked(h, side, s.first, s.mask, true);
  }
  let v = Array(last).fill(false);
  for (let l = s.depth - 1; l >= 0; l--) {
    const k = l ? s.kernel : s.first, row = masked(h, side, k, l ? "B" : s.mask, false);
    v = above(h.reduce(either, v), side, k);                         // both stacks read the vertical one's new values
    h = l ? h.map((set, g) => either(set, row[g])) : row;            // no residual around the first layer
  }
  return h.map(set => set.map((read, i) => read || (i + side < last && v[i + side])));    // v: the image, one row down
}

/* ---- the page ---- */
const TRAITS = ["network", "first", "kernel", "depth", "colors", "mask", "pixel", "color"];
const NAMES = { pixelcnn: "PixelCNN", gated: "gated PixelCNN" }, COLORS = ["red", "green", "blue"], DEEPEST = 14;
const WORDS = { self: "the one predicted", reads: "read", "not yet": "read only with more layers",
  never: "in the blind spot", later: "comes later", leak: "read, and must not be" };
const SIGNS = { self: "●", reads: "", "not yet": "", never: "×", later: "", leak: "!" };

/* What each value is to the chosen one: kinds[colour][pixel]. */
export function kinds(s, side) {
  const color = Math.min(s.color, s.colors - 1);
  const now = field(s, side, s.pixel, color), ever = field({ ...s, depth: 2 * side }, side, s.pixel, color);
  return now.map((plane, c) => plane.map((read, i) => {
    const before = i < s.pixel || (i === s.pixel && c < color);
    if (read && !before) return "leak";
    if (i === s.pixel && c === color) return "self";
    return !before ? "later" : read ? "reads" : ever[c][i] ? "not yet" : "never";
  }));
}
export function summary(s, all) {
  const n = kind => all.flat().filter(each => each === kind).length, never = n("never"), more = n("not yet");
  return [`Reads ${n("reads")} of the ${n("reads") + more + never} ${s.colors > 1 ? "values" : "pixels"} before it.`,
    ...(more ? [`${more} more would be read with more layers.`] : []),
    never === 1 ? "1 is in the blind spot: no depth reaches it."
      : never ? `${never} are in the blind spot: no depth reaches them.` : "There is no blind spot.",
    ...(n("leak") ? ["A leak: it reads what it has to predict."] : [])].join(" ");
}

function render({ model, el }) {
  const side = model.get("side"), { live, say, state, change, mount } = tie(model, TRAITS);
  const place = i => `row ${Math.floor(i / side) + 1}, column ${i % side + 1}`;
  const whole = (s, all) => `${NAMES[s.network]}, depth ${s.depth}, ${place(s.pixel)}`
    + `${s.colors > 1 ? `, ${COLORS[s.color]}` : ""}. ${summary(s, all)}`;
  const set = values => change(values, ([s, all]) => whole(s, all));

  const chosen = (values, name, text = v => v) => dropdown(values.map(v => [v, text(v)]), v =>
    set({ [name]: typeof values[0] === "number" ? +v : v }));
  const fields = {
    network: chosen(["pixelcnn", "gated"], "network", v => NAMES[v]),
    mask: chosen(["A", "B"], "mask", v => v === "A" ? "A" : "B, a mistake"),
    first: chosen([3, 5, 7], "first", v => `${v} × ${v}`), kernel: chosen([3, 5], "kernel", v => `${v} × ${v}`),
    colors: dropdown([[1, "one"], [3, "red, green, blue"]], v => set({ colors: +v, color: v === "1" ? 0 : 2 })),
    color: chosen([0, 1, 2], "color", v => COLORS[v]),
  };
  const ofColor = h("label", {}, "Predicted", fields.color);
  const depth = on(h("input", { type: "range", min: 1, max: DEEPEST }), "input", () => set({ depth: +depth.value }));
  const depthText = h("output", {});

  const cells = Array.from({ length: side * side }, (_, i) => button("", () => set({ pixel: i })));
  const stop = oneStop(Array.from({ length: side }, (_, r) => cells.slice(side * r, side * (r + 1))));
  const grid = h("div", { className: "cl-rf-grid", role: "group", style: `--side:${side}`,
    "aria-label": "Image. Arrow keys move, Enter chooses the pixel to predict." }, ...cells);
  function show() {
    const s = state();
    s.color = Math.min(s.color, s.colors - 1);
    const all = kinds(s, side);
    cells.forEach((cell, i) => {
      const mine = all.map(plane => plane[i]), same = mine.every(kind => kind === mine[0]);
      const stripes = same ? mine.slice(0, 1) : mine;
      cell.replaceChildren(...stripes.map(kind => h("span", { className: `cl-rf-${kind.replace(" ", "-")}` },
        SIGNS[kind])));
      cell.dataset.kinds = mine.join();
      cell.setAttribute("aria-pressed", String(i === s.pixel));
      cell.setAttribute("aria-label", `${place(i)}: ` + (same ? WORDS[mine[0]]
        : mine.map((kind, c) => `${COLORS[c]} ${WORDS[kind]}`).join(", ")));
    });
    if (!grid.contains(document.activeElement)) stop(cells[s.pixel]);
    for (const [name, field] of Object.entries(fields)) field.value = String(s[name]);
    depth.value = s.depth;
    depth.setAttribute("aria-valuetext", `depth ${s.depth}`);
    depthText.textContent = s.depth;
    ofColor.hidden = s.colors === 1;
    return [s, all];
  }

  const end = mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Network", fields.network),
      h("label", { className: "cl-rf-depth" }, "Depth", depth, depthText)),
    h("div", { className: "cl-rf-cols" }, grid,
      h("div", {}, live,
        h("div", { className: "cl-rf-more" }, h("label", {}, "First kernel", fields.first),
          h("label", {}, "its mask", fields.mask), h("label", {}, "Other kernels", fields.kernel),
          h("label", {}, "Colours", fields.colors), ofColor),
        h("p", { className: "cl-legend cl-rf-legend" }, ...["self", "reads", "not yet", "never", "leak"].map(kind =>
          h("span", {}, h("span", { className: `cl-rf-key cl-rf-${kind.replace(" ", "-")}`, "aria-hidden": "true" },
            SIGNS[kind]), WORDS[kind]))),
        h("p", { className: "cl-note" }, "Click a pixel to predict it. These sets hold for any weights: what a network "
          + "may read, not how much it makes of it.")))), show, ([s, all]) => whole(s, all));
  say(whole(...show()));
  return end;
}
export default { render };
