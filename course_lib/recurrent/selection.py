r"""Four ways to make one vector c of a memory $M = \{h_1, \dots, h_S\}$, and the gradients that get through the hard one.

sum, mean    every slot counts alike
hard         one slot, or k of them: those of the largest scores
soft         all slots, in shares that sum to one

The scores of a soft selection learn by back-propagation. Those of a hard one get a gradient of exactly 0: what is chosen
does not change with a small change of the scores. Drawn at random instead, $P(\tau) = \mathrm{softmax}(s)_\tau$, the
choice has an *expected* loss, $\sum_\tau P(\tau)\, L(h_\tau)$, and that has a gradient; the functions below compute it or
estimate it from draws.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from course_lib.recurrent.scores import context_of, weights_of

Loss = Callable[[Tensor], Tensor]                                    # of c (N, H), one number for each row: (N,)


def sum_selection(memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    r"""$c = \sum_\tau h_\tau$."""
    return memory.sum(dim=-2)


def mean_selection(memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    r"""$c = \frac1S \sum_\tau h_\tau$."""
    return memory.mean(dim=-2)


def hard_selection(scores: Float[Tensor, "... S"], memory: Float[Tensor, "... S H"], k: int = 1) -> Float[Tensor, "... H"]:
    r"""$c = \frac{1}{\sum_\tau \alpha_\tau} \sum_\tau \alpha_\tau h_\tau$ with $\alpha_\tau \in \{0, 1\}$.

    k  slots that are taken, those of the largest scores: 1 is one-hot, more is multi-hot

    >>> hard_selection(torch.tensor([0., 2., 1.]), torch.tensor([[1.], [5.], [9.]]), k=2)
    tensor([7.])
    """
    if not 1 <= k <= scores.shape[-1]:
        raise ValueError(f"k is {k}; expected 1 to {scores.shape[-1]}, the number of slots")
    chosen = torch.zeros_like(scores).scatter(-1, scores.topk(k, dim=-1).indices, 1.0)       # (..., S): 0 and 1
    return _mixed(chosen / k, memory)


def soft_selection(scores: Float[Tensor, "... S"],
                   memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    r"""$c = \sum_\tau \alpha_\tau h_\tau$ with $\alpha = \mathrm{softmax}(s)$.

    >>> soft_selection(torch.zeros(3), torch.tensor([[1.], [5.], [9.]]))
    tensor([5.])
    """
    return _mixed(weights_of(scores), memory)


def _mixed(weights: Float[Tensor, "... S"], memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    return context_of(weights.unsqueeze(-2), memory).squeeze(-2)


# --- gradients by the scores -----------------------------------------------------------------------------------------


def expected_loss_gradient(scores: Float[Tensor, "S"], memory: Float[Tensor, "S H"], loss: Loss) -> Float[Tensor, "S"]:
    r"""The gradient of $\sum_\tau P(\tau) L(h_\tau)$, by going through all slots: $P(\tau)\,(L(h_\tau) - \sum_k P(k) L(h_k))$."""
    _check(scores, memory)
    p, losses = scores.softmax(dim=0), loss(memory)                  # (S,) each
    return p * (losses - p @ losses)


def reinforce(scores: Float[Tensor, "S"], memory: Float[Tensor, "S H"], loss: Loss, num: int,
              generator: torch.Generator | None = None, baseline: bool = False) -> Float[Tensor, "num S"]:
    r"""One estimate a draw: $(L(h_\tau) - b)\, \nabla_s \log P(\tau)$ with $\tau \sim P$.

    baseline  b is the mean loss of the other draws; 0 otherwise. It does not depend on the draw that it is taken from,
              so the mean of the estimates stays right

    Paper: Williams 1992.
    """
    _check(scores, memory)
    if num < 1 + baseline:
        raise ValueError(f"num is {num}; expected at least {1 + baseline}" + " with a baseline" * baseline)
    p = scores.softmax(dim=0)
    slot = torch.multinomial(p.expand(num, -1), 1, generator=generator)[:, 0]                # (num,)
    losses = loss(memory[slot])                                       # (num,)
    if baseline:
        losses = losses - (losses.sum() - losses) / (num - 1)
    return losses[:, None] * (torch.nn.functional.one_hot(slot, len(p)) - p)                  # of log P: one-hot minus P


def gumbel_softmax(scores: Float[Tensor, "S"], memory: Float[Tensor, "S H"], loss: Loss, num: int,
                   generator: torch.Generator | None = None, temperature: float | int = 1.0,
                   straight_through: bool = False) -> Float[Tensor, "num S"]:
    r"""One estimate a draw: the gradient of $L(\sum_\tau y_\tau h_\tau)$, $y = \mathrm{softmax}((s + g) / T)$.

    g are independent Gumbel variables: the largest of $s + g$ is slot $\tau$ with probability $P(\tau)$.

    temperature       T; towards 0 y is one-hot
    straight_through  the loss is that of the one slot that is largest, the gradient that of y

    Papers: Jang et al. 2017, Maddison et al. 2017; Bengio et al. 2013 for straight-through.
    """
    _check(scores, memory)
    if num < 1 or temperature <= 0:
        raise ValueError(f"num is {num} and temperature {temperature}; expected at least 1, and above 0")
    u = torch.rand(num, len(scores), generator=generator, dtype=torch.float64).clamp(min=1e-300)
    noise = -torch.log(-torch.log(u)).to(scores)
    with torch.enable_grad():
        s = scores.detach().expand(num, -1).clone().requires_grad_()                         # (num, S): a copy a draw
        y = ((s + noise) / temperature).softmax(dim=1)
        if straight_through:
            hard = torch.nn.functional.one_hot(y.argmax(dim=1), y.shape[1])
            y = hard + y - y.detach()
        return torch.autograd.grad(loss(y @ memory.detach()).sum(), s)[0]


def _check(scores: Integer[Tensor, "..."] | Float[Tensor, "..."], memory: Tensor) -> None:
    if scores.dim() != 1 or memory.dim() != 2 or len(scores) != len(memory) or len(scores) == 0:
        raise ValueError(f"scores has shape {tuple(scores.shape)} and memory {tuple(memory.shape)}; expected (S,) and (S, H), "
                         "S at least 1")
