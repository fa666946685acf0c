"""The figure of the sinusoids: its numbers are the library's, its state cannot leave the sentence."""
from __future__ import annotations

import json
import math

import pytest
import torch

from course_lib.explorables import sinusoids
from course_lib.explorables.sinusoids import Sinusoids


def test_the_numbers_are_written_out():
    """Width 4, base 100: the pairs turn by 1 and by 1/10 a word."""
    w = Sinusoids(width=4, base=100, position=1, offset=2)
    assert w.words == "King and Queen are walking on the road".split()
    assert w.table[3].tolist() == pytest.approx([math.sin(3), math.cos(3), math.sin(0.3), math.cos(0.3)], abs=1e-12)
    assert w.products.tolist() == pytest.approx([math.cos(j - 1) + math.cos((j - 1) / 10) for j in range(8)], abs=1e-12)
    assert w.distance == pytest.approx((w.table[3] - w.table[1]).norm().item(), abs=1e-12)


def test_distance_and_product_stay_when_the_word_moves():
    w = Sinusoids(width=16, base=1000, offset=3)
    seen = []
    for k in range(5):
        w.position = k
        seen.append([w.distance, w.products[k + 3].item()])
    torch.testing.assert_close(torch.tensor(seen), torch.tensor(seen[:1]).expand(5, 2))


def test_a_narrower_width_takes_the_clock_along():
    w = Sinusoids(width=16, pair=7)
    w.width = 6
    assert w.pair == 2
    w.set_state({"width": 4, "pair": 1, "position": 7, "offset": -7})         # as the page sends it, all at once
    assert (w.width, w.pair, w.position, w.offset) == (4, 1, 7, -7)


def test_what_is_stored_is_small_and_has_words():
    w = Sinusoids()
    assert repr(w) == "Sinusoids()"
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"]
    assert "width 8, base 100" in text and "At “King”, position 0, it shows sin 0.00000, cos 1.00000" in text
    assert "       2  Queen  2.36" in text and text.endswith(f"moves by {w.distance:.5f}.")
    assert len(json.dumps(w.get_state()).encode()) <= 100_000


def test_any_sentence_will_do():
    w = Sinusoids("I am")
    assert (w.words, w.offset) == (["I", "am"], 1)
    assert Sinusoids(["a", "b", "c"], position=2).offset == 0
    assert max(sinusoids.WIDTHS) == 16 and w.alt == "Sinusoidal positions of “I am”"


@pytest.mark.parametrize("make, message", [
    (lambda: Sinusoids("King"), "words has 1 words; the figure shows 2 to 16"),
    (lambda: Sinusoids("a " * 17), "words has 17 words"),
    (lambda: Sinusoids(width=5), "width is 5; the figure has 4, 6, 8, 16"),
    (lambda: Sinusoids(base=7), "base is 7; the figure has 100, 1000, 10000"),
    (lambda: Sinusoids(pair=4), "pair is 4; a width of 8 has the pairs 0 to 3"),
    (lambda: Sinusoids(position=8, offset=0), "the words are 0 to 7"),
    (lambda: Sinusoids(position=1, offset=-2), "word 1 and offset -2 lead to -1"),
    (lambda: setattr(Sinusoids(), "offset", 8), "offset is 8: word 0 and offset 8 lead to 8"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
