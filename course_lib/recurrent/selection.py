r"""Selection of a vector c from a memory $M = \{h_1, \dots, h_S\}$, and gradient estimators for hard selection.

The S vectors are the *slots* of the memory, and slot $\tau$ has the score $s_\tau$. The selections are

sum, mean    the sum or mean of all slots, without scores
hard         the slot with the largest score, or the mean of the k slots with the largest scores
soft         the mean of all slots, weighted by the softmax of the scores

The scores of a soft selection are learned by backpropagation. For a hard selection their gradient is 0, because small
changes of the scores do not change the choice. If the slot is sampled instead, $P(\tau) = \mathrm{softmax}(s)_\tau$,
the expected loss $\sum_\tau P(\tau)\, L(h_\tau)$ is differentiable. `expected_loss_gradient` computes its gradient,
`reinforce` and `gumbel_softmax` estimate it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from course_lib.recurrent.scores import context_of, weights_of

Loss = Callable[[Tensor], Tensor]                                    # from c (N, H) to losses (N,)


def sum_selection(memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    r"""Sum of the slots, $c = \sum_\tau h_\tau$."""
    return memory.sum(dim=-2)


def mean_selection(memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    r"""Mean of the slots, $c = \frac1S \sum_\tau h_\tau$."""
    return memory.mean(dim=-2)


def hard_selection(scores: Float[Tensor, "... S"], memory: Float[Tensor, "... S H"], k: int = 1) -> Float[Tensor, "... H"]:
    r"""Mean of the k slots with the largest scores: $c = \frac{1}{k} \sum_\tau \alpha_\tau h_\tau$, where $\alpha_\tau$
    is 1 for these slots and 0 for the others.

    k  number of selected slots: alpha is one-hot for k = 1, multi-hot for k > 1

    >>> hard_selection(torch.tensor([0., 2., 1.]), torch.tensor([[1.], [5.], [9.]]), k=2)
    tensor([7.])
    """
    if not 1 <= k <= scores.shape[-1]:
        raise ValueError(f"k is {k}; expected 1 to {scores.shape[-1]}, the number of slots")
    chosen = torch.zeros_like(scores).scatter(-1, scores.topk(k, dim=-1).indices, 1.0)       # (..., S): 0 and 1
    return _mixed(chosen / k, memory)


def soft_selection(scores: Float[Tensor, "... S"],
                   memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    r"""Softmax-weighted mean of the slots: $c = \sum_\tau \alpha_\tau h_\tau$ with
    $\alpha = \mathrm{softmax}(s)$.

    >>> soft_selection(torch.zeros(3), torch.tensor([[1.], [5.], [9.]]))
    tensor([5.])
    """
    return _mixed(weights_of(scores), memory)


def _mixed(weights: Float[Tensor, "... S"], memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... H"]:
    return context_of(weights.unsqueeze(-2), memory).squeeze(-2)


# --- gradients with respect to the scores ----------------------------------------------------------------------------


def expected_loss_gradient(scores: Float[Tensor, "S"], memory: Float[Tensor, "S H"], loss: Loss) -> Float[Tensor, "S"]:
    r"""Exact gradient of the expected loss $\sum_\tau P(\tau) L(h_\tau)$ with respect to the scores s.

    Entry $\tau$ is $P(\tau)\,(L(h_\tau) - \sum_k P(k) L(h_k))$, where $P = \mathrm{softmax}(s)$, $h_\tau$ is row $\tau$
    of `memory`, and L is `loss`, from vectors (N, H) to losses (N,).
    """
    _check(scores, memory)
    p, losses = scores.softmax(dim=0), loss(memory)                  # (S,) each
    return p * (losses - p @ losses)


def reinforce(scores: Float[Tensor, "S"], memory: Float[Tensor, "S H"], loss: Loss, num: int,
              generator: torch.Generator | None = None, baseline: bool = False) -> Float[Tensor, "num S"]:
    r"""REINFORCE estimates of `expected_loss_gradient`, one per row: $(L(h_\tau) - b)\, \nabla_s \log P(\tau)$.

    In each row a slot $\tau$ is sampled from $P = \mathrm{softmax}(s)$; s, h and L are `scores`, `memory` and `loss`.

    num       number of samples
    baseline  whether b is the mean loss of the other samples; otherwise b is 0. The mean of the other samples does not
              depend on the slot of this sample, so the estimator stays unbiased

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
    return losses[:, None] * (torch.nn.functional.one_hot(slot, len(p)) - p)                  # times grad log P


def gumbel_softmax(scores: Float[Tensor, "S"], memory: Float[Tensor, "S H"], loss: Loss, num: int,
                   generator: torch.Generator | None = None, temperature: float | int = 1.0,
                   straight_through: bool = False) -> Float[Tensor, "num S"]:
    r"""Gumbel-softmax estimates of `expected_loss_gradient`, one per row: $\nabla_s L(\sum_\tau y_\tau h_\tau)$.

    The weights are $y = \mathrm{softmax}((s + g) / T)$ with independent Gumbel variables g, so the largest entry of y
    is slot $\tau$ with probability $P(\tau)$; s, h and L are `scores`, `memory` and `loss`.

    num               number of samples
    temperature       T; as T approaches 0, y becomes one-hot
    straight_through  whether y is replaced by the one-hot vector of its largest entry when the loss is computed; the
                      derivative of this vector is replaced by the derivative of y

    Papers: Jang et al. 2017, Maddison et al. 2017; Bengio et al. 2013 for straight-through.
    """
    _check(scores, memory)
    if num < 1 or temperature <= 0:
        raise ValueError(f"num is {num} and temperature is {temperature}; expected num >= 1 and temperature > 0")
    u = torch.rand(num, len(scores), generator=generator, dtype=torch.float64).clamp(min=1e-300)
    noise = -torch.log(-torch.log(u)).to(scores)
    with torch.enable_grad():
        s = scores.detach().expand(num, -1).clone().requires_grad_()                         # (num, S): a copy per sample
        y = ((s + noise) / temperature).softmax(dim=1)
        if straight_through:
            hard = torch.nn.functional.one_hot(y.argmax(dim=1), y.shape[1])
            y = hard + y - y.detach()
        return torch.autograd.grad(loss(y @ memory.detach()).sum(), s)[0]


def _check(scores: Integer[Tensor, "..."] | Float[Tensor, "..."], memory: Tensor) -> None:
    if scores.dim() != 1 or memory.dim() != 2 or len(scores) != len(memory) or len(scores) == 0:
        raise ValueError(f"scores has shape {tuple(scores.shape)} and memory has shape {tuple(memory.shape)}; expected "
                         "(S,) and (S, H) with S at least 1")
