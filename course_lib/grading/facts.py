"""A general fact about a wrong value that no misconception explains: what was observed, never an expected value."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.protocol.calls import first_difference, is_number
from course_lib.grading.tensor_facts import describe_tensors

UNEXPLAINED = re.compile(                            # the sentences that say where a value is wrong, or to which side, and no more
    r"(Your (value|result) is (too (large|small)|not the right one)"
    r"|\d+ of \d+ entries are wrong; the first is at index .*"
    r"|(All your|\d+ of your \d+) values are too (large|small), each by another amount)\.$|that is the same along axis"
    r"|wrong only|should be\.$")


def describe_difference(got: Any, expected: Any, rtol: float, atol: float) -> str:
    """One sentence on how `got` differs from `expected`, without an expected value."""
    if is_number(got) and is_number(expected):
        got, expected = torch.as_tensor(got), torch.as_tensor(expected)
    if isinstance(got, Tensor) and isinstance(expected, Tensor) and got.shape == expected.shape and got.numel():
        return describe_tensors(got, expected, rtol, atol)
    if isinstance(got, dict) and isinstance(expected, dict):
        if len(got) != len(expected):
            return f"Your result has {count_of(len(got), 'key')} where it should have {len(expected)}."
        missing = [key for key in expected if key not in got]
        return f"The key {missing[0]!r} is missing." if missing else \
            f"The value at key {first_difference(got, expected, rtol, atol)!r} is wrong."
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        return describe_lists(got, expected, rtol, atol)
    if isinstance(got, str) and isinstance(expected, str):
        return f"You answer {shorten(got)!a}; another answer is right."
    if isinstance(got, bool) and isinstance(expected, bool):
        return f"You answer {got}, the opposite of what is right."
    return "Your result is not the right one."


def shorten(text: str) -> str:
    """A text of at most 40 characters."""
    return text if len(text) <= 40 else text[:37] + "..."


def count_of(count: int, name: str) -> str:
    """ "1 entry", "3 entries"."""
    plural = name[:-1] + "ies" if name.endswith("ry") else name + "s"
    return f"{count} {name if count == 1 else plural}"


def describe_lists(got: Sequence, expected: Sequence, rtol: float, atol: float, findings: bool = True) -> str:
    """The difference of two lists, as a sentence: their order, what is missing from one, the first that is wrong.
    `findings`: whether a sorted list of numbers may be what was to be found, and no sequence."""
    entries, right = to_hashable(got), to_hashable(expected)
    if isinstance(expected, tuple) or entries is None or right is None:         # the parts of a tuple mean different things
        return describe_parts(got, expected, rtol, atol)
    if not entries:
        return f"Your list is empty; it should hold {count_of(len(right), 'entry')}."
    if not right:
        return f"Your list holds {count_of(len(entries), 'entry')}; it should be empty."
    if findings and is_sorted_set(right) and not any(isinstance(part, list) for part in expected):
        return describe_findings(entries, right)
    if entries == right[::-1]:
        return "Your list is in reversed order."
    if len(entries) != len(right):
        begins = entries == right[:len(entries)] or right == entries[:len(right)]
        return (f"Your list has {count_of(len(entries), 'entry')} where it should have {len(right)}"
                + ("; what both have is right." if begins else "." + describe_gap(entries, right)))
    if entries[1:] == right[:-1] or entries[:-1] == right[1:]:
        return "Your list is shifted by one place."
    if sorted(map(repr, entries)) == sorted(map(repr, right)):
        return "Your list holds the right things in another order."
    if all(is_number(part) for part in entries + right) and any(isinstance(part, float) for part in right):
        return describe_tensors(torch.tensor(entries), torch.tensor(right), rtol, atol)
    first = next(i for i, (a, b) in enumerate(zip(entries, right, strict=True)) if a != b)
    wrong = sum(a != b for a, b in zip(entries, right, strict=True))
    nested = isinstance(entries[first], tuple) and isinstance(right[first], tuple) and isinstance(expected[first], list)
    inner = describe_lists(entries[first], list(right[first]), rtol, atol) if nested else ""
    return f"{wrong} of the {len(right)} entries of your list {'is' if wrong == 1 else 'are'} wrong; the first is at index " \
           f"{first}{': ' + inner.replace('Your list', 'it') if inner else '.'}"


def describe_gap(entries: Sequence, right: Sequence) -> str:
    """Which entries are too many, or missing, if they are in one place and the rest is right: a sentence after a space, or nothing."""
    long, short = (entries, right) if len(entries) > len(right) else (right, entries)
    more = len(long) - len(short)
    at = next((i for i, (a, b) in enumerate(zip(long, short, strict=False)) if a != b), len(short))
    if not short or long[at + more:] != short[at:]:
        return ""
    if long is entries:
        where = f"index {at}" if more == 1 else f"the indices {at} to {at + more - 1}"
        return f" Without what stands at {where} it would be right."
    return f" With {more} more at index {at} it would be right." if at < len(short) else f" With {more} more at the end it would be right."


def to_hashable(values: Sequence) -> list | None:
    """The entries with tuples in the place of lists, or None if there are tensors or dicts among them."""
    entries = []
    for value in values:
        if isinstance(value, Tensor) and is_number(value):
            value = value.item()
        if isinstance(value, list | tuple):
            value = to_hashable(value)
            if value is None:
                return None
            value = tuple(value)
        if not (value is None or isinstance(value, bool | int | float | str | tuple)):
            return None
        entries.append(value)
    return entries


def is_sorted_set(parts: list) -> bool:
    """Whether a list looks like sorted findings: whole numbers or pairs of them, each once, in order."""
    numbers = all(type(part) is int for part in parts) or all(
        isinstance(part, tuple) and all(type(number) is int for number in part) for part in parts)
    return numbers and len(set(parts)) == len(parts) and parts == sorted(parts)


def describe_findings(entries: list, right: list) -> str:
    """Of two lists of numbers or pairs that were to be found, the right one sorted."""
    if sorted(map(repr, entries)) == sorted(map(repr, right)):
        return "Your list holds the right things in another order: sort it."
    if set(entries) == set(right):
        return "Your list holds something more than once. List each once."
    try:
        moved = {sign: {tuple(number + sign for number in part) if isinstance(part, tuple) else part + sign for part in entries}
                 for sign in (1, -1)}
        if len(right) > 1 and set(right) in moved.values():
            return "Every number in your list is off by one: positions count from 0."
        if isinstance(right[0], tuple) and {part[::-1] for part in entries} == set(right):
            return "Your pairs are the wrong way round."
    except TypeError:                                    # numbers where pairs should be, or words
        return f"Your list should hold {'pairs' if isinstance(right[0], tuple) else 'whole numbers'}."
    missed, extra = len(set(right) - set(entries)), len(set(entries) - set(right))
    parts = [f"misses {missed} of the {len(right)} that it should hold"] * bool(missed)
    parts += [f"holds {extra} that {'does' if extra == 1 else 'do'} not belong there"] * bool(extra)
    return f"Your list {' and '.join(parts)}."


def describe_parts(got: Sequence, expected: Sequence, rtol: float, atol: float) -> str:
    """The first part that is wrong, and how. Parts are counted from 0."""
    if len(got) != len(expected):
        return f"Your result has {count_of(len(got), 'part')} where it should have {len(expected)}."
    first = first_difference(got, expected, rtol, atol)
    if first is None:
        return "Your result is not the right one."
    if all(isinstance(values[first], list | tuple) for values in (got, expected)):
        inner = describe_lists(got[first], expected[first], rtol, atol, findings=isinstance(expected, list))
    else:
        inner = describe_difference(got[first], expected[first], rtol, atol)
    before = {0: "", 1: "result[0] is right; "}.get(first, f"result[0] to result[{first - 1}] are right; ")
    return f"{(before + f'result[{first}] is not right').replace('result', 'Result', 1)}. {inner}"
