"""The base class of interactive figures, and their scripts and style sheets."""

from __future__ import annotations

import re
from pathlib import Path

import anywidget
import traitlets

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
