"""The drawings as a reader sees them: nothing overlaps, leaves its shape or fades, light and dark."""
from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.show.drawing import drawing, drawings

HERE = Path(__file__).parent
CHECKS, CONTRAST = ((HERE / name).read_text("utf-8") for name in ("checks.js", "contrast.js"))
CSS = (HERE.parents[1] / "book" / "_assets" / "book.css").read_text("utf-8")


def measured(page, svg: str, script: str, theme: str = "light"):
    page.set_content(svg)
    page.emulate_media(color_scheme=theme)
    return page.query_selector("svg").evaluate(script)


@pytest.mark.parametrize("name", drawings())
def test_drawing_layout(page, name):
    assert measured(page, drawing(name).svg, CHECKS) == []


@pytest.mark.parametrize("theme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 30)")])
def test_drawing_contrast(page, theme, ground):
    for name in drawings():
        found = measured(page, drawing(name).svg, CONTRAST, theme)
        assert found["paper"] == ground
        assert found["faint"] == [] and found["measured"] > 50, (name, theme)


# --- in a page -------------------------------------------------------------------------------------------------------

# What the book's theme does to outputs in the dark: grey behind them and room around, pictures dimmed.
THEME = """html[data-theme=dark] .bd-content div.cell_output :is(.text_html, img) {
  background: #ced6dd; padding: .5rem }
html[data-theme=dark] img:not(.only-dark, .dark-light) { filter: brightness(.8) contrast(1.2) }"""
# As much of the book's page as there is around an output: the margins of a phone, the rule at the left of an output.
PAGE = """<!DOCTYPE html><html lang="en" data-theme="{theme}" style="color-scheme: {theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 0 16px }} {css}</style></head>
<body class="bd-content">{outputs}</body></html>"""
OUTPUT = '<div class="cell"><div class="cell_output"><div class="output text_html">{html}</div></div></div>'


def shown(page, htmls: list[str], width: int, theme: str = "light"):
    """The images of a page with these outputs."""
    page.set_viewport_size({"width": width, "height": 900})
    outputs = "".join(OUTPUT.format(html=html) for html in htmls)
    page.set_content(PAGE.format(theme=theme, css=THEME + CSS, outputs=outputs))
    page.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    return page.query_selector_all("img")
