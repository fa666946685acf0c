"""The figure of the receptive field in a browser: its sets against the library's networks, by mouse and by keyboard."""
from __future__ import annotations

import itertools

import pytest

from course_lib.explorables import ReceptiveField
from course_lib.explorables.receptive_field import DEEPEST, EVER, SIDE, field, network

AREA = SIDE * SIDE


def shown(page) -> dict:
    """What the page shows: the kinds of all values, plane by plane; the chosen pixel; its sentence."""
    return page.evaluate("""() => {
      const cells = [...document.querySelectorAll(".cl-rf-grid button")];
      const kinds = cells.map(e => e.dataset.kinds.split(","));
      return { kinds: kinds[0].map((_, c) => kinds.map(k => k[c])).flat(),
               live: document.querySelector(".cl-live").textContent,
               pressed: cells.flatMap((e, i) => e.getAttribute("aria-pressed") === "true" ? [i] : []) } }""")


def agrees(page, w) -> None:
    got = shown(page)
    assert got["kinds"] == w.kinds and got["pressed"] == [w.pixel]
    assert got["live"].endswith(w.summary)


def test_the_function_of_the_page_agrees_with_the_librarys_networks(show):
    """Every pixel and colour, all kinds, kernels, masks, several depths: the whole matrix of who depends on whom."""
    page = show(ReceptiveField())
    for kind, first, kernel, depth, colors, mask in itertools.chain(
            itertools.product(("pixelcnn", "gated"), (3, 5, 7), (3, 5), (1, 3, DEEPEST), (1,), "AB"),
            itertools.product(("pixelcnn", "gated"), (3, 7), (3,), (2,), (3,), "AB")):
        settings = {"network": kind, "first": first, "kernel": kernel, "depth": depth, "colors": colors, "mask": mask}
        got = page.evaluate("""async ([s, side]) => {
          const { field } = await import("./receptive_field.js"), out = [];
          for (let color = 0; color < s.colors; color++) {
            for (let i = 0; i < side * side; i++) {
              out.push(field(s, side, i, color).flat().map(v => v ? "1" : "0").join(""));
            }
          }
          return out;
        }""", [settings, SIDE])
        want = network(kind, first, kernel, depth, colors, mask).receptive_field
        assert got == ["".join("01"[v] for v in row) for row in want.int().tolist()], settings


def test_no_depth_reaches_more_than_the_depth_that_stands_for_all():
    for kind, first in itertools.product(("pixelcnn", "gated"), (3, 7)):
        for i in (0, 5, 60, AREA - 1):
            ever, more = (field(kind, first, 3, depth, 1, "A", i) for depth in (EVER, EVER + 5))
            assert ever.equal(more)


def test_by_mouse(show):
    page, w = show(ReceptiveField()), ReceptiveField()
    agrees(page, w)
    assert "15 are in the blind spot" in shown(page)["live"], "the page says its point untouched"
    page.get_by_label("row 3, column 9").click()
    w.pixel = 2 * SIDE + 8
    agrees(page, w)
    page.get_by_label("Depth").fill("2")
    w.depth = 2
    agrees(page, w)
    page.get_by_label("Network").select_option("gated")
    w.network = "gated"
    agrees(page, w)
    page.get_by_label("First kernel").select_option("7")
    page.get_by_label("Other kernels").select_option("5")
    w.first, w.kernel = 7, 5
    agrees(page, w)
    assert not page.get_by_role("combobox", name="Predicted").is_visible()
    page.get_by_label("Colours").select_option("3")
    w.colors, w.color = 3, 2
    agrees(page, w)
    page.get_by_role("combobox", name="Predicted").select_option("1")
    w.color = 1
    agrees(page, w)
    page.get_by_label("its mask").select_option("B")
    w.mask = "B"
    agrees(page, w)
    assert "A leak" in shown(page)["live"]
    page.get_by_label("Colours").select_option("1")
    w.colors, w.color = 1, 0
    agrees(page, w)


def test_by_keyboard_alone(show):
    page, w = show(ReceptiveField()), ReceptiveField()
    label = "document.activeElement.getAttribute('aria-label')"
    page.get_by_label("Network").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    w.depth = 9
    agrees(page, w)
    page.keyboard.press("Tab")
    assert page.evaluate(label) == "row 8, column 5: the one predicted"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in ("ArrowUp", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate(label) == "row 7, column 7: in the blind spot"
    agrees(page, w)
    page.keyboard.press("Enter")
    w.pixel = 6 * SIDE + 6
    agrees(page, w)
    assert page.evaluate(label) == "row 7, column 7: the one predicted", "the focus stays where it was"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('label').textContent").startswith("First kernel")


def test_a_change_from_python_redraws(from_python):
    got = from_python(ReceptiveField(), ("network", "gated"), ("depth", 1))
    assert got[0].startswith("The figure was changed from outside. gated PixelCNN, depth 10") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [
    ("light", 1920), ("dark", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(ReceptiveField(colors=3, color=1, depth=2, mask="B"), theme, width)


def test_cause_and_effect_stand_on_one_screen(show):
    page = show(ReceptiveField(), width=800)
    box = page.locator(".cl-x").bounding_box()
    assert box["height"] <= 600
