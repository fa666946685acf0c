"""The base class of interactive figures, and their scripts and style sheets."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import anywidget
import torch
import traitlets
from torch import Tensor

STATIC = Path(__file__).parent
CSS = STATIC / "explorables.css"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)


def script(*names: str) -> str:
    """Return one ES module, without internal imports, from common.js and the scripts `names`, given without .js."""
    texts = ((STATIC / f"{name}.js").read_text("utf-8") for name in ("common", *names))
    return "\n".join(IMPORT.sub("", text) for text in texts)


def style(*names: str) -> str:
    """Return one style sheet from explorables.css and the style sheets `names`, given without .css."""
    return "\n".join(path.read_text("utf-8") for path in (CSS, *(STATIC / f"{name}.css" for name in names)))


def as_base64(parts: Iterable[Tensor], dtype: torch.dtype = torch.float32) -> str:
    """Encode the numbers of all tensors `parts`, row by row, one after another, as little-endian `dtype` in base64."""
    flat = torch.cat([part.detach().cpu().flatten() for part in parts]).to(dtype).numpy()
    return base64.b64encode(flat.astype(flat.dtype.newbyteorder("<")).tobytes()).decode("ascii")


class Whole(traitlets.Int):
    """A trait for an integer from `low` to `high`, both included. Raises ValueError for other values.

    default  the value at first
    high     the largest value, or a function that returns it for a figure
    """

    def __init__(self, default: int, low: int, high: int | Callable[[Explorable], int]):
        super().__init__(default)
        self.low, self.high = low, high

    def validate(self, obj: Explorable, value: object) -> int:
        value = super().validate(obj, value)
        high = self.high(obj) if callable(self.high) else self.high
        if not self.low <= value <= high:
            raise ValueError(f"{self.name} is {value}; expected {self.low} to {high}")
        return value


class OneOf(traitlets.TraitType):
    """A trait for one of the values `allowed`. Raises ValueError for other values.

    default  the value at first
    needed   description of `allowed` in the error message; "" for a list of the values
    """

    def __init__(self, default: str | int, allowed: Iterable[str | int], needed: str = ""):
        super().__init__(default)
        self.allowed = tuple(allowed)
        self.needed = needed or f"one of {', '.join(map(repr, self.allowed))}"

    def validate(self, obj: Explorable, value: object) -> str | int:
        if value not in self.allowed:
            raise ValueError(f"{self.name} is {value!r}; expected {self.needed}")
        return value


class Explorable(anywidget.AnyWidget):
    """Base class of the interactive figures: an anywidget whose plain-text output is `text()`.

    The keyword arguments `**traits` of a constructor set attributes. Setting an attribute of a figure updates it, and
    what a user changes in the figure sets the attribute. `alt` is the label of the figure for screen readers.
    """

    alt = traitlets.Unicode("").tag(sync=True)

    def text(self) -> str:
        """Describe the figure as text, for output that cannot show widgets."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = self.text()
        return bundle
