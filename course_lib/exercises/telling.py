"""Inputs on which every fault that is known shows, and no two faults look the same."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any


def telling(draw: Callable[[], tuple[Any, ...]], reference: Callable[..., Any], faults: Iterable[str]) -> list[tuple[Any, ...]]:
    """Of the inputs drawn those that tell: until each fault gives another answer than none, and no two faults the same.

    Never returns if two faults always give the same answer.
    """
    faults = list(faults)
    untold, found = {*((None, fault) for fault in faults), *combinations(faults, 2)}, []
    while untold:
        case = draw()
        answers = {None: reference(*case), **{fault: reference(*case, bugs={fault}) for fault in faults}}
        told = {(a, b) for a, b in untold if answers[a] != answers[b]}
        if told:
            untold -= told
            found.append(case)
    return found
