"""Greedy search and ancestral sampling."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.autoregressive import evaluating, uniforms
from course_lib.conditional import Categorical
from course_lib.decoding.steps import Decoded, batch_of, device_of, finish, log_probs, sizes

SMALLEST = torch.finfo(torch.float32).tiny                           # least divisor in float32


@torch.no_grad()
def greedy(model: nn.Module, length: int | None = None, context: Any = None, batch: int | None = None,
           eos_id: int | None = None) -> Decoded:
    r"""Greedy search, $\hat x_t = \arg\max_v\, p(v \mid \hat x_{<t})$: one sequence per row, `tokens` (B, T).

    length   maximum number T of values of a sequence, for a model without a fixed number of variables
    context  the condition, (B, ...), such as prompts; or a tuple of tensors, such as prompts and their mask
    batch    number of rows B if there is no context, default 1
    eos_id   the value that ends a sequence and is part of it; None: every sequence has T values

    The result need not be the most probable sequence. Slides: "Greedy search".
    """
    return _generate(model, length, context, batch, eos_id, lambda log_p, t: log_p.argmax(dim=-1))


@torch.no_grad()
def sample(model: nn.Module, length: int | None = None, context: Any = None, batch: int | None = None,
           eos_id: int | None = None, temperature: float | int = 1.0, top_k: int | None = None,
           top_p: float | int | None = None, generator: torch.Generator | None = None) -> Decoded:
    """Ancestral sampling with temperature, top-k and top-p: one sequence per row, `tokens` (B, T).

    length, context, batch, eos_id  as in `greedy`
    temperature, top_k, top_p       as in `reshape`, which is applied to the distribution of each value
    generator                       with the same seed, row b is the same for every number of rows

    `score` is the log-probability under the reshaped distributions, `log_prob` that under the model, both in nats.
    Slides: "Other inference methods".
    """
    _check_reshape(temperature, top_k, top_p)
    n, V = sizes(model, length, eos_id)
    batch, device = batch_of(context, batch), device_of(model)
    u = uniforms(batch, n, 1, generator, device)
    family, scores = Categorical(V), []

    def draw(log_p: Tensor, t: int) -> Tensor:
        changed = reshape(log_p, temperature, top_k, top_p)
        drawn = family.draw(family(changed), u[:, t])
        scores.append(changed.gather(-1, drawn[:, None])[:, 0])
        return drawn

    decoded = _generate(model, length, context, batch, eos_id, draw)
    steps = torch.stack(scores, dim=1)                               # (B, T)
    alive = torch.arange(steps.shape[1], device=device) < decoded.length[:, None]
    return decoded._replace(score=steps.masked_fill(~alive, 0).sum(dim=1))


def reshape(log_p: Float[Tensor, "... V"], temperature: float | int = 1.0,
            top_k: int | None = None, top_p: float | int | None = None
            ) -> Float[Tensor, "... V"]:
    r"""Log-probabilities of the distribution of `sample`: $p^{1/\tau}$, then top-k, then
    top-p, normalized.

    temperature  tau; 0 keeps the most probable value only
    """
    _check_reshape(temperature, top_k, top_p)
    if temperature == 0:
        best = log_p.argmax(dim=-1, keepdim=True)
        return torch.full_like(log_p, -torch.inf).scatter(-1, best, 0.0)
    # the maximum is 0 for any temperature
    log_p = (log_p - log_p.amax(dim=-1, keepdim=True)) / max(temperature, SMALLEST)
    if top_k is not None:
        log_p = log_p.masked_fill(~keep_top_k(log_p, top_k), -torch.inf)
    if top_p is not None:
        log_p = log_p.masked_fill(~keep_top_p(log_p, top_p), -torch.inf)
    return log_p.log_softmax(dim=-1)


def keep_top_k(log_p: Float[Tensor, "... V"], k: int) -> Bool[Tensor, "... V"]:
    """True for the k most probable values, and for all values that tie with the k-th."""
    least = log_p.topk(min(k, log_p.shape[-1]), dim=-1).values[..., -1:]
    return log_p >= least


def keep_top_p(log_p: Float[Tensor, "... V"], p: float) -> Bool[Tensor, "... V"]:
    """Nucleus (top-p) sampling: True for the smallest set of most probable values whose
    total probability is at least p.

    Among values that tie at the boundary, those with higher ids are kept, as in Hugging
    Face's generate. Paper: Holtzman et al. 2020.
    """
    rank = log_p.sort(dim=-1, stable=True)  # ascending
    tail = rank.values.softmax(dim=-1).cumsum(dim=-1)  # mass of a value and all below it
    keep = tail > 1 - p  # else those above it reach p without it
    keep[..., -1] = True
    return torch.zeros_like(keep).scatter(-1, rank.indices, keep)


def _generate(model: nn.Module, length: int | None, context: Any, batch: int | None, eos_id: int | None,
          choose: Callable[[Tensor, int], Tensor]) -> Decoded:
    """Generate one sequence per row: predict, choose and update until every row has ended; `score` equals `log_prob`.

    choose  function from log p (B, V) of the next value and the number t of the step, from 0, to values (B,)

    The loop runs in inference mode, which is faster than `no_grad`. The values are stacked outside of it, so that the
    result is an ordinary tensor.
    """
    n, B = sizes(model, length, eos_id)[0], batch_of(context, batch)
    values, steps, going = [], [], None
    with evaluating(model), torch.inference_mode():
        state = model.start(B, context)
        for t in range(n):
            log_p = log_probs(model, model.predict(state))           # (B, V)
            values.append(choose(log_p, t))
            steps.append(log_p.gather(1, values[t][:, None]))
            if eos_id is not None:
                going = values[t] != eos_id if t == 0 else going & (values[t] != eos_id)
            if t == n - 1 or eos_id is not None and not going.any():
                break
            state = model.update(state, values[t])
    tokens = torch.stack(values, dim=1)                              # (B, T), arbitrary after the end
    written = torch.ones_like(tokens, dtype=torch.bool)
    if eos_id is not None:
        written[:, 1:] = (tokens != eos_id)[:, :-1].cumprod(dim=1)      # up to the first end token
    log_p = torch.cat(steps, dim=1).masked_fill(~written, 0).double().sum(dim=1)
    return finish(model, Decoded(tokens, written.sum(dim=1), log_p, log_p), eos_id)


def _check_reshape(temperature: float | int, top_k: int | None, top_p: float | int | None) -> None:
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"temperature is {temperature}; expected a finite number, 0 (greedy) or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}; expected at least 1, or None for all values")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}; expected 0 < top_p <= 1, or None for all values")
