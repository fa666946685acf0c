"""A general fact about a wrong value, when no misconception explains it: what was seen, never what was supposed."""
from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.outcome import is_number, same


def fact(got: Any, expected: Any, rtol: float, atol: float) -> str:
    """One sentence on how `got` differs from `expected`; it holds no expected value."""
    if is_number(got) and is_number(expected):
        got, expected = torch.as_tensor(got), torch.as_tensor(expected)
    if isinstance(got, Tensor) and isinstance(expected, Tensor) and got.shape == expected.shape:
        return of_tensors(got, expected, rtol, atol)
    if isinstance(got, dict):
        return of_dicts(got, expected, rtol, atol)
    if isinstance(got, list | tuple):
        if len(got) != len(expected):
            return f"Your result has {len(got)} parts where it should have {len(expected)}."
        for i, (mine, right) in enumerate(zip(got, expected, strict=True)):
            if not same(mine, right, rtol, atol):
                inner = fact(mine, right, rtol, atol) if isinstance(mine, Tensor | list | tuple | dict) else ""
                return f"Part {i + 1} of your result is the first that is wrong. {inner}".strip()
    return "Your result is not the right one."


def of_dicts(got: dict, expected: dict, rtol: float, atol: float) -> str:
    if len(got) != len(expected):
        return f"Your result has {len(got)} keys where it should have {len(expected)}."
    wrong = [key for key in expected if key in got and not same(got[key], expected[key], rtol, atol)]
    missing = [key for key in expected if key not in got]
    return f"The key {missing[0]!r} is missing." if missing else f"The value at key {wrong[0]!r} is wrong."


def of_tensors(got: Tensor, expected: Tensor, rtol: float, atol: float) -> str:
    if got.dtype == torch.bool or expected.dtype == torch.bool:
        if torch.equal(got.bool(), ~expected.bool()):
            return "Every entry is the opposite of what it should be."
        return first_difference(got.bool() == expected.bool())
    a, b, equal = got.double(), expected.double(), partial(same, rtol=rtol, atol=atol)
    if a.isnan().any() and not b.isnan().any():
        count = int(a.isnan().sum())
        return f"{count} of {a.numel()} entries are NaN: look for log(0), 0 times infinity, or infinity minus infinity."
    if a.isinf().any() and not b.isinf().any():
        return f"{int(a.isinf().sum())} of {a.numel()} entries are infinite: look for log(0) or an overflowing exp."
    if equal(a, -b):
        return "Your values have the wrong sign, everywhere."
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and equal(a.mT, b):
        return "Your result is the transpose of the right one: rows and columns are exchanged."
    for axis in range(a.ndim):
        if a.shape[axis] > 1 and equal(a.flip(axis), b):
            return f"Your values are in reversed order along axis {axis}."
        if a.shape[axis] > 1 and any(equal(a.roll(k, axis), b) for k in (1, -1)):
            return f"Your values are shifted by one place along axis {axis}."
    for name, undo in (("the exponentials of the right ones", torch.log), ("the logarithms of the right ones", torch.exp)):
        if equal(undo(a), b):
            return f"Your values are {name}."
    if a.numel() > 1:
        factors, offsets = a / b, a - b
        if factors.isfinite().all() and equal(factors, factors.flatten()[0].expand_as(factors)):
            return f"Your values are {factors.flatten()[0]:.4g} times what they should be, everywhere."
        if offsets.isfinite().all() and equal(offsets, offsets.flatten()[0].expand_as(offsets)):
            return f"Your values are off by the same {offsets.flatten()[0]:+.4g} everywhere."
    elif a.numel() == 1 and b.item() and math.isclose(a.item() / b.item(), 1 / math.log(2), rel_tol=1e-4):
        return "Your value is in bits; it should be in nats."
    return first_difference(torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True), a > b)


def first_difference(right: Tensor, larger: Tensor | None = None) -> str:
    """Where the first wrong entry is, and to which side it is wrong."""
    wrong = (~right).nonzero()
    if not len(wrong) or right.ndim == 0:
        return "Your value is " + ("not the right one." if larger is None else
                                   "too large." if bool(larger) else "too small.")
    place = tuple(wrong[0].tolist())
    side = "" if larger is None else ", too large" if bool(larger[place]) else ", too small"
    count = f"{len(wrong)} of {right.numel()} entries are wrong"
    return f"{count}; the first is at index {place if len(place) > 1 else place[0]}{side}."
