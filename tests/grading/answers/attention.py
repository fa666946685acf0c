"""Answers to the exercises of chapter 13: attention, its causal mask, another sequence."""
from __future__ import annotations

import math

import torch

from course_lib.transformer import attention as library
from tests.grading.answers.register import right, wrong


@right("attention: exponentials and a sum, masked by a product")
def _(q, k, v, mask=None):
    scores = torch.einsum("...nd,...md->...nm", q, k) / q.shape[-1] ** 0.5
    e = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
    if mask is not None:
        e = e * mask
    total = e.sum(-1, keepdim=True)
    return (e / torch.where(total == 0, torch.ones_like(total), total)) @ v


@right("attention: the library's")
def _(q, k, v, mask=None):
    return library.attention(q, k, v, mask)


@right("attention: query by query")
def _(q, k, v, mask=None):
    rows = []
    for i in range(q.shape[-2]):
        s = (q[..., i:i + 1, :] * k).sum(-1) / math.sqrt(k.shape[-1])
        if mask is not None:
            s = torch.where(mask[..., i, :], s, -torch.inf)
        a = torch.softmax(s, -1)
        a = torch.where(a.isnan(), 0.0, a) if mask is None else a.masked_fill(~mask[..., i, :], 0.0)
        rows.append((a[..., None] * v).sum(-2))
    return torch.stack(rows, -2)


@wrong("attention: causal whatever the mask says")
def _(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    own = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~own, -torch.inf).softmax(-1) @ v


@wrong("attention: sigmoids instead of a softmax")
def _(q, k, v, mask=None):
    weights = torch.sigmoid(q @ k.mT / q.shape[-1] ** 0.5)
    return (weights if mask is None else weights * mask) @ v


@wrong("attention: the hardest choice")
def _(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.nn.functional.one_hot(scores.argmax(-1), k.shape[-2]).to(v.dtype) @ v


@wrong("attention: right in value, without a gradient")
def _(q, k, v, mask=None):
    with torch.no_grad():
        return library.attention(q, k, v, mask)


@right("causal_mask: tril with an offset")
def _(n, m=None):
    m = n if m is None else m
    return torch.tril(torch.ones(n, m), diagonal=m - n).bool()


@right("causal_mask: the last rows of the square one")
def _(n, m=None):
    m = m or n
    return torch.ones(m, m, dtype=torch.bool).tril()[m - n:]


@wrong("causal_mask: a window of two")
def _(n, m=None):
    m = n if m is None else m
    mask = torch.ones(n, m, dtype=torch.bool)
    return mask.tril(m - n) & mask.triu(m - n - 1)


@wrong("causal_mask: one earlier than the first queries")
def _(n, m=None):
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool).tril(-2)


@wrong("causal_mask: transposed sizes")
def _(n, m=None):
    m = n if m is None else m
    return torch.ones(m, n, dtype=torch.bool).tril()


@right("cross_attention: sentence by sentence, real tokens only")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    out = []
    for z, h, real in zip(dec, enc, src_mask):
        h = h[real]
        out.append(torch.softmax((z @ Wq) @ (h @ Wk).T / math.sqrt(z.shape[-1]), dim=-1) @ (h @ Wv))
    return torch.stack(out)


@right("cross_attention: the library's function")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, src_mask[:, None])


@wrong("cross_attention: self-attention of the decoder")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    return library.attention(dec @ Wq, dec @ Wk, dec @ Wv)


@wrong("cross_attention: the mean of the real values")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    weights = src_mask / src_mask.sum(1, keepdim=True)
    return (weights.to(enc.dtype)[:, None] @ (enc @ Wv)).expand_as(dec)


@wrong("cross_attention: scaled by the number of keys")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    scores = (dec @ Wq) @ (enc @ Wk).mT / enc.shape[1] ** 0.5
    return scores.masked_fill(~src_mask[:, None], -torch.inf).softmax(-1) @ (enc @ Wv)


@wrong("cross_attention: one key is left out")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    real = src_mask.clone()
    first = real.float().argmax(1)
    real[torch.arange(len(real)), first] &= real.sum(1) == 1
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, real[:, None])
