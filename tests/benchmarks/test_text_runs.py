"""Runs on text: every character scored once, given what stands before it."""
from __future__ import annotations

import pytest
import torch

from benchmarks.reproduce import text
from course_lib.counting import NGram
from course_lib.data import Splits
from course_lib.training import bits_per_token

TEXT = "to be, or not to be: that is the question. " * 30


@pytest.fixture
def splits():
    return text.characters(Splits("toy", TEXT[:880], TEXT[880:1100], TEXT[1100:1210], info={}))


def test_blocks_hold_the_text_and_what_stands_before_each(splits):
    decode = {i: symbol for i, symbol in enumerate(splits.info["tokenizer"]["symbols"])}
    x, before = splits.valid
    assert x.shape == (2, text.BLOCK) and before.shape == (2, text.PROMPT)
    whole = "".join(decode[int(i)] for i in x.flatten())
    assert whole == TEXT[880:1100]
    for k in range(2):
        start = 880 + k * text.BLOCK
        assert "".join(decode[int(i)] for i in before[k]) == TEXT[start - text.PROMPT:start]


def test_a_text_that_blocks_do_not_divide_is_refused():
    with pytest.raises(ValueError, match="text has 111 symbols; blocks of 110 would leave 1 unscored"):
        text.blocks(torch.zeros(10, dtype=torch.long), torch.zeros(111, dtype=torch.long))


def test_bits_per_character_are_those_of_one_pass_over_the_whole_part(splits):
    vocabulary = len(splits.info["tokenizer"]["symbols"])
    for order in (0, 3):
        model = NGram(n=order + 1, vocab_size=vocabulary, smoothing="add", alpha=0.1).fit_counts(splits.train)
        measured = text.bits_per_character(model, splits.valid)
        x, before = splits.valid
        assert measured["mean"] == pytest.approx(bits_per_token(model, x.flatten(), before[0]), abs=1e-4)
        assert measured["over"] == 220
