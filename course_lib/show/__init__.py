"""What the chapters show: the source of a class, rows of images. Everything returns an object that a notebook draws.

listing  the source of a class or a function
grids    rows of images
tables   results as a table
drawing  the architectures, drawn
masks    a masked network, its masks, which factor reads which variable
graphs   how a value was computed, with the gradient at every node
trees    word classes as a tree
style    colours and defaults of figures
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
    """The modules that draw models, imported when first asked for: `show.graphs`, `show.masks`, `show.trees`."""
    if name not in ("graphs", "masks", "trees"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
