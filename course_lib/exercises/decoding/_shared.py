"""Tables of next tokens, and the function that steps through one; a check of filtered logits."""
from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch

from course_lib.exercises.remembered import with_rule
from course_lib.grading.checks import Compare, Fault, Record

FINITE = ("What you filter out has a large negative logit in your result. It differs from a kept logit only by its size: "
          "-inf is asked for.")


@dataclass
class Filtered(Compare):
    """As Compare; and it knows a large negative number in the place of -inf, whichever it is."""

    def value_fault(self, record: Record) -> Fault | None:
        fault = super().value_fault(record)
        got, gone = record.outcome.value, record.expected == -torch.inf
        if fault and gone.any() and (got[gone] <= -1e3).all() and not (got == -torch.inf).any():
            return Fault(FINITE)
        return fault


def steps(table: dict[tuple[int, ...], torch.Tensor]):
    """A function from a list of tokens to log-probabilities (V,), by a table."""
    rule = (f"The function takes a list of token ids: {min(table, key=len)[0]}, which is bos, and then at most {max(map(len, table)) - 1} tokens, "
            f"each from 0 to {len(next(iter(table.values()))) - 1}. A sequence that is complete, with max_len tokens after bos, is not extended.")
    return with_rule(rule, lambda tokens: table[tuple(map(int, tokens))].clone())


def random_rows(generator, V: int, depth: int, bos: int, eos: int, ends: float = 0.0):
    """Every prefix of up to `depth` tokens, those past an end too, and log-probabilities (their number, V). `ends` is
    added to eos."""
    prefixes = [(bos, *rest) for t in range(depth) for rest in itertools.product(range(V), repeat=t)]
    logits = 1.5 * torch.randn(len(prefixes), V, generator=generator, dtype=torch.float64)
    logits[:, bos] -= 2
    logits[:, eos] += ends
    return prefixes, logits.log_softmax(-1)


def random_table(*args):
    """A table for `steps`, of random rows."""
    return dict(zip(*random_rows(*args), strict=True))
