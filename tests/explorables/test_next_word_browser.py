"""The next word in a browser: its functions and its page against the library, by mouse and by keyboard."""
from __future__ import annotations

import json
import math
from itertools import product

import pytest
import torch

from course_lib.conditional import Categorical
from course_lib.explorables.decoding_tree import stated_uniforms
from course_lib.explorables.next_word import NextWord, Setting, after, ranked

SETTINGS = [Setting(cut, tau, k, p, late) for (cut, late), (tau, k, p) in product(
    (("none", False), ("top-k", False), ("top-p", False), ("both", False), ("top-p", True), ("both", True)),
    ((1, 5, 0.6), (0.5, 20, 0.9), (2, 300, 0.3), (0, 7, 0.5), (0.05, 40, 0.99), (1.35, 1, 1.0)))]


def test_every_function_of_the_page_agrees_with_the_library(show):
    """All beginnings under many settings, and rows with ties: what is kept, each ln p, the mass, the order, the draws."""
    w = NextWord()
    ties = torch.tensor([0.3, 0.1, 0.1, 0.3, 0.1, 0.0, 0.1]).double().log()
    rows = [w.log_p(i) for i in range(len(w.contexts))]
    page = show(w)
    got = json.loads(page.evaluate("""async ({ tables, ties, settings }) => {
      const m = await import("./next_word.js");
      const rows = [...tables.map(m.logProbs), ties.map(v => v ?? -Infinity)];
      return JSON.stringify(rows.map(row => ({ row, ranked: m.ranked(row), of: settings.map(s => {
        const { logP, kept, mass } = m.after(row, s);
        return { logP, kept, mass, drawn: m.draws(logP, 7, 30) };
      }) })));
    }""", {"tables": w.tables, "ties": [None if v == -math.inf else v for v in ties.tolist()],
           "settings": [s._asdict() for s in SETTINGS]}))
    u = torch.tensor(stated_uniforms(7, 30), dtype=torch.float64)[:, None]

    def numbers(values):
        return torch.tensor([-math.inf if v is None else v for v in values], dtype=torch.float64)

    for log_p, js in zip([*rows, ties], got, strict=True):
        assert torch.equal(numbers(js["row"]), log_p)
        assert js["ranked"] == [v for v in ranked(log_p) if log_p[v] > -math.inf]
        for s, page_has in zip(SETTINGS, js["of"], strict=True):
            want, family = after(log_p, s), Categorical(len(log_p))
            assert page_has["kept"] == want.kept.tolist(), s
            torch.testing.assert_close(numbers(page_has["logP"]), want.log_p, rtol=0, atol=1e-5, msg=str(s))
            assert page_has["mass"] == pytest.approx(want.mass, abs=1e-5)
            assert page_has["drawn"] == family.draw(family(want.log_p.expand(30, -1)), u).tolist(), s


def test_the_groups_hold_every_place_once(show):
    page = show(NextWord())
    for num, want in ((1229, [(7, 8), (8, 30), (30, 100), (100, 300), (300, 1229)]), (65, [(30, 65)]), (3, [(2, 3)]),
                      (8, [(7, 8)]), (30, [(8, 30)])):
        got = page.evaluate("async num => (await import('./next_word.js')).places(num)", num)
        assert [b for _, b in got[:-1]] == [a for a, _ in got[1:]] and got[0][0] == 0 and got[-1][1] == num
        assert [tuple(one) for one in got[-len(want):]] == want


def numbers(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, root = document) => [...root.querySelectorAll(s)];
      return { live: document.querySelector(".cl-live").textContent,
        cut: all("[data-cut][aria-pressed=true]").map(b => b.dataset.cut),
        compare: all("[data-cell]").map(e => [e.dataset.cell, +e.dataset.count, +e.dataset.share, e.textContent]),
        sides: all("[data-side]").map(side => ({ kept: +side.dataset.kept, mass: +side.dataset.mass,
          said: side.querySelector(".cl-nw-kept").textContent, text: side.querySelector(".cl-nw-drawn").textContent,
          drawn: JSON.parse(side.querySelector("[data-drawn]").dataset.drawn),
          rows: all("tbody tr", side).map(tr => ({ from: +tr.dataset.from, p: +tr.dataset.p, q: +tr.dataset.q,
            stay: +tr.dataset.stay, cells: all("th, td", tr).map(e => e.textContent),
            bars: all(".cl-bar", tr).map(e => e.hidden ? 0 : e.getBoundingClientRect().width) })) })) } }""")


def agrees(shown: dict, w: NextWord) -> None:
    """Every number of the page is that of the widget in Python, in its data and in its text."""
    assert shown["cut"] == [w.cut]
    widths = []
    for side, i in zip(shown["sides"], w.shown, strict=True):
        found, p = w.after(i), w.log_p(i).exp()
        order = [v for v in ranked(w.log_p(i)) if p[v] > 0]
        assert side["kept"] == int(found.kept.sum()) and side["mass"] == pytest.approx(found.mass, abs=1e-5)
        assert side["drawn"] == w.drawn(i)
        ends = [row["from"] for row in side["rows"]] + [len(order)]
        assert sum(row["p"] for row in side["rows"]) == pytest.approx(1, abs=1e-5)
        for row, start, stop in zip(side["rows"], ends, ends[1:]):
            inside = torch.tensor(order[start:stop])
            P, Q, stay = p[inside].sum().item(), found.log_p[inside].exp().sum().item(), int(found.kept[inside].sum())
            assert (row["p"], row["q"]) == (pytest.approx(P, abs=1e-5), pytest.approx(Q, abs=1e-5)) and row["stay"] == stay
            assert float(row["cells"][1]) == pytest.approx(P, abs=6e-4)
            assert row["cells"][2] == "cut" if not stay else float(row["cells"][2]) == pytest.approx(Q, abs=6e-4)
            widths += [(P, row["bars"][0]), (Q, row["bars"][1])]
    scale = max(width for _, width in widths) / max(value for value, _ in widths)
    assert all(abs(width - scale * value) <= 2 for value, width in widths), "one scale for both sides"
    cells = iter(shown["compare"])
    for cut in ("top-k", "top-p", "both"):
        for i in w.shown:
            alone, (name, count, share, text) = after(w.log_p(i), w.setting._replace(cut=cut)), next(cells)
            assert (name, count) == (cut, int(alone.kept.sum())) and share == pytest.approx(alone.mass, abs=1e-5)
            assert text.startswith(f"{count:,} word")


def test_untouched_it_makes_its_point_in_words(show):
    page, w = show(NextWord()), NextWord()
    shown = numbers(page)
    agrees(shown, w)
    assert shown["live"] == (
        "Top-k 5, temperature 1.00: after “in the” 5 words of 1,229, 0.136 of the mass; after “the old” 6 words of 1,229, "
        "0.864 of the mass. Top-p 0.60 would keep 72 and 1.")
    assert shown["sides"][0]["said"] == "5 words of 1,229 sum to 0.136; divided by that, to 1."
    assert shown["sides"][1]["said"].endswith("What ties with number 5 stays.")


def test_the_page_shows_what_python_computes(show):
    page, w = show(NextWord()), NextWord()
    for left, right, cut, tau, k, p, late in ((2, 0, "top-p", 1, 4, 0.9, False), (4, 3, "both", 0.5, 12, 0.85, False),
                                              (5, 1, "both", 1.5, 13, 0.4, True), (3, 2, "none", 2, 0, 0.01, False)):
        for side, value in zip(("left", "right"), (left, right)):
            page.locator(f"[data-side={side}] select").select_option(str(value))
        page.locator(f"[data-cut='{cut}']").click()
        page.locator("[data-setting=temperature]").fill(str(tau))
        page.locator("[data-setting=top_k]").fill(str(k))
        page.locator("[data-setting=top_p]").fill(str(p))
        page.get_by_label("temperature after the cuts").set_checked(late)
        counts = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 100)
        w.set_state({"left": left, "right": right, "cut": cut, "temperature": tau, "top_k": counts[k], "top_p": p,
                     "late": late})
        agrees(numbers(page), w)
        page.get_by_role("button", name="draw a word").click()
        w.draws += 1
        agrees(numbers(page), w)


def test_words_are_drawn_kept_and_cleared(show):
    """The numbers behind the draws stay when the setting changes; a word of the tail says its rank."""
    page, w = show(NextWord()), NextWord(draws=0)
    page.get_by_role("button", name="clear").click()
    assert numbers(page)["sides"][0]["text"] == "No word is drawn."
    page.get_by_role("button", name="draw ten").click()
    page.get_by_role("button", name="no cut").click()
    w.set_state({"draws": 10, "cut": "none"})
    agrees(shown := numbers(page), w)
    assert "(" in shown["sides"][0]["text"], "after a flat beginning one of ten words comes from beyond the 30th"
    page.get_by_role("button", name="other numbers").click()
    w.seed = 2
    agrees(numbers(page), w)
    for _ in range(3):
        page.get_by_role("button", name="draw ten").click()
    w.draws = 40
    agrees(shown := numbers(page), w)
    assert shown["live"].endswith("Drawn so far: 40, as many as fit.")
    assert page.get_by_role("button", name="draw ten").is_disabled()
    page.get_by_role("button", name="as at first").click()
    agrees(numbers(page), NextWord())


def test_by_keyboard_alone(show):
    page, w = show(NextWord()), NextWord()
    page.locator("[data-cut='top-k']").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    w.cut = "top-p"
    agrees(numbers(page), w)
    assert page.evaluate("document.activeElement.dataset.cut") == "top-p"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")                                     # temperature after the cuts
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    w.set_state({"late": True, "temperature": 1.05})
    agrees(numbers(page), w)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "4"
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    w.set_state({"top_k": 4, "top_p": 1.0})
    agrees(numbers(page), w)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    w.left = 1
    agrees(numbers(page), w)


def test_a_change_from_python_redraws(from_python):
    got = from_python(NextWord(), ("cut", "top-p"), ("cut", "both"))
    assert got[0].startswith("The figure was changed from outside. Top-p 0.60, temperature 1.00: after “in the” 72 words")
    assert got[1] == got[0]


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 390), ("light", 390), ("dark", 700)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(NextWord(cut="none", draws=40), theme, width)


@pytest.mark.parametrize("width", [390, 895])
def test_nothing_is_clipped(show, width):
    """No table scrolls sideways and no text is cut."""
    page = show(NextWord(cut="both", top_k=400, top_p=0.95), width=width)
    assert page.eval_on_selector_all(".cl-x *", """all => all.filter(e => e.scrollWidth > e.clientWidth + 1
      && getComputedStyle(e).display !== "inline" && !["SELECT", "INPUT"].includes(e.tagName)).map(e => e.className)""") == []
