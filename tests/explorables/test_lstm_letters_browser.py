"""The LSTM that reads letters in a browser: every number against torch, by typing, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import LstmLetters
from course_lib.explorables.lstm_letters import HELD, run
from tests.explorables.test_lstm_letters import by_torch

CLOSE = {"rtol": 0, "atol": 1e-5}


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { c: all("[data-c]", e => +e.dataset.c), p: all("[data-p]", e => +e.dataset.p),
               next: all(".cl-ll-likely button", e => e.textContent),
               letters: all(".cl-ll-letter", e => e.textContent).join(""),
               gates: document.querySelectorAll(".cl-ll-gate").length,
               pressed: all(".cl-ll-cells [aria-pressed=true]", e => +e.textContent),
               live: document.querySelector(".cl-live").textContent,
               held: document.querySelectorAll(".cl-ll-held").length } }""")


def agrees(page, w) -> None:
    """The page shows what `w` computes: all cells at the letter looked at, the five likeliest letters."""
    got, want, t = shown(page), w.result, min(w.letter, len(w.typed) + 1)
    torch.testing.assert_close(torch.tensor(got["c"], dtype=torch.float64), want.c[t], **CLOSE)
    best = want.logits[t].softmax(dim=0).topk(5)
    torch.testing.assert_close(torch.tensor(got["p"], dtype=torch.float64), best.values, **CLOSE)
    assert got["next"] == [{"\n": "↵", " ": "␣"}.get(w.symbols[v], w.symbols[v]) for v in best.indices]
    assert got["letters"] == ("\n\n" + w.typed).replace("\n", "↵").replace(" ", "␣")
    assert got["gates"] == 3 * (len(w.typed) + 2) and got["pressed"] == [w.cell + 1]
    assert f"c = {want.c[t, w.cell]:.2f}".replace("-", "−") in got["live"]
    assert got["held"] == (len(w.typed) + 2 if w.held else 0)


def test_the_model_in_the_page_is_the_model_in_torch(show):
    page, w = show(LstmLetters()), LstmLetters()
    texts = [w.typed, "", "KING:\nto be\n\nor not", "zzzQ3&$-j" * 10, "A" * 160]
    cases = [{"typed": text, "cell": 7 * k % 48, "held": held} for text in texts for k, held in enumerate(HELD)]
    got = page.evaluate("""async ([cases, weights, symbols]) => {
      const { run, unpack } = await import("./lstm_letters.js"), m = unpack(weights, symbols.length, 48);
      return cases.map(c => run(m, [..."\\n\\n" + c.typed].map(v => symbols.indexOf(v)), c.cell, c.held));
    }""", [cases, w.weights, w.symbols])
    for case, js in zip(cases, got, strict=True):
        w.typed = case["typed"]
        want = run(w._model, w.ids, case["cell"], case["held"])
        for name in ("gates", "c", "h", "logits"):
            mine = torch.tensor([now[name] for now in js], dtype=torch.float64)
            torch.testing.assert_close(mine, getattr(want, name), msg=f"{name}: {case}", **CLOSE)
        if not case["held"]:
            h, _, logits = by_torch(w._model, w.ids)
            torch.testing.assert_close(torch.tensor([now["h"] for now in js], dtype=torch.float64), h, **CLOSE)
            mine = torch.tensor([now["logits"] for now in js], dtype=torch.float64)
            torch.testing.assert_close(mine, logits, **CLOSE)


def test_by_typing_and_mouse(show):
    page, w = show(LstmLetters()), LstmLetters()
    agrees(page, w)
    assert shown(page)["pressed"] == [23], "it opens on the cell that follows something"
    page.locator("textarea").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Oh")
    w.typed += "Oh"
    w.letter = len(w.typed) + 1
    agrees(page, w)
    page.keyboard.press("Enter")
    w.typed += "\n"
    w.letter = len(w.typed) + 1
    agrees(page, w)
    page.keyboard.type("#")
    assert "The model has never seen “#”" in shown(page)["live"]
    assert page.locator("textarea[aria-invalid=true]").count() == 1
    assert shown(page)["letters"].endswith("Oh↵"), "the figure keeps the text that it can read"
    page.keyboard.press("Backspace")
    agrees(page, w)
    assert page.locator("[aria-invalid=true]").count() == 0
    page.get_by_label("cell 5, c =").click()
    w.cell = 4
    agrees(page, w)
    page.get_by_role("combobox", name="Gates of this cell").select_option("f=1")
    w.held = "f=1"
    agrees(page, w)
    assert "Its gate f held at 1." in shown(page)["live"]
    page.locator(".cl-scroll").evaluate("e => { e.scrollLeft = 0; }")
    page.locator(".cl-ll-chart").click(position={"x": 11 * 8 + 5, "y": 60})
    w.letter = 8
    agrees(page, w)
    page.locator("textarea").fill("")
    w.typed, w.letter = "", 1
    agrees(page, w)


def test_a_likely_letter_is_a_button_that_goes_on_from_the_letter_looked_at(show):
    page, w = show(LstmLetters()), LstmLetters()
    label = "document.activeElement.getAttribute('aria-label')"

    def likeliest(rank):
        logits = w.result.logits[min(w.letter, len(w.typed) + 1)]
        return w.symbols[logits.argsort(descending=True)[rank]]

    page.locator(".cl-ll-likely button").nth(1).click()              # at the end: the second likeliest is added
    w.typed += likeliest(1)
    w.letter = len(w.typed) + 1
    agrees(page, w)
    assert page.locator("textarea").input_value() == w.typed
    for _ in range(2):                                               # by keyboard, and the focus stays on the first
        page.locator(".cl-ll-likely button").first.focus()
        page.keyboard.press("Enter")
        w.typed += likeliest(0)
        w.letter = len(w.typed) + 1
        agrees(page, w)
        assert page.evaluate(label).startswith("go on with ")
    page.get_by_role("slider").fill("4")                             # after the third letter typed: what followed goes
    w.letter = 4
    agrees(page, w)
    page.locator(".cl-ll-likely button").first.click()
    w.typed = w.typed[:3] + likeliest(0)
    w.letter = 5
    agrees(page, w)
    page.get_by_role("slider").fill("0")                             # after the first line end: before the text
    w.letter = 0
    agrees(page, w)
    page.locator(".cl-ll-likely button").first.click()
    w.typed, w.letter = likeliest(0), 2
    agrees(page, w)
    page.locator("textarea").fill("a" * 160)
    page.locator(".cl-ll-likely button").first.click()
    assert "no room for another" in shown(page)["live"] and len(page.locator("textarea").input_value()) == 160


def test_by_keyboard_alone(show):
    page, w = show(LstmLetters()), LstmLetters()
    label = "document.activeElement.getAttribute('aria-label')"
    page.locator("textarea").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(label).startswith("cell 23, c = ")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    w.cell = 35
    agrees(page, w)
    assert page.evaluate(label).startswith("cell 36, "), "the focus stays where it was"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    w.held = "i=0"
    agrees(page, w)
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    w.letter = 0
    agrees(page, w)
    page.keyboard.press("ArrowRight")
    w.letter = 1
    agrees(page, w)


def test_a_change_from_python_redraws(from_python):
    got = from_python(LstmLetters(), ("typed", "Hm"), ("typed", "Ho"), field="textarea")
    assert got[0].startswith("The figure was changed from outside. After “m”, cell 23: c = ") and got[1] == "Hm"
    assert got[2] == got[0]


@pytest.mark.parametrize("theme, width", [
    ("light", 1920), ("dark", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(LstmLetters(held="f=1"), theme, width)


def test_cause_and_effect_stand_on_one_screen(show):
    assert show(LstmLetters(), width=800).locator(".cl-x").bounding_box()["height"] <= 600
