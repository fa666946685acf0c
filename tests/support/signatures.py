"""The signatures of the library, checked in every call of every test, at a fraction of the cost of jaxtyping's own decorator.

That one binds the arguments, checks them, and checks them again together with the result: a third of the time of tests
that make small calls. Here each argument and the result is checked once, with the same checker, the axes of one call
remembered for all of it where a signature names axes. A function without annotations, or that takes and gives Any, stays
as it is.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from types import CodeType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import jaxtyping
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import AbstractArray, AnnotationError, TypeCheckError, config, install_import_hook

AXES = jaxtyping.jaxtyped("context")                    # inside, an axis has one length
KNOWN: dict[tuple[str, CodeType], "Checks"] = {}        # of functions within functions, which are made again and again


class Checks(NamedTuple):
    """What refuses wrong arguments, and a wrong result; None where anything is right. `axes`: the two name axes."""

    takes: Callable | None
    gives: Callable | None
    axes: bool


def install(package: str) -> None:
    """Every function of the package that is imported from now on is `checked`."""
    jaxtyping.jaxtyped = checked                        # which the hook writes above each of them
    install_import_hook(package, "beartype.beartype")


def checked(thing: Any = None, *, typechecker: Any = None) -> Any:
    """The function, or the dataclass, whose calls are checked. `typechecker` is what the hook gives, and is beartype."""
    if thing is None:
        return checked
    if isinstance(thing, type):
        if is_dataclass(thing) and not hasattr(thing.__init__, "__wrapped__"):      # by this, or by who takes other names too
            thing.__init__ = checked(thing.__init__)
        return thing
    if not thing.__annotations__:
        return thing
    known = thing.__module__, thing.__code__                # two modules may hold the same lines, of different classes
    takes, gives, axes = KNOWN.get(known) or KNOWN.setdefault(known, checks_of(thing))
    if takes is gives is None:
        return thing

    @functools.wraps(thing)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        if config.jaxtyping_disable:
            return thing(*args, **kwargs)
        if takes is not None:
            try:
                takes(*args, **kwargs)
            except Exception as error:
                refuse(thing, error, args, kwargs)
        result = thing(*args, **kwargs)
        if gives is not None:
            try:
                gives(result)
            except Exception as error:
                refuse(thing, error, args, kwargs)
        return result

    @functools.wraps(thing)
    def within_axes(*args, **kwargs):
        __tracebackhide__ = True
        with AXES:
            return call(*args, **kwargs)

    return within_axes if axes else call


def checks_of(function: Callable) -> Checks:
    """Two functions that do nothing but refuse."""
    signature = inspect.signature(function)
    bare = [one.replace(annotation=inspect.Parameter.empty, default=one.default if one.default is one.empty else None)
            for one in signature.parameters.values()]
    hints = {name: resolved(hint, function) for name, hint in function.__annotations__.items()}
    result = hints.pop("return", Any)
    scope: dict[str, Any] = {}
    exec(f"def takes{signature.replace(parameters=bare, return_annotation=signature.empty)}: pass\n"
         "def gives(result): pass", scope)
    takes, gives = scope["takes"], scope["gives"]
    takes.__defaults__, takes.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    takes.__annotations__, gives.__annotations__ = hints, {"result": result}
    for one in (takes, gives):
        one.__module__ = function.__module__
    return Checks(None if all(hint is Any for hint in hints.values()) else beartype(takes),
                  None if result is Any else beartype(gives), any(map(names_axes, [*hints.values(), result])))


def names_axes(hint: Any) -> bool:
    """Whether an array of jaxtyping stands in an annotation, at any depth; what cannot be looked into counts."""
    if isinstance(hint, list) or get_args(hint):          # the arguments of a Callable are a list
        return get_origin(hint) is not Literal and any(map(names_axes, hint if isinstance(hint, list) else get_args(hint)))
    return hint not in (None, Any, ...) and not (isinstance(hint, type) and not issubclass(hint, AbstractArray))


def resolved(hint: Any, function: Callable) -> Any:
    """The annotation that a text means where the function stands; Any where it means nothing there, a class of another
    function for one."""
    def of(value):
        return value

    of.__annotations__ = {"value": hint}
    try:
        return get_type_hints(of, function.__globals__, include_extras=True)["value"]
    except Exception:
        return Any


def refuse(function: Callable, error: Exception, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise what a wrong call deserves: TypeCheckError for a value, Python's own words for a number of arguments."""
    if isinstance(error, BeartypeCallHintViolation):
        raise TypeCheckError(f"{function.__module__}.{function.__qualname__}: {error}") from error
    if not isinstance(error, AnnotationError):
        inspect.signature(function).bind(*args, **kwargs)
    raise error
