// Contrasts (WCAG 2) of the drawing's texts with the ground they stand on, and of its lines and outlines with theirs:
// the colour of the paper, how many were measured, and those below 4.5.
(svg) => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((v) => v / 255).map(
      (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const fill = (element) => getComputedStyle(element).fill, stroke = (element) => getComputedStyle(element).stroke;
  const grounds = [...svg.querySelectorAll("rect, circle, polygon")].filter((e) => fill(e) !== "none" && !e.matches(".cd-head"));
  const paper = fill(svg.querySelector(".cd-paper"));
  const found = [];
  for (const text of svg.querySelectorAll("text")) {
    const b = text.getBBox(), at = new DOMPoint(b.x + b.width / 2, b.y + b.height / 2);
    const under = grounds.filter((e) => e.isPointInFill(at)).at(-1);       // drawn later lies on top
    for (const part of [text, ...text.querySelectorAll("tspan")])
      found.push([contrast(fill(part), fill(under)), `the text "${text.textContent}"`]);
  }
  for (const drawn of svg.querySelectorAll("path, rect, circle, polygon")) {
    if (stroke(drawn) === "none") continue;
    found.push([contrast(stroke(drawn), paper), `a ${drawn.tagName} (${drawn.getAttribute("class")}) on paper`]);
    if (fill(drawn) !== "none") found.push([contrast(stroke(drawn), fill(drawn)), `the outline of a ${drawn.tagName}`]);
  }
  for (const head of svg.querySelectorAll(".cd-head")) found.push([contrast(fill(head), paper), "the head of a line"]);
  return {paper, measured: found.length, faint: found.filter(([value]) => value < 4.5)};
}
