"""Drawings of architectures: one module per drawing, whose `draw()` returns a `Canvas`, and the SVG that it generates.

`python -m course_lib.show.architectures` generates the SVGs. STYLE.md explains the symbols. `show.drawing(name)` reads
the stored SVG.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

FOLDER = Path(__file__).parent


def sources() -> list[str]:
    """Return the names of all drawings, which are the public modules of this package."""
    return sorted(module.name for module in iter_modules([str(FOLDER)]) if not module.name.startswith("_"))


def make(name: str) -> str:
    """Return the SVG source of the drawing `name`, one of `sources()`."""
    return import_module(f"{__name__}.{name}").draw().svg()
