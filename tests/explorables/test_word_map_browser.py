"""The map of words in a browser: every cosine and every place against torch, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import WordMap
from course_lib.explorables.word_map import CHOSEN, QUESTIONS, SENSES

CLOSE = {"rtol": 0, "atol": 1e-5}


def agrees(page, w) -> str:
    """The list shows what `w` computes; what is said comes back."""
    got = page.evaluate("""() => ({ words: [...document.querySelectorAll(".cl-wm-line span:first-child")].map(e => e.textContent),
      scores: [...document.querySelectorAll("[data-score]")].map(e => +e.dataset.score),
      live: document.querySelector(".cl-live").textContent })""")
    drawn = w.result
    assert got["words"] == [CHOSEN[i] for i in drawn.listed]
    torch.testing.assert_close(torch.tensor(got["scores"]).double(), drawn.scores[drawn.listed], **CLOSE)
    return got["live"]


def test_all_numbers_of_all_views_are_those_of_torch(show):
    page, w = show(WordMap()), WordMap()
    cases = [("neighbours", [word]) for word in ("nail", "capulet")]
    cases += [("analogy", list(q)) for q in QUESTIONS[::3]] + [("senses", [word]) for word in SENSES]
    got = page.evaluate("""async ([cases, words, rows, plane, pairs]) => {
      const m = await import("./word_map.js"), unit = m.unpack(rows, words.length), at = w => words.indexOf(w);
      return cases.map(([view, [a, b, c]]) => view === "neighbours" ? m.neighbours(unit, plane, at(a))
        : view === "analogy" ? m.analogy(unit, [at(a), at(b), at(c)])
        : m.senses(unit, pairs[a].map(side => side.map(at))));
    }""", [cases, w.words, w.rows, w.plane, w.pairs])
    for (view, words), js in zip(cases, got, strict=True):
        w.view = view
        setattr(w, {"neighbours": "trail", "analogy": "question", "senses": "sense"}[view],
                words[0] if view == "senses" else words)
        want = w.result
        assert js["listed"] == want.listed, (view, words)
        torch.testing.assert_close(torch.tensor(js["scores"]).double(), want.scores, **CLOSE)
        torch.testing.assert_close(torch.tensor(js["points"]).double(), want.points, **CLOSE)
        if view == "analogy":
            a, b, c = (want.points[CHOSEN.index(word)] for word in words)
            torch.testing.assert_close(torch.tensor(js["goal"]).double(), b + c - a, **CLOSE)


def test_by_mouse_and_by_keyboard(show):
    page, w = show(WordMap()), WordMap()
    assert "place 2 of 385: one row of the table" in agrees(page, w), "the page opens on a word between its senses"
    page.get_by_label("Word of two senses").select_option("bat")
    w.sense = "bat"
    assert "kept the company of one sense" in agrees(page, w)
    page.get_by_label("What to look at").select_option("analogy")
    w.view = "analogy"
    assert "man is to king as woman is to queen: cosine 0.88. The words of the question are no answers. Were they, " \
        "it would be king, 0.95." in agrees(page, w)
    assert page.locator(".cl-wm-arrow").count() == 2
    page.get_by_label("is to").select_option("brother")
    w.question = ["man", "brother", "woman"]
    agrees(page, w)
    assert page.get_by_label("Question").input_value() == "", "a question of the reader's own"
    page.locator(".cl-wm-list button").first.click()                 # walks to the first answer
    w.view, w.trail = "neighbours", ["nail", CHOSEN[w.result.listed[0]]]
    agrees(page, w)
    page.locator(".cl-wm-list button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    w.trail = [*w.trail, CHOSEN[w.result.listed[1]]]
    assert f"Nearest to {w.trail[-1]}: " in agrees(page, w)
    assert page.locator(".cl-wm-trail").count() == 2 and " → ".join(w.trail) in page.locator(".cl-x").inner_text()
    page.get_by_role("button", name="one word back").click()
    w.trail = w.trail[:-1]
    agrees(page, w)
    box = page.locator(".cl-wm-dot.cl-wm-near").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator(".cl-wm-trail").count() == 2, "a click on the map walks"


def test_a_change_from_python_redraws(from_python):
    got = from_python(WordMap(), ("sense", "light"), ("sense", "may"))
    assert got[0].startswith("The figure was changed from outside. light: cosine 0.70") and got[1] == got[0]


@pytest.mark.parametrize("view, theme, width", [("senses", "light", 1300), ("neighbours", "dark", 390), ("analogy", "light", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, view, theme, width):
    readable(WordMap(view=view), theme, width)
