"""Which misconception explains a wrong answer: the one whose twin gives the same answer, everywhere it is asked.

A twin is the reference with a misconception built in. Two twins that agree on the inputs at hand are told apart on
fresh ones, and on those of the exercise's other checks: a fault that an answer does not have there is not its fault.
When none agrees, pairs are tried. When nothing does, or more than one, no misconception is named.
"""
from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.exercise.checks import Call, Check, Compare, Gradient, Property, Record
from course_lib.grading.sandbox.inside.local import Local
from course_lib.grading.sandbox.inside.outcome import Outcome, is_number, same

ROUNDS = 4          # fresh draws to tell twins apart
MOST = 10_000       # parts of a list that are looked at as numbers
SPEAKS = re.compile(r"NaN|finit|overflow|underflow|not a number|becomes? 0|vanish")      # of what is no finite number


def misconceptions(exercise, check: Check, records: list[Record], call: Call, seed: int) -> tuple[str, ...]:
    """The names that explain the failed `records`: none, one, or a pair that acts together."""
    singles = [(name,) for name in exercise.misconceptions]
    found = narrow(exercise, check, records, singles, call, seed)
    if found is None:
        found = narrow(exercise, check, records, list(combinations(exercise.misconceptions, 2)), call, seed)
    return found or ()


def narrow(exercise, check, records, candidates, call, seed) -> tuple[str, ...] | None:
    """The one candidate that fits `records` and, if several do, fresh ones; () if several still do; None if none."""
    kinds = list(map(check.fault_kind, records))
    fitting = [bugs for bugs in candidates if fits(exercise, check, records, kinds, bugs) and
               (len(bugs) == 1 or independent(exercise, check, records, bugs))]
    if not fitting:
        return None
    fitting = [bugs for bugs in fitting if not refuted(exercise, check, bugs, call, seed)]
    for turn in range(ROUNDS):
        if not fitting or len(fitting) == 1 and turn:
            break
        try:
            fresh = check.records(exercise, call, exercise.generator(seed, f"{check.name}, again {turn}"))
        except Exception:               # it stopped here: another reason than the first
            return ()
        kinds = list(map(check.fault_kind, fresh))
        fitting = [bugs for bugs in fitting if fits(exercise, check, fresh, kinds, bugs, wrong=False)]
    return fitting[0] if len(fitting) == 1 else ()


def fits(exercise, check: Check, records: list[Record], kinds: list[tuple[str, str] | None], bugs: tuple[str, ...],
         wrong: bool = True) -> bool:
    """Whether the twin with `bugs` gives the learner's outcome on every record, with the same kind of fault, and, with `wrong`,
    a fault in one that tells something."""
    twin, faults = twin_of(exercise, bugs), []
    for record, mine in zip(records, kinds, strict=True):
        try:
            outcome = asked(twin, check, record)
        except Exception:
            return False
        if not check.alike(record, outcome):
            return False
        its = check.fault_kind(with_outcome(record, outcome))
        if its != mine:
            return False
        faults += [record] if its else []
    return not wrong or bool(faults) and tells(exercise, check, records, faults, bugs)


def with_outcome(record: Record, outcome: Outcome) -> Record:
    """The same case with what somebody else makes of it."""
    return replace(record, outcome=outcome)


def twin_of(exercise, bugs: tuple[str, ...]) -> Local:
    """The reference with these misconceptions, to be called as the learner's function is."""
    return Local(partial(exercise.solve, bugs=bugs), exercise.deadline)


def asked(twin: Local, check: Check, record: Record) -> Outcome:
    """What a twin gives on the record's case."""
    args, wrt, weight = record.args, (), None
    if isinstance(check, Gradient):
        args, wrt, weight = record.args[:-1], check.wrt, record.args[-1]
    with torch.random.fork_rng(devices=[]):
        return twin.call(args, wrt, weight)


def tells(exercise, check: Check, records: list[Record], faults: list[Record], bugs: tuple[str, ...]) -> bool:
    """Whether the faults show more than that a result is NaN or infinite: what goes wrong in that way all looks alike.

    They do if a wrong entry is a number, or if other entries are numbers, so that the places tell. Where no entry is
    one, a misconception must speak of it, and there must be both NaN and infinities, or an earlier check that the answer
    passed.
    """
    if any(record.outcome.kind != "value" or lost(check, record) is None or bool((~lost(check, record)[1]).any())
           for record in faults):
        return True
    seen = [lost(check, record)[0] for record in records if record.outcome.kind == "value"]
    results = torch.cat([torch.empty(0, dtype=torch.float64), *seen])
    if results.isfinite().any():
        return True
    kinds = results.isnan().any().int() + (results == torch.inf).any().int() + (results == -torch.inf).any().int()
    return (kinds > 1 or check is not exercise.checks[0]) and any(
        SPEAKS.search(exercise.misconceptions[name]) for name in bugs)


def lost(check: Check, record: Record) -> tuple[Tensor, Tensor] | None:
    """The numbers of the learner's result, and of each wrong one whether it is NaN or infinite where the right result
    holds none such; None if they are not comparable entry by entry."""
    got, right = (map(numbers, (record.outcome.gradients, record.expected)) if isinstance(check, Gradient) else
                  map(numbers, (record.outcome.value, record.expected)))
    if got is None or right is None or got.shape != right.shape:
        return None
    gone = got.isnan() & ~right.isnan().any() | got.isinf() & ~right.isinf().any()
    return got, gone[~torch.isclose(got, right, check.rtol, check.atol, equal_nan=True)]


def numbers(value: Any) -> Tensor | None:
    """All numbers of a value in a row; None if something in it is no number."""
    if isinstance(value, Tensor) and not value.is_complex() or is_number(value):
        return torch.as_tensor(value).double().flatten()
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value, key=str)]
    if not isinstance(value, list | tuple) or len(value) > MOST:
        return None
    parts = [numbers(part) for part in value]
    return None if any(part is None for part in parts) else torch.cat([torch.empty(0, dtype=torch.float64), *parts])


def refuted(exercise, failed: Check, bugs: tuple[str, ...], call: Call, seed: int) -> bool:
    """Whether another check finds the twin wrong on a case where the learner's answer is right."""
    twin = twin_of(exercise, bugs)
    for check in exercise.checks:
        if check is failed or isinstance(check, Property):
            continue
        try:
            records = check.records(exercise, call, exercise.generator(seed, f"{check.name}, asked"))
            outcomes = [asked(twin, check, record) for record in records]
        except Exception:               # one of the two stops here, which says nothing about the other
            continue
        for record, outcome in zip(records, outcomes, strict=True):
            stopped = outcome.kind not in ("value", "no_gradient")
            if check.fault_kind(record) is None and (stopped or check.fault_kind(with_outcome(record, outcome))):
                return True
    return False


def independent(exercise, check: Check, records: list[Record], pair: tuple[str, str]) -> bool:
    """Whether each of the two sentences is true by itself: neither hides the other, and each does to the other's
    result what it does to the right one; or one of them is seen alone."""
    if not isinstance(check, Compare):
        return False
    alone = additive = False
    for turn, record in enumerate(records):
        try:
            one, two = (asked(twin_of(exercise, (name,)), check, record) for name in pair)
        except Exception:
            return False
        idle = [same(outcome.value, record.expected, check.rtol, check.atol) for outcome in (one, two)]
        together = [check.alike(record, outcome) for outcome in (one, two)]
        if any(together[i] and not idle[1 - i] for i in (0, 1)):
            return False                # what the other one alone does is not to be seen
        alone = alone or any(together[i] and idle[1 - i] and not idle[i] for i in (0, 1))
        additive = (additive or not turn) and adds_up(record, one.value, two.value, check)
    return alone or additive


def adds_up(record: Record, one: Any, two: Any, check: Check) -> bool:
    """Whether the learner's result differs from `one` as `two` from the right one: by the same sum or factor."""
    got, right, one, two = map(numbers, (record.outcome.value, record.expected, one, two))
    if any(part is None or part.shape != right.shape for part in (got, right, one, two)):
        return False
    return same(got - one, two - right, check.rtol, 10 * check.atol) or same(got * right, one * two, check.rtol, check.atol)
