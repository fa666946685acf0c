r"""In-context learning: every prompt contains a new task, which the weights cannot store.

A prompt is $x_1 y_1 x_2 y_2 \dots$ with $y = f(x)$, where f is a random map from N symbols to N other symbols, sampled for
each prompt. After k examples the best accuracy for the next y is $1 - (1 - \frac{1}{N})^{k+1}$: the x has occurred with
probability $1 - (1 - \frac{1}{N})^k$, and otherwise a guess is correct with probability $\frac{1}{N}$.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.autoregressive import AutoregressiveModel, evaluating


def draw_prompts(num: int, symbols: int = 6, pairs: int = 14,
                 generator: torch.Generator | None = None,
                 one_to_one: bool = False) -> Int[Tensor, "B T"]:
    """Sample `num` prompts of `pairs` examples, (num, 2 pairs): x in 0..N-1 at even
    positions, f(x) in N..2N-1 at odd ones.

    symbols     N, number of symbols
    one_to_one  whether f is a permutation
    """
    if num < 1 or symbols < 2 or pairs < 1:
        raise ValueError(f"num is {num}, symbols is {symbols} and pairs is {pairs}; "
                         "expected at least 1, 2 and 1")
    if one_to_one:
        maps = torch.rand(num, symbols, generator=generator).argsort(dim=1)      # (B, N)
    else:
        maps = torch.randint(symbols, (num, symbols), generator=generator)
    x = torch.randint(symbols, (num, pairs), generator=generator)    # (B, P)
    return torch.stack([x, symbols + maps.gather(1, x)], dim=2).flatten(1)


def best_possible(symbols: int = 6, pairs: int = 14) -> Float[Tensor, "..."]:
    r"""Best accuracy of predicting y = f(x) after k = 0, ..., P - 1 examples of a random map f, as a tensor (P,).

    It is $1 - (1 - \frac{1}{N})^{k+1}$, where f need not be a permutation.

    symbols  N, number of values of x, and of y
    pairs    P, number of examples in a prompt

    >>> best_possible(2, 3)
    tensor([0.5000, 0.7500, 0.8750])
    """
    if symbols < 2 or pairs < 1:
        raise ValueError(f"symbols is {symbols} and pairs is {pairs}; expected symbols >= 2 and pairs >= 1")
    return 1 - (1 - 1 / symbols) ** torch.arange(1.0, pairs + 1)


def seen_before(prompts: Int[Tensor, "B T"]) -> Bool[Tensor, "B P"]:
    """Return a mask (B, P) of the P pairs of each prompt, True where x occurred before, so that its y is determined.

    prompts  (B, 2 P), as `draw_prompts` returns them
    """
    x = prompts[:, ::2]                                              # (B, P)
    return (x[:, :, None] == x[:, None, :]).tril(-1).any(dim=2)


@torch.no_grad()
def right_by_examples(model: AutoregressiveModel, prompts: Int[Tensor, "B T"]) -> Bool[Tensor, "B P"]:
    """Return a mask (B, P), True where the model predicts y correctly; column k is the prediction after k examples.

    prompts  (B, 2 P), as `draw_prompts` returns them
    """
    with evaluating(model):
        logits = model(prompts[:, :-1])[:, ::2]                      # after each x, (B, P, V)
    return logits.argmax(dim=-1) == prompts[:, 1::2]


def answers(prompts: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
    """Return a mask (B, T), True at every y of the prompts (B, T): `answer` of `AnswerLoss`, because x is random."""
    return (torch.arange(prompts.shape[1]) % 2 == 1).expand_as(prompts)
