"""Figures, tables and source listings for notebooks.

listing  the source of a class or a function
grids    image grids
tables   tables of results
drawing  drawings of architectures
masks    networks of MADE with their masks, and dependence patterns of factors
graphs   computation graphs
trees    search trees
style    colors and defaults of figures
"""

from importlib import import_module
from types import ModuleType

from course_lib.show.drawing import Drawing, drawing, drawings
from course_lib.show.grids import images
from course_lib.show.listing import Source, source
from course_lib.show.style import ACCENT, INK, SECOND
from course_lib.show.tables import Table, table

__all__ = ["ACCENT", "Drawing", "INK", "SECOND", "Source", "Table", "drawing", "drawings", "images", "source", "table"]


def __getattr__(name: str) -> ModuleType:
    """Return `show.graphs`, `show.masks` or `show.trees`, which are imported on first access."""
    if name not in ("graphs", "masks", "trees"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
