"""What a call of the learner's function gave: data, or the reason why there are none."""
from __future__ import annotations

import numbers
import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

KINDS = ("value", "not_attempted", "missing", "error", "timeout", "memory", "no_gradient", "forbidden")
TYPES = "a tensor, a number, text, None, or lists, tuples and dicts of them"
DEPTH = 20
WRITABLE = Tensor | list | tuple | dict


@dataclass
class Outcome:
    """`value` and `gradients` (by argument number) for the kind "value"; `detail` says why for the others,
    and for "forbidden" which function was reached.

    `changed` holds the numbers of the arguments that were written to; `where` the learner's line that it stopped at.
    """

    kind: str
    value: Any = None
    gradients: dict[int, Tensor] = field(default_factory=dict)
    changed: tuple[int, ...] = ()
    detail: str = ""
    where: str = ""


class NotData(TypeError):
    """A value that is no plain data."""


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as plain data that belongs to nobody else: tensors are detached copies without a subclass.

    Functions and modules pass as they are. Anything else raises `NotData`, with the type's name.
    """
    if depth > DEPTH:
        raise NotData(f"lists within lists, more than {DEPTH} deep")
    if type(value) is int and not -2**63 <= value < 2**63:
        raise NotData("a whole number that does not fit in 64 bits")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Tensor):
        if value.layout != torch.strided:
            raise NotData("a sparse tensor")
        return value.detach().cpu().as_subclass(Tensor).clone()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        return torch.from_numpy(np.array(value, ndmin=np.ndim(value)))
    if type(value) in (list, tuple):
        return type(value)(plain(part, depth + 1) for part in value)
    if type(value) in (dict, OrderedDict):               # a state_dict is one of these
        return {plain(key, depth + 1): plain(part, depth + 1) for key, part in value.items()}
    if callable(value):
        return value
    raise NotData(f"an object of type {type(value).__name__}")


def fresh(value: Any) -> Any:
    """A generator in the same state, so that who draws from it takes nothing away; any other value as it is."""
    if isinstance(value, torch.Generator):
        return torch.Generator().set_state(value.get_state())
    if isinstance(value, random.Random):
        copy = random.Random()
        copy.setstate(value.getstate())
        return copy
    return value


def same(one: Any, two: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Whether two plain values agree; NaN equals NaN. Numbers and scalar tensors are one kind of thing, and so are
    lists and tuples."""
    if type(one) is type(two):                           # equal to the last bit, as most are: cheaper than bounds
        if type(one) in (str, int, float) and one == two:
            return True
        if type(one) is Tensor and one.dtype == two.dtype and torch.equal(one, two):
            return True
    if is_number(one) and is_number(two):
        one, two = torch.as_tensor(one), torch.as_tensor(two)
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        if one.shape != two.shape:
            return False
        wide = torch.complex128 if one.is_complex() or two.is_complex() else torch.float64
        return torch.allclose(one.to(wide), two.to(wide), rtol=rtol, atol=atol, equal_nan=True)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(same(a, b, rtol, atol) for a, b in zip(one, two, strict=True))
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key], rtol, atol) for key in one)
    return bool(one == two)


def written_to(before: Sequence[Any], after: dict[int, Any]) -> tuple[int, ...]:
    """The numbers of the arguments that a call did not leave alone; one of which nothing is known afterwards counts.

    For who made the arguments: what a learner's process says of them is data, and the comparison is not its own."""
    return tuple(i for i, arg in enumerate(before) if isinstance(arg, WRITABLE)
                 and not (i in after and same(after[i], plain(arg))))


def is_number(value: Any) -> bool:
    """A real number, or a tensor that holds a single one without dimensions. Booleans are none."""
    if isinstance(value, Tensor):
        return value.ndim == 0 and value.dtype != torch.bool and not value.is_complex()
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def described(value: Any, counted: bool = True) -> str:
    """The type and shape of a plain value, in words, without its numbers; of a list, if `counted`, how long it is."""
    if not counted and isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__}"
    if isinstance(value, Tensor):
        return f"a tensor of {str(value.dtype).removeprefix('torch.')}, of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}" if value else f"an empty {type(value).__name__}"
    if isinstance(value, dict):
        return f"a dict of {len(value)} keys"
    if callable(value):
        return "a function or module"
    return "None" if value is None else f"one {type(value).__name__}"
