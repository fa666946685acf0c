"""What the scripts of all figures share, and what it promises to each."""
from __future__ import annotations

import json
import re

import pytest

from book._tools.nb import STATE
from course_lib import explorables, hub
from course_lib.data import REGISTRY
from course_lib.explorables.base import CSS, STATIC, Explorable
from tests.explorables.conftest import ROOT

FIGURES = [getattr(explorables, name) for name in explorables.__all__]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
def test_script_one_module(figure):
    text, common = str(figure._esm), (STATIC / "common.js").read_text("utf-8")
    assert issubclass(figure, Explorable) and text.startswith(common)
    assert not re.search(r"^import\b|\bimport\(", text, re.MULTILINE) and text.count("export default") == 1
    assert str(figure._css).startswith(CSS.read_text("utf-8"))


def test_one_stop_grid(modules):
    page = modules
    page.evaluate("""async () => {
      const { button, h, oneStop } = await import("./common.js");
      const grid = [0, 1].map(i => [0, 1, 2].map(j => button(`${i}${j}`, () => {})));
      document.querySelector("main").replaceChildren(h("div", { id: "grid" }, ...grid.flat()), button("after", () => {}));
      const stop = oneStop(grid);
      stop(grid[0][1]);
      window.heard = [];
      document.addEventListener("keydown", e => heard.push([e.key, e.altKey, e.defaultPrevented]));
      grid[0][1].focus();
    }""")
    now = "document.activeElement.textContent"
    for key, there in (("ArrowDown", "11"), ("ArrowDown", "11"), ("ArrowRight", "12"), ("ArrowRight", "12"),
                       ("ArrowUp", "02"), ("Home", "00"), ("ArrowLeft", "00"), ("End", "02"), ("Enter", "02")):
        page.keyboard.press(key)
        assert page.evaluate(now) == there, key
    page.keyboard.press("Tab")
    assert page.evaluate(now) == "after"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(now) == "02", "one stop, and it remembers its place"
    page.evaluate("heard.length = 0")
    for keys in ("ArrowLeft", "Control+ArrowLeft", "Meta+End", "a"):
        page.keyboard.press(keys)
    heard = [[key, prevented] for key, _, prevented in page.evaluate("heard")]
    assert [one for one in heard if one[0] not in ("Control", "Meta")] == [
        ["ArrowLeft", True], ["ArrowLeft", False], ["End", False], ["a", False]]
    assert page.evaluate(now) == "01", "with a modifier a key is the browser's"


def test_tie_model_changes(modules):
    got = modules.evaluate("""async () => {
      const { h, tie } = await import("./common.js"), state = { a: 1, b: 1, alt: "a figure" }, heard = {}, out = [];
      let refuse = false;
      const model = { get: k => state[k], save_changes() { if (refuse) throw new Error("no"); },
        set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); } };
      const el = document.createElement("div"), figure = tie(model, ["a", "b"], "a hint");
      let drawn = 0;
      const show = () => { drawn++; return figure.state(); };
      const end = figure.mount(el, h("div", {}, figure.live), show, s => `a is ${s.a}.`, s => s.b > 0);
      const now = () => out.push([figure.live.textContent, drawn]);
      now();
      figure.change({ a: 2, b: 2 }, s => `set to ${s.a}`);
      now();
      model.set("a", 3);
      now();
      model.set("b", -1);                                           // half of a change: nothing is drawn
      now();
      model.set("b", 1);
      refuse = true;
      try { figure.change({ a: 4 }, () => "") } catch {}
      model.set("a", 5);
      now();
      end();
      model.set("a", 6);
      now();
      const box = el.firstChild;
      return [out, el.className, box.getAttribute("role"), box.getAttribute("aria-label")];
    }""")
    said = "The figure was changed from outside. a is "
    assert got[0] == [["a hint", 1], ["set to 2", 2], [said + "3.", 3], [said + "3.", 3], [said + "5.", 5],
                      [said + "5.", 5]]
    assert got[1:] == ["cl-x", "group", "a figure"]


@pytest.mark.parametrize("path", sorted(ROOT.glob("book/*.ipynb")), ids=lambda p: p.stem)
def test_stored_figures_current(path):
    """An old script in a notebook is an old figure on its page: run the chapter again."""
    state = json.loads(path.read_text("utf-8"))["metadata"].get("widgets", {}).get(STATE, {"state": {}})["state"]
    for stored in (model["state"] for model in state.values() if "_anywidget_id" in model["state"]):
        figure = getattr(explorables, stored["_anywidget_id"].rpartition(".")[2])
        assert stored["_esm"] == str(figure._esm) and stored["_css"] == str(figure._css), figure


@pytest.mark.parametrize("path", sorted((STATIC / "weights").glob("*.safetensors")), ids=lambda p: p.stem)
def test_weights_card(path):
    card = hub.card(path.with_suffix(""))
    assert "python -m benchmarks." in card.notes and card.licence
    assert card.data not in REGISTRY or card.licence == REGISTRY[card.data].licence
