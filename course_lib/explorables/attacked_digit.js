/* Digits under attack. All numbers were computed before, by everything() in attacked_digit.py, and are read from the
   model's traits. Pixels are counted from 0 here, rows and columns from 1 on the page. */
import { button, columnHead, decoded, dropdown, h, numbered, on, oneStop, scrollable, sum, svg,
  tie } from "./common.js";

const floats = text => [...new Float32Array(decoded(text).buffer)];
const levels = text => [...text].map(sign => parseInt(sign, 17));
/* An image and its repair as the page gets them; the image's `total` is the sum over its pixels. */
export function unpack({ x, classes, p, log_p, repaired }) {
  const each = floats(log_p);
  return { x: levels(x), classes: floats(classes), p, each, total: sum(each), repaired: { x: levels(repaired.x),
    classes: floats(repaired.classes), p: repaired.p, total: repaired.total } };
}
export const likeliest = classes => classes.indexOf(Math.max(...classes));

/* ---- the page ---- */
const TRAITS = ["digit", "attack", "eps", "pixel"], SIDE = 8, N = SIDE * SIDE, INK = 16, ALARM = 0.05, WIDE = 640,
  TICKS = [-250, -200, -150, -100, -50];
const signed = v => `${v < 0 ? "−" : "+"}${Math.abs(v)}`, fixed = (v, k) => v.toFixed(k).replace("-", "−");
/* As in "row 1, column 2"; the sentence begins with a capital R. */
const name = i => `row ${Math.floor(i / SIDE) + 1}, column ${i % SIDE + 1}`;
const some = (k, what) => `${k} ${what}${k === 1 ? "" : "s"}`;

function render({ model, el }) {
  const digits = model.get("digits"), attacks = model.get("attacks"), shares = model.get("shares"),
    of = model.get("of"),
    aside = floats(model.get("calibration")).sort((a, b) => a - b),
    { live, say, state, change, mount } = tie(model, TRAITS);
  const all = digits.map(({ clean, changed }) => [clean, changed].flat(2).map(unpack));  // clean, by attack and eps
  const most = all[0].length - 1, largest = most / attacks.length;
  const now = () => {
    const s = state(), clean = all[s.digit][0];
    return { s, clean, image: s.eps ? all[s.digit][1 + s.attack * largest + s.eps - 1] : clean };
  };

  function story({ s, clean, image }) {
    const i = s.pixel, moved = image.x[i] - clean.x[i], [right, flagged, mended] = shares[s.attack][s.eps];
    const said = ({ total, classes, p }) => `read as ${likeliest(classes)} (p = ${fixed(Math.max(...classes), 4)}), `
      + `log p ${fixed(total, 2)} nats, p-value ${fixed(p, 4)}, ${p <= ALARM ? "flagged" : "not flagged"}. `;
    return `The ${digits[s.digit].name}, ${s.eps ? `${attacks[s.attack]}, ${some(s.eps, "level")}` : "unchanged"}: `
      + `${said(image)}Repaired: ${said(image.repaired)}`
      + `R${name(i).slice(1)}: level ${image.x[i]}${moved ? `, ${signed(moved)}` : ""}, `
      + `its log p ${fixed(image.each[i], 4)}, unchanged ${fixed(clean.each[i], 4)}; repaired ${image.repaired.x[i]}. `
      + `Of ${of} test images treated so, ${right} are read right, ${flagged} flagged, ${mended} right once repaired.`;
  }
  const set = values => change(values, story);

  const digit = dropdown(numbered(digits.map(d => d.name)), v => set({ digit: +v }));
  const attack = dropdown(numbered(attacks), v => set({ attack: +v }));
  const slider = on(h("input", { type: "range", min: 0, max: largest }), "input", () => set({ eps: +slider.value }));
  const level = h("output", {});

  const cells = Array.from({ length: N }, (_, i) => button("", () => set({ pixel: i })));
  const stop = oneStop(Array.from({ length: SIDE }, (_, r) => cells.slice(SIDE * r, SIDE * (r + 1))));
  const plain = () => Array.from({ length: N }, () => h("span", {})), moves = plain(), nats = plain(), mended = plain();
  const grid = (children, props) => h("div", { className: "cl-dd-grid", style: `--side:${SIDE}`, ...props },
    ...children);
  const figure = (caption, node) => h("figure", {}, h("figcaption", {}, caption), node);
  const shade = (node, share) => node.style.setProperty("--p", `${(100 * share).toFixed(1)}%`);
  const scale = h("p", { className: "cl-note" });

  const line = () => Array.from({ length: 10 }, () => h("td", {})), before = line(), after = line();
  const row = (title, cells) => h("tr", {}, h("th", { scope: "row" }, title), ...cells);
  const table = h("table", { className: "cl-ad-classes" },
    h("thead", {}, h("tr", {}, columnHead("p of class"), ...before.map((_, k) => columnHead(String(k))))),
    h("tbody", {}, row("image", before), row("repaired", after)));

  const totals = [...aside, ...all.flat().flatMap(one => [one.total, one.repaired.total])],
    low = Math.min(...totals) - 8, high = Math.max(...totals) + 8, at = v => WIDE * (v - low) / (high - low);
  const mark = (v, points, kind) => svg("path", { d: `M ${at(v).toFixed(2)} ${points}`, class: kind });
  const strip = svg("svg", { class: "cl-ad-strip", viewBox: `0 0 ${WIDE} 46`, role: "img" });
  const threshold = aside[Math.floor(ALARM * (aside.length + 1)) - 1];     // the highest score that is flagged
  function draw(image) {
    const [here, there, from, to] = [image.total, image.repaired.total, aside[0], aside.at(-1)].map(v => fixed(v, 1));
    strip.setAttribute("aria-label",
      `log p: this image ${here}, repaired ${there}, ${aside.length} images set aside ${from} to ${to} nats`);
    strip.replaceChildren(...aside.map(v => mark(v, "18 v 12", "cl-ad-aside")),
      svg("line", { x1: 0, x2: WIDE, y1: 30, y2: 30, class: "cl-ad-axis" }),
      svg("line", { x1: at(threshold), x2: at(threshold), y1: 10, y2: 32, class: "cl-ad-alarm" }),
      ...TICKS.map(v => svg("text", { x: at(v), y: 43, class: "cl-ad-tick" }, fixed(v, 0))),
      ...[["repaired", image.repaired], ["image", image]].map(([kind, { total }]) =>
        mark(total, "15 l -6 -9 h 12 z", `cl-ad-${kind}`)));
  }
  function show() {
    const seen = now(), { s, clean, image } = seen, worst = -Math.min(...image.each);
    cells.forEach((cell, i) => {
      const moved = image.x[i] - clean.x[i];
      cell.className = "cl-dd-shade";
      cell.dataset.level = image.x[i];
      cell.setAttribute("aria-pressed", String(i === s.pixel));
      cell.setAttribute("aria-label", `${name(i)}: level ${image.x[i]}${moved ? `, ${signed(moved)}` : ""}`);
      shade(cell, image.x[i] / INK);
      moves[i].className = moved < 0 ? "cl-dd-down" : "cl-dd-up";
      moves[i].textContent = moved ? (moved < 0 ? "−" : "+") : "";
      moves[i].dataset.change = moved;
      shade(moves[i], 0.8 * Math.abs(moved) / largest);
      nats[i].className = "cl-dd-down";
      nats[i].dataset.nats = image.each[i];
      shade(nats[i], -image.each[i] / worst);
      mended[i].className = "cl-dd-shade";
      mended[i].dataset.repaired = image.repaired.x[i];
      shade(mended[i], image.repaired.x[i] / INK);
    });
    for (const [row, { classes }] of [[before, image], [after, image.repaired]]) {
      row.forEach((cell, k) => {
        cell.dataset.p = classes[k];
        cell.className = k === likeliest(classes) ? "cl-ad-read" : "";
        cell.textContent = classes[k].toFixed(2);
        shade(cell, 0.45 * classes[k]);
      });
    }
    if (!cells.includes(document.activeElement)) stop(cells[s.pixel]);
    digit.value = s.digit;
    attack.value = s.attack;
    slider.value = s.eps;
    level.textContent = some(s.eps, "level");
    slider.setAttribute("aria-valuetext", level.textContent);
    scale.textContent = "Change: + more ink, − less. −log p: full shade is "
      + `${fixed(worst, 1)} nats, of ${fixed(-image.total, 1)} in all.`;
    draw(image);
    return seen;
  }

  const legend = h("p", { className: "cl-legend cl-note" },
    h("span", {}, h("span", { className: "cl-ad-key cl-ad-image" }, "▼"), " this image"),
    h("span", {}, h("span", { className: "cl-ad-key cl-ad-repaired" }, "▼"), " repaired"),
    h("span", {}, `| ${aside.length} images set aside, log p in nats; up to the dashed line: flagged at 5 %`));
  const end = mount(el, h("div", { className: "cl-ad" },
    h("div", { className: "cl-top" }, h("label", {}, "Digit", digit), h("label", {}, "Change", attack),
      h("label", { className: "cl-ad-slider" }, "by at most", slider, level)),
    h("div", { className: "cl-dd-row" },
      figure("image", grid(cells, { role: "group", "aria-label": "Image. Arrow keys move, Enter looks at a pixel." })),
      figure("change", grid(moves, { "aria-hidden": "true" })),
      figure("−log p of each pixel", grid(nats, { "aria-hidden": "true" })),
      figure("repaired", grid(mended, { "aria-hidden": "true" }))),
    scale, scrollable("probabilities of the classes", table), strip, legend, live,
    h("p", { className: "cl-note" }, "These attacks do not know of the repair. This figure does not show "
      + "what one that does would reach.")), show, story);
  say(story(now()));
  return end;
}
export default { render };
