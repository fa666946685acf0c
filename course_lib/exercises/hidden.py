"""Models of bits whose dependences hide: for exercises that ask who reads whom."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.draws import integer
from course_lib.exercises.remembered import with_rule

Gate = tuple[int, Sequence[int], Tensor, float]   # factor i, variables `at`, pattern of their values, what it adds to the logit


def conditionals_of(W: Tensor, c: Tensor, gates: Sequence[Gate] = ()) -> Callable[[Tensor], Tensor]:
    """The function from x (B, n) to sigmoid(W x + c), where a gate adds to factor i in the states whose variables `at` have
    the values of the pattern, and in no others."""
    def conditionals(x: Tensor) -> Tensor:
        total = F.linear(x.to(W.dtype), W, c)
        for i, at, pattern, added in gates:
            total[:, i] = total[:, i] + added * (x[:, at] == pattern).all(1)
        return total.sigmoid()

    return with_rule(f"conditionals takes x of shape (B, {len(c)}), a tensor of 0 and 1.", conditionals)


def gate(generator, i: int, at: Sequence[int], added: float = 1.5) -> Gate:
    """A gate whose pattern has two zeros and two ones at least: who flips one variable of all zeros, or of all ones, does not
    open it. `at` needs four variables."""
    pattern = torch.zeros(len(at))
    pattern[torch.randperm(len(at), generator=generator)[:integer(generator, 2, len(at) - 2)]] = 1
    return i, at, pattern, added
