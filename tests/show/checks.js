// What a reader could not read in a drawing, measured by the browser: a list of sentences, empty when all is well.
(svg) => {
  const faults = [], round = (x) => Math.round(x * 10) / 10;
  const view = svg.viewBox.baseVal;
  const said = (text) => `"${text.textContent}"`;
  const inside = (shape, x, y) => shape.isPointInFill(new DOMPoint(x, y));

  // The letters of a text: its box without the room that a font keeps above and below.
  const box = (text) => {
    const b = text.getBBox(), size = parseFloat(text.getAttribute("font-size"));
    const free = Math.max(0, (b.height - size) / 2) + 0.1 * size;
    return {text, x0: b.x, x1: b.x + b.width, y0: b.y + free, y1: b.y + b.height - free};
  };
  const meets = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
  const holds = (b, x, y) => x > b.x0 && x < b.x1 && y > b.y0 && y < b.y1;
  const points = (b) => [0, 0.25, 0.5, 0.75, 1].flatMap((s) => [b.y0, (b.y0 + b.y1) / 2, b.y1].map(
    (y) => [b.x0 + (b.x1 - b.x0) * s, y]));

  const texts = [...svg.querySelectorAll("text")].map(box);
  const nodes = [...svg.querySelectorAll(".cd-node")];
  const outline = (node) => node.querySelector("rect, circle, polygon");   // the first is the outer one
  const innermost = (node) => [...node.children].filter((e) => e.matches("rect, circle, polygon")).at(-1);

  // Texts: within the drawing, apart from each other, large enough.
  texts.forEach((a, k) => {
    if (a.x0 < 3 || a.y0 < 3 || a.x1 > view.width - 3 || a.y1 > view.height - 3)
      faults.push(`${said(a.text)} leaves the drawing: ${round(a.x0)} to ${round(a.x1)}, ${round(a.y0)} to ${round(a.y1)}`);
    texts.slice(0, k).filter((b) => meets(a, b)).forEach((b) => faults.push(`${said(a.text)} overlaps ${said(b.text)}`));
    if (parseFloat(a.text.getAttribute("font-size")) < 12) faults.push(`${said(a.text)} is smaller than 12`);
    [...a.text.querySelectorAll("tspan[font-size]")].filter((t) => parseFloat(t.getAttribute("font-size")) < 9)
      .forEach((t) => faults.push(`${said(t)} in ${said(a.text)} is smaller than 9`));
  });

  // Texts of a shape lie within it; other texts lie outside.
  for (const node of nodes) {
    for (const text of node.querySelectorAll("text"))
      if (points(box(text)).some(([x, y]) => !inside(innermost(node), x, y))) faults.push(`${said(text)} leaves its shape`);
    for (const b of texts.filter((b) => !node.contains(b.text)))
      if (!b.text.closest(".cd-disc") && points(b).some(([x, y]) => inside(outline(node), x, y)))
        faults.push(`${said(b.text)} runs into the shape of "${node.textContent}" (${node.classList[1]})`);
  }

  // Shapes lie apart. (A disc may sit on a corner, but on no text, which is among the overlaps above.)
  const around = (node) => { const b = outline(node).getBBox(); return {x0: b.x, x1: b.x + b.width, y0: b.y, y1: b.y + b.height}; };
  nodes.forEach((node, k) => nodes.slice(0, k).filter((other) => meets(around(node), around(other))).forEach((other) =>
    faults.push(`the shapes of "${node.textContent}" and "${other.textContent}" overlap at ${round(around(node).x0)}`)));
  for (const disc of svg.querySelectorAll(".cd-disc circle")) {
    const d = disc.getBBox(), b = {x0: d.x, x1: d.x + d.width, y0: d.y, y1: d.y + d.height};
    texts.filter((t) => !disc.parentNode.contains(t.text) && meets(t, b)).forEach((t) => faults.push(`a disc covers ${said(t.text)}`));
  }
  for (const node of nodes) {
    const b = around(node);
    if (b.x0 < 2 || b.y0 < 2 || b.x1 > view.width - 2 || b.y1 > view.height - 2)
      faults.push(`the shape of "${node.textContent}" leaves the drawing`);
  }

  // Lines: through no text, under no shape but where they begin and end, within the drawing.
  for (const line of svg.querySelectorAll(".cd-line, .cd-frame")) {
    const length = line.getTotalLength(), along = [];
    for (let s = 0; s < length; s += 2) along.push([s, line.getPointAtLength(s)]);
    along.push([length, line.getPointAtLength(length)]);
    for (const b of texts.filter((b) => !b.text.parentNode.matches(".cd-node, .cd-disc")))
      if (along.some(([, p]) => holds(b, p.x, p.y))) faults.push(`a line (${line.classList[0]}) crosses ${said(b.text)}`);
    if (along.some(([, p]) => p.x < 2 || p.y < 2 || p.x > view.width - 2 || p.y > view.height - 2))
      faults.push("a line leaves the drawing");
    for (const node of nodes)
      if (along.some(([s, p]) => s > 3 && s < length - 3 && inside(outline(node), p.x, p.y)))
        faults.push(`a line (${line.classList[0]}) runs under "${node.textContent}" (${node.classList[1]})`);
  }
  return faults;
}
