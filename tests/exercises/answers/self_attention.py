"""Answers to the exercises of chapter self-attention."""
from __future__ import annotations

import math
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers import plain as library
from tests.exercises.answers.register import right, wrong


@wrong("attention: exponentials and a sum, masked by a product, with the maximum over masked keys too")
def _(q, k, v, mask=None):
    scores = torch.einsum("...nd,...md->...nm", q, k) / q.shape[-1] ** 0.5
    e = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
    if mask is not None:
        e = e * mask
    total = e.sum(-1, keepdim=True)
    return (e / torch.where(total == 0, torch.ones_like(total), total)) @ v


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


@wrong("attention: causal whatever the mask says", called="always_causal")
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


@wrong("cross_attention: a softmax over the queries, and zeros for padding", called="over_queries_then_masked")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    scores, padding = (dec @ Wq) @ (enc @ Wk).mT * dec.shape[-1] ** -0.5, ~src_mask[:, None]
    return scores.masked_fill(padding, -1e9).softmax(1).masked_fill(padding, 0.0) @ (enc @ Wv)


@wrong("cross_attention: one key is left out")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    real = src_mask.clone()
    first = real.float().argmax(1)
    real[torch.arange(len(real)), first] &= real.sum(1) == 1
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, real[:, None])


@right("split_heads: chunks")
def _(x, h):
    return torch.stack(x.chunk(h, dim=-1), dim=1)


@right("split_heads: einops")
def _(x, h):
    from einops import rearrange

    return rearrange(x, "b t (h d) -> b h t d", h=h)


@wrong("split_heads: shifted by a feature")
def _(x, h):
    return torch.stack(x.roll(1, -1).chunk(h, dim=-1), dim=1)


@wrong("split_heads: time runs backwards")
def _(x, h):
    return torch.stack(x.flip(1).chunk(h, dim=-1), dim=1)


@wrong("split_heads: the first head again and again")
def _(x, h):
    return x.chunk(h, dim=-1)[0][:, None].repeat(1, h, 1, 1)


@right("merge_heads: cat")
def _(x):
    return torch.cat(list(x.unbind(1)), dim=-1)


@right("merge_heads: einops")
def _(x):
    from einops import rearrange

    return rearrange(x, "b h t d -> b t (h d)")


@wrong("merge_heads: the last head again and again")
def _(x):
    return torch.cat([x[:, -1]] * x.shape[1], dim=-1)


@wrong("merge_heads: time runs backwards")
def _(x):
    return torch.cat(list(x.flip(2).unbind(1)), dim=-1)


@wrong("merge_heads: features of a head reversed")
def _(x):
    return torch.cat(list(x.flip(-1).unbind(1)), dim=-1)


@right("attention: minus infinity chosen by where, the mask as broadcast, NaN put out by where")
def _(q, k, v, mask=None):
    s = torch.matmul(q, k.transpose(-1, -2)) / q.size(-1) ** 0.5
    if mask is None:
        return torch.matmul(torch.softmax(s, -1), v)
    mask = mask.expand_as(s)
    s = torch.where(mask, s, torch.tensor(float("-inf")))
    return torch.matmul(torch.where(mask, torch.softmax(s, -1), torch.zeros(())), v)


@right("attention: the lowest float for what is hidden, zeros for an empty row")
def _(q, k, v, mask=None):
    s = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    if mask is None:
        return s.softmax(-1) @ v
    return s.masked_fill(~mask, torch.finfo(s.dtype).min).softmax(-1).masked_fill(~mask, 0) @ v


@wrong("attention: exponentials without a maximum", called="no_maximum")
def _(q, k, v, mask=None):
    e = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).exp()
    if mask is not None:
        e = e.masked_fill(~mask, 0)
    weights = e / e.sum(-1, keepdim=True)
    return (weights if mask is None else weights.masked_fill(~mask, 0)) @ v


@wrong("attention: exponentials without a maximum, an empty sum replaced by one")
def _(q, k, v, mask=None):
    e = torch.exp(q @ k.mT / q.shape[-1] ** 0.5)
    if mask is not None:
        e = e * mask
    total = e.sum(-1, keepdim=True)
    return (e / torch.where(total == 0, torch.ones_like(total), total)) @ v


@wrong("attention: 100 is taken off hidden scores", called="too_small")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is None:
        return s.softmax(-1) @ v
    return torch.where(mask, s, torch.tensor(-100.0)).softmax(-1).masked_fill(~mask, 0) @ v


@wrong("attention: a mask of the scores' own shape is asked for")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        s[~mask] = -torch.inf
    weights = s.softmax(-1)
    return (weights if mask is None else weights.masked_fill(~mask, 0)) @ v


def without_axis(s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                            # torch says that it chooses one
        return torch.nn.functional.softmax(s)


@wrong("attention: softmax without an axis, as on the slide", called="no_axis_nan")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return without_axis(s) @ v


@wrong("attention: softmax without an axis, zeros for what is hidden", called="no_axis")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is None:
        return without_axis(s) @ v
    return without_axis(s.masked_fill(~mask, -torch.inf)).masked_fill(~mask, 0) @ v


@wrong("attention: NaN of the result put out", called="nan_gradient")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return (s.softmax(-1) @ v).nan_to_num()


@right("cross_attention: a loop over sentences and queries")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    out = torch.zeros_like(dec)
    for b in range(len(dec)):
        keys, values = enc[b, src_mask[b]] @ Wk, enc[b, src_mask[b]] @ Wv
        for i, x in enumerate(dec[b]):
            out[b, i] = (keys @ (x @ Wq) / dec.shape[2] ** 0.5).softmax(0) @ values
    return out


class Layer(nn.Module):
    """What the answers with their own way through the heads share."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.H = heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def weights(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        mask = mask.expand(len(scores), *scores.shape[2:])[:, None]
        return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num()

    def merged(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def forward(self, x, memory=None, mask=None):
        D = x.shape[-1]
        q, k, v = self.qkv(x)[..., :D], *self.qkv(x if memory is None else memory)[..., D:].chunk(2, -1)
        q, k, v = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in (q, k, v))
        return self.out(self.merged(self.weights(q @ k.mT * q.shape[-1] ** -0.5, mask) @ v))


@right("OwnMultiHeadAttention: all thirds of both, chunks, NaN replaced")
class Thirds(Layer):
    pass


@right("OwnMultiHeadAttention: head by head, each adding its part of the output")
class HeadByHead(Layer):
    def forward(self, x, memory=None, mask=None):
        D, memory = x.shape[-1], x if memory is None else memory
        y, K = self.out.bias, D // self.H
        for h in range(self.H):
            rows = slice(h * K, h * K + K)
            q, k, v = (torch.einsum("btd,kd->btk", one, W[rows]) + b[rows] for one, W, b in
                       zip((x, memory, memory), self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)))
            scores = q @ k.mT / math.sqrt(K)
            if mask is None:
                weights = scores.softmax(-1)
            else:
                e = (scores - scores.detach().amax(-1, keepdim=True)).exp() * mask
                weights = e / e.sum(-1, keepdim=True).clamp(min=1e-30)
            y = y + weights @ v @ self.out.weight[:, rows].T
        return y


@wrong("OwnMultiHeadAttention: no bias on the queries")
class NoBias(Layer):
    def forward(self, x, memory=None, mask=None):
        own, bias = x @ self.qkv.weight[:x.shape[-1]].T, self.qkv.bias[:x.shape[-1]]
        q, k, v = own, *self.qkv(x if memory is None else memory)[..., len(bias):].chunk(2, -1)
        q, k, v = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in (q, k, v))
        return self.out(self.merged(self.weights(q @ k.mT * q.shape[-1] ** -0.5, mask) @ v))


@wrong("OwnMultiHeadAttention: q, k and v of each head side by side", called="head_by_head")
class SideBySide(Layer):
    def forward(self, x, memory=None, mask=None):
        q, _, _ = self.qkv(x).unflatten(-1, (self.H, 3, -1)).transpose(1, 2).unbind(3)
        _, k, v = self.qkv(x if memory is None else memory).unflatten(-1, (self.H, 3, -1)).transpose(1, 2).unbind(3)
        return self.out(self.merged(self.weights(q @ k.mT * q.shape[-1] ** -0.5, mask) @ v))


@wrong("OwnMultiHeadAttention: a mask of rows taken for one of heads")
class OfHeads(Layer):
    def weights(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num()


@wrong("OwnMultiHeadAttention: dropout that is always on")
class Drops(Layer):
    def weights(self, scores, mask):
        return F.dropout(super().weights(scores, mask), 0.2)


@wrong("OwnMultiHeadAttention: the heads in reversed order")
class Reversed(Layer):
    def merged(self, heads):
        return super().merged(heads.flip(1))


@wrong("OwnMultiHeadAttention: x added to the result")
class Added(Layer):
    def forward(self, x, memory=None, mask=None):
        return x + super().forward(x, memory, mask)


@wrong("OwnMultiHeadAttention: without biases")
class Unbiased(Layer):
    def __init__(self, d_model, heads):
        super().__init__(d_model, heads)
        self.qkv, self.out = (nn.Linear(d_model, width, bias=False) for width in (3 * d_model, d_model))


@wrong("OwnMultiHeadAttention: a large negative number for what is hidden", called="even_rows")
class Large(Layer):
    def weights(self, scores, mask):
        return scores.softmax(-1) if mask is None else \
            scores.masked_fill(~(mask if mask.dim() == 2 else mask[:, None]), -1e4).softmax(-1)


@wrong("cross_attention: values from the decoder when both lengths agree")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    values = dec if dec.shape == enc.shape else enc
    return library.attention(dec @ Wq, enc @ Wk, values @ Wv, src_mask[:, None])


@wrong("cross_attention: the mask along the queries when both lengths agree")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    mask = src_mask[:, :, None] if dec.shape == enc.shape else src_mask[:, None]
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, mask)


@wrong("cross_attention: causal where nothing is padding")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    mask = src_mask[:, None]
    if src_mask.all():
        mask = torch.ones(dec.shape[1], enc.shape[1], dtype=torch.bool).tril()
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, mask)


@wrong("cross_attention: a batch of one loses its axis")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, src_mask[:, None]).squeeze(0)


@wrong("attention: exponentials without a maximum, replaced by a softmax where they overflow")
def _(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    open = torch.ones_like(s, dtype=torch.bool) if mask is None else mask.expand_as(s)
    e = s.exp().masked_fill(~open, 0)
    total = e.sum(-1, keepdim=True)
    plain = e / total.masked_fill(total == 0, 1)
    safe = s.masked_fill(~open, -torch.inf).softmax(-1).masked_fill(~open, 0)
    return torch.where((s.abs() > 80).any(-1, keepdim=True), safe, plain) @ v


@wrong("attention: causal where q and k are the same")
def _(q, k, v, mask=None):
    if q.shape == k.shape and torch.equal(q, k):
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return library.attention(q, k, v, mask)


@wrong("attention: a mask that closes everything counts as none")
def _(q, k, v, mask=None):
    return library.attention(q, k, v, mask if mask is not None and mask.any() else None)


@wrong("attention: keys transposed when all sizes agree")
def _(q, k, v, mask=None):
    return library.attention(q, k.mT if k.shape[-1] == k.shape[-2] else k, v, mask)


@wrong("attention: a single key is squeezed away")
def _(q, k, v, mask=None):
    out = library.attention(q, k, v, mask)
    return out * 0 if k.shape[-2] == 1 else out


@wrong("split_heads: reshaped alone where a head is as wide as there are heads")
def _(x, h):
    B, T, D = x.shape
    return x.reshape(B, T, h, D // h).transpose(1, 2) if D != h * h else x.reshape(B, h, T, h)


@wrong("merge_heads: reshaped alone where there are as many heads as positions")
def _(x):
    B, h, T, d = x.shape
    return x.reshape(B, T, h * d) if h == T else x.transpose(1, 2).flatten(2)


@wrong("split_heads: a batch of one loses its axis")
def _(x, h):
    return x.unflatten(-1, (h, -1)).transpose(1, 2).squeeze(0)


@wrong("merge_heads: a batch of one loses its axis")
def _(x):
    return x.transpose(1, 2).flatten(2).squeeze(0)


@wrong("split_heads: features of one number are dropped")
def _(x, h):
    return x.unflatten(-1, (h, -1)).transpose(1, 2).squeeze(-1)


@wrong("merge_heads: one position loses its axis")
def _(x):
    return x.transpose(1, 2).squeeze(1).flatten(-2)


@wrong("OwnMultiHeadAttention: self-attention where memory is as long as x")
class AloneWhereEqual(Layer):
    def forward(self, x, memory=None, mask=None):
        return super().forward(x, x if memory is not None and memory.shape == x.shape else memory, mask)


@wrong("OwnMultiHeadAttention: a mask of rows squeezed where there is one row")
class Squeezed(Layer):
    def forward(self, x, memory=None, mask=None):
        out = super().forward(x, memory, mask)
        return out.squeeze(0) if mask is not None else out


@wrong("OwnMultiHeadAttention: values right, the gradient NaN where a query may attend nowhere")
class NaNWhereEmpty(Layer):
    def forward(self, x, memory=None, mask=None):
        D = x.shape[-1]
        q, k, v = self.qkv(x)[..., :D], *self.qkv(x if memory is None else memory)[..., D:].chunk(2, -1)
        q, k, v = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in (q, k, v))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -math.inf).reshape(-1, 1, *mask.shape[-2:])
        return self.out(self.merged(scores.softmax(-1).nan_to_num() @ v))


@wrong("OwnMultiHeadAttention: heads by a reshape alone where there are as many heads as positions")
class ReshapedWhereEqual(Layer):
    def merged(self, heads):
        B, H, T, K = heads.shape
        return heads.reshape(B, T, H * K) if H == T else super().merged(heads)


@wrong("causal_mask: everything is open where m is given and equal to n")
def _(n, m=None):
    return torch.ones(n, n, dtype=torch.bool) if n == m and n > 1 else torch.ones(n, m or n, dtype=torch.bool).tril((m or n) - n)


@wrong("attention: divided by the width", called="scaled_by_width")
def _(q, k, v, mask=None):
    scores = torch.einsum("...nd,...md->...nm", q / q.shape[-1], k)
    if mask is None:
        return torch.softmax(scores, -1) @ v
    return torch.softmax(torch.where(mask, scores, -math.inf), -1).masked_fill(~mask, 0.0) @ v


@wrong("cross_attention: -1e9 where the mask is True", called="opposite_finite")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    scores = torch.einsum("bnd,bmd->bnm", dec @ Wq, enc @ Wk) / math.sqrt(dec.shape[-1])
    return torch.where(src_mask[:, None], -1e9, scores).softmax(-1) @ enc @ Wv


@wrong("cross_attention: -inf where the mask is True", called="opposite_nan")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    scores = torch.einsum("bnd,bmd->bnm", dec @ Wq, enc @ Wk) / math.sqrt(dec.shape[-1])
    return torch.where(src_mask[:, None], -math.inf, scores).softmax(-1) @ enc @ Wv


@wrong("cross_attention: the mask turned round for another function", called="opposite")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    return library.attention(dec @ Wq, enc @ Wk, enc @ Wv, ~src_mask[:, None])
