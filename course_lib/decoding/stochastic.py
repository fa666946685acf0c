"""Stochastic beam search: sampling without replacement."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.autoregressive import evaluating
from course_lib.decoding.steps import Decoded, batch_of, device_of, finish, gather, log_probs, sizes


@torch.no_grad()
def stochastic_beam(model: nn.Module, length: int | None = None, context: Any = None, batch: int | None = None,
                    eos_id: int | None = None, beams: int = 4, generator: torch.Generator | None = None) -> Decoded:
    r"""Sample `beams` distinct sequences per row without replacement: `tokens` (B, beams, T), in the order of sampling.

    length, context, batch, eos_id  as in `course_lib.decoding`
    beams                           k, number of sequences; if fewer exist, the remaining entries have score -inf

    The `score` of a sequence x is its perturbed log-probability $G = \log p(x) + g$ with Gumbel noise g. The k
    sequences with the largest G are a sample without replacement. G of a prefix is the maximum of G over its
    continuations. A beam search therefore finds the k sequences: it samples G of the continuations of a prefix under
    the condition that their maximum is G of the prefix, and keeps the k prefixes with the largest G at each step. With
    one beam it is ancestral sampling.

    Slides: "combine beam and random walk". Paper: Kool, van Hoof and Welling 2019.
    """
    n, V = sizes(model, length, eos_id)
    B, k = batch_of(context, batch), beams
    if k < 1:
        raise ValueError(f"beams is {k}; expected at least 1")
    device = device_of(model)
    drawn_on = device if generator is None else generator.device
    with evaluating(model):
        state = model.select(model.start(B, context), torch.arange(B, device=device).repeat_interleave(k))
        log_p = torch.full((B, k), -torch.inf, device=device, dtype=torch.float64)
        log_p[:, 0] = 0
        perturbed = log_p.clone()                                    # G of each prefix; -inf: absent
        tokens = torch.zeros(B, k, n, dtype=torch.long, device=device)
        size, going = torch.zeros_like(tokens[..., 0]), torch.ones(B, k, dtype=torch.bool, device=device)
        for t in range(n):
            step = log_probs(model, model.predict(state)).view(B, k, V).double()
            child = log_p[..., None] + step                          # (B, k, V): log p of each continuation
            u = torch.rand(B, k, V, generator=generator, device=drawn_on, dtype=torch.float64).to(device)
            G = _gumbel_below(child, perturbed, u)
            G = torch.where(going[..., None], G, -torch.inf)         # finished sequences keep their G
            G, child = (torch.cat([a.flatten(1), b.masked_fill(going, -torch.inf)], dim=1)
                        for a, b in ((G, perturbed), (child, log_p)))
            perturbed, place = G.topk(k, dim=-1)                     # (B, k) of k V continuations and k finished ones
            log_p, stays = child.gather(1, place), place >= k * V
            row = torch.where(stays, place - k * V, place // V)
            value = place % V if eos_id is None else torch.where(stays, eos_id, place % V)
            tokens = gather(tokens, row)
            tokens[..., t] = value
            size = size.gather(1, row) + (~stays).long()
            going = ~stays if eos_id is None else ~stays & (value != eos_id)
            if not going.any():
                break
            rows = (torch.arange(B, device=device)[:, None] * k + row).flatten()
            state = model.update(model.select(state, rows), value.flatten())
    return finish(model, Decoded(tokens, size, log_p, perturbed), eos_id)


def _gumbel_below(location: Float[Tensor, "B k V"], maximum: Float[Tensor, "B k"],
                  u: Float[Tensor, "B k V"]) -> Float[Tensor, "B k V"]:
    r"""Sample V Gumbel variables per prefix with the given locations, on condition that their maximum is `maximum`.

    u  uniforms in [0, 1)

    Computed as $-\log(e^{-m} - e^{-Z} + e^{-G})$ in a form without overflow, where m is `maximum`, G is sampled without
    the condition, and Z is the largest G of the prefix.
    """
    u = u.clamp(torch.finfo(u.dtype).tiny, 1 - torch.finfo(u.dtype).eps / 2)
    G = location - torch.log(-torch.log(u))
    Z = G.amax(dim=-1, keepdim=True)
    v = maximum[..., None] - G + torch.log1p(-torch.exp(G - Z))      # -inf for the largest
    out = maximum[..., None] - v.clamp(min=0) - torch.log1p(torch.exp(-v.abs()))
    return torch.where(torch.isfinite(location) & torch.isfinite(maximum)[..., None], out, -torch.inf)
