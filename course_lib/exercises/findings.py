"""Checks of what was found: a list of findings, or words from a list. The message says what is missing from the answer
and what does not belong in it."""
from __future__ import annotations

import math
from dataclasses import dataclass

from course_lib.grading.checks import Compare, Fault, Record
from course_lib.grading.protocol.calls import is_number, same


@dataclass
class Told(Compare):
    """As Compare, for checks that say in words of their own what is wrong with a value."""

    def agrees(self, record: Record) -> bool:
        """Whether the value is the expected one within the tolerances."""
        return same(record.outcome.value, record.expected, self.rtol, self.atol)


@dataclass
class Findings(Told):
    """As Compare, for a list of whole numbers or of pairs of them; the message counts what is missing and what is too
    many.

    holder: who has the findings ("One of the layers"). noun: one finding ("such pair"). tip: a sentence that is added
    where something is missing. kind: what the list should hold.
    """

    holder: str = "One of the inputs"
    noun: str = "finding"
    tip: str = ""
    kind: str = "whole numbers"

    def value_fault(self, record: Record) -> Fault | None:
        if self.agrees(record):
            return None
        right = {plainly(one) for one in record.expected}
        try:
            got = [plainly(one) for one in record.outcome.value]
        except TypeError:
            return Fault(f"Your list should hold {self.kind}.")
        missed, extra = len(right - {*got}), len({*got} - right)
        if not missed + extra:
            return Fault("Your list holds the right ones, "
                         + ("and one of them twice." if len(got) > len(right) else "and is not sorted."))
        lacks = [] if not missed else ["misses it" if len(right) == 1 else f"misses {missed} of them"]
        holds = [] if not extra else [f"holds {extra} that {'does' if extra == 1 else 'do'} not belong there"]
        return Fault(f"{self.holder} has {counted(len(right), self.noun)}. Your list {', and '.join(lacks + holds)}."
                     + (f" {self.tip}" if missed and self.tip else ""))


def plainly(one) -> int | tuple:
    """A finding as an int or a tuple of them; scalar tensors are numbers too. Raises TypeError for anything else.

    >>> plainly((1, 2.0)), plainly([3])
    ((1, 2), (3,))
    """
    if isinstance(one, list | tuple):
        return tuple(map(plainly, one))
    if not is_number(one) or float(one) != math.floor(float(one) if math.isfinite(one) else 0):
        raise TypeError(f"{one!r} is no whole number")
    return int(one)


def counted(number: int, noun: str) -> str:
    """
    >>> counted(0, "such pair"), counted(1, "such pair"), counted(3, "such pair")
    ('no such pair', '1 such pair', '3 such pairs')
    """
    return f"{number or 'no'} {noun}{'s' if number > 1 else ''}"


@dataclass
class Words(Told):
    """As Compare, for a word from `names`, or a list of such words; a word that is none of them is told."""

    names: tuple[str, ...] = ()

    def value_fault(self, record: Record) -> Fault | None:
        got = record.outcome.value
        if self.agrees(record):
            return None
        strange = [word for word in ([got] if isinstance(got, str) else got) if word not in self.names]
        if strange:
            small = str(strange[0]).strip().lower() in self.names
            return Fault(f"{str(strange[0])[:40]!r} is none of the words that are asked for: {', '.join(self.names)}"
                         + (", in small letters and without spaces." if small else "."))
        return Fault(self.told(got, record.expected))

    def told(self, got, expected) -> str:
        """What is wrong with an answer of the right words."""
        raise NotImplementedError
