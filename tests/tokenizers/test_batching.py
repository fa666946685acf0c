"""Sequences of unequal lengths as a batch, and two segments as one sequence."""
from __future__ import annotations

import re

import pytest
import torch

from course_lib.tokenizers import pad, unpad
from course_lib.tokenizers.batching import tokens_at_the_left
from course_lib.transformer import join_segments


def test_padding_round_trip():
    rows = [torch.tensor([5, 6, 7]), torch.tensor([8]), torch.tensor([], dtype=torch.long)]
    right, mask = pad(rows, 0)
    assert right.tolist() == [[5, 6, 7], [8, 0, 0], [0, 0, 0]] and mask.sum(1).tolist() == [3, 1, 0]
    left, left_mask = pad(rows, 9, side="left")
    assert left.tolist() == [[5, 6, 7], [9, 9, 8], [9, 9, 9]]
    for tokens, keep in ((right, mask), (left, left_mask)):
        assert [row.tolist() for row in unpad(tokens, keep)] == [[5, 6, 7], [8], []]
    with pytest.raises(ValueError, match="side is 'top'"):
        pad(rows, 0, "top")
    with pytest.raises(ValueError, match="sequences is empty"):
        pad([], 0)


def test_segments():
    a, b = torch.tensor([7, 8]), torch.tensor([9])
    tokens, types = join_segments(a, b, cls=1, sep=2)
    assert tokens.tolist() == [1, 7, 8, 2, 9, 2] and types.tolist() == [0, 0, 0, 0, 1, 1]
    tokens, types = join_segments(a, None, cls=1, sep=2)
    assert tokens.tolist() == [1, 7, 8, 2] and types.tolist() == [0, 0, 0, 0]


def test_left_aligned():
    tokens, mask = torch.tensor([[1, 2, 3], [4, -7, 9]]), torch.tensor([[True, True, True], [True, False, False]])
    found, kept = tokens_at_the_left((tokens, mask), 5)
    assert found[mask].tolist() == [1, 2, 3, 4] and kept is mask and 0 <= found.min() <= found.max() < 5
    found, kept = tokens_at_the_left(tokens[:1], 5)
    assert torch.equal(found, tokens[:1]) and kept is None


@pytest.mark.parametrize("batch, message", [
    (torch.tensor([1, 2]), "text has shape (2,); expected (B, T) with B and T at least 1"),
    (torch.tensor([[1, 5]]), "text contains 5 at [0, 1]; a categorical variable with 5 values takes 0 to 4"),
    ((torch.tensor([[1, 2]]), torch.tensor([[False, True]])),
     "the mask of text has padding before a token; expected padding on the right only"),
])
def test_not_left_aligned(batch, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tokens_at_the_left(batch, 5, "text")
