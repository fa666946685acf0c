"""How a wrong value that no misconception explains differs from the right one: what was observed, never an expected value."""
import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.protocol.calls import first_difference, is_number, same

NEAR = 0.02                     # relative error up to which a value is called near


def describe_difference(got: Any, expected: Any, rtol: float, atol: float) -> str:
    """One sentence on how `got` differs from `expected`, without an expected value."""
    if is_number(got) and is_number(expected):
        got, expected = torch.as_tensor(got), torch.as_tensor(expected)
    if isinstance(got, Tensor) and isinstance(expected, Tensor) and got.shape == expected.shape and got.numel():
        return describe_tensors(got, expected, rtol, atol)
    if isinstance(got, dict) and isinstance(expected, dict):
        if len(got) != len(expected):
            return f"Your result has {count_of(len(got), 'key')} where it should have {len(expected)}."
        missing = [key for key in expected if key not in got]
        return f"The key {missing[0]!r} is missing." if missing else \
            f"The value at key {first_difference(got, expected, rtol, atol)!r} is wrong."
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        return describe_lists(got, expected, rtol, atol)
    if isinstance(got, str) and isinstance(expected, str):
        return f"You answer {got[:40]!a}; another answer is right."
    if isinstance(got, bool) and isinstance(expected, bool):
        return f"You answer {got}, the opposite of what is right."
    return "Your result is not the right one."


def count_of(count: int, name: str) -> str:
    """ "1 entry", "3 entries"."""
    plural = name[:-1] + "ies" if name.endswith("ry") else name + "s"
    return f"{count} {name if count == 1 else plural}"


def describe_lists(got: Sequence, expected: Sequence, rtol: float, atol: float) -> str:
    """The difference of two lists, as a sentence: their order, what is missing from one, the first that is wrong."""
    entries, right = to_hashable(got), to_hashable(expected)
    if isinstance(expected, tuple) or entries is None or right is None:         # the parts of a tuple mean different things
        return describe_parts(got, expected, rtol, atol)
    if not entries:
        return f"Your list is empty; it should hold {count_of(len(right), 'entry')}."
    if not right:
        return f"Your list holds {count_of(len(entries), 'entry')}; it should be empty."
    if entries == right[::-1]:
        return "Your list is in reversed order."
    if sorted(map(repr, entries)) == sorted(map(repr, right)):
        return "Your list holds the right things in another order."
    if set(entries) == set(right) and len(set(right)) == len(right):
        return "Your list holds something more than once. List each once."
    if len(entries) != len(right):
        begins = entries == right[:len(entries)] or right == entries[:len(right)]
        missing = len(set(right) - set(entries))
        return (f"Your list has {count_of(len(entries), 'entry')} where it should have {len(right)}"
                + ("; what both have is right." if begins else f"; {missing} of these {'is' if missing == 1 else 'are'} not in it." if missing else "."))
    if entries[1:] == right[:-1] or entries[:-1] == right[1:]:
        return "Your list is shifted by one place."
    if all(is_number(part) for part in entries + right) and any(isinstance(part, float) for part in right):
        return describe_tensors(torch.tensor(entries), torch.tensor(right), rtol, atol)
    wrong = [i for i, (a, b) in enumerate(zip(entries, right, strict=True)) if a != b]
    return f"{len(wrong)} of the {len(right)} entries of your list {'is' if len(wrong) == 1 else 'are'} wrong; the first is at index {wrong[0]}."


def to_hashable(values: Sequence) -> list | None:
    """The entries with tuples in the place of lists, or None if there are tensors or dicts among them."""
    entries = []
    for value in values:
        if isinstance(value, Tensor) and is_number(value):
            value = value.item()
        if isinstance(value, list | tuple):
            value = to_hashable(value)
            if value is None:
                return None
            value = tuple(value)
        if not (value is None or isinstance(value, bool | int | float | str | tuple)):
            return None
        entries.append(value)
    return entries


def describe_parts(got: Sequence, expected: Sequence, rtol: float, atol: float) -> str:
    """The first part that is wrong, and how. Parts are counted from 0."""
    if len(got) != len(expected):
        return f"Your result has {count_of(len(got), 'part')} where it should have {len(expected)}."
    first = first_difference(got, expected, rtol, atol)
    if all(isinstance(values[first], list | tuple) for values in (got, expected)):
        inner = describe_lists(got[first], expected[first], rtol, atol)
    else:
        inner = describe_difference(got[first], expected[first], rtol, atol)
    before = {0: "", 1: "result[0] is right; "}.get(first, f"result[0] to result[{first - 1}] are right; ")
    return f"{(before + f'result[{first}] is not right').replace('result', 'Result', 1)}. {inner}"


def describe_tensors(got: Tensor, expected: Tensor, rtol: float, atol: float) -> str:
    """How two tensors of one shape differ, as a sentence."""
    equal = partial(same, rtol=rtol, atol=atol)
    if got.is_complex() or expected.is_complex():
        return describe_first_difference(torch.isclose(got, expected.to(got), rtol=rtol, atol=atol))
    a, b = got.double(), expected.double()
    if got.dtype == torch.bool or expected.dtype == torch.bool:
        return next(chain(compare_booleans(a, b), find_order(a, b, equal), find_places(a == b)), "") or describe_first_difference(a == b)
    close = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if a.numel() == 1:
        return next(find_nonfinite(a, b), "") or describe_number(a.item(), b.item())
    facts = chain(find_nonfinite(a, b), find_constant(a, b), find_order(a, b, equal), find_factor(a, b, equal), find_places(close))
    return next(facts, "") or describe_first_difference(close, a > b)


def compare_booleans(a: Tensor, b: Tensor) -> Iterator[str]:
    """Of two tensors of 0 and 1."""
    if torch.equal(a, 1 - b):
        yield "Every entry is the opposite of what it should be."
    if a.min() == a.max() and b.min() != b.max():
        yield f"All your entries are {bool(a.flatten()[0])}."


def describe_number(a: float, b: float) -> str:
    """Of two single numbers."""
    if a == 0:
        return "Your value is 0, and should not be."
    near = partial(math.isclose, rel_tol=1e-4, abs_tol=1e-12)
    ratio, side = a / b if b else 0.0, "large" if a > b else "small"
    cases = [
        (near(ratio, 1 / math.log(2)), "Your value is in bits; it should be in nats."),
        (near(ratio, math.log(2)), "Your value is in nats; it should be in bits."),
        (near(ratio, -1), "Your value has the wrong sign."),
        (near(math.exp(b) if b < 300 else math.inf, a), "Your value is the exponential of the right one."),
        (near(math.exp(a) if a < 300 else math.inf, b), "Your value is the logarithm of the right one."),
        (near(a + b, 1) and 0 <= b <= 1, "Your value is 1 minus the right one."),
        (a * b < 0, f"Your value is {'negative' if a < 0 else 'positive'}; it should not be."),
        (abs(ratio - 1) < NEAR, f"Your value is near, and too {side} by {abs(ratio - 1):.2g} of it."),
        (True, f"Your value is too {side}.")]
    return next(sentence for holds, sentence in cases if holds)


def find_constant(a: Tensor, b: Tensor) -> Iterator[str]:
    """One value everywhere where there should be several."""
    if (a == a.flatten()[0]).all() and not (b == b.flatten()[0]).all():
        yield "All your values are equal; they should not be." if a.any() else "All your values are 0."


def find_order(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """The right values at other positions."""
    for i, j in combinations(range(a.ndim), 2):
        if a.shape[i] == a.shape[j] > 1 and equal(a.transpose(i, j), b):
            yield "Your result is the transpose of the right one: rows and columns are exchanged." if a.ndim == 2 \
                else f"Your axes {i} and {j} are exchanged."
    for axis, n in enumerate(a.shape):
        if n > 1 and equal(a.flip(axis), b):
            yield f"Your values are in reversed order along axis {axis}."
        if n > 2 and any(equal(a.narrow(axis, i, n - 1), b.narrow(axis, 1 - i, n - 1)) for i in (0, 1)):
            yield f"Your values are shifted by one place along axis {axis}."
    if len(b.unique()) >= b.numel() / 2 and equal(a.flatten().sort().values, b.flatten().sort().values):       # else an order says little
        yield "Your values are the right ones in other places: is something reshaped that should be transposed?"


def find_factor(a: Tensor, b: Tensor, equal) -> Iterator[str]:
    """One factor, or one number to add, for all entries."""
    finite = a.isfinite() & b.isfinite()
    used = finite & (b != 0)
    if used.any() and a[used].any():
        factor = (a[used] / b[used]).median()
        if equal(a, -b):
            yield "Your values have the wrong sign, everywhere."
        elif factor and equal(a, factor * b):
            yield f"Your values are {describe_factor(factor.item(), a)} what they should be, everywhere."
    if finite.any():
        offset = (a[finite] - b[finite]).median()
        if equal(a, b + offset):
            yield f"Your values are off by the same {offset.item():+.4g} everywhere."


def describe_factor(factor: float, a: Tensor) -> str:
    """A factor, with what it may be."""
    known = [(1 / math.log(10), "logarithms to base 10, not natural ones: 0.4343 times"), (1 / math.log(2), "in bits, not in nats: 1.443 times"),
             (math.log(2), "in nats, not in bits: 0.6931 times"),
             *((n, f"{n} times, the size of axis {axis} (a sum in the place of a mean?),") for axis, n in enumerate(a.shape) if n > 1),
             *((1 / n, f"1 / {n} times, {n} being the size of axis {axis} (a mean in the place of a sum?),") for axis, n in enumerate(a.shape))]
    return next((words for value, words in known if math.isclose(factor, value, rel_tol=1e-4)), f"{factor:.4g} times")


def find_nonfinite(a: Tensor, b: Tensor) -> Iterator[str]:
    """NaN and infinities that should not be there, and those that are missing."""
    if not b.isnan().any() and a.isnan().any():
        yield f"{describe_count(a.isnan(), 'NaN')}: look for log(0), 0 times infinity, infinity minus infinity, or infinity divided by infinity."
    for sign, words, why in ((1, "infinite", "an overflowing exp, or a division by 0"),
                             (-1, "minus infinity", "log(0), or exponentials that have all become 0")):
        is_inf, should = a == sign * math.inf, b == sign * math.inf
        if is_inf.any() and not should.any():
            yield f"{describe_count(is_inf, words)}: look for {why}."
        if (is_inf != should).any():
            yield (f"Other entries are {words} than should be: {int((should & ~is_inf).sum())} that should be are not, and "
                   f"{int((is_inf & ~should).sum())} that should be finite are.")


def describe_count(hit: Tensor, what: str) -> str:
    """ "3 of 12 entries are NaN"."""
    if hit.all():
        return f"{'Your value' if hit.numel() == 1 else 'Every entry'} is {what}"
    return f"{int(hit.sum())} of {hit.numel()} entries are {what}"


def find_places(right: Tensor) -> Iterator[str]:
    """The only place where something is wrong: a diagonal, a side of it, an index of an axis."""
    wrong = ~right
    if wrong.all() or wrong.sum() < 2 or right.ndim == 0:
        return
    count = f"{int(wrong.sum())} of {wrong.numel()}"
    if right.ndim >= 2 and min(right.shape[-2:]) > 1:
        i, j = torch.arange(right.shape[-2])[:, None], torch.arange(right.shape[-1])
        for name, part in (("on the diagonal", i == j), ("above the diagonal", i < j), ("below the diagonal", i > j)):
            if not (wrong & ~part).any():
                yield f"Your values are wrong only {name}: {count}."
    for axis, n in enumerate(right.shape):
        hit = wrong.any(dim=tuple(k for k in range(right.ndim) if k != axis)) if right.ndim > 1 else wrong
        rows = hit.nonzero().flatten().tolist()
        if len(rows) == 1 and n > 1:
            yield f"Your values are wrong only at index {rows[0]}{' (the last)' if rows[0] == n - 1 else ''} of axis {axis}: {count}."


def describe_first_difference(right: Tensor, larger: Tensor | None = None) -> str:
    """Where the first wrong entry is, and to which side it is wrong."""
    wrong = (~right).nonzero()
    if not len(wrong) or right.ndim == 0:
        return f"Your value is {'not the right one' if larger is None else 'too large' if bool(larger) else 'too small'}."
    place = tuple(wrong[0].tolist())
    side = "" if larger is None else ", too large" if bool(larger[place]) else ", too small"
    count = f"{len(wrong)} of {right.numel()} entries are wrong"
    return f"{count}; the first is at index {place if len(place) > 1 else place[0]}{side}."
