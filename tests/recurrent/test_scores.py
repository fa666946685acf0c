"""The four scores against loops over pairs; selections, hard and soft, and the gradients through them."""
from __future__ import annotations

import pytest
import torch

from course_lib.recurrent import (
    SCORES,
    AdditiveScore,
    BilinearScore,
    DotScore,
    gumbel_softmax,
    hard_selection,
    mean_selection,
    reinforce,
    scores,
    soft_selection,
    sum_selection,
    weights_of,
)
from tests.recurrent import attention_checks as check
from tests.support.random import normal
from tests.support.tensors import same
from tests.support.types import untyped


@pytest.mark.parametrize("name", SCORES)
def test_scores_equal_loops(name):
    check.is_written_out(name)


def test_bilinear_score_equals_torch():
    ours, theirs = BilinearScore(4, 5).double(), torch.nn.Bilinear(4, 5, 1, bias=False).double()
    with torch.no_grad():
        theirs.weight.copy_(ours.W[None])
    q, k = normal(6, 4), normal(6, 5, seed=1)
    same(ours(q, k).diagonal(), theirs(q, k)[:, 0])


@pytest.mark.parametrize("call, error", [
    (lambda: DotScore(4, 5), "key is 5 and query is 4; expected equal sizes"),
    (lambda: AdditiveScore(0), "query is 0; expected at least 1"),
    (lambda: AdditiveScore(3, width=0), "width is 0; expected at least 1"),
    (lambda: BilinearScore(4, 5)(torch.ones(2, 4), torch.ones(3, 4)), r"keys has shape \(3, 4\); expected .*, 5\)"),
    (lambda: scores.make_score("cosine", 4), "score is 'cosine'; expected one of 'dot', 'scaled dot', 'bilinear', 'additive'"),
    (lambda: weights_of(torch.ones(3), torch.ones(3)), "mask has dtype torch.float32; expected torch.bool"),
    (lambda: hard_selection(torch.ones(3), torch.ones(3, 2), k=4), "k is 4; expected 1 to 3, the number of slots"),
    (lambda: reinforce(torch.ones(3), torch.ones(4, 2), torch.sum, 5), r"memory has shape \(4, 2\); expected \(S,\) and \(S, H\)"),
    (lambda: reinforce(torch.ones(3), torch.ones(3, 2), torch.sum, 1, baseline=True), "expected at least 2 with a baseline"),
    (lambda: gumbel_softmax(torch.ones(3), torch.ones(3, 2), torch.sum, 5, temperature=0), "expected num >= 1 and temperature > 0"),
], ids=["dot", "query", "width", "keys", "name", "mask", "k", "memory", "baseline", "temperature"])
def test_bad_input(call, error):
    with untyped(), pytest.raises(ValueError, match=error):
        call()


# --- selection -------------------------------------------------------------------------------------------------------


def test_selections_formulas():
    M, s = normal(2, 5, 3), normal(2, 5, seed=1)
    same(sum_selection(M), M[:, 0] + M[:, 1] + M[:, 2] + M[:, 3] + M[:, 4])
    same(mean_selection(M), sum_selection(M) / 5)
    same(hard_selection(s, M), torch.stack([M[b, s[b].argmax()] for b in range(2)]))
    best = s.argsort(dim=1, descending=True)
    same(hard_selection(s, M, k=3), torch.stack([M[b, best[b, :3]].mean(0) for b in range(2)]))
    same(hard_selection(s, M, k=5), mean_selection(M))
    same(soft_selection(s, M), torch.stack([(s[b].exp() / s[b].exp().sum()) @ M[b] for b in range(2)]))
    same(soft_selection(torch.zeros(2, 5, dtype=torch.float64), M), mean_selection(M))


@pytest.mark.parametrize("k", [1, 2])
def test_hard_selection_gradient(k):
    s, M = normal(5, grad=True), normal(5, 3, seed=1, grad=True)
    c = hard_selection(s, M, k)
    slope, = torch.autograd.grad(c.square().sum(), M, retain_graph=True)
    assert (slope != 0).any(dim=1).sum() == k                        # what was taken learns, the choice does not
    slope, = torch.autograd.grad(c.square().sum(), s, allow_unused=True)
    assert slope is None or (slope == 0).all()
    slope, = torch.autograd.grad(soft_selection(s, M).square().sum(), s)
    assert (slope != 0).all()
