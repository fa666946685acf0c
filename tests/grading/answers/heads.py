"""Answers to the exercises of chapter 13: heads, and who peeks."""
from __future__ import annotations

import torch

from tests.grading.answers.register import right, wrong


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


@right("find_peeking: pairs of inputs that share all but one position")
def _(layer, T, d):
    generator, found = torch.Generator().manual_seed(11), set()
    for j in range(1, T):
        a = 4 * torch.rand(80, T, d, generator=generator) - 2
        b = a.clone()
        b[:, j] = 4 * torch.rand(80, d, generator=generator) - 2
        moved = (layer(a) - layer(b)).abs().sum((0, 2)) > 1e-5
        found |= {(i, j) for i in range(j) if moved[i]}
    return sorted(found)


@right("find_peeking: positions set to zero, one sequence at a time")
def _(layer, T, d):
    generator, moved = torch.Generator().manual_seed(5), torch.zeros(T, T)
    for _ in range(60):
        x = 2 * torch.randn(1, T, d, generator=generator)
        for j in range(T):
            y = x.clone()
            y[0, j] = 0
            moved[:, j] = torch.maximum(moved[:, j], (layer(x) - layer(y))[0].abs().amax(1).float())
    return [tuple(p) for p in (moved.triu(1) > 1e-5).nonzero().tolist()]


@wrong("find_peeking: sees nothing")
def _(layer, T, d):
    return []


@wrong("find_peeking: suspects everybody")
def _(layer, T, d):
    return [(i, j) for i in range(T) for j in range(i + 1, T)]


@wrong("find_peeking: only the last position is changed")
def _(layer, T, d):
    generator = torch.Generator().manual_seed(2)
    a = 2 * torch.randn(60, T, d, generator=generator)
    b = a.clone()
    b[:, -1] = 2 * torch.randn(60, d, generator=generator)
    return [(i, T - 1) for i in range(T - 1) if (layer(a) - layer(b))[:, i].abs().max() > 1e-6]
