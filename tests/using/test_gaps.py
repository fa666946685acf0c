"""What the scores of names in a gap refuse. What they are: checks.py."""
from __future__ import annotations

import pytest

from course_lib.using import gap_scores
from tests.using import checks as check


@pytest.mark.parametrize("texts, names, message", [
    (["the cat"], ["a"], "with 0 masks"), (["[MASK] [MASK]"], ["a"], "with 2 masks"),
    ([], ["a"], "0 texts"), (check.GAPS, [], "names 0"), (check.GAPS, ["a a"], "'a a', which has 2 pieces"),
    (["[MASK] " + "the cat sat " * 20], ["a"], "expected at most 24")])
def test_bad_input(texts, names, message):
    with pytest.raises(ValueError, match=message):
        gap_scores(check.small_bert(), check.pieces(), texts, names)
