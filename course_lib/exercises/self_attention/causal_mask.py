"""The causal mask."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "causal_mask", chapter="self-attention", place=2, title="The causal mask",
    contract="The n queries are the last n of m positions; m is n if it is None. Return booleans (n, m), True where a "
             "query may attend: to its own position and to all before it.",
    points=["causal-mask"], difficulty=2, minutes=10)


@exercise.step
def number_of_keys(n, m):
    return n if m is None else m


@exercise.step
def positions_of_queries(n, m):
    return m - n + torch.arange(n)


@exercise.step
def may_attend(query, key):
    return key <= query


@exercise.step
def causal(query, key):
    return may_attend(query, key)


@exercise.reference()
def causal_mask_reference(n, m=None):
    m = number_of_keys(n, m)
    return causal(positions_of_queries(n, m)[:, None], torch.arange(m))                     # (n, m)


@exercise.misconception(
    may_attend,
    "No position may attend to itself in your mask. It predicts the next token, so its own is known.")
def strict(query, key):
    return key < query


@exercise.misconception(
    may_attend,
    "Each position may attend to the one after it in your mask: that is the token it is to predict.")
def one_too_far(query, key):
    return key <= query + 1


@exercise.misconception(may_attend, "Your positions see what comes after them, and not what comes before.")
def upper(query, key):
    return key >= query


@exercise.misconception(causal, "Your mask is True where a position must not look. True means that it may attend.")
def hidden(query, key):
    return ~may_attend(query, key)


@exercise.misconception(
    causal,
    "You return the matrix that is added to the scores, 0 and minus infinity. Booleans are asked for.")
def additive(query, key):
    return torch.zeros(len(query), len(key)).masked_fill(~may_attend(query, key), -torch.inf)


@exercise.misconception(
    positions_of_queries,
    "Your queries are the first n positions. They are the last n: the first of them sees m - n positions before "
    "itself.")
def first_queries(n, m):
    return torch.arange(n)


@exercise.misconception(number_of_keys, "Your mask has n columns. There are m positions to attend to.")
def square(n, m):
    return n


@exercise.misconception(
    may_attend,
    "All earlier positions are visible in every row, and the new ones to each other too: later queries are not "
    "hidden from earlier ones.")
def everything(query, key):
    return torch.ones(len(query), len(key), dtype=torch.bool)


def mask_cases(generator):
    n, m = uneven(generator, (2, 5), (6, 9))
    return [(n, m), (n,), (m, None), (1, m), (m - 1, m), (1,), (n, n)]


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
