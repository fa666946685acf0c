"""What an answer does with its arguments, found by experiments: arguments are changed, and the results compared.

Asked when a wrong value shows no simpler relation to the right one. Every sentence reports what was seen: two calls
that differ; an argument that, put in another way, makes the result right; a part of one that moves the result and
should not, or the other way round, or by another amount.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.exercise.checks import Call, Check, Compare, Record
from course_lib.grading.judge.treatments import asked, treated
from course_lib.grading.sandbox.inside.outcome import is_number, plain, same

CALLS = 60                      # of the learner's function
SIDE = 8                        # places of an axis that are changed, one at a time
EXACT = 1e-7                    # a result that moves by less, of its size, has not moved
CLEAR = 1e-3                    # one that moves by more has
ALIKE = 1e-3                    # relative difference of two effects that are one


def repeated(call: Call, check: Check, record: Record) -> str | None:
    """Whether a second call with the same arguments gives another result."""
    outcome = asked(call, record.args)
    if outcome is None or same(outcome.value, record.outcome.value, check.rtol, check.atol):
        return None
    return ("Two calls with the same arguments give different results: something is drawn at random that should come from the "
            "arguments, or is kept from call to call.")


def depends_on(exercise, call: Call, check: Check, records: Sequence[Record], part: int | None = None) -> str | None:
    """A sentence on what the learner's result depends on; None if nothing that was tried tells. The first of the records is
    wrong. `part`: of the reference's result, where the records hold that one alone."""
    record = records[0]
    if exercise.of_class and (found := unused(exercise, call, record)):
        return found

    def is_right(record, args):
        outcome = asked(call, args)
        return outcome is not None and same(outcome.value, record.expected, check.rtol, check.atol)

    wrong = [one for one in records if not same(one.outcome.value, one.expected, check.rtol, check.atol)]
    for args, says in instead(record):
        if is_right(record, args) and all(      # in the other cases too: by chance it may be in one
                is_right(one, other) for one in wrong[1:] for other, its in instead(one) if its == says):
            return f"Your result is right {says}."
    if type(check).value_fault is Compare.value_fault and (found := treated(exercise, call, check, records, part)):
        return found
    calls, effects = 0, {}
    for name, what, both_args in [*arguments(record), *parts(record)]:
        calls += len(both_args)
        if calls > CALLS:
            break
        try:
            right = [plain(exercise.solve(*args)) for args in both_args]
            right = right if part is None else [one[part] for one in right]
        except Exception:               # a change that the reference does not take
            continue
        outcomes = [asked(call, args) for args in both_args]
        if None in outcomes:
            continue
        mine = [outcome.value for outcome in outcomes]
        if found := moved(record, mine, right, name, what):
            return found
        group = (name, "[:" in what) if what else ("", False)            # its columns, its rows; or all of it
        effects.setdefault(group, []).append((what or name, effect(record, mine[0], right[0])))
    whole = effects.pop(("", False), [])
    return next((found for some in [*effects.values(), whole] if (found := apart(some))), None)


def one_part(check: Check, records: Sequence[Record]) -> tuple[int, list[Record]] | None:
    """Of results that are several things: the number of the first that is wrong somewhere, and the records of it alone; None
    if there are not several, or if that one is no tensor and no number."""
    if not all(isinstance(one, list | tuple) for record in records for one in (record.expected, record.outcome.value)):
        return None
    pairs = [list(zip(record.outcome.value, record.expected, strict=False)) for record in records]
    if len({len(one) for record in records for one in (record.outcome.value, record.expected)}) > 1:
        return None
    for i in range(len(pairs[0])):
        parts = [replace(record, expected=pair[i][1], outcome=replace(record.outcome, value=pair[i][0]))
                 for record, pair in zip(records, pairs, strict=True)]
        if not all(same(one.outcome.value, one.expected, check.rtol, check.atol) for one in parts):
            told = all(isinstance(one, Tensor) or is_number(one) for part in parts for one in (part.expected, part.outcome.value))
            return (i, parts) if told and isinstance(records[0].expected, tuple) else None
    return None


def of_part(i: int, call: Call) -> Call:
    """`call`, as of a function that returns its result[i] alone."""
    def part(*args, **kwargs):
        outcome = call(*args, **kwargs)
        return replace(outcome, value=outcome.value[i]) if outcome.kind == "value" else outcome

    return part


def unused(exercise, call: Call, record: Record) -> str | None:
    """Which parameters of a class, or which part of one, do not move its result where they should: their gradient is 0 and
    the right one's is not, and two changes of them give the same result."""
    if len(record.args) < 4 or not isinstance(record.args[2], dict) or not isinstance(record.expected, Tensor) \
            or not record.expected.is_floating_point():
        return None
    what, config, weights, *x = record.args
    weight = torch.randn(record.expected.shape, generator=torch.Generator().manual_seed(0))
    args = ("slopes", config, weights, what, weight, *x)
    outcome = asked(call, args)
    mine = outcome.value if outcome is not None and isinstance(outcome.value, dict) else {}
    try:
        right = plain(exercise.solve(*args))
    except Exception:                   # no method with a gradient
        return None
    scale = max((float(right[name].abs().max()) for name in weights if name in right), default=0.0)
    for name, value in weights.items():
        if not isinstance(mine.get(name), Tensor) or name not in right or mine[name].shape != right[name].shape:
            continue
        lost = (mine[name] == 0) & (right[name].abs() > CLEAR * scale)
        if not lost.any():
            continue
        kept = all(still is not None and same(still.value, record.outcome.value, EXACT, EXACT) for still in (
            asked(call, (what, config, weights | {name: torch.where(lost, changed(value, turn), value)}, *x))
            for turn in (0, 1)))
        if kept:
            return f"Your result does not depend on {part_of(name, lost, mine[name] == 0)}, a parameter of your class."
    return None


def part_of(name: str, lost: Tensor, still: Tensor) -> str:
    """The part of a tensor that the places `lost` span, as a slice, if nothing moves the result there (`still`): as long as it can
    be along each axis. Else how many they are."""
    spans = []
    for axis, size in enumerate(lost.shape):
        across = lost.movedim(axis, 0).reshape(size, -1).any(1).nonzero().flatten().tolist()
        spans.append(slice(across[0], across[-1] + 1))
    if not still[tuple(spans)].all():
        return f"{int(lost.sum())} of the {lost.numel()} entries of {name}, {lost.nonzero()[0].tolist()} the first"
    for axis in range(lost.ndim):
        longer = [*spans[:axis], slice(0, lost.shape[axis]), *spans[axis + 1:]]
        spans = longer if still[tuple(longer)].all() else spans
    written = [":" if one == slice(0, size) else f"{one.start}" if one.stop == one.start + 1 else f"{one.start}:{one.stop}"
               for one, size in zip(spans, lost.shape, strict=True)]
    while written and written[-1] == ":":
        written.pop()
    return f"{name}[{', '.join(written)}]" if written else name


def instead(record: Record) -> Iterator[tuple[tuple, str]]:
    """Other arguments, and what is said if the learner's result is right with them."""
    def put(i, other):
        return (*record.args[:i], other, *record.args[i + 1:])

    for i, arg in enumerate(record.args):
        name = record.name(i)
        if isinstance(arg, Tensor) and arg.ndim and arg.numel() > 1:
            if arg.dtype == torch.bool:
                yield put(i, ~arg), f"for ~{name} in the place of {name}: True and False are exchanged"
            elif binary(arg):
                yield put(i, 1 - arg), f"for 1 - {name} in the place of {name}: 0 and 1 are exchanged"
            elif arg.is_floating_point():
                yield put(i, -arg), f"for -{name} in the place of {name}: a sign"
            if arg.ndim >= 2 and arg.shape[-1] == arg.shape[-2]:
                yield put(i, arg.mT.contiguous()), f"for {name}.mT in the place of {name}: its rows and columns are exchanged"
            yield put(i, arg.flip(-1)), f"for {name}.flip(-1) in the place of {name}: it is read from the end"
        elif type(arg) is int:
            for k in (1, -1):
                yield put(i, arg + k), f"for {name} {'+' if k > 0 else '-'} 1 in the place of {name}: off by one"
        for j in range(i + 1, len(record.args)):
            other = record.args[j]
            alike = isinstance(arg, Tensor) and isinstance(other, Tensor) and arg.shape == other.shape \
                and arg.dtype == other.dtype or type(arg) is type(other) is int
            if alike:
                yield (*record.args[:i], other, *record.args[i + 1:j], arg, *record.args[j + 1:]), \
                    f"if {name} and {record.name(j)} are exchanged"


def moved(record: Record, mine: list, right: list, name: str, what: str) -> str | None:
    """What changes to an argument moved in one of the two results, and not at all in the other. Both changes count, since
    one alone may meet a unit that is closed or a softmax that is sure."""
    changes = [in_tensors(record.outcome.value, record.expected, *pair) for pair in zip(mine, right, strict=True)]
    if None in changes:
        has = any(not same(one, record.outcome.value, EXACT, EXACT) for one in mine)
        should = any(not same(one, record.expected, EXACT, EXACT) for one in right)
        return f"Your result does not depend on {what or name}." if should and not has else None
    scale = record_scale(changes)
    steps = [((after - old).abs(), (goal - wanted).abs()) for old, wanted, after, goal in changes]
    got, due = (torch.stack(step).nan_to_num(posinf=scale).amax(0) for step in zip(*steps, strict=True))
    if due.max() > CLEAR * scale and got.max() <= EXACT * scale:
        return f"Your result does not depend on {what or name}."
    if got.max() > CLEAR * scale and due.max() <= EXACT * scale:
        return f"Your result changes with {what or name}; the right one does not, in this case."
    for places, says, does in (((got > CLEAR * scale) & (due <= EXACT * scale), "changes", "does not"),
                               ((due > CLEAR * scale) & (got <= EXACT * scale), "does not change", "does")):
        if what and places.any():
            first = places.nonzero()[0].tolist()
            return f"Your result at index {tuple(first) if len(first) > 1 else first[0]} {says} with {what}; the right one " \
                   f"{does}."
    return None


def record_scale(changes: list[list[Tensor]]) -> float:
    """The size of the results, below which a change is rounding."""
    return max(float(one.nan_to_num(posinf=0, neginf=0).abs().max()) for change in changes for one in change[1:2]) or 1.0


def effect(record: Record, mine: Any, right: Any) -> bool | None:
    """Whether a change did to the learner's result what it did to the right one; None if that cannot be told."""
    if (found := in_tensors(record.outcome.value, record.expected, mine, right)) is None:
        return None
    old, wanted, mine, right = found
    got, should = mine - old, right - wanted
    size = should.abs().max()
    return bool((got - should).abs().max() <= ALIKE * size) if size > 0 and got.isfinite().all() else None


def apart(effects: Sequence[tuple[str, bool | None]]) -> str | None:
    """Which changes have the right effect and which another, if it is few that differ from the rest."""
    good, bad = [what for what, fine in effects if fine], [what for what, fine in effects if fine is False]
    if not good or not bad or min(len(good), len(bad)) > 2:
        return None
    if len(bad) <= min(2, len(good)):
        return f"What {both(bad)} {'does' if len(bad) == 1 else 'do'} to your result is not what it should be; the effect of " \
               f"{both(good) if len(good) < 3 else 'the others'} is right."
    if any("[" in what for what in good):                # of its rows and columns one alone is right: that may be chance
        return None
    return f"{both(good)} {'has' if len(good) == 1 else 'have'} the right effect on your result; {', '.join(bad)} " \
           f"{'has' if len(bad) == 1 else 'have'} another."


def both(names: Sequence[str]) -> str:
    """ "W", or "W and c"."""
    return " and ".join(names)


def in_tensors(*values: Any) -> list[Tensor] | None:
    """The values as tensors of one shape, or None."""
    tensors = [torch.as_tensor(value) if is_number(value) else value for value in values]
    if not all(isinstance(one, Tensor) and one.shape == tensors[0].shape and not one.is_complex() for one in tensors):
        return None
    return [one.double() for one in tensors]


def arguments(record: Record) -> Iterator[tuple[str, str, list[tuple]]]:
    """Each argument changed as a whole, in two ways: its name, nothing, all arguments then."""
    for i, arg in enumerate(record.args):
        others = [other for turn in (0, 1) if (other := changed(arg, turn)) is not None]
        if others:
            yield record.name(i), "", [(*record.args[:i], other, *record.args[i + 1:]) for other in others]


def parts(record: Record) -> Iterator[tuple[str, str, list[tuple]]]:
    """Each tensor changed at one place of its last axis, or of its first, in two ways: its name, the place, all
    arguments then."""
    for i, arg in enumerate(record.args):
        if not isinstance(arg, Tensor) or arg.ndim == 0 or arg.is_complex():
            continue
        for axis in sorted({arg.ndim - 1, 0}, reverse=True):
            for k in range(min(arg.shape[axis], SIDE)) if arg.shape[axis] > 1 else ():
                found = []
                for turn in (0, 1):
                    other = arg.clone()
                    other.select(axis, k).copy_(changed(arg.select(axis, k), turn))
                    found.append((*record.args[:i], other, *record.args[i + 1:]))
                place = ", ".join([":"] * axis + [str(k)] + [":"] * (arg.ndim - axis - 1))
                yield record.name(i), f"{record.name(i)}[{place}]", found


def binary(value: Tensor) -> bool:
    """Whether a tensor holds 0 and 1 alone."""
    return bool(((value == 0) | (value == 1)).all())


def changed(value: Any, turn: int) -> Any:
    """Another value of the same kind, or None: 0 and 1 exchanged, tokens moved, other numbers made smaller, or on the
    second turn reversed in sign if they have both signs, and halved if not."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value * (0.9, 0.5)[turn]
    if not isinstance(value, Tensor) or value.is_complex():
        return None
    if value.dtype == torch.bool:
        return ~value
    if value.is_floating_point() and value.numel():
        slope = 0.8 + 0.15 * torch.linspace(0, 1, value.numel()).reshape(value.shape).to(value)
        factor = slope if not turn else 0.5 * slope if (value >= 0).all() else -1.4 * slope
        return 1 - value if binary(value) else value * factor
    return value.flatten().roll(1 + turn).reshape(value.shape) if value.numel() > 1 else value.clone()
