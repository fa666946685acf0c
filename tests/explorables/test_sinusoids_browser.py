"""The figure of the sinusoids in a browser: its functions and its page against torch, by mouse and by keyboard."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.explorables.sinusoids import BASES, WIDTHS, Sinusoids
from course_lib.transformer.positions import (
    frequencies,
    offset_distance,
    offset_product,
    offset_rotation,
    sinusoidal,
)

CLOSE = {"rtol": 0, "atol": 1e-5}


def numbers(page) -> dict:
    """What the page shows: read from its text, and the text's own numbers from data attributes."""
    return page.evaluate("""() => {
      const one = s => document.querySelector(s), data = n => JSON.parse(one(`[data-${n}]`).dataset[n]);
      return { here: data("here"), there: data("there"), angle: +data("angle"), dot: +data("dot"),
               distance: +data("distance"), live: one(".cl-live").textContent, reached: one(".cl-reached").textContent,
               products: [...document.querySelectorAll("[data-product]")].map(e => +e.dataset.product),
               text: [...document.querySelectorAll("[data-product]")].map(e => +e.textContent),
               words: [...document.querySelectorAll(".cl-words [aria-pressed=true]")].map(e => e.textContent),
               clocks: [...document.querySelectorAll(".cl-clocks button")].length } }""")


def agrees(shown: dict, w: Sinusoids) -> None:
    """Every number of the page is that of the widget in Python."""
    pair, k, o = slice(2 * w.pair, 2 * w.pair + 2), w.position, w.offset
    expected = {"here": w.table[k, pair], "there": w.table[k + o, pair], "products": w.products, "text": w.products,
                "dot": offset_product(o, w.width, w.base), "distance": offset_distance(o, w.width, w.base),
                "angle": frequencies(w.width, w.base)[w.pair] * o}
    for name, value in expected.items():
        torch.testing.assert_close(torch.tensor(shown[name], dtype=torch.float64),
                                   torch.as_tensor(value, dtype=torch.float64), msg=name, **CLOSE)
    assert shown["words"] == [f"{k} {w.words[k]}"] and shown["clocks"] == w.width // 2


def test_every_function_of_the_page_agrees_with_torch(show):
    page = show(Sinusoids())
    cases = [{"k": k, "o": o, "width": width, "base": base}
             for width, base, k, o in itertools.product(WIDTHS, BASES, (0, 1, 5, 15), (-4, 0, 3, 11))]
    got = page.evaluate("""async cases => {
      const m = await import("./sinusoids.js");
      return cases.map(({ k, o, width, base }) => {
        const p = m.encoding(k, width, base), w = m.frequencies(width, base);
        return { w, p, turned: w.flatMap((v, i) => m.turned(p.slice(2 * i, 2 * i + 2), v * o)),
                 products: m.products(k, 16, width, base), distance: m.offsetDistance(o, width, base) };
      });
    }""", cases)
    for case, js in zip(cases, got, strict=True):
        k, o, size = case["k"], case["o"], (case["width"], case["base"])
        table = sinusoidal(16, *size, dtype=torch.float64)
        expected = {"w": frequencies(*size), "p": table[k], "turned": offset_rotation(o, *size) @ table[k],
                    "products": table @ table[k], "distance": torch.tensor(offset_distance(o, *size))}
        for name, value in expected.items():
            torch.testing.assert_close(torch.tensor(js[name], dtype=torch.float64), value.double(),
                                       msg=f"{name}: {case}", **CLOSE)


def test_the_page_shows_what_python_computes(show):
    page, w = show(Sinusoids()), Sinusoids()
    agrees(numbers(page), w)
    for width, base, k, o, pair in ((4, 100, 3, -2, 1), (16, 10000, 0, 7, 5), (6, 1000, 6, 1, 0), (8, 100, 7, -7, 3)):
        page.locator("select").nth(0).select_option(str(width))
        page.locator("select").nth(1).select_option(str(base))
        page.get_by_role("button", name=f"{k} {w.words[k]}").click()
        page.locator("input[type=range]").fill(str(o))
        page.get_by_role("button", name=f"clock {pair}").click()
        w.set_state({"width": width, "base": base, "position": k, "offset": o, "pair": pair})
        agrees(numbers(page), w)


def test_by_keyboard_alone(show):
    """Tab to a word, to the offset, to a clock; letters and arrows do the rest, and the focus stays where it was."""
    page = show(Sinusoids())
    focus = "document.activeElement.textContent || document.activeElement.type"
    page.locator("select").first.focus()
    page.keyboard.press("ArrowDown")
    assert numbers(page)["clocks"] == 8 and numbers(page)["live"].startswith("Width 16, base 100: 8 clocks.")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate(focus) == "2 Queen"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate(focus) == "2 Queen"
    assert numbers(page)["live"].startswith("Position 2, Queen. Offset +2 leads to position 4, walking: inner product ")
    for _ in range(6):
        page.keyboard.press("Tab")
    assert page.evaluate(focus) == "range"
    page.keyboard.press("ArrowRight")
    assert numbers(page)["reached"] == "+3: on"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert numbers(page)["live"].startswith("Clock 1: 0.56234 radians a word, a full turn in 11.2 words.")
    agrees(numbers(page), Sinusoids(width=16, position=2, offset=3, pair=1))


def test_by_mouse_the_line_is_dragged_along_the_words(show):
    """The offset gives way at the end of the sentence, and nothing moves outside it."""
    page = show(Sinusoids())
    box = page.locator(".cl-wave").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.15 * box["width"], middle)
    page.mouse.down()
    agrees(numbers(page), Sinusoids(position=1, offset=2))
    page.mouse.move(box["x"] + 0.99 * box["width"], middle, steps=7)
    agrees(numbers(page), Sinusoids(position=7, offset=0))
    page.mouse.up()
    page.mouse.move(box["x"], middle)
    assert numbers(page)["words"] == ["7 road"]


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    """A model as JupyterLab has it: what the kernel sets arrives as a change event; what the page sets is saved."""
    page = show(Sinusoids())
    state = {k: v for k, v in Sinusoids("a b c d").get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./sinusoids.js"), heard = {}, saved = [];
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { if (state[k] === v) return; state[k] = v;
          (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(structuredClone(state)); } };
      document.body.append(el);
      const end = widget.render({ model, el }), last = () => el.querySelector(".cl-reached").textContent, out = [last()];
      model.set("offset", 3);
      model.set("pair", 3);
      model.set("width", 4);                                        // has no such pair: Python moves `pair` next
      out.push(el.querySelector(".cl-top select").value);
      model.set("pair", 1);
      out.push(el.querySelector(".cl-top select").value);
      out.push(last(), el.querySelector(".cl-live").textContent, saved.length);
      el.querySelectorAll(".cl-words button")[2].click();
      out.push(saved.length, saved[0].position, saved[0].offset);
      end();
      model.set("offset", -1);
      out.push(last());
      el.remove();
      return out;
    }""", state)
    assert got[:4] == ["+2: c", "8", "4", "+3: d"] and got[5] == 0, "half of a change is not drawn"
    assert got[4].startswith("The figure was changed from outside. Position 0, a. Offset +3 leads to position 3, d")
    assert got[6:] == [1, 2, 1, "+1: d"], "the offset gives way; a view that has ended listens no more"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(Sinusoids(width=16, position=3, offset=-2, pair=2), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower
