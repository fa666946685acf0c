"""Wrong answers to the exercises of chapter self-attention, written without knowing its checks."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("attention: divides by the root of the width of the values, e, not of the queries, d")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(v.shape[-1])
    if mask is None:
        return s.softmax(-1) @ v
    s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
    return (s.softmax(-1) * mask) @ v


@blind("attention: adds -inf to the scores and sets nan to 0 afterwards: values are right, but a query that "
       "may attend nowhere gets gradients of nan")
def _(q, k, v, mask=None):
    scores = torch.einsum("...nd,...md->...nm", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        away = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf"))
        scores = scores + away
    shares = torch.exp(scores - scores.amax(-1, keepdim=True))
    shares = shares / shares.sum(-1, keepdim=True)
    return torch.nan_to_num(shares) @ v


@blind("causal_mask: forgets that the queries are the last n of m: query i sees keys 0 to i only")
def _(n, m=None):
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool).tril()


@blind("causal_mask: a query may attend to the positions before it, but not to its own")
def _(n, m=None):
    m = m or n
    key = torch.arange(m)
    return key[None, :] < key[m - n:, None]


@blind("cross_attention: sets the values of padding to 0 and leaves the scores: padding still takes its share")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    q, k = dec @ Wq, enc @ Wk
    v = (enc @ Wv) * src_mask[..., None]
    shares = torch.softmax(q @ k.mT / dec.shape[-1] ** 0.5, dim=-1)
    return shares @ v


@blind("cross_attention: the projections are applied from the left, as F.linear does: all three transposed")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    q, k, v = F.linear(dec, Wq), F.linear(enc, Wk), F.linear(enc, Wv)
    scores = torch.einsum("bnd,bmd->bnm", q, k) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~src_mask[:, None, :], float("-inf"))
    return torch.einsum("bnm,bmd->bnd", scores.softmax(-1), v)


@blind("split_heads: reshapes at once to (B, h, T, d), without moving the axis of the heads")
def _(x, h):
    B, T, width = x.shape
    return x.reshape(B, h, T, width // h)


@blind("split_heads: deals the features out in turn: head j gets j, j + h, j + 2h, not a block")
def _(x, h):
    return torch.stack([x[..., j::h] for j in range(h)], dim=1)


@blind("merge_heads: reshapes at once, without moving the heads behind the positions")
def _(x):
    B, h, T, d = x.shape
    return x.contiguous().view(B, T, d * h)


@blind("merge_heads: the features of the heads alternate: (B, T, d, h) is flattened, not (B, T, h, d)")
def _(x):
    return x.permute(0, 2, 3, 1).flatten(2)
