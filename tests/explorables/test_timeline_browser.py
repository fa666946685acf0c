"""The timeline in a browser: pointing, pressing, arrow keys, filters, links, both themes, phone and wide."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from course_lib.explorables import Timeline
from course_lib.explorables.timeline import SYSTEMS

IDS = [s["id"] for s in SYSTEMS]
CSS = Path(__file__).resolve().parents[2] / "course_lib" / "explorables" / "explorables.css"


def opened(page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('[aria-expanded=true]')].map(e => e.dataset.id)")


def test_arrow_keys_go_through_all_systems_in_order_of_time(show):
    page = show(Timeline())
    assert opened(page) == ["markov"]
    page.locator("input[type=checkbox]").last.focus()
    page.keyboard.press("Tab")
    seen = []
    for _ in range(len(IDS) + 2):
        seen.append(page.evaluate("document.activeElement.dataset.id"))
        assert opened(page) == seen[-1:]
        panel = page.locator(f"[data-id={seen[-1]}] + .cl-panel")
        assert panel.is_visible() and SYSTEMS[IDS.index(seen[-1])]["source"] in panel.text_content()
        page.keyboard.press("ArrowRight")
    assert seen == [*IDS, "gpt4", "gpt4"], "the last stays"
    page.keyboard.press("ArrowLeft")
    assert opened(page) == ["gpt35"]
    page.keyboard.press("Home")
    assert opened(page) == ["markov"]
    page.keyboard.press("End")
    assert opened(page) == ["gpt4"]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_pointing_shows_and_a_press_keeps(show):
    page = show(Timeline())
    page.hover("[data-id=bengio]")
    assert opened(page) == ["bengio"]
    page.hover("h1")
    assert opened(page) == ["markov"], "pointing alone keeps nothing"
    page.click("[data-id=lda]")
    page.hover("h1")
    assert opened(page) == ["lda"]


def test_a_link_is_there_only_for_a_chapter_that_exists(show):
    page = show(Timeline(existing={"01": "01-chain-rule.ipynb", "shannon": "01-chain-rule.ipynb#shannon"}))
    links = page.evaluate("""() => [...document.querySelectorAll(".cl-panel")].map(
      panel => panel.querySelector("a")?.getAttribute("href") ?? "")""")
    expected = {"markov": "01-chain-rule.html", "jelinek": "01-chain-rule.html", "brown": "01-chain-rule.html",
                "shannon": "01-chain-rule.html#shannon"}
    assert dict(zip(IDS, links, strict=True)) == {i: expected.get(i, "") for i in IDS}
    assert page.locator("a:visible").all_text_contents() == ["Read chapter 1"]


def test_a_filter_hides_a_kind_and_the_selection_moves_to_what_is_left(show):
    page = show(Timeline())
    page.get_by_role("checkbox", name="language models").uncheck()
    assert opened(page) == ["osgood"]
    assert page.locator(".cl-live").text_content().startswith("17 of 21 systems are shown.")
    assert not page.locator("[data-id=markov]").is_visible()
    page.locator("[data-id=osgood]").focus()
    page.keyboard.press("ArrowLeft")
    assert opened(page) == ["osgood"], "the first that is shown"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert opened(page) == ["lsa"], "a hidden system is stepped over"
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert opened(page) == ["gpt35"]
    page.get_by_role("checkbox", name="both").uncheck()
    assert opened(page) == ["word2vec"], "the nearest that is left"
    page.get_by_role("checkbox", name="vector semantics").uncheck()
    assert opened(page) == [] and page.locator(".cl-live").text_content() == "Nothing is shown: choose a kind."
    page.get_by_role("checkbox", name="language models").check()
    assert opened(page) == ["brown"]


@pytest.mark.parametrize("width", [680, 740, 1000])
def test_no_two_labels_touch_on_the_axis(show, width):
    page = show(Timeline(), width=width)
    boxes = page.evaluate("""() => [...document.querySelectorAll(".cl-item")].map(e => {
      const b = e.getBoundingClientRect(); return [e.dataset.id, b.left, b.top, b.right, b.bottom] })""")
    for i, (a, *one) in enumerate(boxes):
        assert one[0] >= 0 and one[2] <= width, a
        for b, *other in boxes[:i]:
            apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
            assert apart, f"{a} and {b}"


def test_dots_stand_at_their_place_on_the_axis(show):
    page = show(Timeline())
    centres = page.evaluate("""() => { const a = document.querySelector(".cl-axis").getBoundingClientRect();
      return [...document.querySelectorAll(".cl-item .cl-dot")].map(e => {
        const b = e.getBoundingClientRect(); return ((b.left + b.right) / 2 - a.left) / a.width }) }""")
    assert centres == pytest.approx([s["position"] for s in SYSTEMS], abs=0.002)


def test_on_a_phone_it_is_a_list_in_order(show):
    page = show(Timeline(), width=390, has_touch=True)
    tops = [page.locator(f"[data-id={i}]").bounding_box()["y"] for i in IDS]
    assert tops == sorted(set(tops))
    page.tap("[data-id=bert]")
    assert opened(page) == ["bert"]
    panel, after = (page.locator(s).bounding_box()["y"] for s in ("[data-id=bert] + .cl-panel", "[data-id=roberta]"))
    assert page.locator("[data-id=bert]").bounding_box()["y"] < panel < after, "the text opens below its own line"
    assert page.locator(".cl-axis").is_hidden()


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 1000), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(Timeline(existing={"01": "01-chain-rule.ipynb"}, selected="jelinek"), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower


def luminance(colour: str) -> float:
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("block, grounds", [
    (0, ["#ffffff", "#f5f5f5"]),
    (1, ["#121212", "#14181e", "#111111", "#383838"]),
])
def test_marks_stand_out_from_the_grounds_of_book_jupyterlab_and_colab(block, grounds):
    """WCAG 1.4.11: 3 to 1 for what is no text."""
    colours = re.findall(r"--cl-(?:a|b|c|focus): (#\w{6})", CSS.read_text("utf-8"))[4 * block:4 * block + 4]
    assert len(colours) == 4
    for colour in colours:
        for ground in grounds:
            high, low = sorted((luminance(colour) + 0.05, luminance(ground) + 0.05), reverse=True)
            assert high / low >= 3, f"{colour} on {ground}"
