"""Taylor's procedure and Flesch's formula."""
from __future__ import annotations

import pytest

from course_lib.words import delete_every, flesch, restored, syllables

WORDS = "one two three four five six seven eight nine ten eleven".split()


def deletes_by_the_rule(delete):
    gaps = delete(WORDS)
    assert gaps.places == [4, 9] and gaps.answers == ["five", "ten"]
    assert gaps.words == [word if i not in (4, 9) else "____" for i, word in enumerate(WORDS)]
    assert delete(WORDS, 3, first=0).places == [0, 3, 6, 9]


def is_fleschs_formula(formula):
    text = "The cat sat on the mat. A dog came home."                # 10 words, 2 sentences, 10 syllables
    assert formula(text) == pytest.approx(206.835 - 1.015 * 5 - 84.6)
    assert formula("Considerable difficulties remain unresolved.") < 0 < formula(text)


def test_delete_every():
    deletes_by_the_rule(delete_every)
    assert str(delete_every(WORDS[:5])) == "one two three four ____"


def test_restored_share():
    gaps = delete_every(WORDS)
    assert restored(["Five", "ten"], gaps) == 1 and restored(["fifth", "ten"], gaps) == 0.5
    with pytest.raises(ValueError, match="guesses has 1 words; expected 2, one for each deleted word"):
        restored(["five"], gaps)


@pytest.mark.parametrize("word, count", [("cat", 1), ("table", 2), ("come", 1), ("reading", 2), ("agree", 2), ("the", 1),
                                         ("language", 2), ("syllable", 3), ("whale", 1)])
def test_syllables(word, count):
    assert syllables(word) == count


def test_bad_input():
    with pytest.raises(ValueError, match="every is 1 and first is 0; expected every >= 2"):
        delete_every(WORDS, 1)
    with pytest.raises(ValueError, match=r"first from 0 to 1"):
        delete_every(WORDS[:2])
    with pytest.raises(ValueError, match="text has 2 words and 0 sentences"):
        flesch("no stop")
