"""How one tensor differs from another, in a sentence: what was seen, without an expected value in it.

Each question looks for one relation that would explain every entry: an order, a function, a factor, a place.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from course_lib.grading.exercise.places import NEAR, are, first_difference, near, not_finite, places, sides
from course_lib.grading.sandbox.inside.outcome import same

FEW = 8                         # axes and shifts that are tried


def of_tensors(got: Tensor, expected: Tensor, rtol: float, atol: float) -> str:
    """What the difference of two tensors of one shape looks like, as a sentence."""
    equal = partial(same, rtol=rtol, atol=atol)
    if got.is_complex() or expected.is_complex():
        return first_difference(torch.isclose(got, expected.to(got), rtol=rtol, atol=atol))
    a, b = got.double(), expected.double()
    if got.dtype == torch.bool or expected.dtype == torch.bool:
        return next(of_booleans(a, b), "") or next(order(a, b, equal), "") or next(places(a == b), "") \
            or first_difference(a == b)
    close = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if found := next(not_finite(a, b), ""):
        return found
    if a.numel() == 1:
        return of_one(a, b)
    for question in (flat(a, b, close), order(a, b, equal), functions(a, b, equal),
                     sharpness(a, b, equal), factors(a, b, equal),
                     sums(a, b, close, equal), limits(a, b, equal), totals(a, b, equal), places(close),
                     each_row(a, b, equal), near(a, b, close), sides(a, b, close)):
        if found := next(question, ""):
            return found
    return first_difference(close, a > b)


def of_booleans(a: Tensor, b: Tensor) -> Iterator[str]:
    """Of two tensors of 0 and 1."""
    if torch.equal(a, 1 - b):
        yield "Every entry is the opposite of what it should be."
    if a.min() == a.max() and b.min() != b.max():
        yield f"All your entries are {bool(a.flatten()[0])}."
    if ((a - b) >= 0).all():
        yield f"Every entry that should be True is, and so {are(int((a - b).sum()))} that should be False."
    if ((a - b) <= 0).all():
        yield f"Every entry that should be False is, and so {are(int((b - a).sum()))} that should be True."


def of_one(a: Tensor, b: Tensor) -> str:
    """Of two single numbers."""
    a, b = a.item(), b.item()
    near = partial(math.isclose, rel_tol=1e-4, abs_tol=1e-12)
    if b and a and near(a / b, 1 / math.log(2)):
        return "Your value is in bits; it should be in nats."
    if b and a and near(a / b, math.log(2)):
        return "Your value is in nats; it should be in bits."
    if b and near(a, -b):
        return "Your value has the wrong sign."
    if a == 0:
        return "Your value is 0, and should not be."
    for name, undone in powers(a):
        if undone is not None and near(undone, b):
            return f"Your value is {name} the right one."
    if b and near(a / b, round(a / b)) and 1 < abs(round(a / b)) <= 1000:
        return f"Your value is {round(a / b)} times what it should be."
    if a and near(b / a, round(b / a)) and 1 < abs(round(b / a)) <= 1000:
        return f"Your value is 1 / {round(b / a)} of what it should be."
    if near(a + b, 1) and 0 <= b <= 1:
        return "Your value is 1 minus the right one."
    if a * b < 0:
        return f"Your value is {'negative' if a < 0 else 'positive'}; it should not be."
    if b and abs(a / b - 1) < NEAR:
        return f"Your value is near, and too {'large' if a > b else 'small'} by {abs(a / b - 1):.2g} of it."
    return f"Your value is too {'large' if a > b else 'small'}."


def powers(a: float) -> Iterator[tuple[str, float | None]]:
    """What a number would have to be the exponential, the logarithm, ... of."""
    yield "the exponential of", math.log(a) if a > 0 else None
    yield "the logarithm of", math.exp(a) if a < 300 else None
    yield "2 to the power of", math.log2(a) if a > 0 else None
    yield "the square of", math.sqrt(a) if a >= 0 else None
    yield "the root of", a * a
    yield "1 divided by", 1 / a if a else None


def flat(a: Tensor, b: Tensor, close: Tensor) -> Iterator[str]:
    """No variation where there should be some."""
    if not a.any() and b.any():
        yield "All your values are 0."
    if (a == a.flatten()[0]).all() and not (b == b.flatten()[0]).all():
        yield "All your values are equal; they should not be."
    for axis in range(a.ndim):
        first, right = a.narrow(axis, 0, 1), b.narrow(axis, 0, 1)
        if a.shape[axis] > 1 and (a == first).all() and not torch.allclose(b, right.expand_as(b)):
            yield f"Your values do not change along axis {axis}; they should."


def order(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """The right values in other places."""
    for i in range(a.ndim):
        for j in range(i + 1, a.ndim):
            if a.shape[i] == a.shape[j] > 1 and equal(a.transpose(i, j), b):
                yield "Your result is the transpose of the right one: rows and columns are exchanged." if a.ndim == 2 \
                    else f"Your axes {i} and {j} are exchanged."
    for axis in range(a.ndim):
        n = a.shape[axis]
        if n > 1 and equal(a.flip(axis), b):
            yield f"Your values are in reversed order along axis {axis}."
        if n > 1 and any(equal(a.roll(k, axis), b) for k in (1, -1)):
            yield f"Your values are shifted by one place along axis {axis}."
        for k in (1, -1):
            if n > 2 and equal(shorter(a, axis, k), shorter(b, axis, -k)):
                yield f"Your values are shifted by one place along axis {axis}."
    if len(b.unique()) < b.numel() / 2:                  # with few kinds of values, another order says little
        return
    for axis in range(a.ndim):
        if a.shape[axis] > 1 and equal(by_rows(a, axis), by_rows(b, axis)):
            yield f"Your values are the right ones in another order along axis {axis}."
    for axis in range(a.ndim):
        if a.shape[axis] > 1 and equal(a.sort(axis).values, b.sort(axis).values):
            yield f"Along axis {axis} your values are the right ones in another order."
    if equal(a.flatten().sort().values, b.flatten().sort().values):
        yield "Your values are the right ones in other places: is something reshaped that should be transposed?"


def shorter(x: Tensor, axis: int, k: int) -> Tensor:
    """x without its last (k = 1) or first (k = -1) entry along the axis."""
    return x.narrow(axis, 0 if k > 0 else 1, x.shape[axis] - 1)


def by_rows(x: Tensor, axis: int) -> Tensor:
    """The slices of x along the axis, in an order that does not depend on theirs."""
    rows = x.movedim(axis, 0).flatten(1) if x.ndim > 1 else x[:, None]
    for column in reversed(range(min(rows.shape[1], FEW))):
        rows = rows[rows[:, column].sort(stable=True).indices]
    return rows


def functions(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """A function too many, or one that is missing."""
    if equal(a, -b):
        yield "Your values have the wrong sign, everywhere."
    for name, undone in (("the exponentials of the right ones", a.log()), ("the logarithms of the right ones", a.exp()),
                         ("1 minus the right ones", 1 - a), ("the squares of the right ones", a.sqrt()),
                         ("the roots of the right ones", a.square()), ("1 divided by the right ones", 1 / a)):
        if equal(undone, b) or name.startswith("the squares") and equal(a, b.square()):
            yield f"Your values are {name}."
    for name, made in (("sigmoid", a.sigmoid()), ("tanh", a.tanh()), ("ReLU", a.relu()), ("absolute value", a.abs())):
        if equal(made, b) and name != "absolute value":
            yield f"The {name} of your values is right: it is missing."
        elif equal(made, b):
            yield "Your values are right but for their sign: some are negative that should be positive."
    if equal(a, b.abs()):
        yield "Your values are right but for their sign, which is lost: none of yours is negative."
    for name, twice in (("sigmoid", b.sigmoid()), ("tanh", b.tanh())):
        if equal(a, twice):
            yield f"Your values are the {name} of the right ones: one too many."
    for axis in range(a.ndim):
        if equal(a.softmax(axis), b):
            yield f"The softmax of your values along axis {axis} is right: it is missing."
        if equal(a.log_softmax(axis), b):
            yield f"Your values lack a normaliser along axis {axis}: their exponentials do not sum to 1 there."
        if equal(a, b.softmax(axis)):
            yield f"Your values are the softmax of the right ones along axis {axis}: one too many."


def sharpness(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """Of probabilities, or of their logarithms: the softmax is taken twice, or of scores times a factor."""
    for axis in reversed(range(a.ndim)):
        if a.shape[axis] < 2:
            continue
        for x, y in ((a, b), (a.log(), b.log())):        # logarithms, or what has them
            if not equal(y.exp().sum(axis), torch.ones((), dtype=y.dtype).expand(y.sum(axis).shape)) \
                    or not equal(x.exp().sum(axis), y.exp().sum(axis)):
                continue
            if equal(x, y.exp().log_softmax(axis)):
                yield f"A softmax is taken twice along axis {axis}: of probabilities, where it should be of the scores."
            if not y.isfinite().all() or not x.isfinite().all():
                continue
            mine, right = (one - one.mean(axis, keepdim=True) for one in (x, y))
            factor = (mine * right).sum() / right.square().sum()
            if factor > 0 and right.numel() > 2 and equal(mine, factor * right):
                yield (f"Your probabilities along axis {axis} are those of scores that are {factor:.4g} times what they should be: "
                       f"too {'sharp' if factor > 1 else 'even'}, by one factor everywhere.")


def factors(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """One factor, or one number to add, for all entries."""
    used = (b != 0) & a.isfinite() & b.isfinite()
    if used.any() and a[used].any():
        factor = (a[used] / b[used]).median()
        if factor and equal(a, factor * b):
            yield f"Your values are {factor_in_words(factor.item(), a)} what they should be, everywhere."
    finite = a.isfinite() & b.isfinite()
    if finite.any():
        offset = (a[finite] - b[finite]).median()
        if equal(a, b + offset):
            yield f"Your values are off by the same {offset.item():+.4g} everywhere."


def factor_in_words(factor: float, a: Tensor) -> str:
    """A factor, with what it may be."""
    near = partial(math.isclose, rel_tol=1e-4)
    if near(factor, 1 / math.log(10)):
        return "logarithms to base 10, not natural ones: 0.4343 times"
    if near(factor, 1 / math.log(2)):
        return "in bits, not in nats: 1.443 times"
    if near(factor, math.log(2)):
        return "in nats, not in bits: 0.6931 times"
    for axis, n in enumerate(a.shape):
        if n > 1 and near(factor, n):
            return f"{n} times, the size of axis {axis} (a sum in the place of a mean?),"
        if n > 1 and near(factor, 1 / n):
            return f"1 / {n} times, {n} being the size of axis {axis} (a mean in the place of a sum?),"
    return f"{factor:.4g} times"


def totals(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """What should sum to 1 along an axis, and does not."""
    for axis in reversed(range(a.ndim)):
        if a.shape[axis] < 2:
            continue
        for name, x, y in (("", a, b), ("the exponentials of ", a.exp(), b.exp())):
            one = torch.ones((), dtype=torch.float64).expand(y.sum(axis).shape)
            shares = (y >= 0).all() and not (y == y.round()).all()             # a single 1 among zeros sums to 1 by chance
            if shares and equal(y.sum(axis), one) and not equal(x.sum(axis), one):
                other = [k for k in range(a.ndim) if k != axis and a.shape[k] > 1 and equal(
                    x.sum(k), torch.ones((), dtype=torch.float64).expand(x.sum(k).shape))]
                yield f"Along axis {axis} {name}your values should sum to 1, and do not." + (
                    f" They do along axis {other[0]}." if other else "")


def each_row(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """A factor or a number for each row."""
    for axis in reversed(range(a.ndim)):
        if a.shape[axis] < 2 or a.ndim < 2:
            continue
        factor, offset = (a / b).median(axis, keepdim=True).values, (a - b).median(axis, keepdim=True).values
        if factor.isfinite().all() and factor.all() and equal(a, factor * b):
            yield f"Your values are right up to a factor that is the same along axis {axis}, one for each row."
        if offset.isfinite().all() and equal(a, b + offset):
            yield f"Your values are off by a number that is the same along axis {axis}, one for each row."


def limits(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """Cut off, rounded, or where no right value can be."""
    low, high = a.min(), a.max()
    beyond = (b - b.clamp(low, high)).abs() > NEAR * (high - low)
    if low < high and beyond.any() and equal(a, b.clamp(low, high)):
        yield "Your values are cut off: those beyond a limit are set to it."
    if equal(a, b.round()):
        yield "Your values are rounded to whole numbers."
    for bound, name, below in ((0, "negative", a < 0), (1, "above 1", a > 1)):
        beyond = (b < 0) if bound == 0 else (b > 1)
        if below.any() and not beyond.any() and (bound == 0 or not (b < 0).any()):
            yield f"{int(below.sum())} of {a.numel()} of your values are {name}; none should be."
    if (a > 0).any() and (b <= 0).all():
        yield f"{int((a > 0).sum())} of {a.numel()} of your values are above 0; none should be."


def sums(a: Tensor, b: Tensor, close: Tensor, equal) -> Iterator[str]:
    """A running sum too many, one that is missing, or what goes wrong at a place and stays so."""
    for axis in range(a.ndim):
        if a.shape[axis] < 2:
            continue
        if equal(a, b.cumsum(axis)):
            yield f"Your values are running sums of the right ones along axis {axis}."
        if equal(a.cumsum(axis), b):
            yield f"A running sum of your values along axis {axis} is missing."
    if a.ndim == 1 and (right := close.long().cumprod(0).sum().item()) > 1 and len(a) > right + 1 and not close[right:].any():
        yield f"Your first {right} values are right, and none after them: look at what is carried on from one to the next."
