"""The interactive figures of a page: those that its notebook stores, and those that the browser draws."""
from __future__ import annotations

import json

from tests.conftest import ROOT

VIEW = "application/vnd.jupyter.widget-view+json"


def of_notebook(path: str) -> bool:
    """Whether a page is made from a notebook."""
    return (ROOT / path).with_suffix(".ipynb").exists()


def views(path: str) -> list[dict]:
    """The interactive figures that the notebook of a page stores."""
    cells = json.loads((ROOT / path).with_suffix(".ipynb").read_text("utf-8"))["cells"]
    return [out["data"][VIEW] for cell in cells for out in cell.get("outputs", ()) if VIEW in out.get("data", {})]


def undrawn(page, wanted: int) -> list[str]:
    """What is missing of so many figures on a page that is shown."""
    drawn = page.locator(".afm-view:not(.afm-note)")
    boxes = [drawn.nth(i).bounding_box() for i in range(drawn.count())]
    flat = [f"figure {i + 1} is drawn {box and box['height']} pixels high" for i, box in enumerate(boxes)
            if box is None or box["height"] <= 20]
    return flat + [f"{len(boxes)} interactive figures are drawn; the notebook stores {wanted}"] * (len(boxes) != wanted)
