"""Where the answers of all chapters are entered: "exercise: what is special" to a function."""
from __future__ import annotations

from collections.abc import Callable

RIGHT: dict[str, Callable] = {}
WRONG: dict[str, Callable] = {}
BLIND: dict[str, Callable] = {}               # wrong answers by somebody who did not know the checks
CALLED: dict[str, tuple] = {}                 # wrong answers that a misconception explains: its name, or names


def enter(answers: dict[str, Callable], name: str) -> Callable:
    def keep(fn: Callable) -> Callable:
        if name in answers:
            raise ValueError(f"there are two answers called {name!r}")
        answers[name] = fn
        return fn

    return keep


def right(name: str) -> Callable:
    return enter(RIGHT, name)


def wrong(name: str, called: str | tuple | None = None) -> Callable:
    """`called`: the misconception that the report is to name; several where the inputs decide, None among them for none."""
    CALLED[name] = called if isinstance(called, tuple) else (called,)
    return enter(WRONG, name)


def blind(name: str) -> Callable:
    return enter(BLIND, name)
