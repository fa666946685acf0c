/* A ball on a loss surface, three optimizers. path() takes the steps of the chapter's equations (2.4), (2.6) and (2.7);
   path() in loss_surface.py, which has the library's optimizers, is its reference. */
import { button, columnHead, dropdown, h, on, svg, tie, xorshift } from "./common.js";

export const SURFACES = {
  valley: { loss: (x, y) => 0.1 * (x - 1) ** 2 + 5 * (y - 0.5) ** 2,
    gradient: (x, y) => [0.2 * (x - 1), 10 * (y - 0.5)] },
  bowl: { loss: (x, y) => 0.5 * (x - 1) ** 2 + 0.5 * (y - 0.5) ** 2, gradient: (x, y) => [x - 1, y - 0.5] },
  saddle: { loss: (x, y) => x ** 4 / 4 - x ** 2 / 2 + y ** 2, gradient: (x, y) => [x ** 3 - x, 2 * y] },
};
const MU = 0.9, B1 = 0.9, B2 = 0.999, EPS = 1e-8, NOISE = 0.3, FAR = 1e6;
function adam(p, g, s, rate) {
  s.m = B1 * (s.m ?? 0) + (1 - B1) * g;
  s.s = B2 * (s.s ?? 0) + (1 - B2) * g * g;
  return p - rate * (s.m / (1 - B1 ** s.t)) / (Math.sqrt(s.s / (1 - B2 ** s.t)) + EPS);
}
/* From a coordinate p, its gradient g and its state s to the new p; s.t counts the steps. */
export const OPTIMIZERS = {
  SGD: (p, g, s, rate) => p - rate * g,
  momentum: (p, g, s, rate) => { s.v = MU * (s.v ?? 0) + g; return p - rate * s.v; },
  Adam: adam,
};
/* Two normal draws a step (Box and Muller). */
export function noise(seed, steps) {
  const uniform = xorshift(seed);
  return Array.from({ length: steps }, () => {
    const r = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
    return [r * Math.cos(angle), r * Math.sin(angle)];
  });
}
/* The points from the start on; it ends early where the search has diverged. */
export function path(surface, optimizer, rate, start, steps, sigma = 0, seed = 1) {
  const states = [{}, {}], points = [start];
  for (const [t, z] of noise(seed, steps).entries()) {
    const p = points[t], g = SURFACES[surface].gradient(...p);
    const to = p.map((v, i) => {
      states[i].t = t + 1;
      return OPTIMIZERS[optimizer](v, g[i] + sigma * z[i], states[i], rate);
    });
    points.push(to);
    if (!(Math.max(...to.map(Math.abs)) < FAR)) break;
  }
  return points;
}
/* Lines of equal height over [-3, 3] x [-2, 2], as the path of an SVG: marching squares. */
export function contours(loss, levels, columns = 72, rows = 48) {
  const x = i => 6 * i / columns - 3, y = j => 4 * j / rows - 2, parts = [];
  const height = Array.from({ length: columns + 1 }, (_, i) =>
    Array.from({ length: rows + 1 }, (_, j) => loss(x(i), y(j))));
  for (const level of levels) {
    for (let i = 0; i < columns; i++) {
      for (let j = 0; j < rows; j++) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], cuts = [];
        corners.forEach(([a, b], k) => {
          const [c, d] = corners[(k + 1) % 4], from = height[a][b] - level, to = height[c][d] - level;
          if (from < 0 === to < 0) return;
          const s = from / (from - to);
          cuts.push(`${(x(a) + s * (x(c) - x(a))).toFixed(3)} ${(-y(b) - s * (y(d) - y(b))).toFixed(3)}`);
        });
        for (let k = 0; k + 1 < cuts.length; k += 2) parts.push(`M${cuts[k]}L${cuts[k + 1]}`);
      }
    }
  }
  return parts.join("");
}

/* ---- the page ---- */
const TRAITS = ["surface", "start", "rates", "steps", "noisy", "seed", "shown"];
const RATES = [0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.14, 0.19, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];
const NAMES = Object.keys(OPTIMIZERS), LEVELS = { valley: [0.05, 0.3, 1, 2.5, 5, 9, 14, 20, 28],
  bowl: [0.05, 0.2, 0.6, 1.2, 2, 3, 4.5, 6.5, 9], saddle: [-0.24, -0.15, -0.05, 0.001, 0.2, 0.6, 1.3, 2.5, 4.5, 8] };
const MINIMA = { valley: [[1, 0.5]], bowl: [[1, 0.5]], saddle: [[-1, 0], [1, 0]] };
const near = (v, most) => Math.max(-most, Math.min(most, Math.round(100 * v) / 100));
const at = p => `(${p[0].toFixed(2)}, ${p[1].toFixed(2)})`;

function render({ model, el }) {
  const { live, say, state, change, mount } = tie(model, TRAITS);
  const inside = p => Math.abs(p[0]) <= 3 && Math.abs(p[1]) <= 2, gone = p => !(Math.max(...p.map(Math.abs)) < FAR);
  const results = s => NAMES.map((name, k) => {
    const points = path(s.surface, name, s.rates[k], s.start, s.steps, s.noisy ? NOISE : 0, s.seed),
      end = points.at(-1);
    return { points, end, loss: gone(end) ? Infinity : SURFACES[s.surface].loss(...end) };
  });
  const story = ({ s, all }) => {
    const drawn = NAMES.map((name, k) => ({ name, ...all[k] })).filter((_, k) => s.shown[k]);
    if (!drawn.length) return "No optimizer is shown.";
    const best = drawn.reduce((a, b) => b.loss < a.loss ? b : a),
      lost = drawn.filter(d => !inside(d.end)).map(d => d.name);
    return `From ${at(s.start)}, ${s.steps} steps: lowest is ${best.name}, at loss ${best.loss.toFixed(4)}.`
      + (lost.length ? ` ${lost.join(" and ")} left the picture.` : "");
  };
  const set = values => change(values, story);
  const drop = p => set({ start: [near(p[0], 3), near(p[1], 2)] });

  const surface = dropdown([["valley", "an elongated bowl"], ["bowl", "a round bowl"], ["saddle", "a saddle"]],
    v => set({ surface: v }));
  const noisy = on(h("input", { type: "checkbox" }), "change", () => set({ noisy: noisy.checked }));
  const steps = on(h("input", { type: "range", min: 0, max: 100 }), "input", () => set({ steps: +steps.value }));
  const stepsText = h("output", {}), other = button("other noise", () => set({ seed: state().seed + 1, noisy: true }));

  const lines = svg("path", { class: "cl-ls-contour" }), minima = svg("path", { class: "cl-ls-minimum" }),
    trails = NAMES.map((_, k) => svg("polyline", { class: `cl-ls-trail cl-ls-${k}` })),
    ends = NAMES.map((_, k) => svg("circle", { class: `cl-ls-end cl-ls-${k}`, r: 0.07 }));
  const ball = svg("circle", { r: 0.12, class: "cl-ls-ball", tabindex: 0, role: "button" });
  on(ball, "keydown", e => {
    const way = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[e.key];
    if (!way || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    drop(state().start.map((v, i) => v + way[i]));
  });
  const plot = svg("svg", { viewBox: "-3 -2 6 4", class: "cl-ls-plot", role: "group",
    "aria-label": "Surface, lines of equal loss" },
    lines, minima, ...trails, ...ends, ball);
  const place = e => {
    const box = plot.getBoundingClientRect();
    return [6 * (e.clientX - box.left) / box.width - 3, 2 - 4 * (e.clientY - box.top) / box.height];
  };
  let held = false;
  on(plot, "pointerdown", e => { held = true; drop(place(e)); });
  on(plot, "pointermove", e => { if (held && e.buttons) drop(place(e)); });
  on(plot, "pointerup", () => { held = false; });

  const rows = NAMES.map((name, k) => {
    const seen = on(h("input", { type: "checkbox", "aria-label": `show ${name}` }), "change", () =>
      set({ shown: state().shown.map((v, i) => i === k ? seen.checked : v) }));
    const rate = on(h("input", { type: "range", min: 0, max: RATES.length - 1, "aria-label": `rate of ${name}` }),
      "input", () =>       set({ rates: state().rates.map((v, i) => i === k ? RATES[rate.value] : v) }));
    const number = h("td", {}), loss = h("td", { "data-loss": "" }),
      key = h("span", { className: `cl-ls-key cl-ls-${k}`, "aria-hidden": "true" });
    return { seen, rate, number, loss, row: h("tr", {}, h("th", { scope: "row" }, h("label", {}, seen, key, name)),
      h("td", {}, rate), number, loss) };
  });
  let drawn = "";
  function show() {
    const s = state(), all = results(s);
    if (drawn !== s.surface) lines.setAttribute("d", contours(SURFACES[s.surface].loss, LEVELS[drawn = s.surface]));
    minima.setAttribute("d", MINIMA[s.surface].map(([x, y]) =>
      `M${x - 0.08} ${-y}h.16M${x} ${-y - 0.08}v.16`).join(""));
    all.forEach(({ points, end, loss }, k) => {
      const clipped = p => p.map(v => Math.max(-50, Math.min(50, v)));       // beyond the frame all is out of it
      trails[k].setAttribute("points", points.map(p => clipped([p[0], -p[1]]).join(",")).join(" "));
      for (const [name, v] of [["cx", end[0]], ["cy", -end[1]]]) ends[k].setAttribute(name, clipped([v])[0]);
      for (const node of [trails[k], ends[k]]) node.setAttribute("visibility", s.shown[k] ? "visible" : "hidden");
      const row = rows[k], far = loss === Infinity ? "diverged" : loss >= 1e4 ? loss.toExponential(1) : loss.toFixed(4);
      row.seen.checked = s.shown[k];
      row.rate.value = RATES.indexOf(s.rates[k]);
      row.rate.setAttribute("aria-valuetext", String(s.rates[k]));
      row.number.textContent = s.rates[k];
      row.loss.textContent = far;
      row.loss.dataset.loss = loss;
    });
    ball.setAttribute("cx", s.start[0]);
    ball.setAttribute("cy", -s.start[1]);
    ball.setAttribute("aria-label", `the ball, dropped at ${at(s.start)}: arrow keys move it`);
    surface.value = s.surface;
    noisy.checked = s.noisy;
    steps.value = s.steps;
    stepsText.textContent = s.steps;
    return { s, all };
  }
  const table = h("table", { className: "cl-ls-table" }, h("thead", {}, h("tr", {}, columnHead("optimizer"),
    columnHead("rate"), columnHead(""),
    columnHead("loss at the end"))), h("tbody", {}, ...rows.map(r => r.row)));
  const end = mount(el, h("div", {},
    h("div", { className: "cl-top" }, h("label", {}, "Surface", surface),
      h("label", { className: "cl-ls-steps" }, "Steps", steps, stepsText),
      h("label", {}, noisy, "noise, as from batches"), other),
    h("div", { className: "cl-ls-cols" }, plot, h("div", {}, table, live, h("p", { className: "cl-note" },
      "Click or drag to drop the ball elsewhere; + is a minimum. Momentum 0.9; Adam 0.9 and 0.999. "
      + "The loss has two parameters, whereas networks have millions.")))),
    show, story);
  say(story(show()));
  return end;
}
export default { render };
