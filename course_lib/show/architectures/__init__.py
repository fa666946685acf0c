"""The architectures of the course, drawn: one file a drawing, and beside it the SVG that it makes.

`python -m course_lib.show.architectures` writes the SVGs anew. STYLE.md says which sign means what. A chapter shows a
drawing by `show.drawing(name)`, which reads the stored SVG.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

FOLDER = Path(__file__).parent


def sources() -> list[str]:
    """The names of the drawings that this package can make: its modules that do not begin with an underscore."""
    return sorted(module.name for module in iter_modules([str(FOLDER)]) if not module.name.startswith("_"))


def make(name: str) -> str:
    """The SVG of a drawing, made from its source."""
    return import_module(f"{__name__}.{name}").draw().svg()
