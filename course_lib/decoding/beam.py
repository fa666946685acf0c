"""Beam search."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from course_lib.autoregressive import evaluating
from course_lib.decoding.steps import Decoded, batch_of, device_of, ended, finish, gather, log_probs, sizes


@torch.no_grad()
def beam_search(model: nn.Module, length: int | None = None, context: Any = None,
                batch: int | None = None, eos_id: int | None = None, beams: int = 4,
                num_return: int = 1, length_penalty: float | int = 1.0) -> Decoded:
    r"""Beam search: keep the `beams` most probable prefixes at every step; return the
    `num_return` best sequences, (B, num_return, T).

    The score of a finished sequence is $\log p(x) / |x|^\alpha$, where alpha is
    `length_penalty` and $|x|$ the length with the end token. The result is exact if there
    are at most `beams` sequences. The rules are those of Hugging Face's generate with
    early_stopping=False:

    - of the 2 `beams` best continuations, those among the first `beams` that end are
      finished, and the best `beams` of the others continue;
    - a row is done when `beams` sequences are finished and the best open prefix, scored at
      its present length, is not better than the worst finished sequence.

    If fewer than `num_return` sequences exist, the remaining entries have score -inf.
    Slides: "Beam search", "Practical points". Paper: Wu et al. 2016 for the exponent.
    """
    n, V = sizes(model, length, eos_id)
    B, k = batch_of(context, batch), beams
    if not 1 <= num_return <= beams:
        raise ValueError(f"num_return is {num_return} and beams is {beams}; expected 1 <= "
                         "num_return <= beams")
    if not math.isfinite(length_penalty):
        raise ValueError(f"length_penalty is {length_penalty}; expected a finite number, 0 "
                         "for no normalization")
    device = device_of(model)
    with evaluating(model):
        state = model.select(model.start(B, context),
                             torch.arange(B, device=device).repeat_interleave(k))
        log_p = torch.full((B, k), -torch.inf, device=device, dtype=torch.float64)
        log_p[:, 0] = 0  # k equal prefixes, of which one counts
        tokens = torch.zeros(B, k, n, dtype=torch.long, device=device)
        done = Decoded(tokens.clone(), torch.zeros_like(tokens[..., 0]),
                       log_p.clone().fill_(-torch.inf),
                       torch.full_like(log_p, -torch.inf))  # finished sequences, best first
        # rows that may still improve
        open_ = torch.ones(B, 1, dtype=torch.bool, device=device)
        for t in range(n):
            step = log_probs(model, model.predict(state)).view(B, k, V)
            total = (log_p[..., None] + step).flatten(1)             # (B, k V)
            total, place = total.topk(2 * k, dim=-1)     # (B, 2 k), best first
            row, value = place // V, place % V
            candidates = gather(tokens, row)                        # (B, 2 k, T)
            candidates[..., t] = value
            ends = ended(value, eos_id, last=t == n - 1)
            score = total / (t + 1) ** length_penalty
            # only the first k may finish
            score = score.masked_fill(~(ends & open_), -torch.inf)[:, :k]
            lengths = torch.full_like(row[:, :k], t + 1)
            done = _merge(done, Decoded(candidates[:, :k], lengths, total[:, :k], score))
            log_p, chosen = total.masked_fill(ends, -torch.inf).topk(k, dim=-1)
            best_open = log_p[:, :1] / (t + 1) ** length_penalty
            open_ = open_ & (best_open > done.score[:, -1:])
            if not open_.any():
                break
            tokens = gather(candidates, chosen)
            rows = (torch.arange(B, device=device)[:, None] * k
                    + row.gather(1, chosen)).flatten()
            state = model.select(state, rows)  # frees the former state
            state = model.update(state, tokens[..., t].flatten())
    return finish(model, done, eos_id, num_return)


def _merge(a: Decoded, b: Decoded) -> Decoded:
    """For each row, the best of the sequences of a (B, k) and b (B, k), as many as a contains, the best first."""
    both = Decoded(*(torch.cat([x, y], dim=1) for x, y in zip(a, b)))
    score, place = both.score.topk(a.score.shape[1], dim=-1)
    return Decoded(gather(both.tokens, place), both.length.gather(1, place), both.log_prob.gather(1, place), score)
