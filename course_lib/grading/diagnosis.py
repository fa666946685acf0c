"""Explain a wrong answer: name the misconception with which the reference gives the same results, or find what the answer depends on. If
several misconceptions agree on the inputs at hand, fresh inputs decide, and those of the other checks on which the answer is right. If none
agrees, pairs are tried. Dependence is found by calling the answer again: unchanged, and with one argument changed."""
from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.checks import Call, Check, Compare, Gradient, Property, Record
from course_lib.grading.protocol.calls import WRITABLE, Local, Outcome, first_difference, is_number, plain, same

ROUNDS = 4                      # fresh draws that decide between misconceptions
PARTS = 10_000                  # of a list that are compared as numbers
PATIENCE = 2.0                  # seconds of the processor after which no argument is changed any more
EXACT, CLEAR = 1e-7, 1e-3       # a change of a result that is rounding at most; one that counts
MENTIONS_NONFINITE = re.compile(r"NaN|finit|overflow|underflow|not a number|becomes? 0|vanish")      # of a misconception's sentence
Names = tuple[str, ...]


# Misconceptions

def find_misconceptions(exercise, check: Check, records: list[Record], call: Call, seed: int) -> Names:
    """The names that explain the failed `records`: one, a pair that acts together, or what pairs that cannot be told apart share."""
    records = sorted(records, key=lambda record: check.fault_kind(record) is None)       # most misconceptions differ on a wrong one
    names = select_fitting(exercise, check, records, [(name,) for name in exercise.misconceptions], call, seed)
    if names is None and isinstance(check, Compare):
        pairs = [(one, two) for one, two in combinations(exercise.misconceptions, 2)
                 if exercise.replacements[one][0] is not exercise.replacements[two][0]]
        names = select_fitting(exercise, check, records, pairs, call, seed)
    return names or ()


def explain_part(exercise, check: Check, records: list[Record], call: Call, seed: int) -> tuple[str, Names]:
    """Of a result with several parts, the first wrong one that misconceptions explain, and their names; ("", ()) if there is none."""
    right = records[0].expected
    keys = range(len(right)) if isinstance(right, tuple) else right if isinstance(right, dict) else ()
    for key in keys if type(check) is Compare else ():   # a check with rules of its own takes the result as a whole
        def call_part(args, key=key):
            outcome = call(args)
            return replace(outcome, value=outcome.value[key]) if outcome.kind == "value" else outcome

        try:
            parts = [replace(record, expected=record.expected[key], outcome=replace(record.outcome, value=record.outcome.value[key]))
                     for record in records]
            if not any(map(check.fault, parts)):
                continue
            function = wraps(exercise.function)(lambda *args, key=key: exercise.function(*args)[key])
            others = [one for one in exercise.checks if type(one) is Compare]        # which may refute a misconception of the part
            names = find_misconceptions(replace(exercise, function=function, checks=others), check, parts, call_part, seed)
        except (LookupError, TypeError):
            continue
        if names:
            return f"[{key!r}]", names
    return "", ()


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
    """Whether the faults show more than that a result is NaN or infinite, since many mistakes lead to that: if any entry is finite. If none
    is, the misconception has to mention it, and there must be both NaN and infinities, or an earlier check that the answer passed."""
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


# Dependence

def try_call(call: Call, args: Sequence[Any]) -> Outcome | None:
    """The outcome of a call that gave a value, or None."""
    with contextlib.suppress(Exception):                 # a function that the learner returned fails
        outcome = call(args)
        return outcome if outcome.kind == "value" else None


def describe_nondeterminism(call: Call, check: Check, record: Record) -> str | None:
    """A sentence if a second call with the same arguments gives another result, else None."""
    outcome = try_call(call, record.args)
    if outcome is None or same(outcome.value, record.outcome.value, check.rtol, check.atol):
        return None
    return ("Two calls with the same arguments give different results: your function samples by itself where it should use "
            "its arguments, or it keeps something from call to call. Dropout does so too, unless model.eval() turns it off.")


def describe_ignored_argument(exercise, call: Call, check: Check, record: Record, records: Sequence[Record]) -> str | None:
    """A sentence on the argument, or slice of one, that does not change the learner's (first) wrong result although it changes the right one,
    or None. Two changes are tried, since one may leave a ReLU closed, and on all `records`: a single row or key can hide a dependence."""
    got, right = record.outcome.value, record.expected
    several = isinstance(right, tuple) and isinstance(got, list | tuple) and len(got) == len(right)
    part = first_difference(got, right, check.rtol, check.atol) if several else None
    select = (lambda value: value) if part is None else (lambda value: value[part])

    def changes_result(record: Record, args: tuple) -> bool:
        outcome = try_call(call, args)
        return outcome is None or not same(select(outcome.value), select(record.outcome.value), EXACT, EXACT)

    def changes_another(name: str) -> bool:
        return any(each == name and any(changes_result(other, change(i)) for i in (0, 1))
                   for other in records for each, change in perturbations(other))

    def changes_reference(args: tuple) -> bool:
        return not same(select(plain(exercise.solve(*args))), select(right), CLEAR, CLEAR)

    until = time.process_time() + PATIENCE
    for name, change in perturbations(record):
        if time.process_time() > until:
            return None
        try:
            ignored = not any(changes_result(record, change(i)) for i in (0, 1))
            if ignored and any(changes_reference(change(i)) for i in (0, 1)) and not changes_another(name):
                before = "Result[0] is right. " if part == 1 else f"Result[0] to result[{part - 1}] are right. " if part else ""
                return f"{before}Your result{'' if part is None else f'[{part}]'} does not change when {name} does; the right one does."
        except Exception:               # one of the two does not accept this change
            continue
    return None


def perturbations(record: Record) -> Iterator[tuple[str, Callable[[int], tuple]]]:
    """What can be changed: its name, and the arguments after the first or second change. First each argument, and of a class each parameter;
    then the first and last slices along their first and last axes."""
    inputs = []                                          # name, kind, value, the arguments with another value
    for i, arg in enumerate(record.args):
        if isinstance(arg, dict):
            inputs += [(key, ", a parameter of your class,", value,
                        lambda value, i=i, key=key: replace_argument(record.args, i, record.args[i] | {key: value}))
                       for key, value in arg.items() if isinstance(value, Tensor)]
        else:
            inputs.append((record.name(i), "", arg, partial(replace_argument, record.args, i)))
    inputs = [row for row in inputs if perturb(row[2], 0) is not None]
    for name, kind, value, args_with in inputs:
        yield name + kind, lambda i, value=value, args_with=args_with: args_with(perturb(value, i))
    for name, kind, value, args_with in inputs:
        for axis in sorted({0, value.ndim - 1}) if isinstance(value, Tensor) and value.ndim else ():
            for k in (0, value.shape[axis] - 1) if value.shape[axis] > 1 else ():
                index = ", ".join([":"] * axis + [str(k)] + [":"] * (value.ndim - axis - 1))
                yield f"{name}[{index}]{kind}", lambda i, value=value, args_with=args_with, axis=axis, k=k: args_with(
                    value.index_copy(axis, torch.tensor([k]), perturb(value.narrow(axis, k, 1), i)))


def replace_argument(args: tuple, i: int, value: Any) -> tuple:
    """The arguments with another value at position i."""
    return (*args[:i], value, *args[i + 1:])


def perturb(value: Any, i: int) -> Any:
    """Another value of the same kind, or None: 0 and 1 exchanged, tokens moved, other numbers made smaller, or in the second change
    (i = 1) halved, with the other sign if they have both signs."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value * (0.9, 0.5)[i]
    if not isinstance(value, Tensor) or value.is_complex() or not value.numel():
        return None
    if value.dtype == torch.bool:
        return ~value
    if not value.is_floating_point():
        return value.flatten().roll(1 + i).reshape(value.shape) if value.numel() > 1 else None
    if ((value == 0) | (value == 1)).all():
        return 1 - value
    slope = 0.8 + 0.15 * torch.linspace(0, 1, value.numel()).reshape(value.shape).to(value)
    return value * (slope if not i else 0.5 * slope if (value >= 0).all() else -1.4 * slope)
