"""The attacked digit in a browser: what the page shows against torch, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import AttackedDigit
from course_lib.explorables.attacked_digit import ATTACKS, SHOWN

CLOSE = {"rtol": 0, "atol": 1e-5}


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (name, of = document) => [...of.querySelectorAll(`[data-${name}]`)].map(e => +e.dataset[name]);
      const [image, repaired] = document.querySelectorAll(".cl-ad-classes tbody tr"), cells = ".cl-dd-grid button";
      return { x: all("level"), change: all("change"), nats: all("nats"), repaired: all("repaired"), image: all("p", image),
               mended: all("p", repaired), live: document.querySelector(".cl-live").textContent,
               strip: document.querySelector(".cl-ad-strip").getAttribute("aria-label"),
               pressed: [...document.querySelectorAll(cells)].flatMap((e, i) => e.ariaPressed === "true" ? [i] : []) } }""")


def agrees(page, w) -> None:
    """The page shows what `w` computes."""
    got, (image, repaired) = shown(page), w.result
    clean = AttackedDigit(digit=w.digit, eps=0).result.image
    assert got["x"] == image.x.tolist() and got["repaired"] == repaired.x.tolist()
    assert got["change"] == (image.x - clean.x).tolist() and got["pressed"] == [w.pixel]
    for name, want in (("nats", image.log_p), ("image", image.classes), ("mended", repaired.classes)):
        torch.testing.assert_close(torch.tensor(got[name], dtype=torch.float64), want, msg=name, **CLOSE)
    for seen in (image, repaired):
        total, flagged = f"{seen.log_p.sum():.2f}".replace("-", "−"), "flagged" if seen.p <= 0.05 else "not flagged"
        assert (f"ead as {seen.read} (p = {seen.classes.max():.4f}), log p {total} nats, p-value {seen.p:.4f}, {flagged}."
                in got["live"])
    assert f"its log p {image.log_p[w.pixel]:.4f}".replace("-", "−") in got["live"]
    right, flagged, mended = w.shares[w.attack][w.eps]
    assert f"{right} are read right, {flagged} flagged, {mended} right once repaired" in got["live"]
    assert f"this image {image.log_p.sum():.1f}, repaired {repaired.log_p.sum():.1f}".replace("-", "−") in got["strip"]


def test_by_mouse(show):
    page, w = show(AttackedDigit()), AttackedDigit()
    agrees(page, w)
    assert "read as 9" in shown(page)["live"], "the page opens on a digit that is misread"
    slider = page.get_by_role("slider")
    box = slider.bounding_box()
    for share, eps in ((0.99, 3), (0.01, 0)):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        w.eps = eps
        agrees(page, w)
    page.get_by_role("combobox", name="Digit").select_option(label="7")
    w.digit = SHOWN.index(7)
    agrees(page, w)
    slider.fill("2")
    w.eps = 2
    for k in (*range(1, len(ATTACKS)), 0):
        page.get_by_role("combobox", name="Change").select_option(str(k))
        w.attack = k
        agrees(page, w)
    page.get_by_label("row 8, column 8").click()
    w.pixel = 63
    agrees(page, w)


def test_by_keyboard_alone(show):
    page, w = show(AttackedDigit()), AttackedDigit()
    label = "document.activeElement.getAttribute('aria-label')"
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    w.eps = 3
    agrees(page, w)
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "3 levels"
    for eps in (2, 1):
        page.keyboard.press("ArrowLeft")
        w.eps = eps
        agrees(page, w)
    page.keyboard.press("Tab")
    assert page.evaluate(label) == "row 8, column 1: level 1, +1"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    w.pixel = 49
    agrees(page, w)
    assert page.evaluate(label).startswith("row 7, column 2: "), "the focus stays where it was"


def test_a_change_from_python_redraws(from_python):
    got = from_python(AttackedDigit(), ("eps", 0), ("eps", 1))
    assert got[0].startswith("The figure was changed from outside. The 4, unchanged: read as 4 (p = ") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [("light", 1366), ("dark", 1000), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(AttackedDigit(), theme, width)


def test_cause_and_effect_stand_on_one_screen(show):
    assert show(AttackedDigit(), width=800).locator(".cl-x").bounding_box()["height"] <= 600
