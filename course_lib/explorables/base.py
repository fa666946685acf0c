"""What all explorables share: a short repr, and a text for readers who get no JavaScript."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

STATIC = Path(__file__).parent
CSS = STATIC / "explorables.css"


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
