"""The checker of signatures refuses what jaxtyping's own decorator refuses, and nothing else; and the library is under it."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
import torch
from beartype import beartype
from jaxtyping import AnnotationError, Float, Int, TypeCheckError
from jaxtyping._decorator import jaxtyped
from torch import Tensor

from course_lib.autoregressive import AutoregressiveModel
from course_lib.transformer.attention import attention
from tests.support.signatures import checked, names_axes
from tests.support.types import untyped

X, LONG, TOKENS = torch.zeros(2, 3), torch.zeros(2, 4), torch.zeros(2, 3, dtype=torch.long)


def product(x: Float[Tensor, "B T"], y: Float[Tensor, "B T"] | None = None, *, scale: float = 1.0) -> Float[Tensor, "B T"]:
    return x * scale if y is None else (x * y if scale else x[:, :1])


def counted(x: Float[Tensor, "... n"], *rest: int, **named: str) -> list[int]:
    return [x.shape[-1], *rest] if "as_text" not in named else str(x.shape)


def halves(tokens: Int[Tensor, "B 2*T"]) -> Int[Tensor, "B T"] | Iterator[Int[Tensor, "T"]]:
    return tokens[:, ::2]


def nothing(x: Float[Tensor, "B"], unknown: NoSuchClass = None) -> None:  # noqa: F821
    return None if x.sum() == 0 else x


def rows(n: int) -> Iterator[Float[Tensor, "n"]]:
    yield torch.zeros(n)


def joined(parts: dict[str, tuple[Float[Tensor, "n"], Float[Tensor, "n"]] | None]) -> Any:
    return len(parts)


def repeated(text: str, n: int | None = None) -> list[str]:
    return [text] * n if n else text


CALLS = [
    (joined, ({"a": (X[0], X[1])},), {}), (joined, ({"a": (X[0], LONG[0])},), {}), (joined, ({"a": None},), {}), (joined, ([X],), {}),
    (repeated, ("a", 2), {}), (repeated, (2, 2), {}), (repeated, ("a", "2"), {}), (repeated, ("a",), {}), (repeated, ("a",), {"n": 1}),
    (product, (X,), {}), (product, (X, X), {}), (product, (X, LONG), {}), (product, (X, X), {"scale": 0.0}),
    (product, (TOKENS,), {}), (product, (X, TOKENS), {}), (product, (X,), {"scale": "2"}), (product, (X[0],), {}),
    (product, (X.tolist(),), {}), (product, (X[:, :1], X[:, :1]), {"scale": 0.0}),
    (counted, (X, 1, 2), {}), (counted, (X, 1, "2"), {}), (counted, (X,), {"as_text": "yes"}), (counted, (X,), {"name": 3}),
    (halves, (TOKENS.repeat(1, 2),), {}), (halves, (TOKENS.double(),), {}),
    (nothing, (X[0],), {}), (nothing, (X[0] + 1,), {}), (nothing, (X,), {}), (nothing, (X[0], 3), {}),
    (rows, (3,), {}), (rows, ("3",), {}),
]


def said(function, args, named):
    try:
        function(*args, **named)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("i", range(len(CALLS)))
def test_the_verdict_is_jaxtypings(i):
    function, args, named = CALLS[i]
    ours, theirs = checked(function), jaxtyped(function, typechecker=beartype)
    assert said(ours, args, named) is said(theirs, args, named)


def test_each_verdict_is_in_the_table():
    assert {said(checked(function), args, named) for function, args, named in CALLS} == {None, TypeCheckError, AnnotationError}


@pytest.mark.parametrize("args, named", [((), {}), ((X, X, X), {}), ((X,), {"other": 1}), ((X,), {"x": X})])
def test_the_number_of_arguments_is_pythons_to_refuse(args, named):
    with pytest.raises(TypeError) as found:
        checked(product)(*args, **named)
    with pytest.raises(TypeError) as wanted:
        inspect.signature(product).bind(*args, **named)
    assert str(found.value) == str(wanted.value)


def test_the_sentence_says_which_function_and_which_argument():
    with pytest.raises(TypeCheckError, match=r"test_signatures\.product.*parameter y="):
        checked(product)(X, LONG)


def test_an_error_of_the_function_itself_passes():
    @checked
    def broken(x: Float[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        raise ZeroDivisionError("its own")

    with pytest.raises(ZeroDivisionError, match="its own"):
        broken(X)
    assert said(checked(product), (X, X), {}) is None and said(checked(product), (LONG, LONG), {}) is None


def test_axes_hold_for_one_call_and_not_for_the_calls_within():
    @checked
    def inner(x: Float[Tensor, "T"]) -> Float[Tensor, "T"]:
        return x

    @checked
    def outer(x: Float[Tensor, "B T"]) -> Float[Tensor, "T B"]:
        inner(x[:, 0])
        return x.T

    assert outer(X).shape == (3, 2)


def test_axes_are_seen_at_any_depth():
    row = Float[Tensor, "n"]
    for hint in (row, row | None, list[row], dict[str, tuple[int, row]], Callable[[row], int], Callable[[int], row], tuple[row, ...],
                 "a name that means nothing yet"):
        assert names_axes(hint), hint
    for hint in (int, None, Any, Tensor, list[int] | None, Callable[[int], Tensor], Callable[..., int], tuple[int, ...], Literal["n"]):
        assert not names_axes(hint), hint


def test_a_dataclass_is_checked_where_it_is_made():
    @checked
    @dataclass
    class Pair:
        x: Float[Tensor, "B T"]
        y: Float[Tensor, "B T"]

    class Named(Pair):
        pass

    assert checked(Named) is Named and Named(X, X).y is X
    for cls in (Pair, Named):
        with pytest.raises(TypeCheckError):
            cls(X, LONG)


def test_who_wraps_a_dataclass_answers_for_what_it_takes():
    def by_its_former_name(cls):
        start = cls.__init__

        @functools.wraps(start)
        def begin(self, *args, size=None, **named):
            start(self, *args, **(named if size is None else {"width": size}))

        cls.__init__ = begin
        return cls

    @checked
    @by_its_former_name
    @dataclass
    class Box:
        width: int
        height: int = 2

    assert Box(3) == Box(size=3)


def test_nobody_checks_where_types_are_not_looked_at_or_none_are_written():
    def plain(x, y=1):
        return x

    def anything(x: Any, *rest: Any, **named: Any) -> Any:
        return x

    assert checked(plain) is plain and checked(anything) is anything
    with untyped():
        assert said(checked(product), (TOKENS,), {}) is None


def test_the_library_is_under_it():
    with pytest.raises(TypeCheckError):
        attention(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5), torch.zeros(2, 3, 5))
    assert AutoregressiveModel.sample.__wrapped__.__annotations__
