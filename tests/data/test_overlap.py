"""The share of held-out items that occur in training is counted and limited."""
from __future__ import annotations

import pytest
import torch

from course_lib.data.overlap import OverlapError, check_held_out


def test_check_held_out_equals_a_comparison_of_all_pairs():
    generator = torch.Generator().manual_seed(0)
    train, held_out = (torch.randint(2, (n, 5), generator=generator) for n in (20, 50))
    pairs = (held_out[:, None] == train).all(-1).any(-1).double().mean().item()
    assert 0 < pairs < 1 and check_held_out(train, held_out, allowed=1.0) == pytest.approx(pairs)


def test_check_held_out_raises_above_the_limit():
    with pytest.raises(OverlapError, match=r"1 of 2 sentences also occur in the training set; at most 40.0 % are allowed"):
        check_held_out(["a", "b"], ["a", "c"], allowed=0.4, name="sentences")


@pytest.mark.parametrize("args, options, message", [
    ((["a"], []), {}, "held_out has no items"), ((["a"], ["a"]), {"allowed": 1.5}, "allowed is 1.5"),
    ((torch.zeros(2, 3), torch.zeros(2, 4)), {}, r"shape \(4,\); expected \(3,\)")])
def test_check_held_out_names_bad_input(args, options, message):
    with pytest.raises(ValueError, match=message):
        check_held_out(*args, **options)
