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
    """Concatenate common.js and the named scripts to one ES module.

    The imports between the scripts are removed.
    """
    texts = ((STATIC / f"{name}.js").read_text("utf-8") for name in ("common", *names))
    return "\n".join(IMPORT.sub("", text) for text in texts)


def style(*names: str) -> str:
    """Concatenate explorables.css and the named style sheets."""
    return "\n".join(path.read_text("utf-8") for path in (CSS, *(STATIC / f"{name}.css" for name in names)))


def as_base64(parts: Iterable[Tensor], dtype: torch.dtype = torch.float32) -> str:
    """Encode all numbers of the tensors, row by row, as little-endian `dtype` in base64."""
    flat = torch.cat([part.detach().cpu().flatten() for part in parts]).to(dtype).numpy()
    return base64.b64encode(flat.astype(flat.dtype.newbyteorder("<")).tobytes()).decode("ascii")


class Whole(traitlets.Int):
    """An integer from `low` to `high`, which may depend on the figure. Raises ValueError for another one."""

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
    """One of the values `allowed`; `needed` says which. Raises ValueError for another one."""

    def __init__(self, default: str | int, allowed: Iterable[str | int], needed: str = ""):
        super().__init__(default)
        self.allowed = tuple(allowed)
        self.needed = needed or f"one of {', '.join(map(repr, self.allowed))}"

    def validate(self, obj: Explorable, value: object) -> str | int:
        if value not in self.allowed:
            raise ValueError(f"{self.name} is {value!r}; expected {self.needed}")
        return value


class Explorable(anywidget.AnyWidget):
    """Base class: an anywidget whose plain-text output is `text()`.

    `alt` is the label of the figure for screen readers.
    """

    alt = traitlets.Unicode("").tag(sync=True)

    def text(self) -> str:
        """The figure as text, where no widget can be shown."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = self.text()
        return bundle
