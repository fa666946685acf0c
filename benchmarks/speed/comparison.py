"""What a comparison is: contenders that do the same work, and the ratio of their times that is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType


@dataclass(frozen=True)
class Comparison:
    """Contenders by name, and the ratio that is asked for: `slow` takes at least `at_least` times as long as `fast`.

    parts  of a contender that does only a part of its work, how many such parts the whole has: its seconds are
           multiplied by it
    """

    title: str
    text: str
    contenders: dict[str, Callable[[], object]]
    fast: str
    slow: str
    at_least: float
    parts: Mapping[str, int] = field(default_factory=dict)


def peer(name: str) -> ModuleType:
    """A package that is compared with. Raises ModuleNotFoundError, with what to do, where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name.partition('.')[0]} is not installed; it is one of the peers in requirements-bench.txt: "
                                  "make bench") from error
