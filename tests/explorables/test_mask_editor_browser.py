"""The mask editor in a browser: its functions and its page against the package, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables.mask_editor import MaskEditor, first_layer, presets, verdict
from tests.explorables.test_mask_editor import by_the_library, masks

CLOSE = {"rtol": 0, "atol": 1e-5}


def numbers(page) -> dict:
    """What the page shows: weights (n * n), reach (n * n), the verdict, what was said."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { a: all("[data-pair]", e => +e.dataset.a), text: all("[data-pair]", e => e.textContent),
               pressed: all("[data-pair]", e => e.getAttribute("aria-pressed") === "true"),
               labels: all("[data-pair]", e => e.getAttribute("aria-label")),
               reach: all("[data-reach]", e => +e.dataset.first), marks: all("[data-reach]", e => e.textContent),
               verdict: document.querySelector("[data-verdict]").textContent,
               live: document.querySelector(".cl-live").textContent } }""")


def test_every_function_of_the_page_agrees_with_the_package(show):
    page, cases = show(MaskEditor()), []
    for n in (2, 5, 8):
        scores = 4 * torch.randn(n, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
        cases += [(scores, mask, [f"w{i}" for i in range(n)]) for mask in masks(n)]
    got = page.evaluate("""async cases => {
      const m = await import("./mask_editor.js");
      return cases.map(([scores, mask, words]) =>
        ({ weights: m.maskedWeights(scores, mask), first: m.firstLayer(mask), verdict: m.verdict(words, mask) }));
    }""", [[s.tolist(), m.tolist(), words] for s, m, words in cases])
    for (scores, mask, words), js in zip(cases, got, strict=True):
        weights = torch.tensor(js["weights"], dtype=torch.float64)
        torch.testing.assert_close(weights, by_the_library(scores, mask), **CLOSE)
        assert js["first"] == first_layer(mask).tolist() and js["verdict"] == verdict(words, mask)


def test_the_page_shows_what_python_computes(show):
    page, w = show(MaskEditor()), MaskEditor()
    for name in (*presets(5), None):
        if name:
            page.locator("select").select_option(label=name)
            w.apply(name)
        else:                                                            # one cell of the last preset, by mouse
            page.locator("[data-pair='2,0']").click()
            w.mask = [[may ^ ((i, j) == (2, 0)) for j, may in enumerate(row)] for i, row in enumerate(w.mask)]
            assert page.locator("select").evaluate("s => s.selectedOptions[0].textContent") == "your own mask"
        shown = numbers(page)
        scores = torch.tensor(w.scores, dtype=torch.float64)
        expected = by_the_library(scores, torch.tensor(w.mask)).flatten()
        torch.testing.assert_close(torch.tensor(shown["a"], dtype=torch.float64), expected, **CLOSE)
        assert shown["pressed"] == torch.tensor(w.mask).flatten().tolist()
        assert shown["text"] == [f"{a:.2f}" if may else "–" for a, may in zip(expected.tolist(), shown["pressed"])]
        assert shown["reach"] == w.reach.flatten().tolist() and shown["verdict"] == w.verdict
        words = {0: "·not reached", 1: "1after one layer", 2: "2after two layers"}
        assert shown["marks"] == [words[r] for r in shown["reach"]]


def test_by_keyboard_alone(show):
    """One tab leads into the grid; arrows move; a space opens and closes; the focus stays."""
    page = show(MaskEditor())
    page.locator("select").focus()
    at = "document.activeElement.dataset.pair"
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate(at):
            break
    assert page.evaluate(at) == "0,0"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in ("ArrowUp", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate(at) == "0,2"
    page.keyboard.press("Space")
    shown = numbers(page)
    assert page.evaluate(at) == "0,2" and shown["pressed"][2]
    said = "Word 1 “the” may attend to 3 “chases”. Its row: 0.69, 0.00, 0.31, 0.00, 0.00."
    assert shown["live"].startswith(said)
    assert "Not causal: output 1, “the”, reads word 3, “chases”." in shown["live"]
    assert shown["labels"][2] == "1 “the” attends to 3 “chases”: 0.31"
    page.keyboard.press("Space")
    assert numbers(page)["verdict"].startswith("Causal")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    shown = numbers(page)
    assert "Its row is empty: the output is zero." in shown["live"] and sum(shown["a"][:5]) == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(at) == "0,0", "the grid is one stop, and remembers its cell"
    page.locator("select").focus()
    page.keyboard.press("ArrowDown")
    assert numbers(page)["live"].startswith("Mask: ")


def test_the_verdict_stands_once_and_the_help_stays(show):
    page = show(MaskEditor())
    for _ in range(3):
        verdict_shown = numbers(page)["verdict"]
        paragraphs = page.locator("p").filter(has_text=verdict_shown, visible=True)
        assert paragraphs.count() == 1 and page.get_by_text("Press a cell to open or close it.").is_visible()
        page.locator("[data-pair='0,2']").click()


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    page = show(MaskEditor())
    state = {k: v for k, v in MaskEditor().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./mask_editor.js"), heard = {}, saved = [];
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(structuredClone(state.mask)); } };
      document.body.append(el);
      const end = widget.render({ model, el }), out = [], cell = () => el.querySelector("[data-pair='0,1']");
      model.set("mask", state.mask.map(row => row.map(() => true)));
      out.push(cell().getAttribute("aria-pressed"), el.querySelector(".cl-live").textContent, saved.length);
      cell().click();
      out.push(saved.length, saved[0][0]);
      end();
      model.set("mask", state.mask.map(row => row.map(() => true)));
      out.push(cell().getAttribute("aria-pressed"));
      el.remove();
      return out;
    }""", state)
    assert got[0] == "true" and got[1].startswith("The figure was changed from outside. Not causal") and got[2] == 0
    assert got[3] == 1 and got[4] == [True, False, True, True, True]
    assert got[5] == "false", "a view that has ended listens no more"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(MaskEditor(mask=presets(5)["off by one"]), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower
