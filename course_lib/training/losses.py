r"""The objective of a model on a batch, and cross-entropy with label smoothing.

Label smoothing moves a probability of $\epsilon$ from the target to other classes, in one of two forms:

"slide"   $1 - \epsilon$ for the target, $\epsilon / (V - 1)$ for each other class
"torch"   $(1 - \epsilon) + \epsilon / V$ for the target, $\epsilon / V$ for each other class; Szegedy et al. 2016

The first form with $\epsilon$ equals the second with $\epsilon V / (V - 1)$.
"""

from __future__ import annotations

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from course_lib.training.batches import Data, count, tensors

FORMS = ("slide", "torch")


def objective(model: nn.Module, batch: Data) -> tuple[Float[Tensor, ""], float]:
    """The mean loss of a batch, a scalar, and its weight: the number of terms in the mean.

    For a model with a method `loss(batch)` the mean loss is its result: a mean over the rows, or a pair (mean, weight),
    such as a mean over tokens and the number of tokens. For any other model it is the negative log-likelihood in nats:
    minus the mean of `log_prob(x)`, or of `log_prob(x, context)` if the batch is a pair.
    """
    if not hasattr(model, "loss"):
        return -log_prob(model, batch).mean(), float(count(batch))
    with _explain_dtypes(model, batch):
        result = model.loss(batch)
    mean, weight = result if isinstance(result, tuple) else (result, count(batch))
    if not isinstance(mean, Tensor) or mean.dim() != 0:
        got = f"shape {tuple(mean.shape)}" if isinstance(mean, Tensor) else f"a {type(mean).__name__}"
        raise ValueError(f"loss(batch) of {type(model).__name__} gave {got}; expected a scalar tensor, "
                         "the mean over the batch")
    return mean, float(weight)


def log_prob(model: nn.Module, batch: Data) -> Float[Tensor, "B"]:
    """The log-likelihood of every row of the batch, x or (x, context), in nats: (B,), in float32 or float64."""
    x, *context = batch if isinstance(batch, tuple) else (batch,)
    with _explain_dtypes(model, batch):
        value = model.log_prob(x, *context)
    if tuple(value.shape) != (len(x),):
        raise ValueError(f"log_prob of {type(model).__name__} gave shape {tuple(value.shape)}; expected ({len(x)},), "
                         "one value per row, the sum over its variables")
    return value if value.dtype in (torch.float32, torch.float64) else value.float()


def smoothed(target: Integer[Tensor, "B"], V: int, eps: float | int, form: str) -> Float[Tensor, "B V"]:
    """The smoothed distribution of each target over V classes, (B, V); `eps` and `form` as in `cross_entropy`."""
    _check(V, eps, form)
    rest = eps / (V - 1) if form == "slide" else eps / V
    one_hot = F.one_hot(target, V).to(torch.get_default_dtype())
    return one_hot * (1 - eps) + (1 - one_hot if form == "slide" else 1) * rest


def cross_entropy(logits: Float[Tensor, "B V"], target: Integer[Tensor, "B"], eps: float | int = 0.0,
                  form: str = "torch", ignore: int | None = None) -> Float[Tensor, ""]:
    r"""Cross-entropy with label smoothing, $-\frac1B \sum_i \sum_v q_i(v) \ln p_i(v)$, in nats.

    The distribution $p_i$ is the softmax of `logits[i]`, and $q_i$ is the smoothed distribution of `target[i]`.

    eps     probability $\epsilon$ that smoothing moves away from the target; 0: no smoothing
    form    "torch" spreads eps over all classes, "slide" over the classes other than the target
    ignore  class that marks padding in `target`, which is excluded from the mean; None: there is no padding

    Slides: "Label smoothing". Paper: Szegedy et al. 2016. Raises ValueError if eps is outside [0, 1), if the form is
    unknown, or if no target remains.
    """
    V = logits.shape[-1]
    _check(V, eps, form)
    if ignore is not None:
        logits, target = logits[target != ignore], target[target != ignore]
    if target.numel() == 0:
        raise ValueError("target has no element, or only padding; expected at least one target that is not padding")
    return F.cross_entropy(logits, target, label_smoothing=eps * V / (V - 1) if form == "slide" else eps)


def _check(V: int, eps: float | int, form: str) -> None:
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; expected one of {', '.join(FORMS)}")
    most = (V - 1) / V if form == "slide" else 1
    if not 0 <= eps < most:
        raise ValueError(f"eps is {eps}; with {V} classes expected 0 <= eps < {most:g}")


@contextmanager
def _explain_dtypes(model: nn.Module, batch: Data):
    """Explain an error of torch that is caused by different dtypes of data and parameters."""
    try:
        yield
    except RuntimeError as error:
        dtypes = {p.dtype for p in model.parameters() if p.is_floating_point()}
        for part in tensors(batch):
            if dtypes and part.dtype not in dtypes:
                raise ValueError(f"the data are {part.dtype} and the parameters of {type(model).__name__} "
                                 f"{dtypes.pop()}; expected the same dtype: convert one by .to(dtype)") from error
        raise
