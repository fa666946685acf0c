"""Which misconception explains a wrong answer: the one whose twin gives the same answer, everywhere it is asked.

A twin is the reference with a misconception built in. Two twins that agree on the inputs at hand are told apart on
fresh ones. When none agrees, pairs are tried. When nothing does, or more than one, no misconception is named.
"""
from __future__ import annotations

from functools import partial
from itertools import combinations

import torch

from course_lib.grading.checks import Call, Check, Gradient, Record
from course_lib.grading.local import Local

ROUNDS = 4          # fresh draws to tell twins apart


def misconceptions(exercise, check: Check, records: list[Record], call: Call, seed: int) -> tuple[str, ...]:
    """The names that explain the failed `records`: none, one, or a pair that acts together."""
    singles = [(name,) for name in exercise.misconceptions]
    found = narrow(exercise, check, records, singles, call, seed)
    return found if found is not None else narrow(
        exercise, check, records, list(combinations(exercise.misconceptions, 2)), call, seed) or ()


def narrow(exercise, check, records, candidates, call, seed) -> tuple[str, ...] | None:
    """The one candidate that fits `records` and, if several do, fresh ones; () if several still do; None if none."""
    fitting = [bugs for bugs in candidates if fits(exercise, check, records, bugs)]
    if not fitting:
        return None
    for turn in range(ROUNDS):
        if len(fitting) == 1 and turn:
            break
        try:
            fresh = check.records(exercise, call, exercise.generator(seed, f"{check.name}, again {turn}"))
        except Exception:               # it stopped here: another reason than the first
            return ()
        fitting = [bugs for bugs in fitting if fits(exercise, check, fresh, bugs, wrong=False)]
    return fitting[0] if len(fitting) == 1 else ()


def fits(exercise, check: Check, records: list[Record], bugs: tuple[str, ...], wrong: bool = True) -> bool:
    """Whether the twin with `bugs` gives the learner's outcome on every record and, with `wrong`, a fault as well."""
    local, faults = Local(partial(exercise.solve, bugs=bugs), exercise.deadline), 0
    for record in records:
        args, wrt, weight = record.args, (), None
        if isinstance(check, Gradient):
            args, wrt, weight = record.args[:-1], check.wrt, record.args[-1]
        try:
            with torch.random.fork_rng(devices=[]):
                outcome = local.call(args, wrt, weight)
        except Exception:
            return False
        if not check.alike(record, outcome):
            return False
        faults += check.fault(Record(record.args, record.expected, outcome)) is not None
    return faults > 0 or not wrong
