/* Set formulas at build time, as MathJax would in a browser: node set_formulas.js FOLDER < [[tex, display], ...]
   prints {"sheet": style sheet, "formulas": [HTML, ...]}. */
const { join, resolve } = require("path");

require(join(resolve(process.argv[2]), "node-main.js")).init({
  loader: { load: ["input/tex", "output/chtml", "a11y/assistive-mml"] },
  chtml: { fontURL: "vendor/mathjax", adaptiveCSS: false },
  startup: { typeset: false },
}).then(async MathJax => {
  const adaptor = MathJax.startup.adaptor, formulas = [];
  for (const [tex, display] of JSON.parse(require("fs").readFileSync(0, "utf-8"))) {
    formulas.push(adaptor.outerHTML(await MathJax.tex2chtmlPromise(tex, { display })).replace(/ xmlns="[^"]*"| style="height: NaNem;"/g, ""));
  }
  process.stdout.write(JSON.stringify({ sheet: adaptor.textContent(MathJax.chtmlStylesheet()), formulas }));
});
