"""Stored text against new text, with a tolerance for its decimal numbers and for nothing else.

The same cell prints 0.69314718 on one processor and 0.69314721 on another. Two outputs agree when they are the same
text but for white space and decimals, and each pair of decimals

- has the same sign,
- and differs by a relative 1e-3 at most, or by one unit in the last printed place where that unit is no more than
  a tenth of the number (97.86 and 97.87 agree, 0.1 and 0.2 do not, nor do 1e-12 and 1e-11).

Integers are compared exactly, and so is zero: 0.00 agrees with 0.000 but not with 0.01.
"""
from __future__ import annotations

import re

RELATIVE = 1e-3
LARGEST_UNIT = 0.1

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w]|\.\d)")


def last_place(text: str) -> float:
    """The value of one unit in the last printed place: 0.01 for "97.86", 1e-14 for "1.25e-12"."""
    mantissa, _, exponent = text.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def close(a: str, b: str) -> bool:
    """True if the two printed numbers may stand for one."""
    if a == b:
        return True
    if any(not set(text) & set(".eE") for text in (a, b)):      # an integer
        return False
    x, y = float(a), float(b)
    if x == y:
        return True
    if x * y <= 0:                                               # other sign, or one of them is zero
        return False
    larger = max(abs(x), abs(y))
    unit = max(last_place(a), last_place(b)) * (1 + 1e-6)
    return abs(x - y) <= max(RELATIVE * larger, unit if unit <= LARGEST_UNIT * larger else 0.0)


def agree(a: str, b: str) -> bool:
    """True if the two outputs agree."""
    def skeleton(text):
        return re.sub(r"\s+", "", NUMBER.sub("#", text))

    if a == b:
        return True
    ours, theirs = NUMBER.findall(a), NUMBER.findall(b)
    return len(ours) == len(theirs) and skeleton(a) == skeleton(b) and all(map(close, ours, theirs))


class Output(str):
    """A cell's output as nbval compares it."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return agree(str(self), str(other)) if isinstance(other, str) else NotImplemented

    def __ne__(self, other):
        return not self == other
