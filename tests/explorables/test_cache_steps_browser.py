"""The cache, operation by operation, in a browser: functions and page against Python, by mouse and by keyboard."""
from __future__ import annotations

import math
import random

import pytest

from course_lib.explorables import CacheSteps
from course_lib.explorables.cache_steps import (
    BOUNDS,
    OPERATIONS,
    PRESETS,
    WORDS,
    Size,
    Work,
    cells,
    halvings,
    rows,
    running,
    totals,
    work,
)

NUM = len(OPERATIONS)
SAID = {"now": "●computed now", "done": "✓computed in this pass", "kept": "▪kept in the cache",
        "read": "◂read from the cache", "": "not computed"}


def shown(page) -> dict:
    """What the page shows: the cells of both ways, the counts, the bill, its sentences."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), text = s => document.querySelector(s).textContent;
      const counts = all("[data-counts]", e => ({ numbers: JSON.parse(e.dataset.counts), title: e.textContent,
        texts: [...e.closest("table").tBodies[0].rows].map(r => r.cells[e.cellIndex].textContent) }));
      return { cells: all(".cl-cs-grid", t => [...t.tBodies[0].rows].map(r =>
                 [...r.querySelectorAll("td")].map(e => e.dataset.cell))),
               texts: all(".cl-cs-grid", t => [...t.tBodies[0].rows].map(r => [...r.children].map(e => e.textContent))),
               counts,
               bill: all("[data-bill]", e => JSON.parse(e.dataset.bill)),
               billed: all("[data-bill]", e => [...e.children].map(c => c.textContent)),
               place: text("[data-place]"), notes: [text("[data-with]"), text("[data-without]")],
               growth: text("[data-growth]"), live: text(".cl-live") } }""")


def agrees(page, w) -> dict:
    """The page shows what `w` computes."""
    got, bill = shown(page), w.bill                                  # thousands of operations: counted once
    number, operation = divmod(w.at, NUM)
    for which, cached in enumerate((True, False)):
        assert got["cells"][which] == cells(w.prompt, w.at, cached)
        assert got["texts"][which] == [[word, *(SAID[cell] for cell in row)]
                                       for word, row in zip(WORDS, got["cells"][which])]
        name = "with" if cached else "without"
        for title, expected in ((f"now, {name}", w.now[cached]), (f"so far, {name}", w.so_far[cached])):
            shown_work = next(counts for counts in got["counts"] if counts["title"] == title)
            assert shown_work["numbers"] == expected._asdict()
            row = [*expected[:2], expected.multiplications, *expected[2:]]
            assert shown_work["texts"] == [f"{v:,}" for v in row]
        new, keys = rows(w.prompt, number + 1, cached)
        assert got["notes"][which].startswith(f"{new} of {keys} row")
        said, now = got["notes"][which].partition(" = ")[2], w.now[cached]
        factors = [int(factor.replace(",", "")) for factor in said.split(" × ")] if said else [0]
        assert math.prod(factors) == now.multiplications + now.exponentials + now.stored, "the formula that is shown"
    assert got["bill"] == [[t, one._asdict(), two._asdict()] for t, one, two in bill]
    for texts, (t, one, two) in zip(got["billed"], bill, strict=True):
        numbers = [one.attention, two.attention, one.weights, two.weights, one.multiplications, two.multiplications]
        ratio = two.multiplications / one.multiplications
        assert texts == [f"{t:,}", *(f"{v:,}" for v in numbers), f"{ratio:.1f}", f"{one.stored:,}"]
    (t0, a0, b0), (t1, a1, b1) = bill[-2:]
    assert got["growth"] == (
        f"From {t0:,} to {t1:,} new tokens: attention × {a1.attention / a0.attention:.2f} with the cache and "
        f"× {b1.attention / b0.attention:.2f} without; products with weights × {a1.weights / a0.weights:.2f} and "
        f"× {b1.weights / b0.weights:.2f}.")
    assert got["place"].startswith(f"Pass {number + 1} reads {w.prompt + number} word")
    assert f"predicts “{WORDS[w.prompt + number]}”. Operation {operation + 1} of 9: " in got["place"]
    assert OPERATIONS[operation] in got["place"]
    return got


def test_every_function_of_the_page_agrees_with_the_package(show):
    """All operations of all passes, and sizes from the smallest to the largest, to the last digit."""
    draw = random.Random(0)
    names = (*Size._fields, "tokens")
    cases = [[{name: BOUNDS[name][end] for name in names}, prompt] for end in (0, 1) for prompt in (1, 4)]
    for _ in range(30):
        heads = draw.randint(1, 16)
        size = {"layers": draw.randint(1, 48), "width": heads * draw.randint(1, 4096 // heads), "heads": heads,
                "feed_forward": draw.randint(1, 16384), "vocabulary": draw.randint(2, 100_000),
                "tokens": draw.randint(2, 300)}
        cases.append([size, draw.randint(1, 4)])
    got = show(CacheSteps()).evaluate("""async ([cases, names]) => {
      const m = await import("./cache_steps.js"), out = [];
      for (const [s, prompt] of cases) {
        const size = names.slice(0, 5).map(k => s[k]);
        out.push([true, false].map(c => ({ totals: m.totals(size, prompt, s.tokens, c),
          running: [0, 7, 20, 35].map(at => m.running(size, prompt, at, c)),
          works: [...Array(9).keys()].map(o => m.work(size, o, ...m.rows(prompt, 3, c), c)) })));
      }
      const tables = [1, 2, 3, 4].map(p => [...Array((7 - p) * 9).keys()].map(at =>
        [true, false].map(c => m.cells(p, at, c))));
      return { out, tables, halvings: [2, 3, 31, 32, 1000, 1024].map(m.halvings) };
    }""", [cases, list(names)])
    for (s, prompt), js in zip(cases, got["out"], strict=True):
        size = Size(*(s[name] for name in Size._fields))
        for cached, found in zip((True, False), js):
            assert Work(**found["totals"]) == totals(size, prompt, s["tokens"], cached)
            sums = [running(size, prompt, at, cached) for at in (0, 7, 20, 35)]
            assert [Work(**one) for one in found["running"]] == sums
            assert [Work(**one) for one in found["works"]] == [
                work(size, o, *rows(prompt, 3, cached), cached) for o in range(NUM)]
    assert got["tables"] == [[[cells(p, at, c) for c in (True, False)] for at in range((7 - p) * NUM)]
                             for p in range(1, 5)]
    assert got["halvings"] == [halvings(t) for t in (2, 3, 31, 32, 1000, 1024)]


def press(page, name: str) -> None:
    page.get_by_role("button", name=name).press("Enter")


def test_by_mouse_through_operations_words_and_sizes(show):
    page, w = show(CacheSteps()), CacheSteps()
    agrees(page, w)
    for w.at in range(1, 14):
        page.get_by_role("button", name="next operation").click()
        said = agrees(page, w)["live"]
        assert said.startswith(f"Pass {w.at // NUM + 1}, {OPERATIONS[w.at % NUM]}. With the cache ")
    assert "With the cache 1 of 2 rows, without 2. So far " in said
    assert f"{w.so_far[True].multiplications:,} multiplications with it and {w.so_far[False].multiplications:,}" in said
    page.get_by_role("button", name="step back").click()
    w.at = 12
    agrees(page, w)
    page.get_by_role("button", name="next word").click()
    w.at = 18
    agrees(page, w)
    page.get_by_role("combobox", name="Words given").select_option(label="4")
    w.at, w.prompt = 0, 4
    assert agrees(page, w)["live"].startswith("4 words are given. Pass 1, embed. With the cache 4 of 4 rows")
    for preset in PRESETS[::-1]:
        page.get_by_role("combobox", name="Size").select_option(label=preset["label"])
        w = CacheSteps(prompt=4, **{k: v for k, v in preset.items() if k != "label"})
        one, two = (totals(w.size, 4, 256, cached) for cached in (True, False))
        assert agrees(page, w)["live"] == (
            f"256 new tokens take {one.multiplications:,} multiplications with the cache and {two.multiplications:,} "
            f"without, {two.multiplications / one.multiplications:.1f} times as many; the cache holds {one.stored:,} "
            "numbers.")


def test_by_keyboard_alone(show):
    page, w = show(CacheSteps()), CacheSteps()
    begin = page.get_by_role("button", name="from the start")
    begin.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    press(page, "step back")
    assert agrees(page, w)["live"] == "This is the first operation."
    slider = page.get_by_role("slider")
    slider.press("ArrowRight")
    w.at = 1
    agrees(page, w)
    slider.press("End")
    w.at = w.last
    assert agrees(page, w)["live"].startswith("Pass 6, logits.")
    assert slider.get_attribute("aria-valuetext") == "pass 6, logits"
    press(page, "next operation")
    assert agrees(page, w)["live"] == "This is the last operation."
    for label, name, value in (("heads H", "heads", 4), ("width D", "width", 12), ("tokens t", "tokens", 100),
                               ("layers L", "layers", 3), ("feed-forward F", "feed_forward", 10),
                               ("vocabulary V", "vocabulary", 99)):
        field = page.get_by_label(label)
        field.fill(str(value))
        field.press("Enter")
        setattr(w, name, value)
        assert agrees(page, w)["live"].startswith(f"{w.tokens:,} new tokens take ")
    chosen = page.get_by_role("combobox", name="Size").evaluate("s => s.selectedOptions[0].textContent")
    assert chosen == "your own size"
    for label, value, said in (("width D", "13", "4 heads do not divide a width of 13."),
                               ("tokens t", "1025", "new tokens t: expected a whole number from 2 to 1,024."),
                               ("layers L", "x", "layers L: expected a whole number from 1 to 48.")):
        field = page.get_by_label(label)
        field.fill(value)
        field.press("Enter")
        assert agrees(page, w)["live"] == said and field.get_attribute("aria-invalid") == "true"
        assert field.input_value() == value
    field.fill("48")
    field.press("Enter")
    w.layers = 48
    agrees(page, w)
    assert field.get_attribute("aria-invalid") == "false"


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    page = show(CacheSteps())
    state = {k: v for k, v in CacheSteps().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./cache_steps.js"), heard = {}, saved = [];
      const el = document.createElement("div"), out = [];
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(state.at); } };
      document.body.append(el);
      const end = widget.render({ model, el }), text = s => el.querySelector(s).textContent;
      model.set("at", 20);
      out.push(text("[data-place]"), text(".cl-live"), saved.length);
      model.set("at", state.at + 33);
      model.set("prompt", 4);                                       // no such place any more: Python moves `at` next
      const between = text("[data-place]") + text(".cl-live");
      model.set("at", 26);
      out.push(text("[data-place]"));
      [...el.querySelectorAll("button")].find(b => b.textContent === "step back").click();
      out.push(saved);
      end();
      model.set("at", 0);
      out.push(text("[data-place]"), between);
      el.remove();
      return out;
    }""", state)
    assert got[0].startswith("Pass 3 reads 3 words and predicts “deftly”. Operation 3 of 9: append to the cache")
    assert got[1].startswith("The figure was changed from outside. Pass 3, append to the cache.") and got[2] == 0
    assert got[3].startswith("Pass 3 reads 6 words and predicts “bookshelf”. Operation 9 of 9: logits.")
    assert got[4] == [25]
    assert got[5].startswith("Pass 3 reads 6 words and predicts “bookshelf”. Operation 8 of 9"), "listens no more"
    assert "undefined" not in got[6], "a place that there is not is never drawn"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    size = {k: v for k, v in PRESETS[2].items() if k != "label"}
    page = show(CacheSteps(at=3 * NUM + 3, **size), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower
