"""The timeline: the table behind the figure, its axis, its links and its words."""
from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from book._tools.slide_map import titles
from course_lib.explorables import Timeline
from course_lib.explorables.timeline import NOW, SYSTEMS, axis_position
from tests.conftest import ROOT
from tests.explorables.figure import Figure, click, keys


def test_axis_logarithmic():
    """Equal ratios of years before now are equal distances."""
    assert axis_position(1913) == 0 and axis_position(2023) == 1
    near, far = axis_position(NOW - 8) - axis_position(NOW - 16), axis_position(NOW - 40) - axis_position(NOW - 80)
    assert near == pytest.approx(far) == pytest.approx(math.log(2) / math.log(113 / 3))
    positions = [s["position"] for s in SYSTEMS]
    assert positions == sorted(positions) and 0 <= positions[0] and positions[-1] <= 1


def test_american_spelling():
    """The descriptions are spelled as the book is."""
    text = " ".join(f"{s['idea']} {s['note']}" for s in SYSTEMS).lower()
    assert [word for word in ("recognis", "neighbour", "summaris", "behaviour", "colour", "tokenis") if word in text] == []


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
    ({"existing": {"gpt": "javascript:alert(1)"}}, "expected a relative address"),
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


@pytest.mark.parametrize("width", [680, 740, 1000])
def test_labels_apart_and_dots_placed(show, width):
    page = show(Timeline(), width=width)
    boxes = page.evaluate("""() => [...document.querySelectorAll(".cl-item")].map(e => {
      const b = e.getBoundingClientRect(); return [e.dataset.id, b.left, b.top, b.right, b.bottom] })""")
    for i, (a, *one) in enumerate(boxes):
        assert one[0] >= 0 and one[2] <= width, a
        for b, *other in boxes[:i]:
            apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
            assert apart, f"{a} and {b}"
    centers = page.evaluate("""() => { const a = document.querySelector(".cl-axis").getBoundingClientRect();
      return [...document.querySelectorAll(".cl-item .cl-dot")].map(e => {
        const b = e.getBoundingClientRect(); return ((b.left + b.right) / 2 - a.left) / a.width }) }""")
    assert centers == pytest.approx([s["position"] for s in SYSTEMS], abs=0.004)


def test_list_on_phone(show):
    page = show(Timeline(), width=390)
    tops = [page.locator(f"[data-id={i}]").bounding_box()["y"] for i in IDS]
    assert tops == sorted(set(tops))
    page.click("[data-id=bert]")
    panel, after = (page.locator(s).bounding_box()["y"] for s in ("[data-id=bert] + .cl-panel", "[data-id=roberta]"))
    assert page.locator("[data-id=bert]").bounding_box()["y"] < panel < after, "the text opens below its own line"


def luminance(color: str) -> float:
    channels = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("block, grounds", [
    (0, ["#ffffff", "#f5f5f5"]),
    (1, ["#121212", "#14181e", "#111111", "#383838"]),
])
def test_marks_contrast(block, grounds):
    """WCAG 1.4.11: 3 to 1 for what is not text."""
    colors = re.findall(r"--cl-(?:a|b|c|focus): (#\w{6})", CSS.read_text("utf-8"))[4 * block:4 * block + 4]
    assert len(colors) == 4
    for color in colors:
        for ground in grounds:
            high, low = sorted((luminance(color) + 0.05, luminance(ground) + 0.05), reverse=True)
            assert high / low >= 3, f"{color} on {ground}"
