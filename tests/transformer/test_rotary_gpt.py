"""Rotary positions in a GPT: the contract, padding, bad input. Generation past the window: rotary_checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.contract import check_all
from course_lib.transformer import (
    RollingCache,
    RotaryAttention,
    RotaryGPT,
    rotary_gpt,
)
from tests.support.types import untyped
from tests.transformer import rotary_checks as check
from tests.transformer.rotary_checks import small


def test_contract():
    line = str(check_all(small(rotary_gpt, vocab_size=3, layers=1, rolling=True), length=3))
    assert "causal, normalized (sum of p over 27 states = 1.000000), both views agree" in line


def test_default_rereads_window():
    check.reads_anew_unless_told(rotary_gpt)


def test_padding_either_side():
    """Padding on either side, of any width, gives a row what it gets alone."""
    model = small(rotary_gpt)
    alone = model(torch.tensor([[5, 1, 2]]))[0]
    for tokens, mask in (([0, 0, 5, 1, 2], [0, 0, 1, 1, 1]), ([5, 1, 2, 0, 0], [1, 1, 1, 0, 0])):
        mask = torch.tensor([mask]).bool()
        torch.testing.assert_close(model(torch.tensor([tokens]), mask)[mask], alone)


@pytest.mark.parametrize("make, message", [
    (lambda: RotaryAttention(9, 3), "the width of a head is 3; expected an even size"),
    (lambda: RotaryAttention(8, 2)(torch.zeros(1, 2, 8), torch.zeros(1, 2, 8)), "memory is a Tensor; expected None"),
    (lambda: RollingCache(0), "window is 0"),
    (lambda: RollingCache(3).append(torch.zeros(1, 1, 4, 2), torch.zeros(1, 1, 4, 2)), "k has 4 positions after 0; expected 1, because beyond the window of 3"),
    (lambda: small(rotary_gpt)(torch.tensor([[1, 2, 3]]), torch.tensor([[1, 0, 1]]).bool()), "padding between tokens"),
    (lambda: small(rotary_gpt)(torch.zeros(1, 6).long()), "expected at most 5, the window"),
    (lambda: RotaryGPT.from_pretrained("gpt2"), "gpt2 cannot be read as a RotaryGPT"),
    (lambda: small(rotary_gpt).save_pretrained("x"), "a RotaryGPT cannot be saved in GPT-2's format"),
])
def test_bad_input(make, message):
    with untyped(), pytest.raises(ValueError, match=message):
        make()
