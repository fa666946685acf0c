"""One text under every objective in a browser: functions and page against Python, by mouse and by keyboard."""
from __future__ import annotations

import itertools

import pytest

from course_lib.explorables import Corruptions
from course_lib.explorables.corruptions import MASK, NAMES, OBJECTIVES, SENTINELS, SHARES, TEXTS, VOCABULARY, cut, task
from tests.explorables.test_corruptions import OWN


def shown(page) -> dict:
    return page.evaluate("""() => ({
      rows: [...document.querySelectorAll("tbody tr")].map(e => ({ ...e.dataset })),
      pressed: [...document.querySelectorAll("[data-row]")].findIndex(e => e.getAttribute("aria-pressed") === "true"),
      cells: [...document.querySelectorAll("tbody tr")].map(e => [...e.children].map(c => c.textContent.trim())),
      under: [...document.querySelectorAll("tbody tr")].map(e => [1, 2].map(k =>
        [...e.children[k].querySelectorAll(".cl-co-loss")].length)),
      count: document.querySelector(".cl-co-count").textContent, live: document.querySelector(".cl-live").textContent })""")


def agrees(page, w) -> dict:
    """The page shows what `w` computes."""
    got, every = shown(page), w.losses
    for row, cells, under, (name, t) in zip(got["rows"], got["cells"], got["under"], w.tasks.items(), strict=True):
        assert (row["reads"], row["tells"]) == (" ".join(t.reads), " ".join(t.tells)), name
        assert [row["at"], row["turn"]] == [" ".join(map(str, part)) for part in (t.at, t.turn)], name
        assert int(row["losses"]) == t.losses and float(row["hundred"]) == pytest.approx(every[name], abs=1e-9), name
        whole = t.tells == list(w.words) and not t.at
        reads = " ".join(f"{a}{k}" for a, k in zip(t.reads, t.turn)) if t.turn else " ".join(t.reads)
        assert cells[:4] == [name, reads, "the whole text" if whole else " ".join(t.tells) or "nothing", str(t.losses)]
        assert abs(int(cells[4]) - every[name]) <= 0.5 + 1e-9
        assert under == ([len(t.at), 0] if t.at else [0, 1 if whole else len(t.tells)]), name
    name = NAMES[w.row]
    t = w.tasks[name]
    assert got["pressed"] == w.row and got["count"] == f"draw {w.seed}, reading {w.reading}"
    assert f"{name}. {OBJECTIVES[w.row][2]} It reads {len(t.reads)} token" in got["live"]
    assert f"{t.losses} place{'s' * (t.losses != 1)} with a loss for {len(w.words)} tokens of text." in got["live"]
    return got


def test_every_task_of_the_browser_is_that_of_python(show):
    cases = [{"words": cut(text), "seed": seed, "share": share, "reading": reading, "i": i}
             for text, seed, share, reading in itertools.product([*TEXTS, *OWN], (0, 5, 9999), SHARES, (1, 2, 100))
             for i in range(len(NAMES))]
    got = show(Corruptions()).evaluate("""async ([cases, fixed]) => {
      const { task } = await import("./corruptions.js");
      return cases.map(c => { const t = task({ ...c, ...fixed }, c.i, c.reading); return [t.reads, t.tells, t.at, t.turn]; });
    }""", [cases, {"objectives": [list(one) for one in OBJECTIVES], "vocabulary": VOCABULARY}])
    for case, js in zip(cases, got, strict=True):
        assert js == list(task(case["i"], case["words"], case["seed"], case["reading"], case["share"])), case


def test_by_mouse(show):
    page, w = show(Corruptions()), Corruptions()
    agrees(page, w)
    signs = page.locator("[data-row]").nth(NAMES.index("T5")).locator("xpath=ancestor::tr").locator(".cl-co-sign")
    assert signs.all_text_contents() == ["<X>", "<X>", "<Y>"] and set(signs.all_text_contents()) < {MASK, *SENTINELS}
    page.get_by_role("button", name="read it again").click()
    w.reading = 2
    assert "Reading 2: only BERT's mask is what it was." in agrees(page, w)["live"]
    page.get_by_role("button", name="T5").click()
    w.row = NAMES.index("T5")
    agrees(page, w)
    page.get_by_role("combobox", name="Spoilt").select_option("50")
    w.share = 50
    agrees(page, w)
    page.get_by_role("button", name="draw anew").click()
    w.seed, w.reading = 8, 1
    agrees(page, w)
    page.get_by_role("combobox", name="Text").select_option("2")
    w.words = cut(TEXTS[2])
    agrees(page, w)
    page.get_by_role("textbox", name="or your own").fill("Only one sentence!")
    page.keyboard.press("Tab")
    w.words = ["Only", "one", "sentence", "."]
    agrees(page, w)
    page.get_by_role("button", name="Pegasus").click()
    w.row = NAMES.index("Pegasus")
    assert agrees(page, w)["live"].endswith("It needs two sentences.")
    for fault in ("word", "a [M] b", "b" * 15 + " c", "x " * 25):
        page.get_by_role("textbox", name="or your own").fill(fault)
        page.keyboard.press("Tab")
        assert shown(page)["live"].startswith("A text has 2 to 24 words")
        assert page.get_by_role("textbox", name="or your own").get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="begin again").click()
    assert agrees(page, Corruptions())["live"].startswith("As at the beginning.")


def test_by_keyboard_alone(show):
    page, w = show(Corruptions()), Corruptions()
    page.get_by_role("button", name="begin again").focus()
    for key in ("Tab", "Tab", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    w.row = 2
    agrees(page, w)
    assert page.evaluate("document.activeElement.textContent") == "ELECTRA", "the focus stays where it was"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("End")
    page.keyboard.press("Space")
    w.row = 2 if page.evaluate("document.activeElement.textContent") == "ELECTRA" else 10
    agrees(page, w)


def test_a_change_from_python_redraws(from_python):
    got = from_python(Corruptions(), ("row", 4), ("row", 5))
    assert got[0].startswith("The figure was changed from outside. T5. Spans leave the text") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [("light", 1920), ("dark", 800), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(Corruptions(share=30), theme, width)


def test_the_figure_stands_on_one_screen(show):
    """Of 1366 x 768, the bars of browser and book away, at the width of the book's column."""
    for width in (760, 900):
        assert show(Corruptions(), width=width).locator(".cl-x").bounding_box()["height"] <= 620
