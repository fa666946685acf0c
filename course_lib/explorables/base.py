"""What all explorables share: how scripts and style sheets are put together, and a text for readers without them."""

from __future__ import annotations

import re
from pathlib import Path

import anywidget
import traitlets

STATIC = Path(__file__).parent
CSS = STATIC / "explorables.css"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)


def script(*names: str) -> str:
    """common.js and the named scripts after it, as the one ES module that a notebook stores.

    Each script imports what it takes from the others, so that it is a module by itself too; here these imports go.
    """
    texts = ((STATIC / f"{name}.js").read_text("utf-8") for name in ("common", *names))
    return "\n".join(IMPORT.sub("", text) for text in texts)


def style(*names: str) -> str:
    """The style sheet of all explorables and the named ones after it."""
    return "\n".join(path.read_text("utf-8") for path in (CSS, *(STATIC / f"{name}.css" for name in names)))


class Explorable(anywidget.AnyWidget):
    """An anywidget whose `repr` is its name and whose plain-text output is `text()`.

    `alt` is the label that assistive software reads for the figure as a whole.
    """

    alt = traitlets.Unicode("").tag(sync=True)

    def text(self) -> str:
        """What the figure says, in words and numbers: the output wherever no widget can be drawn."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = self.text()
        return bundle
