"""Find the held-out items that also occur in the training set."""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import torch
from torch import Tensor


class OverlapError(ValueError):
    """More held-out items than allowed also occur in the training set."""


def check_held_out(train: Tensor | Iterable[Hashable], held_out: Tensor | Sequence[Hashable], allowed: float = 0.0,
                   name: str = "held-out items") -> float:
    """Print and return the share, 0 to 1, of held-out items that also occur in the training set.

    A model that has memorized its training set predicts these items correctly, so its loss on them does not show that
    it generalizes.

    train, held_out  tensors whose rows along the first axis are the items, with the same further axes; or lists of
                     items that can be compared, such as strings. Padded rows are compared with their padding
    allowed          largest share, between 0 and 1, that does not raise an error
    name             name of the items in the printed line

    Raises `OverlapError` if the share is larger than `allowed`, ValueError if there are no held-out items, if `allowed` is not
    between 0 and 1, or if the items have different shapes.

    >>> check_held_out(["a b", "b c"], ["c a", "a b"], allowed=0.5, name="held-out sentences")
    1 of 2 held-out sentences also occur in the training set (50.0 %)
    0.5
    """
    if not 0 <= allowed <= 1:
        raise ValueError(f"allowed is {allowed}; expected a share between 0 and 1")
    if isinstance(train, Tensor) and isinstance(held_out, Tensor):
        if train.shape[1:] != held_out.shape[1:]:
            raise ValueError(f"an item of held_out has shape {tuple(held_out.shape[1:])}; expected "
                             f"{tuple(train.shape[1:])}, as in train")
        train, held_out = rows(train), rows(held_out)
    seen, total = set(train), len(held_out)
    if not total:
        raise ValueError("held_out has no items; expected at least one")
    repeated = sum(item in seen for item in held_out)
    share = repeated / total
    print(f"{repeated:,} of {total:,} {name} also occur in the training set ({100 * share:.1f} %)")
    if share > allowed:
        raise OverlapError(f"{repeated:,} of {total:,} {name} also occur in the training set; at most "
                           f"{100 * allowed:.1f} % are allowed. Remove them from train, or pass a larger `allowed`")
    return share


def rows(items: Tensor) -> list[bytes]:
    """The rows of a tensor along its first axis, each as bytes, which are equal if and only if the rows are equal."""
    flat = items.detach().cpu().contiguous().flatten(1) if items.dim() > 1 else items.detach().cpu()[:, None].contiguous()
    flat = flat + 0 if flat.is_floating_point() else flat.to(torch.int64)              # -0.0 becomes 0.0
    return [row.numpy().tobytes() for row in flat]
