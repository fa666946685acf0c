"""A stock of wrong answers, written from the exercises' pages alone: by somebody who knew neither the checks nor their
messages.

A file a chapter, each with a list STOCK. An entry says what is wrong in a learner's words, so what a good message has
to name: a property, an axis, a side, a factor, a step forgotten. Entries fall alternately into two halves: the `open`
one is for mending the messages, the `sealed` one for measuring them afterwards. The entries of chapters 02 and 07 to 12,
of three exercises of 15 and of one of 18 are of those who wrote the checks: they say that messages are there, not how well
unforeseen faults are told. For that there are a `second` and a `third` stock.
"""
from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Wrong:
    """One wrong answer: to which exercise, what is wrong with it, in which half, and the learner's cell."""

    exercise: str
    what: str
    half: str
    code: str


def wrong(exercise: str, what: str, half: str, code: str) -> Wrong:
    return Wrong(exercise, what, half, code.strip() + "\n")


def chapters(folder: str = "") -> dict[str, list[Wrong]]:
    """The entries by chapter file, as in {"ch01_chain_rule": [...], ...}; of the others with folder="second" or "third"."""
    package = importlib.import_module(f"{__name__}.{folder}".rstrip("."))
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name.startswith("ch"))
    return {name: importlib.import_module(f"{package.__name__}.{name}").STOCK for name in names}
