"""Scores, some of them with a fault."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.findings import Words, counted
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_scores", chapter="attention", place=3, title="Which score is it?",
    contract="functions is a list; each takes queries (T, H) and keys (S, H) and returns scores (T, S). Each was meant to be one of "
             '"dot", q . k; "scaled", q . k / sqrt(H); "bilinear", q . W k; "additive", v . tanh(Wa q + Ua k), with the given W, '
             'Wa, Ua (H, H) and v (H,). Return a list with one of these names for each, and "none" for a function that differs from '
             "all four by more than rounding.",
    points=["attention-scores"], difficulty=3, minutes=20, kind="find")


@exercise.step
def queries_and_keys(H):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, H, generator=generator, dtype=torch.float64) for n in (4, 6)]


@exercise.step
def four_scores(q, k, W, Wa, Ua, v):
    return {name: KINDS[name](q, k, W, Wa, Ua, v) for name in NAMES}


@exercise.step
def name_of(gaps):
    """gaps: how far a function's scores are from each of the four."""
    return nearest(gaps, within=1e-4)


def nearest(gaps, within):
    best = min(gaps, key=gaps.get)
    return best if gaps[best] < within else "none"


@exercise.reference()
def find_scores_reference(functions, W, Wa, Ua, v):
    q, k = queries_and_keys(len(v))
    wanted = four_scores(q, k, *(weight.double() for weight in (W, Wa, Ua, v)))
    return [name_of({name: float((function(q, k) - scores).abs().max()) for name, scores in wanted.items()})
            for function in functions]


@exercise.misconception(
    queries_and_keys,
    "You test the functions on a query that is equal to the key. There W and its transpose give the same score, and so do Wa "
    "and Ua exchanged.")
def same_vector(H):
    key = queries_and_keys.original(H)[1][:1]
    return key, key


@exercise.misconception(
    four_scores,
    "You take q . W^T k for the bilinear score: the one that has it is named bilinear, and the sound one is not. For rows q and k "
    "the score q . W k is q @ W @ k.T.")
def transposed(q, k, W, Wa, Ua, v):
    return four_scores.original(q, k, W, Wa, Ua, v) | {"bilinear": q @ W.T @ k.T}


@exercise.misconception(
    four_scores,
    "You find no scaled score, and the others are right. It is the dot product divided by the root of H, the width of a "
    "query; it does not depend on how many queries and keys there are.")
def scaled_otherwise(q, k, W, Wa, Ua, v):
    return four_scores.original(q, k, W, Wa, Ua, v) | {"scaled": q @ k.T / math.sqrt(len(v) + 0.5)}        # fits none


@exercise.misconception(name_of, 'You never answer "none". A function that fits no formula exactly is none of the four.')
def never_none(gaps):
    return nearest(gaps, within=math.inf)


@exercise.misconception(
    name_of,
    "You find none of the four anywhere. Compare with a tolerance: the functions round differently from you.")
def only_none(gaps):
    return "none"


@exercise.misconception(
    name_of,
    "Your tolerance is so wide that a score with an error of one percent passes. Rounding is below 1e-5.")
def loose(gaps):
    return nearest(gaps, within=0.3)


def additive(q, k, Wa, Ua, v):
    return torch.tanh((q @ Wa.T)[:, None] + (k @ Ua.T)[None]) @ v


NAMES = ("dot", "scaled", "bilinear", "additive")
KINDS = {
    "dot": lambda q, k, W, Wa, Ua, v: q @ k.T,
    "scaled": lambda q, k, W, Wa, Ua, v: q @ k.T / math.sqrt(q.shape[1]),
    "bilinear": lambda q, k, W, Wa, Ua, v: q @ W @ k.T,
    "additive": lambda q, k, W, Wa, Ua, v: additive(q, k, Wa, Ua, v),
    "scaled by H": lambda q, k, W, Wa, Ua, v: q @ k.T / q.shape[1],
    "transposed": lambda q, k, W, Wa, Ua, v: q @ W.T @ k.T,
    "roles exchanged": lambda q, k, W, Wa, Ua, v: additive(q, k, Ua, Wa, v),
    "no tanh": lambda q, k, W, Wa, Ua, v: ((q @ Wa.T)[:, None] + (k @ Ua.T)[None]) @ v,
    "tanh apart": lambda q, k, W, Wa, Ua, v: (torch.tanh(q @ Wa.T)[:, None] + torch.tanh(k @ Ua.T)[None]) @ v,
    "a gain": lambda q, k, W, Wa, Ua, v: 1.01 * (q @ k.T),
}
FORMULAS = {"dot": "q . k", "scaled": "q . k / sqrt(H)", "bilinear": "q . W k", "additive": "v . tanh(Wa q + Ua k)",
            "scaled by H": "q . k / H", "transposed": "q . W.T k", "roles exchanged": "v . tanh(Ua q + Wa k)",
            "no tanh": "v . (Wa q + Ua k)", "tanh apart": "v . (tanh(Wa q) + tanh(Ua k))", "a gain": "1.01 q . k"}


def function_of(kind: str, *weights):
    def function(q, k):
        return KINDS[kind](q, k, *(each.to(q.dtype) for each in weights))

    function.formula = FORMULAS[kind]                    # shown to a learner whose answer is wrong
    return with_rule(f"Each function takes queries (T, {len(weights[0])}) and keys (S, {len(weights[0])}), two tensors of floats.", function)


def cases(generator):
    arguments = []
    for faulty in (("transposed", "a gain", "no tanh"), ("roles exchanged", "tanh apart", "scaled by H"), ("no tanh", "transposed", "a gain")):
        H = integer(generator, 4, 7)
        W, Wa, Ua = (normal(generator, H, H) for _ in range(3))
        v = 2 * normal(generator, H)
        v[0], v[1] = -v[0].abs() - 1, v[1].abs() + 1
        kinds = [*NAMES, *faulty]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        if kinds[0] in faulty and kinds[-1] in faulty:
            kinds.sort(key=lambda kind: kind in faulty)                        # so that an order can be told
        arguments.append(([function_of(kind, W, Wa, Ua, v) for kind in kinds], W, Wa, Ua, v))
    return arguments


@dataclass
class Names(Words):
    """As Words, for the names of all functions."""

    def told(self, got: Sequence[str], expected: list[str]) -> str:
        if len(got) != len(expected):
            return f"Your list has {counted(len(got), 'name')} for {counted(len(expected), 'function')}."
        wrong = [i for i, (name, expected_name) in enumerate(zip(got, expected, strict=True)) if name != expected_name]
        return (f"Of {counted(len(got), 'function')} you name {len(wrong)} wrongly. The first of those is function {wrong[0]}, "
                f"counted from 0, which you call {got[wrong[0]]!r}.")


exercise.checks.append(Names("values", 5, cases, names=(*NAMES, "none")))
exercise.hint(
    "What to feed the functions.",
    "Several queries and several keys, all different: torch.randn(4, H) and torch.randn(6, H). Entries of size 1 bend the tanh.")
exercise.hint(
    "What to compare with.",
    "Compute the four formulas yourself on the same q and k. Wa q for all rows is q @ Wa.T; the additive score needs an axis for the "
    "pairs.")
exercise.hint(
    "A function that is none of the four gets a name.",
    "Compare all entries of the result, with a tolerance of 1e-4. A transposed matrix shows only where query and key differ.")
