/* Draws the interactive figures of a static page: a minimal host for anywidget's front-end modules. It reads the
   state that the notebook stored in the page; there is no kernel, no request, and no other library. */
(() => {
  "use strict";
  const STATE = "application/vnd.jupyter.widget-state+json";
  const VIEW = "application/vnd.jupyter.widget-view+json";
  const NOTE = "This control needs a running kernel. Open the notebook in JupyterLab, Colab or Binder to use it.";

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

  async function main() {
    const models = {};
    for (const script of document.querySelectorAll(`script[type="${STATE}"]`)) {
      Object.assign(models, JSON.parse(script.textContent).state);
    }
    for (const script of document.querySelectorAll(`script[type="${VIEW}"]`)) {
      const id = JSON.parse(script.textContent).model_id;
      const raw = models[id];
      const element = document.createElement("div");
      element.className = "afm-view";
      script.after(element);
      if (raw?.model_module !== "anywidget") {
        element.classList.add("afm-note");
        element.textContent = NOTE;
        continue;
      }
      try {
        const { model, widget } = await instance(id, raw);
        await widget.render?.({ model, el: element, experimental });
        follow(element);
      } catch (error) {
        element.classList.add("afm-note");
        element.textContent = `This figure could not be drawn: ${error}`;
        console.error(error);
      }
    }
    document.documentElement.dataset.afm = "ready";
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", main);
  else main();
})();
