"""Adversarial attacks on a classifier: changes of at most eps levels per pixel that change the predicted class.

An image is a row of n integers 0..levels-1, before and after an attack: other values could not be stored in an image
file, and rounding them would undo part of the attack.
"""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.autoregressive import evaluating


def fgsm(classifier: nn.Module, x: Tensor, y: Tensor, eps: int, levels: int,
         targeted: bool = False, where: Tensor | None = None) -> Int[Tensor, "B n"]:
    r"""Fast gradient sign method, $x' = \mathrm{clip}(x + \epsilon\, \mathrm{sign}\,
    \nabla_x L(f(x), y))$: one step that increases the loss.

    classifier  module from levels (B, n), which may be fractions, to logits (B, classes)
    x           (B, n), levels
    y           (B,), the true classes; with `targeted` the target classes, whose loss is
                decreased
    eps         largest change of a pixel, in levels
    where       (B, n), True for pixels that may change; None: all

    Raises ValueError for invalid arguments. Paper: Goodfellow, Shlens and Szegedy 2015.

    >>> toy = torch.nn.Linear(3, 2, bias=False)
    >>> toy.weight.data = torch.tensor([[1.0, 0, 0], [0, 1, 0]])  # two pixels, a class each
    >>> fgsm(toy, torch.tensor([[9, 8, 16]]), torch.tensor([0]), eps=2, levels=17)
    tensor([[ 7, 10, 16]])
    """
    x = check_images(x, y, eps, levels, where)
    with evaluating(classifier):
        g, _ = gradient(classifier, x, y)                            # (B, n)
    return clipped(x + eps * direction(g, targeted, where), x, eps, levels)


def pgd(classifier: nn.Module, x: Tensor, y: Tensor, eps: int, levels: int, steps: int = 10,
        targeted: bool = False, where: Tensor | None = None,
        through: Callable[[Tensor], Tensor] | None = None, momentum: float = 0.0,
        generator: torch.Generator | None = None) -> Int[Tensor, "B n"]:
    r"""Projected gradient descent, $x_{s+1} = \Pi(x_s + \mathrm{sign}\, g_s)$: steps of one
    level, each projected to the box of radius eps.

    steps      number of steps S; among $x_0, \dots, x_S$ the image with the largest
               `margin` is returned
    through    defense before the classifier, from levels to levels. The loss is that of the
               defended image, $f(d(x_s))$, and the derivative of d is replaced by the
               identity: BPDA (Athalye, Carlini and Wagner 2018)
    momentum   m of the running sum $g_s = m\, g_{s-1} + \nabla / \lVert \nabla \rVert_1$
               (Dong et al. 2018)
    generator  start at random levels within eps; None: start at x

    The other arguments are those of `fgsm`. Paper: Madry, Makelov, Schmidt, Tsipras and
    Vladu 2018.
    """
    x = check_images(x, y, eps, levels, where)
    if steps < 1:
        raise ValueError(f"steps is {steps}; expected at least 1")
    now = x if generator is None else random_start(x, eps, levels, where, generator)
    strongest, best, sums = now, torch.full((len(x),), -torch.inf, dtype=torch.float64), 0.0
    with evaluating(classifier):
        for _ in range(steps + 1):
            seen = now if through is None else through(now)
            g, logits = gradient(classifier, seen, y)  # at the defended image
            reached = margin(logits, y, targeted)
            better = reached > best
            strongest = torch.where(better[:, None], now, strongest)
            best = torch.where(better, reached, best)
            sums = momentum * sums + g / g.abs().sum(dim=1, keepdim=True).clamp(min=1e-300)
            now = clipped(now + direction(sums, targeted, where), x, eps, levels)
    return strongest


def sign_noise(x: Tensor, eps: int, levels: int, generator: torch.Generator | None = None,
               where: Tensor | None = None) -> Int[Tensor, "B n"]:
    """Baseline for attacks: add eps or -eps levels to each pixel, with probability 1/2 each, and clip to 0..levels-1.

    x      (B, n), levels
    eps    absolute change of a pixel, in levels: as large as in an attack with the same eps
    where  (B, n), True for pixels that may change; None: all
    """
    x = check_images(x, None, eps, levels, where)
    coins = 2 * torch.randint(2, x.shape, generator=generator) - 1
    return clipped(x + eps * (coins if where is None else coins * where), x, eps, levels)


def gradient(classifier: nn.Module, x: Int[Tensor, "B n"], y: Int[Tensor, "B"]) -> tuple[Float[Tensor, "B n"], Tensor]:
    r"""Gradient $\nabla_x L(f(x), y)$ of the cross-entropy of each image x with class y, in float64, and the logits.

    The logits f(x) are (B, classes); both tensors are on the CPU.
    """
    like = next(classifier.parameters())
    seen = x.to(like.device, like.dtype).requires_grad_()
    with torch.enable_grad():
        logits = classifier(seen)
        loss = F.cross_entropy(logits, y.to(like.device), reduction="sum")     # each row has its own loss
        (g,) = torch.autograd.grad(loss, seen)
    return g.to("cpu", torch.float64), logits.detach().cpu()


def margin(logits: Float[Tensor, "B classes"], y: Int[Tensor, "B"], targeted: bool = False) -> Float[Tensor, "B"]:
    r"""Margin $\max_{j \ne y} z_j - z_y$ of the logits z, positive where an image of class y is misclassified.

    With `targeted` the sign is reversed: y is the target class, and the value is positive where y is predicted.
    """
    own = F.one_hot(y, logits.shape[1]).bool()
    others = logits.double().masked_fill(own, -torch.inf).max(dim=1).values
    return (-1 if targeted else 1) * (others - logits.double()[own])


def direction(g: Float[Tensor, "B n"], targeted: bool, where: Bool[Tensor, "B n"] | None) -> Int[Tensor, "B n"]:
    """Step of -1, 0 or 1 levels per pixel that increases the loss with gradient g, or decreases it if `targeted`.

    where  True for pixels that may change; the step of the other pixels is 0. None: all pixels may change
    """
    sign = (-1 if targeted else 1) * g.sign().long()
    return sign if where is None else sign * where


def random_start(x: Int[Tensor, "B n"], eps: int, levels: int, where: Bool[Tensor, "B n"] | None,
                   generator: torch.Generator) -> Int[Tensor, "B n"]:
    """Random start of an attack: add a uniform integer in -eps..eps to each pixel, and clip to the levels 0..levels-1.

    where  True for pixels that may change; None: all
    """
    start = clipped(x + torch.randint(-eps, eps + 1, x.shape, generator=generator), x, eps, levels)
    return start if where is None else torch.where(where, start, x)


def clipped(changed: Int[Tensor, "B n"], x: Int[Tensor, "B n"], eps: int, levels: int) -> Int[Tensor, "B n"]:
    """Clip the images `changed` to within eps levels of x, and to 0..levels-1."""
    return torch.minimum(torch.maximum(changed, x - eps), x + eps).clamp(0, levels - 1)


def check_images(x: Tensor, y: Tensor | None, eps: int, levels: int, where: Tensor | None = None) -> Int[Tensor, "B n"]:
    """Return the images x (B, n) as int64 on the CPU. Raises ValueError if a shape, dtype or value is wrong.

    The arguments are as in `fgsm`; y is None if no classes are needed.
    """
    if x.dim() != 2 or len(x) == 0:
        raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, n) with B at least 1, each image flattened")
    if x.is_floating_point() or x.is_complex():
        raise ValueError(f"x has dtype {x.dtype}; expected integers, levels 0 to {levels - 1}")
    if x.min() < 0 or x.max() > levels - 1:
        raise ValueError(f"x contains levels from {x.min()} to {x.max()}; expected 0 to {levels - 1}")
    if y is not None and tuple(y.shape) != (len(x),):
        raise ValueError(f"y has shape {tuple(y.shape)}; expected ({len(x)},), one class per image")
    if eps != int(eps) or eps < 0:
        raise ValueError(f"eps is {eps}; expected an integer of at least 0, a number of levels")
    if where is not None and (where.shape != x.shape or where.dtype != torch.bool):
        raise ValueError(f"where has shape {tuple(where.shape)} and dtype {where.dtype}; expected the "
                         f"shape of x, {tuple(x.shape)}, and torch.bool")
    return x.long().cpu()
