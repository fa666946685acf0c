"""LSTM cells whose forget gate is not what it should be, to be found from outside."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.findings import Findings
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_forgetful", chapter="recurrent", place=4, title="Find the cells that forgot their gate",
    contract="cells is a list of functions. Each claims to be a step of an LSTM: cell(x, h, c) with x (B, I), h (B, H) and c "
             "(B, H) returns (h', c'), where c' = f * c + i * g, each of f, i, g a function of x and h. In some the forget gate f is "
             "constant, or does not react to x, or not to h, in all of its H units. Return their numbers, counted from 0, as a "
             "sorted list. Where a gate reacts, it does so by 0.01 at least for inputs of size 1.",
    points=["lstm-gru"], difficulty=4, minutes=25, kind="find")


@exercise.step
def forget_gate(cell, x, h):
    zeros = torch.zeros_like(h)
    return cell(x, h, zeros + 1)[1] - cell(x, h, zeros)[1]                     # f * 1 + i * g - (f * 0 + i * g)


def change(f, other):
    return float((f - other).abs().max())


@exercise.step
def is_broken(f, with_other_x, with_other_h):
    return min(change(f, with_other_x), change(f, with_other_h)) < 1e-3


@exercise.reference()
def find_forgetful_reference(cells, n, H):
    generator = torch.Generator().manual_seed(0)
    x, other_x = torch.randn(2, 16, n, generator=generator)
    h, other_h = torch.randn(2, 16, H, generator=generator)
    return [k for k, cell in enumerate(cells)
            if is_broken(forget_gate(cell, x, h), forget_gate(cell, other_x, h), forget_gate(cell, x, other_h))]


@exercise.misconception(
    forget_gate,
    "Your list misses them all: what you compare changes in every cell, through i * g. Isolate f: how c' changes when c does.")
def whole_memory(cell, x, h):
    return cell(x, h, torch.zeros_like(h))[1]


@exercise.misconception(is_broken, "You only test whether the gate reacts to x. It must react to h as well.")
def h_unwatched(f, with_other_x, with_other_h):
    return change(f, with_other_x) < 1e-3


@exercise.misconception(is_broken, "You only test whether the gate reacts to h. It must react to x as well.")
def x_unwatched(f, with_other_x, with_other_h):
    return change(f, with_other_h) < 1e-3


@exercise.misconception(is_broken, "You only find gates that are always 1. A gate that is constant at any other value is broken too.")
def stuck_at_one(f, with_other_x, with_other_h):
    return change(f, torch.ones_like(f)) < 1e-3


@exercise.misconception(
    is_broken,
    "You only find gates that never change. A gate that reacts to one of its inputs alone is broken too.")
def constant_only(f, with_other_x, with_other_h):
    return max(change(f, with_other_x), change(f, with_other_h)) < 1e-3


@exercise.misconception(
    is_broken,
    "You call gates broken that are nearly open or nearly shut. They react, although weakly: a change of 0.01 is enough.")
def small_ones(f, with_other_x, with_other_h):
    return min(change(f, with_other_x), change(f, with_other_h)) < 0.15


KINDS = ("sound", "open", "nearly shut", "coupled", "always one", "constant", "blind to x", "blind to h", "own constants")


class Suspect:
    """An LSTM step whose forget gate is of a kind."""

    def __init__(self, generator, n: int, H: int, kind: str):
        self.W, self.U = (normal(generator, 4 * H, width, scale=0.7) for width in (n, H))
        self.b, self.kind = normal(generator, 4 * H, scale=0.5), kind
        self.own = torch.rand(H, generator=generator)

    def __call__(self, x, h, c):
        i, f, g, o = (x @ self.W.T + h @ self.U.T + self.b).chunk(4, dim=1)
        H, kind = len(self.own), self.kind
        if kind == "blind to x":
            f = h @ self.U[H:2 * H].T + self.b[H:2 * H]
        if kind == "blind to h":
            f = x @ self.W[H:2 * H].T + self.b[H:2 * H]
        i, f, o = i.sigmoid(), f.sigmoid(), o.sigmoid()
        if kind == "open":
            f = 0.9 + 0.1 * f
        if kind == "nearly shut":
            f = 0.1 * f
        if kind == "coupled":                                                  # reacts to both: a gate
            f = 1 - i
        if kind == "always one":
            f = torch.ones_like(f)
        if kind == "constant":
            f = torch.full_like(f, 0.73)
        if kind == "own constants":
            f = self.own.expand_as(f)
        new = f * c + i * g.tanh()
        return o * new.tanh(), new


def suspect_cases(generator):
    cases = []
    for _ in range(3):
        n, H = integer(generator, 2, 4), integer(generator, 5, 7)
        order = torch.randperm(len(KINDS), generator=generator).tolist()
        rule = f"A cell takes x (B, {n}), h (B, {H}) and c (B, {H}), three tensors of floats."
        cases.append(([with_rule(rule, Suspect(generator, n, H, KINDS[k])) for k in order], n, H))
    return cases


exercise.checks.append(Findings(
    "values", 5, suspect_cases, holder="One of the folders of cells", noun="cell",
    tip="A gate has to react to x, and to h."))
exercise.hint(
    "You only have functions, and no gates to look at.",
    "c' is linear in c. Call a cell twice with the same x and h, once with c = 1 and once with c = 0: the difference is f.")
exercise.hint(
    "Your list is too short.",
    "A gate that reacts to x may be blind to h. Change one of the two, hold the other, and compare; then the other way round.")
exercise.hint(
    "Your list is too long.",
    "A gate that is nearly open or nearly shut is a gate, and so is one that equals 1 - i. Ask only whether it reacts.")
