"""Faults planted in the library, and the checks that have to see them: one kind of fault for all tests.

Most faults are planted in the source. A piece of a module's text is replaced, and the changed module runs beside the
library, which is left alone:

    *faults(fvsbn, lambda m: m.FVSBN(5), check_causal,
            ("the diagonal of the mask is kept", "position[None, :] < position", "position[None, :] <= position"))

The piece has to be in the module exactly once. If the module is rewritten, the fault fails by name and shows the
nearest line, so that no fault can be lost unseen. A fault that no line of the library comes close to is built: one
function returns the broken thing, another the right thing.

A folder of tests lists its faults as MUTANTS in `mutants.py`; `tests/test_mutants.py` asks each for its `verdict`.
"""
from __future__ import annotations

import difflib
import importlib
import inspect
import linecache
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import pytest

TESTS = Path(__file__).resolve().parent
PLANTED = count(1)


class Stale(LookupError):
    """The text that a fault replaces is not in its module, or there more than once."""


@dataclass(frozen=True)
class Mutant:
    """A fault in words, the broken thing, its right counterpart, and the check that has to tell them apart."""

    trap: str
    right: Callable[[], Any]
    broken: Callable[[], Any]
    caught_by: Callable[..., Any]
    accident: tuple[type[Exception], ...] = ()                       # errors by which Python or torch itself refuses it
    replaces: tuple[ModuleType, str, str] | None = None              # module, old, new; None if it is built

    @classmethod
    def planted(cls, trap: str, module: ModuleType, old: str, new: str, caught_by: Callable[..., Any],
                given: str | Callable[[ModuleType], Any] | None = None, accident: tuple[type[Exception], ...] = (),
                seen_from: ModuleType | None = None) -> Mutant:
        """A fault in the source of a module; `given`, from the changed module, is what the check receives.

        given      the name of something in the module, or a function of the module; None is the module itself
        seen_from  another module that imports from the changed one: it is executed again, and `given` is from there
        """
        return cls(trap, right(seen_from or module, given),
                   lambda: take(plant(module, old, new, seen_from), given), caught_by, accident, (module, old, new))

    @classmethod
    def built(cls, trap: str, right: Callable[[], Any], broken: Callable[[], Any], caught_by: Callable[..., Any],
              accident: tuple[type[Exception], ...] = ()) -> Mutant:
        """A fault that is written out: for what no line of the library comes close to."""
        return cls(trap, right, broken, caught_by, accident)

    def __str__(self) -> str:
        return self.trap


def faults(module: ModuleType, given: str | Callable[[ModuleType], Any] | None, caught_by: Callable[..., Any],
           *rows: tuple, seen_from: ModuleType | None = None) -> list[Mutant]:
    """Mutants of one thing: rows of a trap, the old and the new source, and errors by which torch itself refuses it."""
    return [Mutant.planted(trap, module, old, new, caught_by, given, tuple(accident), seen_from)
            for trap, old, new, *accident in rows]


def built(table: list[Mutant], trap: str, right: Callable[[], Any], caught_by: Callable[..., Any],
          *accident: type[Exception]) -> Callable:
    """Put a function that builds a broken thing on the table."""
    def register(broken):
        table.append(Mutant.built(trap, right, broken, caught_by, accident))
        return broken
    return register


def verdict(mutant: Mutant) -> str:
    """Empty if the check catches the fault, not by an accident, and passes the right thing; else what went wrong."""
    if wrong := the_right_one(mutant.caught_by, mutant.right):
        return f"{mutant}: {wrong}"
    broken = mutant.broken()
    try:
        mutant.caught_by(broken)
    except (AssertionError, pytest.fail.Exception, *mutant.accident):
        return ""
    except Exception as error:
        return f"{mutant}: stopped by an accident, not by the check: {error!r}"
    return f"{mutant}: not caught"


@cache
def the_right_one(caught_by: Callable[..., Any], right: Callable[[], Any]) -> str:
    """Empty if the right thing passes the check; asked once for all mutants that share both."""
    try:
        caught_by(right())
    except (Exception, pytest.fail.Exception) as error:
        return f"the right one fails too: {error!r}"
    return ""


# --- planting --------------------------------------------------------------------------------------------------------


def plant(module: ModuleType, old: str, new: str, seen_from: ModuleType | None = None) -> ModuleType:
    """The module with one piece of its source changed, or `seen_from` as it is on top of the changed module."""
    copy = executed(module, changed(module, old, new))
    if seen_from in (None, module):
        return copy
    with in_place_of(module, copy):
        return executed(seen_from, inspect.getsource(seen_from))


def changed(module: ModuleType, old: str, new: str) -> str:
    """The module's source with `old` replaced. Raises Stale unless it is there exactly once."""
    source, where = inspect.getsource(module), module.__name__
    if old == new:
        raise ValueError(f"this fault changes nothing in {where}: {old!r}")
    times = source.count(old)
    if times > 1:
        raise Stale(f"the line this fault replaces is {times} times in {where}: {old!r}. Name more of what stands "
                    "around it, until it is there once.")
    if times == 0:
        raise Stale(f"the line this fault replaces is no longer in {where}: {old!r}. {nearest(source, old)}"
                    "Plant the fault in the lines that do its work now.")
    return source.replace(old, new)


def nearest(source: str, old: str) -> str:
    """The line of the source that is most like the first line of `old`, as a sentence; empty if none is like it."""
    lines = [line.strip() for line in source.splitlines()]
    found = difflib.get_close_matches(old.strip().splitlines()[0], lines, n=1, cutoff=0.5)
    return f"Line {lines.index(found[0]) + 1} comes nearest: {found[0]!r}. " if found else ""


def executed(module: ModuleType, source: str) -> ModuleType:
    """This source as a module beside the one that the library uses; its lines are shown in tracebacks."""
    name = f"{module.__name__}_planted_{next(PLANTED)}"
    copy = types.ModuleType(name)
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    sys.modules[name] = copy                                         # dataclasses look their module up while it runs
    try:
        exec(compile(source, name, "exec"), copy.__dict__)
    finally:
        del sys.modules[name]
    return copy


@contextmanager
def in_place_of(module: ModuleType, copy: ModuleType):
    """What is imported meanwhile from the module comes from the copy."""
    sys.modules[module.__name__] = copy
    try:
        yield
    finally:
        sys.modules[module.__name__] = module


def take(module: ModuleType, given: str | Callable[[ModuleType], Any] | None) -> Any:
    """What a check is given of a module."""
    if callable(given):
        return given(module)
    return module if given is None else getattr(module, given)


@cache
def right(module: ModuleType, given: str | Callable[[ModuleType], Any] | None) -> Callable[[], Any]:
    """How the right thing is made; one function for all mutants of it, so that it is checked once."""
    return partial(take, module, given)


# --- all of them -----------------------------------------------------------------------------------------------------


def tables(folder: Path = TESTS) -> dict[str, list[Mutant]]:
    """Every list of faults below tests/, by the name of its module."""
    names = [".".join(("tests", *path.relative_to(folder).with_suffix("").parts))
             for path in sorted(folder.rglob("mutants.py"))]
    return {name: importlib.import_module(name).MUTANTS for name in names}
