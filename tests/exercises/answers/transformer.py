"""Answers to the exercises of chapter transformer."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers.register import right, wrong


@right("layer_norm: mean of squares minus square of mean, in float64")
def _(x, gamma, beta, eps=1e-5):
    z = x.double()
    mean = z.mean(-1, keepdim=True)
    variance = (z * z).mean(-1, keepdim=True) - mean * mean
    return ((z - mean) * (variance + eps).rsqrt() * gamma + beta).to(x.dtype)


@wrong("layer_norm: root mean square")
def _(x, gamma, beta, eps=1e-5):
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + beta


@wrong("layer_norm: absolute deviation")
def _(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / (centred.abs().mean(-1, keepdim=True) + eps) + beta


@wrong("layer_norm: one plus gamma")
def _(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return (1 + gamma) * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta


@right("find_placements: name by name")
def _(blocks, f, d):
    x = torch.linspace(-5, 7, 4 * d, dtype=torch.float64).reshape(4, d).sin() * 4 + 2
    def ln(z):
        return F.layer_norm(z, (d,))

    names = []
    for block in blocks:
        out = block(x)
        if torch.allclose(out, ln(x + f(x)), atol=1e-5):
            names.append("post")
        elif torch.allclose(out, x + f(ln(x)), atol=1e-5):
            names.append("pre")
        else:
            names.append("inner" if torch.allclose(out, x + ln(f(x)), atol=1e-5) else "none")
    return names


@right("find_placements: by what is left over")
def _(blocks, f, d):
    x = 2 * torch.randn(5, d, generator=torch.Generator().manual_seed(4)).double() - 1
    left = {"post": F.layer_norm(x + f(x), (d,)), "pre": x + f(F.layer_norm(x, (d,))), "inner": x + F.layer_norm(f(x), (d,))}
    return [next((name for name, want in left.items() if (block(x) - want).norm() < 1e-4), "none") for block in blocks]


@wrong("find_placements: all post")
def _(blocks, f, d):
    return ["post" for _ in blocks]


@wrong("find_placements: a loose tolerance")
def _(blocks, f, d):
    x = 3 * torch.randn(6, d, generator=torch.Generator().manual_seed(4)).double() + 1
    left = {"post": F.layer_norm(x + f(x), (d,)), "pre": x + f(F.layer_norm(x, (d,))), "inner": x + F.layer_norm(f(x), (d,))}
    return [next((name for name, want in left.items() if (block(x) - want).abs().max() < 0.8), "none") for block in blocks]


@wrong("find_placements: other words")
def _(blocks, f, d):
    return ["after" for _ in blocks]


@wrong("layer_norm: torch's default eps", called="own_eps")
def _(x, gamma, beta, eps=1e-5):
    variance, mean = torch.var_mean(x, -1, keepdim=True, correction=0)
    return gamma * (x - mean) * (variance + 1e-5).rsqrt() + beta


@wrong("layer_norm: 1e-8 written down", called="own_eps")
def _(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    return gamma * (x - mean) / (((x - mean) ** 2).mean(-1, keepdim=True) + 1e-8) ** 0.5 + beta


@wrong("layer_norm: no eps at all", called="no_eps")
def _(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False) + beta


def placed(blocks, f, x, tolerance):
    def ln(z):
        return (z - z.mean(-1, keepdim=True)) / (z.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()

    wanted = {"post": ln(x + f(x)), "pre": x + f(ln(x)), "inner": x + ln(f(x))}
    return [next((name for name, want in wanted.items() if (block(x) - want).abs().max() < tolerance), "none")
            for block in blocks]


@right("find_placements: plain normal draws, in float32")
def _(blocks, f, d):
    return placed(blocks, f, torch.randn(8, d, generator=torch.Generator().manual_seed(6)), 1e-4)


@right("find_placements: a few small rows")
def _(blocks, f, d):
    return placed(blocks, f, 0.5 * torch.randn(3, d, generator=torch.Generator().manual_seed(2)).double(), 1e-4)


@right("find_placements: five times as wide")
def _(blocks, f, d):
    return placed(blocks, f, 5 * torch.randn(8, d, generator=torch.Generator().manual_seed(2)).double() + 2, 2e-5)


@wrong("find_placements: a hundredth is let pass", called="loose")
def _(blocks, f, d):
    return placed(blocks, f, torch.randn(4, d, generator=torch.Generator().manual_seed(2)).double() * 2 + 1, 1e-2)


@wrong("find_placements: capital letters")
def _(blocks, f, d):
    x = torch.randn(6, d, generator=torch.Generator().manual_seed(0)).double()
    return [name.capitalize() for name in placed(blocks, f, x, 1e-4)]


class OwnHeads(nn.Module):
    """Multi-head attention, with einsum."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.H = heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, memory, hidden):
        D = x.shape[-1]
        q, k, v = self.qkv(x)[..., :D], self.qkv(memory)[..., D:2 * D], self.qkv(memory)[..., 2 * D:]
        q, k, v = (one.unflatten(-1, (self.H, -1)) for one in (q, k, v))
        scores = torch.einsum("bthk,bshk->bhts", q, k) / (D // self.H) ** 0.5
        weights = scores.masked_fill(hidden[:, None], -1e9).softmax(-1)
        return self.out(torch.einsum("bhts,bshk->bthk", weights, v).flatten(2))


class Block(nn.Module):
    """What the decoder blocks share; each wrong one changes a step."""

    def __init__(self, d_model, heads, d_ff, norm):
        super().__init__()
        self.attention, self.cross_attention = OwnHeads(d_model, heads), OwnHeads(d_model, heads)
        self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.pre = norm == "pre"

    def future(self, T):
        return torch.ones(1, T, T, dtype=torch.bool).triu(1)

    def hidden(self, x, memory, memory_mask):
        if memory_mask is None:
            memory_mask = torch.ones(memory.shape[:2], dtype=torch.bool)
        return ~memory_mask[:, None].expand(-1, x.shape[1], -1)

    def feed(self, x):
        return self.narrow(self.widen(x).clamp(min=0))

    def forward(self, x, memory, memory_mask=None):
        own, other = self.future(x.shape[1]), self.hidden(x, memory, memory_mask)
        if self.pre:
            y = self.norm1(x)
            x = x + self.attention(y, y, own)
            x = x + self.cross_attention(self.norm2(x), memory, other)
            return x + self.feed(self.norm3(x))
        x = self.norm1(x + self.attention(x, x, own))
        x = self.norm2(x + self.cross_attention(x, memory, other))
        return self.norm3(x + self.feed(x))


@right("OwnDecoderBlock: six lines, einsum, what is hidden in place of what is seen")
class SixLines(Block):
    pass


@right("OwnDecoderBlock: the pre arrangement alone, post made of it")
class Sublayers(Block):
    def forward(self, x, memory, memory_mask=None):
        own, other = self.future(x.shape[1]), self.hidden(x, memory, memory_mask)
        steps = [(self.norm1, lambda y: self.attention(y, y, own)),
                 (self.norm2, lambda y: self.cross_attention(y, memory, other)), (self.norm3, self.feed)]
        for norm, layer in steps:
            before, after = (norm, nn.Identity()) if self.pre else (nn.Identity(), norm)
            x = after(x + layer(before(x)))
        return x


@wrong("OwnDecoderBlock: a position does not see itself")
class Blind(Block):
    def future(self, T):
        return torch.ones(1, T, T, dtype=torch.bool).triu(0)


@wrong("OwnDecoderBlock: only the last token of memory is padding")
class LastHidden(Block):
    def hidden(self, x, memory, memory_mask):
        hidden = super().hidden(x, memory, None).clone()
        hidden[..., -1] = memory_mask is not None
        return hidden


@wrong("OwnDecoderBlock: a leaky ReLU")
class Leaky(Block):
    def feed(self, x):
        return self.narrow(F.leaky_relu(self.widen(x), 0.1))


@wrong("OwnDecoderBlock: the network comes before the memory")
class FeedsFirst(Block):
    def forward(self, x, memory, memory_mask=None):
        own, other = self.future(x.shape[1]), self.hidden(x, memory, memory_mask)
        if self.pre:
            x = x + self.attention(self.norm1(x), self.norm1(x), own)
            x = x + self.feed(self.norm3(x))
            return x + self.cross_attention(self.norm2(x), memory, other)
        x = self.norm1(x + self.attention(x, x, own))
        x = self.norm3(x + self.feed(x))
        return self.norm2(x + self.cross_attention(x, memory, other))


@wrong("OwnDecoderBlock: post whatever is asked")
class AlwaysPost(Block):
    def __init__(self, d_model, heads, d_ff, norm):
        super().__init__(d_model, heads, d_ff, "post")


@wrong("layer_norm: the square of a root whose gradient at 0 is NaN")
def _(x, gamma, beta, eps=1e-5):
    deviation = x.var(-1, keepdim=True, correction=0).sqrt()
    return gamma * (x - x.mean(-1, keepdim=True)) / (deviation ** 2 + eps).sqrt() + beta


@wrong("layer_norm: gamma along the rows where there are as many as features")
def _(x, gamma, beta, eps=1e-5):
    rows = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
    return (gamma[:, None] if x.shape[-2:] == 2 * x.shape[-1:] else gamma) * rows + beta


@wrong("layer_norm: a single feature is returned as it is")
def _(x, gamma, beta, eps=1e-5):
    if x.shape[-1] == 1:
        return x
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() + beta


@wrong("OwnDecoderBlock: the memory is causal where it is as long as x")
class CausalWhereEqual(Block):
    def hidden(self, x, memory, memory_mask):
        hidden = super().hidden(x, memory, memory_mask)
        return hidden | self.future(x.shape[1]) if x.shape == memory.shape else hidden


@wrong("layer_norm: eps added to the standard deviation", called="eps_outside")
def _(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps) * gamma + beta


@wrong("layer_norm: eps added to the root of the variance", called="eps_outside")
def _(x, gamma, beta, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    return centered / (centered.square().mean(-1, keepdim=True).sqrt() + eps) * gamma + beta


@wrong("OwnDecoderBlock: pre normalizes everything", called="memory_normalized_in_pre")
class NormalizesAll(Block):
    def forward(self, x, memory, memory_mask=None):
        return super().forward(x, self.norm2(memory) if self.pre else memory, memory_mask)
