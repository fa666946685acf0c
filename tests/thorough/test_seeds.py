"""Seeds on which an answer once got the wrong verdict."""
from __future__ import annotations

import pytest

from tests.exercises.known import ANSWERS

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("name, seed", [
    ("OwnDensity, solution", 1283023617), ("MendedAttention, right: einsum, a mask that is added", 365),
    ("OwnMultiHeadAttention, right: head by head, each adding its part of the output", 416), ("OwnDecoderBlock, solution", 346),
    ("OwnDecoderBlock, right: the pre arrangement alone, post made of it", 316), ("OwnDecoderBlock, solution", 66),
    ("OwnGPT, solution", 304), ("find_leaks, right: moves above the thousandth that is stated", 309), ("OwnMADE, solution", 3676479063),
    ("find_impostors, blind: the sum over the states leaves out the first, all zeros", 7)])
def test_seeds_on_which_an_answer_once_got_the_wrong_verdict(name, seed):
    [answer] = [one for one in ANSWERS if str(one) == name]
    report = answer.report(seed)
    assert answer.expects(report), report
