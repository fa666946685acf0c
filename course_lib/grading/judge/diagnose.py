"""Name the misconception that explains a wrong answer: the only one with which the reference gives the same answer everywhere.

If several agree on the inputs at hand, fresh inputs decide, and those of the exercise's other checks: a fault that an answer does
not have there is not its fault. If none agrees, pairs are tried. If nothing or more than one fits, no misconception is named.
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
from course_lib.grading.sandbox.inside.outcome import WRITABLE, Outcome, is_number, plain, same

ROUNDS = 4          # fresh draws that decide between misconceptions
MOST = 10_000       # parts of a list that are looked at as numbers
SPEAKS = re.compile(r"NaN|finit|overflow|underflow|not a number|becomes? 0|vanish")      # of what is no finite number


def misconceptions(exercise, check: Check, records: list[Record], call: Call, seed: int) -> tuple[str, ...]:
    """The names that explain the failed `records`: none, one, or a pair that acts together."""
    found = narrow(exercise, check, records, [(name,) for name in exercise.misconceptions], call, seed)
    if found is None and isinstance(check, Compare):
        found = narrow(exercise, check, records, independent(exercise, check, records), call, seed)
    return found or ()


def narrow(exercise, check, records, candidates, call, seed) -> tuple[str, ...] | None:
    """The one candidate that fits `records` and, if several do, fresh ones; () if several still do; None if none."""
    kinds = list(map(check.fault_kind, records))
    fitting = [bugs for bugs in candidates if fits(exercise, check, records, kinds, bugs)]
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
    """Whether the reference with `bugs` gives the learner's outcome on every record, with the same kind of fault, and, with
    `wrong`, a fault in one that tells something."""
    faults = []
    for record, mine in zip(records, kinds, strict=True):
        try:
            outcome = asked(exercise, check, record, bugs)
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


def asked(exercise, check: Check, record: Record, bugs: tuple[str, ...]) -> Outcome:
    """What the reference with these misconceptions gives on the record's case."""
    with torch.random.fork_rng(devices=[]):
        if isinstance(check, Compare):
            try:                        # a copy of the arguments, since a misconception may be to write into them
                args = [plain(arg) if isinstance(arg, WRITABLE) else arg for arg in record.args]
                return Outcome("value", plain(exercise.solve(*args, bugs=bugs)))
            except Exception as problem:
                return Outcome("error", detail=str(problem))
        args, wrt, weight = record.args, (), None
        if isinstance(check, Gradient):
            args, wrt, weight = record.args[:-1], check.wrt, record.args[-1]
        return Local(partial(exercise.solve, bugs=bugs), exercise.deadline).call(args, wrt, weight)


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
    """Whether another check finds the reference with `bugs` wrong on a case where the learner's answer is right."""
    for check in exercise.checks:
        if check is failed or isinstance(check, Property):
            continue
        try:
            records = check.records(exercise, call, exercise.generator(seed, f"{check.name}, asked"))
            outcomes = [asked(exercise, check, record, bugs) for record in records]
        except Exception:               # one of the two stops here, which says nothing about the other
            continue
        for record, outcome in zip(records, outcomes, strict=True):
            stopped = outcome.kind not in ("value", "no_gradient")
            if check.fault_kind(record) is None and (stopped or check.fault_kind(with_outcome(record, outcome))):
                return True
    return False


def independent(exercise, check: Check, records: list[Record]) -> list[tuple[str, str]]:
    """The pairs of misconceptions of which each sentence is true by itself: in some record the learner's result is that of one
    while the other changes nothing, or in all it differs from the right one by what both change, as a sum or as a factor. In none
    it is that of one while the other, which would change something, is hidden."""
    pairs = list(combinations(exercise.misconceptions, 2))
    additive, alone = set(pairs), set()
    for record in records:
        outcomes = {name: asked(exercise, check, record, (name,)) for name in exercise.misconceptions}
        idle, mine = ({name for name, outcome in outcomes.items() if same(outcome.value, value, check.rtol, check.atol)}
                      for value in (record.expected, record.outcome.value))
        pairs = [(one, two) for one, two in pairs if (one not in mine or two in idle) and (two not in mine or one in idle)]
        alone |= {pair for pair in pairs if not (mine - idle).isdisjoint(pair)}
        additive &= adding_up(check, record, {name: outcome.value for name, outcome in outcomes.items()}, additive.intersection(pairs))
    return [pair for pair in pairs if pair in alone or pair in additive]


def adding_up(check: Check, record: Record, values: dict[str, Any], pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those pairs of which the learner's result has both changes, by the same sums or factors."""
    got, right = numbers(record.outcome.value), numbers(record.expected)
    if got is None or right is None or got.shape != right.shape:
        return set()
    rows = {name: row for name, value in values.items() if (row := numbers(value)) is not None and row.shape == right.shape}

    def close(one, two, atol=check.atol):
        return torch.allclose(one, two, check.rtol, atol, equal_nan=True)

    return {(one, two) for one, two in pairs if one in rows and two in rows and (
        close(got - rows[one], rows[two] - right, 10 * check.atol) or close(got * right, rows[one] * rows[two]))}
