"""Exhaustive search, the reference for other methods on small models."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from course_lib.autoregressive import evaluating
from course_lib.decoding.steps import Decoded, batch_of, device_of, ended, finish, gather, log_probs, sizes

MAX_SEQUENCES = 2 ** 16                                              # maximum number of prefixes


@torch.no_grad()
def exhaustive(model: nn.Module, length: int | None = None, context: Any = None, eos_id: int | None = None,
               num_return: int = 1, length_penalty: float | int = 0.0) -> Decoded:
    """Score every sequence; return the `num_return` best, or all if there are fewer: `tokens` (1, num_return, T).

    length_penalty            exponent alpha of the length in the score, as in `beam_search`; 0: no normalization
    length, context, eos_id   as in `course_lib.decoding`, with a context of one row

    Raises ValueError if the context has more than one row, or if there are more than 65536 prefixes of the same length.
    """
    n, V = sizes(model, length, eos_id)
    B = batch_of(context, None)
    if B != 1:
        raise ValueError(f"context has {B} rows; expected one row, because rows are searched one at a time")
    device = device_of(model)
    finished = []                                                    # (tokens, length, log p)
    with evaluating(model):
        state = model.start(1, context)
        tokens = torch.zeros(1, n, dtype=torch.long, device=device)
        log_p = torch.zeros(1, dtype=torch.float64, device=device)
        for t in range(n):
            if len(tokens) * V > MAX_SEQUENCES:
                raise ValueError(f"the model has {len(tokens) * V} prefixes of {t + 1} values; expected at most "
                                 f"{MAX_SEQUENCES} for exhaustive search: use a smaller length, or beam_search")
            rows = torch.arange(len(tokens), device=device).repeat_interleave(V)
            value = torch.arange(V, device=device).repeat(len(tokens))
            log_p = (log_p[:, None] + log_probs(model, model.predict(state))).flatten()
            tokens = tokens[rows]
            tokens[:, t] = value
            ends = ended(value, eos_id, last=t == n - 1)
            finished.append((tokens[ends], torch.full_like(value[ends], t + 1), log_p[ends]))
            if t == n - 1:
                break
            tokens, log_p, rows, value = tokens[~ends], log_p[~ends], rows[~ends], value[~ends]
            state = model.update(model.select(state, rows), value)
    tokens, size, log_p = (torch.cat(parts)[None] for parts in zip(*finished))
    score, place = (log_p / size.double() ** length_penalty).topk(min(num_return, len(size[0])), dim=-1)
    decoded = Decoded(gather(tokens, place), size.gather(1, place), log_p.gather(1, place), score)
    return finish(model, decoded, eos_id)
