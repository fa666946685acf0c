"""A general fact about a wrong value that no misconception explains: what was observed, never an expected value."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.protocol.calls import first_difference, is_number
from course_lib.grading.tensor_facts import describe_tensors


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
        return f"You answer {got[:40]!a}; another answer is right."
    if isinstance(got, bool) and isinstance(expected, bool):
        return f"You answer {got}, the opposite of what is right."
    return "Your result is not the right one."


def count_of(count: int, name: str) -> str:
    """ "1 entry", "3 entries"."""
    plural = name[:-1] + "ies" if name.endswith("ry") else name + "s"
    return f"{count} {name if count == 1 else plural}"


def describe_lists(got: Sequence, expected: Sequence, rtol: float, atol: float) -> str:
    """The difference of two lists, as a sentence: their order, what is missing from one, the first that is wrong."""
    entries, right = to_hashable(got), to_hashable(expected)
    if isinstance(expected, tuple) or entries is None or right is None:         # the parts of a tuple mean different things
        return describe_parts(got, expected, rtol, atol)
    if not entries:
        return f"Your list is empty; it should hold {count_of(len(right), 'entry')}."
    if not right:
        return f"Your list holds {count_of(len(entries), 'entry')}; it should be empty."
    if entries == right[::-1]:
        return "Your list is in reversed order."
    if sorted(map(repr, entries)) == sorted(map(repr, right)):
        return "Your list holds the right things in another order."
    if set(entries) == set(right) and len(set(right)) == len(right):
        return "Your list holds something more than once. List each once."
    if len(entries) != len(right):
        begins = entries == right[:len(entries)] or right == entries[:len(right)]
        missing = len(set(right) - set(entries))
        return (f"Your list has {count_of(len(entries), 'entry')} where it should have {len(right)}"
                + ("; what both have is right." if begins else f"; {missing} of these {'is' if missing == 1 else 'are'} not in it." if missing else "."))
    if entries[1:] == right[:-1] or entries[:-1] == right[1:]:
        return "Your list is shifted by one place."
    if all(is_number(part) for part in entries + right) and any(isinstance(part, float) for part in right):
        return describe_tensors(torch.tensor(entries), torch.tensor(right), rtol, atol)
    wrong = [i for i, (a, b) in enumerate(zip(entries, right, strict=True)) if a != b]
    return f"{len(wrong)} of the {len(right)} entries of your list {'is' if len(wrong) == 1 else 'are'} wrong; the first is at index {wrong[0]}."


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


def describe_parts(got: Sequence, expected: Sequence, rtol: float, atol: float) -> str:
    """The first part that is wrong, and how. Parts are counted from 0."""
    if len(got) != len(expected):
        return f"Your result has {count_of(len(got), 'part')} where it should have {len(expected)}."
    first = first_difference(got, expected, rtol, atol)
    if first is None:
        return "Your result is not the right one."
    if all(isinstance(values[first], list | tuple) for values in (got, expected)):
        inner = describe_lists(got[first], expected[first], rtol, atol)
    else:
        inner = describe_difference(got[first], expected[first], rtol, atol)
    before = {0: "", 1: "result[0] is right; "}.get(first, f"result[0] to result[{first - 1}] are right; ")
    return f"{(before + f'result[{first}] is not right').replace('result', 'Result', 1)}. {inner}"
