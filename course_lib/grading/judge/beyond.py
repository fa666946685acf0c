"""What an answer uses of the course beyond the ground floor: in a notebook it is there, when an answer is graded it is not.

First what the names in the function's code stand for, however they are spelt; if there is something, whether it is reached
when the function is called: a drawing that is not asked for harms nobody.
"""
from __future__ import annotations

import builtins
import contextlib
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from course_lib.grading.sandbox.inside.ground import is_there
from course_lib.grading.sandbox.inside.outcome import Outcome
from course_lib.grading.sandbox.inside.watch import of_the_judge

MOST = 1000                     # functions that are looked into


def kept_to_the_ground(fn: Callable, call: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """`call`, which calls `fn`; if that reaches something beyond, the outcome is "forbidden", with its dotted name."""
    if not beyond_the_ground(fn):
        return call

    def kept(*args, **kwargs):
        with reach() as found:
            outcome = call(*args, **kwargs)
        return Outcome("forbidden", detail=found[0]) if found else outcome

    return kept


@contextlib.contextmanager
def reach():
    """The dotted names of what is called or imported beyond the ground floor in this block, by who is not of the course."""
    found: list[str] = []
    tracer, importer = sys.getprofile(), builtins.__import__

    def called(frame, event, _):
        module = frame.f_globals.get("__name__") or ""
        if event == "call" and not found and is_beyond(module) and not of_the_judge(frame.f_back):
            found.append(f"{module}.{getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)}")

    def imported(name, globals=None, *rest, **named):
        if is_beyond(name) and not ((globals or {}).get("__name__") or "").startswith("course_lib."):
            found.append(name)
        return importer(name, globals, *rest, **named)

    builtins.__import__ = imported
    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(tracer)
        builtins.__import__ = importer


def beyond_the_ground(fn: Callable) -> str | None:
    """The dotted name of something of course_lib's that `fn`, or a function of the same notebook that it reads, takes from
    where nothing is when an answer is graded; None if there is none."""
    methods = vars(fn if isinstance(fn, type) else type(fn)).values()        # a class is its methods, and so is an object
    todo, seen = [inspect.unwrap(fn), *methods], set()
    while todo and len(seen) < MOST:
        function = todo.pop()
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        for value in values_read(function):
            if name := beyond(value):
                return name
            kind = value if isinstance(value, FunctionType | type) else type(value)
            if kind.__module__ == function.__module__:
                todo += [kind] if isinstance(kind, FunctionType) else vars(kind).values()
    return None


def values_read(function: FunctionType) -> Iterator[Any]:
    """What the names stand for that a function's code reads or imports, and the attributes that it takes of modules; a
    module that is not imported yet is given by its name."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):            # nothing in it yet
            yield cell.cell_contents
    for code in codes(function.__code__):
        value = package = None
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                package = sys.modules.get(step.argval, step.argval)
                yield package
            elif step.opname == "IMPORT_FROM":
                yield attribute(package, step.argval)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                value = function.__globals__.get(step.argval)
                yield value
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
                value = attribute(value, step.argval)
                yield value
            elif step.opname not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG", "NOP"):
                value = None


def attribute(module: ModuleType | str | None, name: str) -> Any:
    """What a module has under this name; None if nothing."""
    with contextlib.suppress(Exception):                 # one that is imported only now may fail in any way
        return getattr(module, name, None)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def beyond(value: Any) -> str:
    """The dotted name of a module, function, class or object of the course's that is not there; "" of anything else."""
    if isinstance(value, ModuleType | str):
        name = where = value if isinstance(value, str) else value.__name__
    else:
        kind = value if isinstance(value, FunctionType | type) else type(value)
        where = kind.__module__ or ""
        name = f"{where}.{kind.__qualname__}"
    return name if is_beyond(where) else ""


def is_beyond(module: str) -> bool:
    """Whether this is a module of the course that is not there when an answer is graded, the grader's left aside."""
    return (module.startswith("course_lib.") and not f"{module}.".startswith(("course_lib.grading.", "course_lib.exercises."))
            and not is_there(module))
