"""Explain a wrong answer: name the misconception, or the pair of them, with which the reference gives the same results, also on fresh inputs
and on those of other checks on which the answer is right; else say which argument changes nothing."""
import contextlib
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.checks import Call, Check, Compare, Gradient, Property, Record
from course_lib.grading.protocol.calls import WRITABLE, Local, Outcome, is_number, plain, same

ROUNDS = 4                      # fresh draws that decide between misconceptions
PATIENCE = 2.0                  # seconds of the processor after which no argument is changed any more
PARTS = 10_000                  # of a list that are compared as numbers
MENTIONS_NONFINITE = re.compile(r"NaN|finit|overflow|underflow|not a number|becomes? 0|vanish")      # of a misconception's sentence
Names = tuple[str, ...]


def find_misconceptions(exercise, check: Check, records: list[Record], call: Call, seed: int) -> Names:
    """The names that explain the failed `records`: one, a pair that acts together, or what pairs that cannot be told apart share."""
    records = sorted(records, key=lambda record: check.fault_kind(record) is None)       # most misconceptions differ on a wrong one
    names = select_fitting(exercise, check, records, [(name,) for name in exercise.misconceptions], call, seed)
    if names is None and isinstance(check, Compare):
        pairs = [(one, two) for one, two in combinations(exercise.misconceptions, 2)
                 if exercise.replacements[one][0] is not exercise.replacements[two][0]]
        names = select_fitting(exercise, check, records, pairs, call, seed)
    return names or ()


def select_fitting(exercise, check: Check, records: list[Record], candidates: list[Names], call: Call, seed: int) -> Names | None:
    """What all candidates that fit `records`, and then fresh ones, have in common; None if none fits `records`."""
    fitting = [bugs for bugs in candidates if fits(exercise, check, records, bugs) and is_informative(exercise, check, records, bugs)]
    if not fitting:
        return None
    right = right_cases(exercise, check, call, seed)
    fitting = [bugs for bugs in fitting if not is_refuted(exercise, right, bugs)]
    for i in range(ROUNDS):
        if not fitting or len(fitting) == 1 and i:
            break
        try:
            fresh = check.records(exercise, call, exercise.generator(seed, f"{check.name}, again {i}"))
        except Exception:               # it stopped here, for another reason than the first
            return ()
        fitting = [bugs for bugs in fitting if fits(exercise, check, fresh, bugs)]
    sentences = [{exercise.misconceptions[name] for name in bugs} for bugs in fitting]
    return tuple([name for name in fitting[0] if all(exercise.misconceptions[name] in said for said in sentences)] if fitting else ())


def fits(exercise, check: Check, records: list[Record], bugs: Names) -> bool:
    """Whether the reference with `bugs` gives the learner's outcome on every record, with the same kind of fault."""
    for record in records:
        outcome = outcome_with(exercise, check, record, bugs)
        if not check.alike(record, outcome) or check.fault_kind(replace(record, outcome=outcome)) != check.fault_kind(record):
            return False
    return True


def outcome_with(exercise, check: Check, record: Record, bugs: Names) -> Outcome:
    """The outcome of the reference with these misconceptions on the record's case."""
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


def is_informative(exercise, check: Check, records: list[Record], bugs: Names) -> bool:
    """Whether the faults show more than NaN or infinities, to which many mistakes lead; else the misconception has to mention these."""
    faults = [record for record in records if check.fault_kind(record)]
    parts = [nonfinite_entries(check, record) if record.outcome.kind == "value" else None for record in faults]
    if any(part is None or bool((~part[1]).any()) for part in parts):
        return True
    values = [nonfinite_entries(check, record)[0] for record in records if record.outcome.kind == "value"]
    results = torch.cat([torch.empty(0, dtype=torch.float64), *values])
    if results.isfinite().any():
        return True
    kinds = results.isnan().any().int() + (results == torch.inf).any().int() + (results == -torch.inf).any().int()
    return (kinds > 1 or check is not exercise.checks[0]) and any(MENTIONS_NONFINITE.search(exercise.misconceptions[name]) for name in bugs)


def nonfinite_entries(check: Check, record: Record) -> tuple[Tensor, Tensor] | None:
    """The numbers of the learner's result, and for each wrong one whether it is NaN or infinite and no right one is; None without a match."""
    got = flatten_numbers(record.outcome.gradients if isinstance(check, Gradient) else record.outcome.value)
    right = flatten_numbers(record.expected)
    if got is None or right is None or got.shape != right.shape:
        return None
    nonfinite = got.isnan() & ~right.isnan().any() | got.isinf() & ~right.isinf().any()
    return got, nonfinite[~torch.isclose(got, right, check.rtol, check.atol, equal_nan=True)]


def flatten_numbers(value: Any) -> Tensor | None:
    """All numbers of a value in a row; None if a part of it is not a number."""
    if isinstance(value, Tensor) and not value.is_complex() or is_number(value):
        return torch.as_tensor(value).double().flatten()
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value, key=str)]
    if not isinstance(value, list | tuple) or len(value) > PARTS:
        return None
    parts = [flatten_numbers(part) for part in value]
    return None if any(part is None for part in parts) else torch.cat([torch.empty(0, dtype=torch.float64), *parts])


def right_cases(exercise, failed: Check, call: Call, seed: int) -> list[tuple[Check, Record]]:
    """The cases of the other checks where the learner's answer is right."""
    cases = []
    for check in exercise.checks:
        if check is not failed and not isinstance(check, Property):
            with contextlib.suppress(Exception):         # it stops here, which says nothing about a misconception
                records = check.records(exercise, call, exercise.generator(seed, f"{check.name}, asked"))
                cases += [(check, record) for record in records if check.fault_kind(record) is None]
    return cases


def is_refuted(exercise, right: list[tuple[Check, Record]], bugs: Names) -> bool:
    """Whether the reference with `bugs` is wrong, or stops, on one of these cases, where the learner's answer is right."""
    for check, record in right:
        outcome = outcome_with(exercise, check, record, bugs)
        if outcome.kind not in ("value", "no_gradient") or check.fault_kind(replace(record, outcome=outcome)):
            return True
    return False


def describe_nondeterminism(call: Call, check: Check, record: Record) -> str | None:
    """A sentence if a second call with the same arguments gives another result, else None."""
    with contextlib.suppress(Exception):                 # a function that the learner returned fails
        outcome = call(record.args)
        if outcome.kind == "value" and not same(outcome.value, record.outcome.value, check.rtol, check.atol):
            return ("Two calls with the same arguments give different results: your function samples by itself where it should use "
                    "its arguments, or it keeps something from call to call. Dropout does so too, unless model.eval() turns it off.")
    return None


def describe_ignored_argument(exercise, call: Call, record: Record, records: Sequence[Record]) -> str | None:
    """A sentence on an argument, or a parameter of a class, that changes none of the learner's results but a right one, or None."""
    until = time.process_time() + PATIENCE
    for i, arg in enumerate(record.args):
        for key in arg if isinstance(arg, dict) else [None]:
            changed = [(each, args) for each in (record, *records) for step in (0, 1)
                       if each.name(i) == record.name(i) and (args := replace_argument(each.args, i, key, step))]     # one may leave a ReLU closed
            with contextlib.suppress(Exception):         # one of the two does not accept the change
                if (time.process_time() < until and all(same(call(args).value, each.outcome.value, 1e-7, 1e-7) for each, args in changed)
                        and any(not same(plain(exercise.solve(*args)), each.expected, 1e-3, 1e-3) for each, args in changed)):
                    name = f"{key}, a parameter of your class," if key else record.name(i)
                    return f"Your result does not change when {name} does; the right one does."
    return None


def replace_argument(args: tuple, i: int, key: str | None, step: int) -> tuple | None:
    """The arguments with another value of argument i, or of its entry `key`; None if it has no other value of its kind."""
    if i >= len(args) or isinstance(args[i], dict) != (key is not None):
        return None                                      # another method of the class
    value = args[i] if key is None else args[i].get(key)
    if isinstance(value, bool):
        new = not value
    elif isinstance(value, float):
        new = value * (0.9, 0.5)[step]
    elif not isinstance(value, Tensor) or value.is_complex() or value.numel() < 1 + (value.dtype == torch.int64):
        return None
    elif value.dtype == torch.bool:
        new = ~value
    elif not value.is_floating_point():
        new = value.flatten().roll(1 + step).reshape(value.shape)
    elif ((value == 0) | (value == 1)).all():
        new = 1 - value
    else:
        slope = 0.8 + 0.15 * torch.linspace(0, 1, value.numel()).reshape(value.shape).to(value)
        new = value * slope * (1 if not step else 0.5 if (value >= 0).all() else -1.4)
    return (*args[:i], new if key is None else args[i] | {key: new}, *args[i + 1:])
