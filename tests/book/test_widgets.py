"""The host of the interactive figures: each is drawn without a kernel, which test_pages looks at, and the rest say what they need."""
from __future__ import annotations

import json

import pytest

from tests.book.conftest import visitor
from tests.book.figures import VIEW
from tests.conftest import ROOT
from tests.support.site_server import serve

pytestmark = pytest.mark.thorough
STATE = "application/vnd.jupyter.widget-state+json"


COUNTER = """
const counts = globalThis.counts ??= { modules: 0, initialised: 0 };
counts.modules += 1;
export default () => ({
  initialize() { counts.initialised += 1; },
  render({ model, el }) {
    const button = document.createElement("button"), link = document.createElement("a");
    const draw = () => { button.textContent = model.get("name") + " " + model.get("n"); };
    button.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
    model.on("change:n", draw);
    draw();
    link.href = "04-fvsbn.ipynb#a-leak"; link.textContent = "chapter 3";
    const other = link.cloneNode(true); other.href = "https://example.org/x.ipynb";
    el.append(button, link, other, String(new Float32Array(model.get("data").buffer)[1]));
  },
});
"""


FAILS = "export default { render() { throw Error('no'); } }"
PAGE = """<!DOCTYPE html><html lang="en"><head><title>T</title><link rel="icon" href="data:,">
<script defer src="afm-host.js"></script></head><body>{body}</body></html>"""


def anywidget(name, esm=COUNTER):
    state = {"_esm": esm, "_css": ".x { color: red }", "_anywidget_id": "t.Counter", "name": name, "n": 0}
    return {"model_name": "AnyModel", "model_module": "anywidget", "model_module_version": "~0.9", "state": state,
            "buffers": [{"path": ["data"], "encoding": "base64", "data": "AACAPwAAIEA="}]}      # float32 1.0, 2.5


@pytest.fixture
def hosted(browser, tmp_path):
    """A page with two views of one model, a second model, a slider of ipywidgets, and a figure that fails."""
    models = {"a": anywidget("a"), "b": anywidget("b"), "bad": anywidget("bad", FAILS),
              "slider": {"model_name": "IntSliderModel", "model_module": "@jupyter-widgets/controls", "state": {}}}
    body = "".join(f'<div id="at-{i}"><script type="{VIEW}">{json.dumps({"model_id": model})}</script></div>'
                   for i, model in enumerate(["a", "a", "b", "slider", "missing", "bad"]))
    (tmp_path / "afm-host.js").write_text((ROOT / "book/_assets/afm-host.js").read_text("utf-8"), "utf-8")
    body += f'<script type="{STATE}">{json.dumps({"state": models})}</script>'
    (tmp_path / "page.html").write_text(PAGE.replace("{body}", body), "utf-8")
    with serve(tmp_path) as url, visitor(browser, url)("page.html") as page:
        yield page


def test_views_share_model(hosted):
    hosted.locator("#at-0 button").click()
    assert [hosted.locator(f"#at-{i} button").inner_text() for i in range(3)] == ["a 1", "a 1", "b 0"]


def test_module_initialized_once(hosted):
    assert hosted.evaluate("counts") == {"modules": 1, "initialised": 2}
    assert hosted.locator("#afm-t\\.Counter").count() == 1


def test_binary_state(hosted):
    assert "2.5" in hosted.locator("#at-0").inner_text()


def test_notebook_links(hosted):
    links = hosted.eval_on_selector_all("#at-0 a", "all => all.map(a => a.getAttribute('href'))")
    assert links == ["04-fvsbn.html#a-leak", "https://example.org/x.ipynb"]


def test_other_views_need_kernel(hosted):
    for i in (3, 4):
        assert "needs a running kernel" in hosted.locator(f"#at-{i}").inner_text()


def test_failing_figure(hosted):
    assert "could not be drawn" in hosted.locator("#at-5").inner_text()
    assert [fault for fault in hosted.faults if "no" in fault] and hosted.locator("#at-2 button").is_visible()
