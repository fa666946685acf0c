"""Scores, some of them with a fault."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.findings import Words, counted
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_scores", chapter="12", place=3, title="Which score is it?",
    contract="functions is a list; each takes queries (T, H) and keys (S, H) and returns scores (T, S). Each was meant to be one of "
             '"dot", q . k; "scaled", q . k / sqrt(H); "bilinear", q . W k; "additive", v . tanh(Wa q + Ua k), with the given W, '
             'Wa, Ua (H, H) and v (H,). Return a list with one of these names for each, and "none" for a function that differs from '
             "all four by more than rounding.",
    points=["attention-scores"], difficulty=3, minutes=20, kind="find")


@exercise.reference(
    dot_and_scaled="Your names dot and scaled are exchanged.",
    bilinear_and_additive="Your names bilinear and additive are exchanged.",
    never_none='You never answer "none". A function that fits no formula exactly is none of the four.',
    only_none="You find none of the four anywhere. Compare with a tolerance: the functions round differently from you.",
    turned="You take q . W^T k for the bilinear score: the one that has it is named bilinear, and the sound one is not. For rows q and k "
           "the score q . W k is q @ W @ k.T.",
    scaled_otherwise="You find no scaled score, and the others are right. It is the dot product divided by the root of H, the width of a "
                     "query; how many queries and keys there are plays no part.",
    same_vector="You try the functions on a query that is the key itself. There W and its transpose give the same score, and so do Wa "
                "and Ua exchanged.",
    loose="Your tolerance is so wide that a score which is off by a hundredth passes. Rounding is below 1e-5.",
    backwards="Your list is in the opposite order: one name for each function, in the functions' order.",
)
def find_scores_reference(functions, W, Wa, Ua, v, bugs=frozenset()):
    H, generator = len(v), torch.Generator().manual_seed(0)
    q, k = (torch.randn(n, H, generator=generator, dtype=torch.float64) for n in (4, 6))
    if "same_vector" in bugs:
        q = k = k[:1]
    W, Wa, Ua, v = (each.double() for each in (W, Wa, Ua, v))
    wanted = {name: KINDS[name](q, k, W, Wa, Ua, v) for name in NAMES}
    if "turned" in bugs:
        wanted["bilinear"] = KINDS["transposed"](q, k, W, Wa, Ua, v)
    if "scaled_otherwise" in bugs:
        wanted["scaled"] = q @ k.T / math.sqrt(H + 0.5)                        # fits none
    names = []
    for function in functions:
        out = function(q, k).double()
        gaps = {name: float((out - want).abs().max()) for name, want in wanted.items()}
        best = min(gaps, key=gaps.get)
        most = 0.3 if "loose" in bugs else 1e-4
        names.append("none" if "only_none" in bugs or gaps[best] > most and "never_none" not in bugs else best)
    swap = {"dot_and_scaled": ("dot", "scaled"), "bilinear_and_additive": ("bilinear", "additive")}
    for a, b in (swap[bug] for bug in bugs if bug in swap):
        names = [b if name == a else a if name == b else name for name in names]
    return names[::-1] if "backwards" in bugs else names


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


def made(kind: str, *weights):
    def function(q, k):
        return KINDS[kind](q, k, *(each.to(q.dtype) for each in weights))

    function.formula = FORMULAS[kind]                    # what a learner sees of one in a case that is drawn to be shown
    return function


def cases(generator):
    found = []
    for faulty in (("transposed", "a gain", "no tanh"), ("roles exchanged", "tanh apart", "scaled by H"), ("no tanh", "transposed", "a gain")):
        H = integer(generator, 4, 7)
        W, Wa, Ua = (normal(generator, H, H) for _ in range(3))
        v = 2 * normal(generator, H)
        v[0], v[1] = -v[0].abs() - 1, v[1].abs() + 1
        kinds = [*NAMES, *faulty]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        if kinds[0] in faulty and kinds[-1] in faulty:
            kinds.sort(key=lambda kind: kind in faulty)                        # so that an order can be told
        found.append(([made(kind, W, Wa, Ua, v) for kind in kinds], W, Wa, Ua, v))
    return found


@dataclass
class Names(Words):
    """As Words, for the names of all functions."""

    def told(self, got: Sequence[str], expected: list[str]) -> str:
        if len(got) != len(expected):
            return f"Your list has {counted(len(got), 'name')} for {counted(len(expected), 'function')}."
        wrong = [i for i, (mine, right) in enumerate(zip(got, expected, strict=True)) if mine != right]
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
