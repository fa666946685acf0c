"""Answers to the exercises of chapter 16: broken caches."""
from __future__ import annotations

import math

import torch

from tests.grading.answers.register import right, wrong


@right("find_broken_caches: many random texts of every length")
def _(full, candidates, V, n):
    generator, broken = torch.Generator().manual_seed(5), set()
    for T in range(2, n + 1):
        for P in range(1, T + 1):
            tokens = torch.randint(V, (T,), generator=generator).tolist()
            if T > 3:
                tokens[-1] = tokens[0]
            right = full(tokens)[P - 1:].log_softmax(-1)
            for c, candidate in enumerate(candidates):
                if not torch.allclose(candidate(tokens, P).log_softmax(-1), right, atol=1e-3):
                    broken.add(c)
    return sorted(broken)


@right("find_broken_caches: total variation, text by text")
def _(full, candidates, V, n):
    texts = [[i % V for i in range(n)], [0] * n, [i * i % V for i in range(n)], [3, 1] * (n // 2)]

    def differs(candidate):
        return any((candidate(x, P).softmax(-1) - full(x)[P - 1:].softmax(-1)).abs().sum(-1).max() > 1e-3
                   for x in texts for P in (1, 2, 3, n // 2))

    return [c for c, candidate in enumerate(candidates) if differs(candidate)]


@right("find_broken_caches: writes into what it is given")
def _(full, candidates, V, n):
    generator, broken = torch.Generator().manual_seed(3), set()
    for _ in range(4):
        tokens = torch.randint(V, (n,), generator=generator)
        for c, candidate in enumerate(candidates):
            for P in (1, 3):
                right = full(tokens)[P - 1:]
                gap = candidate(tokens, P).exp_()
                gap.div_(gap.sum(-1, keepdim=True)).sub_(right.softmax(-1)).abs_()
                right.zero_()
                if gap.max() > 1e-4:
                    broken.add(c)
    return sorted(broken)


@wrong("find_broken_caches: suspects nobody")
def _(full, candidates, V, n):
    return []


@wrong("find_broken_caches: suspects everybody")
def _(full, candidates, V, n):
    return list(range(len(candidates)))


@wrong("find_broken_caches: the first broken one alone")
def _(full, candidates, V, n):
    tokens = [math.isqrt(7 * i) % V for i in range(n)]
    for c, candidate in enumerate(candidates):
        for P in (1, 2, 3):
            if (candidate(tokens, P).softmax(-1) - full(tokens)[P - 1:].softmax(-1)).abs().max() > 1e-4:
                return [c]
    return []
