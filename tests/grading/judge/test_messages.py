"""Messages that no twin can give, since what they explain is left to chance: a tie, a random input, a rounding error."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.grading import EXERCISES, evaluate


@pytest.mark.parametrize("seed", range(3))
def test_a_dropped_tie_is_explained_whichever_of_the_two_it_was(seed):
    def by_places(logits, k):
        best = logits.topk(min(k, logits.shape[-1]))
        return torch.full_like(logits, -math.inf).scatter(-1, best.indices, best.values)

    def keeps_the_later(logits, k):
        rank = logits.flip(-1).sort(dim=-1, descending=True, stable=True).indices[..., :k]
        keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.shape[-1] - 1 - rank, True)
        return logits.masked_fill(~keep, -math.inf)

    for answer in (by_places, keeps_the_later):
        report = evaluate("top_k_filter", answer, seed)
        assert report.state == "wrong_value"
        assert report.message == EXERCISES["top_k_filter"].misconceptions["ties_dropped"]


@pytest.mark.parametrize("seed", range(3))
def test_one_random_input_is_told_how_many_paths_it_missed(seed):
    def one_input(layer, T, d):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(1, T, d, generator=generator)
        before, found = layer(x), []
        for j in range(1, T):
            other = x.clone()
            other[:, j] = torch.randn(d, generator=generator)
            found += [(i, j) for i in range(j) if (layer(other) - before)[0, i].abs().max() > 1e-6]
        return sorted(found)

    report = evaluate("find_peeking", one_input, seed)
    assert report.state == "wrong_value" and report.misconception is None
    assert "misses" in report.message and "certain inputs" in report.message


def test_what_is_no_pair_is_called_so():
    report = evaluate("find_peeking", lambda layer, T, d: ["x_1 reads x_2"], 0)
    assert "pairs (i, j)" in report.message


def test_exact_comparison_of_inner_products_is_explained():
    def exact(encode, d, n):
        pairs = encode(torch.arange(n)).reshape(n, d // 2, 2)
        products = torch.einsum("kic,jic->ikj", pairs, pairs)
        return [i for i in range(d // 2) if (products[i, 1:, 1:] != products[i, :-1, :-1]).any()]

    report = evaluate("find_position_fault", exact, 0)
    assert report.misconception == "every_pair"
