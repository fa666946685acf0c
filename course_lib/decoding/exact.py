"""All sequences, one by one: what a search is compared with where there are few."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from course_lib.autoregressive import evaluating
from course_lib.decoding.steps import Decoded, batch_of, device_of, ended, finish, gather, log_probs, sizes

MAX_SEQUENCES = 2 ** 16                                              # that are followed at once


@torch.no_grad()
def exhaustive(model: nn.Module, length: int | None = None, context: Any = None, eos_id: int | None = None,
               num_return: int = 1, length_penalty: float | int = 0.0) -> Decoded:
    """The `num_return` likeliest of all sequences, or as many as there are, by following every prefix: (1, num_return, T).

    Scores as in `beam_search`.

    Raises ValueError for a batch of more than one row, or more than 65536 prefixes at once.
    """
    n, V = sizes(model, length, eos_id)
    B = batch_of(context, None)
    if B != 1:
        raise ValueError(f"context has {B} rows; exhaustive search takes one")
    device = device_of(model)
    finished = []                                                    # (tokens, length, log p) of those that ended
    with evaluating(model):
        state = model.start(1, context)
        tokens = torch.zeros(1, n, dtype=torch.long, device=device)
        log_p = torch.zeros(1, dtype=torch.float64, device=device)
        for t in range(n):
            if len(tokens) * V > MAX_SEQUENCES:
                raise ValueError(f"{len(tokens) * V} prefixes of {t + 1} values; at most {MAX_SEQUENCES} are tried")
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
