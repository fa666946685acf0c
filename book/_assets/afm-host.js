/* Draws the interactive figures of a static page: a minimal host for anywidget's front-end modules. It reads the
   state that the notebook stored in the page; there is no kernel, no request, and no other library. */
(() => {
  "use strict";
  const STATE = "application/vnd.jupyter.widget-state+json";
  const VIEW = "application/vnd.jupyter.widget-view+json";
  const NOTE = "This control needs a running kernel. Open the notebook in JupyterLab, Colab or Binder to use it.";

  /* Title of each figure, and one thing to try. */
  const FIGURES = {
    Alignment: ["Alignment", "Choose a step of the decoder to see which words of the source it attends to."],
    AttackedDigit: ["A digit under attack", "Raise the strength of the attack and watch prediction and log-probability."],
    AttentionHeads: ["Attention heads of a small GPT", "Edit the text, then switch a head off and compare the prediction."],
    BertAttention: ["Attention in BERT", "Choose a layer and a head, and compare the trained model with an untrained one."],
    CacheSteps: ["Generation with a cache", "Step through the tokens and compare the number of operations with and without the cache."],
    ChainRule: ["Three variables in any order", "Drop a parent and compare the joint distribution with the product of conditionals."],
    ComputationGraph: ["Backpropagation", "Step backward through the graph and predict each derivative before it appears."],
    Corruptions: ["Pre-training objectives", "Choose an objective to see the input, the target and the positions with a loss."],
    DecodingTree: ["Search in a tree", "Change the beam width and step until the search ends."],
    DrawnDigit: ["Digits, pixel by pixel", "Move along the pixels to see the probability of each, and the earlier pixels that it depends on."],
    LossSurface: ["Four optimizers", "Change the learning rate until one of the paths diverges."],
    LstmLetters: ["Inside an LSTM", "Type a text, then fix a gate at 0 or 1 and compare the states."],
    MadeMasks: ["Masks of a MADE", "Change a degree and see which connections are masked."],
    MaskEditor: ["Edit the mask", "Switch a single entry of the mask on and see which outputs depend on which inputs."],
    MaskingForBert: ["Masking for BERT", "Step through the rule and see which tokens are replaced, kept or predicted."],
    NadePixels: ["Complete a digit", "Set some pixels and let the model sample the rest; sample again for another completion."],
    NextWord: ["The next word", "Change temperature, top-k and top-p, and see which words remain."],
    ReceptiveField: ["Receptive field", "Add layers and look for the pixels that the prediction cannot see."],
    Sinusoids: ["Positions as clocks", "Move along the sentence and compare fast and slow clocks."],
    Timeline: ["A timeline", "Choose an entry to see what it introduced, and the chapter that builds it."],
    Translator: ["A transformer that translates", "Click an Italian word to see which English words the decoder attends to. Then switch the head off."],
    TypedDocument: ["TF-IDF", "Type a document and see which of its words weigh most."],
    WordMap: ["A map of words", "Choose a word to see its nearest neighbors, or an analogy."],
  };
  function framed(element, state) {
    const [title, hint] = FIGURES[state._anywidget_id?.split(".").at(-1)] ?? [];
    if (!title) return;
    const frame = document.createElement("section"), head = document.createElement("header");
    frame.className = "course-figure-frame";
    frame.setAttribute("aria-label", title);
    for (const text of [title, hint]) head.append(Object.assign(document.createElement("p"), { textContent: text }));
    element.before(frame);
    frame.append(head, element);
  }

  /* What a change of a setting changes in the figure is tinted for a moment, unless the reader wants no motion; the style sheet says how. */
  function tinted(element) {
    let recent = 0;
    for (const name of ["input", "change", "click", "keydown"]) element.addEventListener(name, () => { recent = performance.now(); }, true);
    new MutationObserver(records => {
      if (performance.now() - recent > 400) return;
      const parts = new Set(records.map(record => record.target.parentElement?.closest("td, output, b")).filter(part => part && element.contains(part)));
      if (parts.size > 40) return;
      for (const part of parts) {
        part.classList.remove("course-changed");
        requestAnimationFrame(() => part.classList.add("course-changed"));
      }
    }).observe(element, { characterData: true, childList: true, subtree: true });
  }

  const bytes = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);

  function makeModel(raw) {
    const state = structuredClone(raw.state);
    const listeners = new Map();
    for (const { path, data, encoding } of raw.buffers || []) {
      let owner = state;
      for (const key of path.slice(0, -1)) owner = owner[key] ??= {};
      owner[path.at(-1)] = encoding === "base64" ? bytes(data) : data;
    }
    const emit = (name, value) => (listeners.get(name) || []).slice().forEach(f => f(value));
    return {
      get: key => state[key],
      set(key, value) {
        if (state[key] === value) return;
        state[key] = value;
        emit("change:" + key, value);
        emit("change", value);
      },
      save_changes() {},
      send() {},
      on(names, f) { for (const name of names.split(" ")) listeners.set(name, [...(listeners.get(name) || []), f]); },
      off(name, f) {
        if (!name) return listeners.clear();
        listeners.set(name, f ? (listeners.get(name) || []).filter(g => g !== f) : []);
      },
      widget_manager: { get_model: async () => { throw new Error("a static page has no widget manager"); } },
    };
  }

  const experimental = { invoke: () => Promise.reject(new Error("a static page has no kernel")) };
  const modules = new Map();
  const instances = new Map();

  function load(source) {
    if (!modules.has(source)) {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(url).then(async ({ default: widget }) =>
        typeof widget === "function" ? widget() : widget));
    }
    return modules.get(source);
  }

  function style(state) {
    const id = "afm-" + state._anywidget_id;
    if (!state._css || document.getElementById(id)) return;
    const sheet = document.createElement("style");
    sheet.id = id;
    sheet.textContent = state._css;
    document.head.append(sheet);
  }

  function instance(id, raw) {
    if (!instances.has(id)) {
      instances.set(id, (async () => {
        style(raw.state);
        const widget = await load(raw.state._esm);
        const model = makeModel(raw);
        await widget.initialize?.({ model, experimental });
        return { model, widget };
      })());
    }
    return instances.get(id);
  }

  /* A figure names chapters by their notebooks; on the site they are pages. */
  const pages = element => {
    for (const link of element.querySelectorAll("a[href]")) {
      const href = link.getAttribute("href");
      if (!/^[a-z]+:/i.test(href)) link.setAttribute("href", href.replace(/\.ipynb(?=$|[#?])/, ".html"));
    }
  };

  function follow(element) {
    pages(element);
    new MutationObserver(() => pages(element)).observe(element, { childList: true, subtree: true });
  }

  const models = {};
  const files = new Map();

  /* The build moves the state of each figure into a script of its own; a page that is opened from a disk can load that, too. */
  function file(src) {
    if (!files.has(src)) files.set(src, new Promise((resolve, reject) =>
      document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }))));
    return files.get(src);
  }

  async function draw(script, element) {
    const id = JSON.parse(script.textContent).model_id;
    try {
      if (script.dataset.state) await file(script.dataset.state);
      const raw = models[id] ?? window.courseModels?.[id];
      if (raw?.model_module !== "anywidget") {
        element.classList.add("afm-note");
        element.textContent = NOTE;
        return;
      }
      const { model, widget } = await instance(id, raw);
      await widget.render?.({ model, el: element, experimental });
      framed(element, raw.state);
      follow(element);
      tinted(element);
    } catch (error) {
      element.classList.add("afm-note");
      element.textContent = `This figure could not be drawn: ${error}`;
      console.error(error);
    }
  }

  /* A figure is drawn when its place comes within a screen of what is shown; all are for paper, and for whoever uses the Tab key. */
  function main() {
    for (const script of document.querySelectorAll(`script[type="${STATE}"]`)) {
      Object.assign(models, JSON.parse(script.textContent).state);
    }
    const pending = new Map();
    for (const script of document.querySelectorAll(`script[type="${VIEW}"]`)) {
      const element = document.createElement("div");
      element.className = "afm-view";
      script.after(element);
      pending.set(element, script);
    }
    let left = pending.size;
    const start = async element => {
      const script = pending.get(element);
      if (!pending.delete(element)) return;
      await draw(script, element);
      left -= 1;
      if (!left) document.documentElement.dataset.afm = "ready";
    };
    const all = () => Promise.all([...pending.keys()].map(start));
    const near = new IntersectionObserver(seen => seen.filter(one => one.isIntersecting).forEach(one => start(one.target)),
      { rootMargin: "100%" });
    for (const element of pending.keys()) near.observe(element);
    window.addEventListener("beforeprint", all);
    if (window.matchMedia("print").matches) all();
    const print = window.print.bind(window);                 // would not wait for what is not drawn yet
    window.print = () => all().then(print);
    window.addEventListener("keydown", event => {
      if (event.key === "Tab") all();
      if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || !left) return;
      event.preventDefault();
      window.print();
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", main);
  else main();
})();
