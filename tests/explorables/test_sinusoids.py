"""The figure of the sinusoids: its numbers are the library's, its state cannot leave the sentence."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.explorables.sinusoids import BASES, WIDTHS, Sinusoids
from course_lib.transformer.positions import frequencies, offset_distance, offset_product, offset_rotation, sinusoidal
from tests.explorables.figure import Figure, choose, click, close, data, fill, keys, texts


def test_pair_clipped_to_width():
    w = Sinusoids(width=16, pair=7)
    w.width = 6
    assert w.pair == 2
    w.set_state({"width": 4, "pair": 1, "position": 7, "offset": -7})         # as the page sends it, all at once
    assert (w.width, w.pair, w.position, w.offset) == (4, 1, 7, -7)

# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    cases = [{"k": k, "o": o, "width": width, "base": base}
             for width, base, k, o in itertools.product(WIDTHS, BASES, (0, 1, 5, 15), (-4, 0, 3, 11))]
    got = modules.evaluate("""async cases => {
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
                    "products": table @ table[k]}
        for name, value in expected.items():
            close(js[name], value, msg=f"{name}: {case}")
        assert js["distance"] == pytest.approx(offset_distance(o, *size), abs=1e-5)


def agrees(page, w) -> None:
    pair, k, o = slice(2 * w.pair, 2 * w.pair + 2), w.position, w.offset
    shown = page.evaluate("""Object.fromEntries(["here", "there", "angle", "dot", "distance"].map(n =>
      [n, JSON.parse(document.querySelector(`[data-${n}]`).dataset[n])]))""")
    close(shown["here"] + shown["there"], torch.cat([w.table[k, pair], w.table[k + o, pair]]))
    close(data(page, "product"), w.products)
    close([float(text) for text in texts(page, "[data-product]")], w.products)
    omega = frequencies(w.width, w.base).double()
    close([shown["dot"], shown["distance"], shown["angle"]],
          [offset_product(o, w.width, w.base), offset_distance(o, w.width, w.base), omega[w.pair].item() * o])
    assert texts(page, ".cl-words [aria-pressed=true]") == [f"{k} {w.words[k]}"]
    assert texts(page, ".cl-reached") == [f"{f'{o:+d}' if o else 0}: {w.words[k + o]}".replace("-", "−")]
    assert page.locator(".cl-clocks button").count() == w.width // 2
    assert data(page, "omega", ".cl-wave") == pytest.approx([v for i, v in enumerate(omega.tolist()) if i != w.pair], abs=1e-9)


def at(share: float, do: str):
    """The mouse over the sentence's line: down, moved, up."""
    def act(page):
        box = page.locator(".cl-wave").bounding_box()
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2, steps=7)
        if do:
            getattr(page.mouse, do)()
    return act


BAD = [
    (lambda: Sinusoids("King"), "words has 1 words; expected 2 to 16"),
    ({"width": 5}, "width is 5; expected one of 4, 6, 8, 16"),
    ({"base": 7}, "base is 7; expected one of 100, 1000, 10000"),
    ({"pair": 4}, "pair is 4; expected 0 to 3 for a width of 8"),
    ({"position": 8, "offset": 0}, "expected a position from 0 to 7"),
    ({"position": 1, "offset": -2}, r"word 1 \+ offset -2 is position -1"),
    (lambda: setattr(Sinusoids(), "offset", 8), r"offset is 8: word 0 \+ offset 8 is position 8"),
]
FIGURE = Figure(Sinusoids, agrees, bad=BAD, change={"offset": 3, "pair": 3},
                rich={"width": 16, "position": 3, "offset": -2, "pair": 2},
                says=("At “King”, position 0, it shows sin 0.00000, cos 1.00000", "       2  Queen  2.36",
                      f"moves by {Sinusoids().distance:.5f}."), moves=[
    (keys("ArrowDown", at="select >> nth=0"), {"width": 16}),
    (keys("Tab", "Tab", "Tab", "Tab", "Enter"), {"position": 2}),
    (keys(*["Tab"] * 6, "ArrowRight"), {"offset": 3}),
    (keys("Tab", "Tab", "Space"), {"pair": 1}),
    (at(0.15, "down"), {"position": 1}),
    (at(0.99, "up"), {"position": 7, "offset": 0}),                  # the offset gives way at the end of the sentence
    (at(0.01, ""), {}),
    (choose("select >> nth=1", 1000), {"base": 1000}),
    (click(".cl-words button >> nth=3"), {"position": 3}),
    (fill("[type=range]", -2), {"offset": -2}),
    (click(".cl-clocks button >> nth=5"), {"pair": 5}),
    (choose("select >> nth=0", 6), {"width": 6, "pair": 2}),
])
