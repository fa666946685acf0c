"""The causal mask."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "causal_mask", chapter="13", place=2, title="The causal mask",
    contract="The n queries are the last n of m positions; m is n if it is None. Return booleans (n, m), True where a "
             "query may attend: to its own position and to all before it.",
    points=["causal-mask"], difficulty=2, minutes=10)


@exercise.reference(
    strict="No position may attend to itself in your mask. It predicts the next token, so its own is known.",
    one_too_far="Each position may attend to the one after it in your mask: that is the token it is to predict.",
    upper="Your positions see what comes after them, and not what comes before.",
    hidden="Your mask is True where a position must not look. True means that it may attend.",
    first_queries="Your queries are the first n positions. They are the last n: the first of them sees m - n positions "
                  "before itself.",
    square="Your mask has n columns. There are m positions to attend to.",
    additive="You return the matrix that is added to the scores, 0 and minus infinity. Booleans are asked for.",
    everything="All earlier positions are visible in every row, and the new ones to each other too: later queries are "
               "not hidden from earlier ones.",
)
def causal_mask_reference(n, m=None, bugs=frozenset()):
    m = n if m is None or "square" in bugs else m
    position = torch.arange(n)[:, None] + (0 if "first_queries" in bugs else m - n)          # of each query
    key = torch.arange(m)
    mask = key <= position                                                     # (n, m)
    if "strict" in bugs:
        mask = key < position
    if "one_too_far" in bugs:
        mask = key <= position + 1
    if "upper" in bugs:
        mask = key >= position
    if "everything" in bugs:
        mask = torch.ones_like(mask)
    if "additive" in bugs:
        return torch.zeros(n, m).masked_fill(~mask, -torch.inf)
    return ~mask if "hidden" in bugs else mask


def mask_cases(generator):
    n, m = uneven(generator, (2, 5), (6, 9))
    return [(n, m), (n,), (m, None), (1, m), (m - 1, m), (1,)]


exercise.compare("values", mask_cases, points=4)
exercise.hint(
    "Where the diagonal goes.",
    "Query i stands at position m - n + i. It may see key j if j <= m - n + i. Write that comparison down for all i "
    "and j: torch.arange(m) <= torch.arange(n)[:, None] + m - n.")
exercise.hint(
    "It is right for n = m only.",
    "With a cache of earlier tokens, n new queries meet m keys. The last query sees all m, so the last row is all "
    "True. For n = 1 nothing is hidden.")
exercise.hint(
    "The type is wrong.",
    "A comparison gives booleans; torch.ones(...).tril(...) gives numbers, until .bool().")
