"""What is shown to a learner: text where there is only text, and HTML in a notebook."""
from __future__ import annotations

import sys
from collections.abc import Callable


class Shown:
    """An object that is `text` in a terminal, and what `html` returns in a page; `html` is called only there."""

    def __init__(self, text: str, html: Callable[[], str]):
        self.text, self.html = text, html

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html()


def show(one: Shown) -> None:
    """Display it in a notebook, print it elsewhere. IPython is not imported for that: who has a notebook has imported it."""
    if in_notebook():
        sys.modules["IPython"].display.display(one)
    else:
        print(one)


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return getattr(shell, "kernel", None) is not None
