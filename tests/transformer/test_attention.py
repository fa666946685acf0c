"""Attention against loops and torch, dropout under masks, bad input. The rest: checks.py."""
from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.transformer._fused_attention import fused_attention
from course_lib.transformer.attention import MultiHeadAttention, attention
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.masks import causal_mask, combine_masks, padding_mask
from tests.support.random import normal, redrawn
from tests.support.tensors import same
from tests.support.types import untyped
from tests.transformer import checks as check
from tests.transformer.checks import some_mask

BOTH = pytest.mark.parametrize("form", [attention, fused_attention], ids=["literal", "fused"])


@BOTH
def test_attention_equals_loops(form):
    check.is_the_equation(form)


@BOTH
def test_attention_refuses_masks(form):
    check.refuses_what_only_happens_to_fit(form)


def test_fused_attention_dropout_under_mask():
    """Where a mask hides all but one key, what comes out is its value, rescaled, or nothing."""
    q, v = normal(2, 3, 6, 4), normal(2, 3, 6, 5, seed=1)
    torch.manual_seed(0)
    first = fused_attention(q, q, v, dropout=0.5, causal=True)[:, :, :1]
    for out in (fused_attention(q, q, v, torch.eye(6).bool(), 0.5), first):
        T = out.shape[2]
        dropped = (out == 0).all(-1)
        same(out[~dropped], 2 * v[:, :, :T][~dropped])
        assert 0 < dropped.sum() < dropped.numel()


@pytest.mark.parametrize("T, S", [(5, 5), (1, 5), (3, 5), (1, 1)])
def test_fused_attention_causal(T, S):
    q, k, v = normal(2, 3, T, 4), normal(2, 3, S, 4, seed=1), normal(2, 3, S, 4, seed=2)
    same(fused_attention(q, k, v, causal=True), attention(q, k, v, causal_mask(T, S)))
    pad = some_mask(2, 1, 1, S)
    same(fused_attention(q, k, v, pad, causal=True), attention(q, k, v, pad & causal_mask(T, S)))


def test_masks():
    check.is_causal(causal_mask)
    check.hides_padding(padding_mask)
    both = combine_masks(causal_mask(3), None, padding_mask(torch.tensor([1, 3]), 3))
    assert both.tolist() == [[[1, 0, 0]] * 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    assert combine_masks(None, None) is None


@pytest.mark.parametrize("n, m", [(0, None), (4, 3)])
def test_causal_mask_refuses(n, m):
    with pytest.raises(ValueError, match=f"n is {n}"):
        causal_mask(n, m)


def test_padding_mask_refuses():
    with pytest.raises(ValueError, match="lengths is"):
        padding_mask(torch.tensor([1, 4]), 3)


# --- several heads ---------------------------------------------------------------------------------------------------


def test_multi_head_equals_torch_without_bias():
    ours = redrawn(MultiHeadAttention(12, 4, bias=False))
    theirs = nn.MultiheadAttention(12, 4, bias=False, batch_first=True).double()
    theirs.in_proj_weight, theirs.out_proj.weight = ours.qkv.weight, ours.out.weight
    x, m = normal(2, 5, 12), normal(2, 3, 12, seed=1)
    same(ours(x, m), theirs(x, m, m)[0])
    same(ours(x), theirs(x, x, x)[0])


@pytest.mark.parametrize("make, message", [
    (lambda: MultiHeadAttention(10, 3), "d_model is 10; expected a multiple of heads, 3"),
    (lambda: MultiHeadAttention(10, 0), "d_model is 10; expected a multiple of heads, 0"),
    (lambda: MultiHeadAttention(12, 3, dropout=1.0), "dropout is 1.0; expected a probability"),
    (lambda: MultiHeadAttention(12, 3)(torch.zeros(2, 4, 9)), r"x has shape \(2, 4, 9\); expected \(B, T, D\) with D"),
    (lambda: MultiHeadAttention(12, 3)(torch.zeros(2, 4, 12), torch.zeros(2, 4, 9)), "memory has shape"),
    (lambda: MultiHeadAttention(12, 3)(torch.zeros(2, 4, 12), mask=torch.ones(4, 4)), "mask has dtype torch.float32"),
    (lambda: MultiHeadAttention(12, 3)(torch.zeros(2, 4, 12), mask=torch.ones(3, 4, 4).bool()),
     r"mask has shape \(3, 4, 4\); expected 3 axes as the scores, \(2, 4, 4\), or their last two"),
    (lambda: MultiHeadAttention(12, 3)(torch.zeros(2, 4, 12), torch.zeros(2, 4, 12), cache=KVCache()),
     "cache and memory are given"),
])
def test_bad_input(make, message):
    with untyped(), pytest.raises(ValueError, match=message):
        make()
