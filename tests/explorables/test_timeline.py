"""The timeline: its links, and what it shows."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from book._tools.slide_map import titles
from course_lib.explorables import Timeline
from course_lib.explorables.timeline import SYSTEMS
from tests.conftest import ROOT
from tests.explorables.figure import Figure, click, keys

STATE = "application/vnd.jupyter.widget-state+json"
MODELS = json.loads((ROOT / "book/09-counting-text.ipynb").read_text("utf-8"))["metadata"]["widgets"][STATE]["state"].values()
LINKS, = (model["state"]["existing"] for model in MODELS if model["state"].get("_anywidget_id", "").endswith(".Timeline"))


def unreachable(address: str) -> str:
    """What is missing at the end of a link of its chapter: "" where file and section are there."""
    name, _, anchor = address.partition("#")
    path = ROOT / "book" / name
    if not path.is_file():
        return f"there is no {name}"
    return "" if not anchor or anchor in titles(path) else f"{name} has no section #{anchor}"


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s["id"])
def test_links_resolve(system):
    """The link that the figure takes: the system's own before that of its chapter."""
    address = LINKS.get(system["id"], LINKS.get(system["chapter"]))
    assert address, f"{system['label']} leads nowhere: chapter counting-text names neither it nor chapter {system['chapter']}"
    assert unreachable(address) == ""


# --- in the browser ----------------------------------------------------------------------------------------------------


IDS = [s["id"] for s in SYSTEMS]
CSS = Path(__file__).resolve().parents[2] / "course_lib" / "explorables" / "explorables.css"


def opened(page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('[aria-expanded=true]')].map(e => e.dataset.id)")


def agrees(page, w) -> None:
    """What is shown, what is open, its source, and a link for each system that has one."""
    kinds = {s["id"]: s["kind"] for s in SYSTEMS}
    assert opened(page) == [w.selected] * (kinds[w.selected] in w.shown)
    for s in SYSTEMS:
        assert page.locator(f".cl-item[data-id={s['id']}]").is_visible() == (s["kind"] in w.shown)
    if opened(page):
        panel = page.locator(f"[data-id={w.selected}] + .cl-panel")
        assert panel.is_visible() and SYSTEMS[IDS.index(w.selected)]["source"] in panel.text_content()
    links = page.locator(".cl-panel").evaluate_all("all => all.map(e => e.querySelector('a')?.getAttribute('href') ?? '')")
    want = [w.existing.get(s["id"], w.existing.get(s["chapter"], "")) for s in SYSTEMS]
    assert [link.replace(".html", ".ipynb") for link in links] == want


BAD = [
    ({"existing": {"1": "01-chain-rule.ipynb"}}, "existing has the key '1'; expected the id of a system on the timeline, such as 'markov'"),
    ({"existing": {"gpt": "https://example.org/"}}, "expected a relative address"),
    ({"selected": "eliza"}, "selected is 'eliza'; expected the id of a system"),
    ({"shown": ["models"]}, r"shown is \['models'\]; expected some of lm, vectors, both"),
]
FIGURE = Figure(Timeline, agrees, bad=BAD, change={"selected": "lda"},
                rich={"existing": {"counting-text": "09-counting-text.ipynb", "shannon": "09-counting-text.ipynb#a"}, "selected": "jelinek"},
                says=tuple(f"{s['year']} {s['label']}" for s in SYSTEMS) + tuple(s["idea"] for s in SYSTEMS), moves=[
    (keys("Tab", at="[type=checkbox] >> nth=-1"), {}),
    *((keys("ArrowRight"), {"selected": i}) for i in [*IDS[1:], IDS[-1]]),       # the last stays
    (keys("ArrowLeft"), {"selected": "gpt35"}),
    (keys("Home"), {"selected": "markov"}),
    (keys("End"), {"selected": "gpt4"}),
    (click("[data-id=lda]"), {"selected": "lda"}),
    (lambda page: (page.hover("[data-id=bengio]"), page.hover("h1")), {}),       # pointing alone keeps nothing
    (click("[data-id=markov]"), {"selected": "markov"}),
    (click("language models"), {"shown": ["vectors", "both"], "selected": "osgood"}),
    (keys("ArrowRight", "ArrowRight", at="[data-id=osgood]"), {"selected": "lsa"}),
    (keys("End"), {"selected": "gpt4"}),
    (click("both"), {"shown": ["vectors"], "selected": "word2vec"}),
    (click("vector semantics"), {"shown": []}),
    (click("language models"), {"shown": ["lm"], "selected": "brown"}),
])
