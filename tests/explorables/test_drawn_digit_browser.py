"""The drawn digit in a browser: what the page shows against torch, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import DrawnDigit

CLOSE = {"rtol": 0, "atol": 1e-5, "equal_nan": True}


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { x: all("[data-value]", e => +e.dataset.value), p: all("[data-p]", e => e.dataset.p),
               effect: all("[data-effect]", e => e.dataset.effect),
               live: document.querySelector(".cl-live").textContent,
               pressed: all(".cl-dd-grid button", (e, i) => e.getAttribute("aria-pressed") === "true" ? [i] : []).flat(),
               blind: all(".cl-dd-blind", e => e.dataset.effect) } }""")


def agrees(page, w) -> None:
    """The page shows what `w` computes."""
    got, t = shown(page), w.result
    assert got["x"] == [v if i < w.steps else -1 for i, v in enumerate(t.x.tolist())] and got["pressed"] == [w.pixel]
    numbers = torch.tensor([float(v) if v else torch.nan for v in got["p"]], dtype=torch.float64)
    want = torch.where(torch.arange(64) <= w.steps, t.p, torch.nan)
    torch.testing.assert_close(numbers, want, **CLOSE)
    effects = torch.tensor([float(v) if v and v != "NaN" else torch.nan for v in got["effect"]], dtype=torch.float64)
    row = torch.full((64,), torch.nan, dtype=torch.float64)
    if w.pixel <= w.steps:
        row[:w.pixel] = t.effect[w.pixel, :w.pixel]
        assert f"p(ink) = {t.p[w.pixel]:.4f}, given the {w.pixel} pixels before it" in got["live"]
        assert len(got["blind"]) == int(t.effect[w.pixel, :w.pixel].isnan().sum())
    else:
        assert "comes later" in got["live"]
    torch.testing.assert_close(effects, row, **CLOSE)


def test_by_mouse(show):
    page, w = show(DrawnDigit()), DrawnDigit()
    agrees(page, w)
    assert len(shown(page)["blind"]) == 3, "the page opens on a pixel with a blind spot"
    page.get_by_role("button", name="draw the next pixel").click()
    w.steps = w.pixel = 37
    agrees(page, w)
    page.get_by_role("button", name="draw the row").click()
    w.steps = w.pixel = 40
    agrees(page, w)
    page.get_by_label("row 4, column 5").click()
    w.pixel = 28
    agrees(page, w)
    assert "so ink." in shown(page)["live"] or "so empty." in shown(page)["live"]
    page.get_by_role("combobox", name="Network").select_option("1")
    w.network = 1
    agrees(page, w)
    page.get_by_role("combobox", name="Drawing").select_option("2")
    w.drawing = 2
    agrees(page, w)
    page.get_by_role("button", name="draw the rest").click()
    w.steps, w.pixel = 64, 63
    agrees(page, w)
    page.get_by_role("button", name="draw the next pixel").click()
    agrees(page, w)
    page.get_by_role("button", name="begin again").click()
    w.steps = w.pixel = 0
    agrees(page, w)
    page.get_by_label("row 5, column 5").click()
    w.pixel = 36
    agrees(page, w)


def test_by_keyboard_alone(show):
    page, w = show(DrawnDigit()), DrawnDigit()
    label = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    page.get_by_role("button", name="begin again").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(label).startswith("row 5, column 5: drawn next, probability of ink 0.")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in ("ArrowUp", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    w.pixel = 27
    agrees(page, w)
    assert page.evaluate(label).startswith("row 4, column 4:"), "the focus stays where it was"
    page.keyboard.press("ArrowLeft")
    assert ", moves it by " in page.evaluate(label)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(label) == "draw the rest"
    page.keyboard.press("Enter")
    w.steps, w.pixel = 64, 63
    agrees(page, w)


def test_a_change_from_python_redraws(from_python):
    got = from_python(DrawnDigit(), ("pixel", 10), ("pixel", 11))
    assert got[0].startswith("The figure was changed from outside. row 2, column 3: p(ink) = ") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [
    ("light", 1920), ("dark", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(DrawnDigit(), theme, width)


def test_cause_and_effect_stand_on_one_screen(show):
    assert show(DrawnDigit(), width=800).locator(".cl-x").bounding_box()["height"] <= 600
