"""Where one tensor differs from another, and to which side: NaN and infinities, a row, a diagonal, the first entry."""
from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

NEAR = 0.02                     # relative error up to which values are called near


def not_finite(a: Tensor, b: Tensor) -> Iterator[str]:
    """NaN and infinities that should not be there, and those that are missing."""
    if not b.isnan().any() and a.isnan().any():
        yield f"{counted(a.isnan(), 'NaN')}: look for log(0), 0 times infinity, or infinity minus infinity."
    for sign, words, why in ((1, "infinite", "an overflowing exp, or a division by 0"),
                             (-1, "minus infinity", "log(0), or exponentials that have all become 0")):
        is_inf, should = a == sign * math.inf, b == sign * math.inf
        if is_inf.any() and not should.any():
            yield f"{counted(is_inf, words)}: look for {why}."
        extra, missing = int((is_inf & ~should).sum()), int((should & ~is_inf).sum())
        parts = [f"of {int(should.sum())} entries that should be {words}, {missing} {'is' if missing == 1 else 'are'} "
                 "not"] * bool(missing)
        parts += [f"{extra} {'is' if extra == 1 else 'are'} {words} that should be finite"] * bool(extra)
        if parts:
            text = "; ".join(parts)
            yield text[0].upper() + text[1:] + "."


def are(count: int) -> str:
    """ "is 1", "are 3"."""
    return f"is {count}" if count == 1 else f"are {count}"


def counted(hit: Tensor, what: str) -> str:
    """ "3 of 12 entries are NaN", or where they are if they fill whole rows."""
    if hit.numel() == 1:
        return f"Your value is {what}"
    if hit.all():
        return f"Every entry is {what}"
    for axis in range(hit.ndim - 1):
        others = tuple(k for k in range(hit.ndim) if k != axis)
        if torch.equal(hit.any(dim=others), hit.all(dim=others)):
            rows = hit.any(dim=others).nonzero().flatten().tolist()
            return f"At {indices(rows)} of axis {axis} every entry is {what}, and elsewhere none"
    return f"{int(hit.sum())} of {hit.numel()} entries are {what}"


def places(right: Tensor) -> Iterator[str]:
    """Where alone something is wrong: a diagonal, a side of it, a row, a column, every second place."""
    wrong = ~right
    if wrong.all() or wrong.sum() < 2 or right.ndim == 0:
        return
    where = None
    if right.ndim >= 2 and min(right.shape[-2:]) > 1:
        i, j = (torch.arange(n) for n in right.shape[-2:])
        for name, part in (("on the diagonal", i[:, None] == j), ("above the diagonal", i[:, None] < j),
                           ("below the diagonal", i[:, None] > j)):
            part = part.expand_as(wrong)
            if not (wrong & ~part).any():
                where = where or (name + ", and everywhere there" if (wrong == part).all() else name)
    axes = []
    for axis, n in enumerate(right.shape):
        hit = wrong.any(dim=tuple(k for k in range(right.ndim) if k != axis)) if right.ndim > 1 else wrong
        bad = hit.nonzero().flatten().tolist()
        said = indices(bad, n)
        if len(bad) < n and not said[0].isdigit():
            axes.append((len(bad) / n, f"at {said} of axis {axis}"))
    if not where and axes:
        where = min(axes)[1]
    if where:
        yield f"Your values are wrong only {where}: {int(wrong.sum())} of {wrong.numel()}."


def indices(found: list[int], n: int = 0) -> str:
    """ "index 3", "every odd index", "the indices 2 to 5", "6 indices"."""
    if len(found) == 1:
        return f"index {found[0]}" + (" (the last)" if n > 1 and found[0] == n - 1 else "")
    if len(found) > 2 and n and found in (list(range(0, n, 2)), list(range(1, n, 2))):
        return "every odd index" if found[0] else "every even index"
    if found == list(range(found[0], found[-1] + 1)):
        return f"the indices {found[0]} to {found[-1]}"
    return f"the indices {', '.join(map(str, found))}" if len(found) <= 4 else f"{len(found)} indices"


def near(a: Tensor, b: Tensor, close: Tensor) -> Iterator[str]:
    """Values that are almost right."""
    wrong = ~close
    error = ((a - b).abs() / b.abs().clamp(min=1e-12))[wrong]
    if error.numel() and error.max() < NEAR:
        side = "too large" if (a > b)[wrong].all() else "too small" if (a < b)[wrong].all() else "on both sides"
        yield (f"Your values are near, off by at most {error.max():.1%}, {side}: look for a small number that is added or "
               "left out, or a size that is off by one.")


def sides(a: Tensor, b: Tensor, close: Tensor) -> Iterator[str]:
    """All of them to one side."""
    wrong = ~close
    for side, hit in (("large", a > b), ("small", a < b)):
        if hit[wrong].all() and wrong.sum() > 2:
            which = "All your values" if wrong.all() else f"{int(wrong.sum())} of your {a.numel()} values"
            yield f"{which} are too {side}, each by another amount."


def first_difference(right: Tensor, larger: Tensor | None = None) -> str:
    """Where the first wrong entry is, and to which side it is wrong."""
    wrong = (~right).nonzero()
    if not len(wrong) or right.ndim == 0:
        return "Your value is " + ("not the right one." if larger is None else
                                   "too large." if bool(larger) else "too small.")
    place = tuple(wrong[0].tolist())
    side = "" if larger is None else ", too large" if bool(larger[place]) else ", too small"
    count = f"{len(wrong)} of {right.numel()} entries are wrong"
    return f"{count}; the first is at index {place if len(place) > 1 else place[0]}{side}."
