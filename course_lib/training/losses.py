r"""Label smoothing: a little of the target's probability goes to the other classes, in one of two forms.

"slide"   $1 - \epsilon$ for the target, $\epsilon / (V - 1)$ for each other class
"torch"   $(1 - \epsilon) + \epsilon / V$ for the target, $\epsilon / V$ for each other class; Szegedy's

The first with $\epsilon$ is the second with $\epsilon V / (V - 1)$.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

FORMS = ("slide", "torch")


def smoothed(target: Integer[Tensor, "B"], V: int, eps: float | int, form: str) -> Float[Tensor, "B V"]:
    """The smoothed distribution of each target, as it is written."""
    _check(V, eps, form)
    rest = eps / (V - 1) if form == "slide" else eps / V
    one_hot = F.one_hot(target, V).to(torch.get_default_dtype())
    return one_hot * (1 - eps) + (1 - one_hot if form == "slide" else 1) * rest


def cross_entropy(logits: Float[Tensor, "B V"], target: Integer[Tensor, "B"], eps: float | int = 0.0,
                  form: str = "torch", ignore: int | None = None) -> Float[Tensor, ""]:
    r"""$-\frac1B \sum_i \sum_v q_i(v) \ln p_i(v)$ in nats, with the smoothed targets q; exact targets if eps is 0.

    ignore  a target that is not counted, neither in the sum nor in B: padding

    Slides: "Label smoothing". Paper: Szegedy et al. 2016. Raises ValueError for eps outside [0, 1), an unknown form, or
    nothing to count.
    """
    V = logits.shape[-1]
    _check(V, eps, form)
    if ignore is not None:
        logits, target = logits[target != ignore], target[target != ignore]
    if target.numel() == 0:
        raise ValueError("target holds nothing to count; a mean needs at least one")
    return F.cross_entropy(logits, target, label_smoothing=eps * V / (V - 1) if form == "slide" else eps)


def _check(V: int, eps: float | int, form: str) -> None:
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; expected one of {', '.join(FORMS)}")
    most = (V - 1) / V if form == "slide" else 1
    if not 0 <= eps < most:
        raise ValueError(f"eps is {eps}; with {V} classes expected 0 <= eps < {most:g}")
