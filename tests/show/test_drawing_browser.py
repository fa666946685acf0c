"""The drawings as a reader sees them: nothing overlaps, leaves its shape or fades, wide and narrow, light and dark."""
from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from course_lib.show.architectures._canvas import COLOURS, Canvas
from course_lib.show.drawing import Drawing, drawing, drawings

HERE = Path(__file__).parent
CHECKS, CONTRAST = ((HERE / name).read_text("utf-8") for name in ("checks.js", "contrast.js"))
CSS = (HERE.parents[1] / "book" / "_assets" / "book.css").read_text("utf-8")


def measured(page, svg: str, script: str, theme: str = "light"):
    page.set_content(svg)
    page.emulate_media(color_scheme=theme)
    return page.query_selector("svg").evaluate(script)


@pytest.mark.parametrize("name", drawings())
def test_nothing_overlaps_leaves_its_place_or_is_too_small(page, name):
    assert measured(page, drawing(name).svg, CHECKS) == []


@pytest.mark.parametrize("theme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 30)")])
def test_every_text_and_line_stands_out_from_its_ground(page, theme, ground):
    for name in drawings():
        found = measured(page, drawing(name).svg, CONTRAST, theme)
        assert found["paper"] == ground
        assert found["faint"] == [] and found["measured"] > 50, (name, theme)


# --- the checks themselves -------------------------------------------------------------------------------------------


def sound() -> Canvas:
    c = Canvas(360, 200, "A layer", "A tensor goes into a layer.")
    x, f = c.tensor(60, 40, 44, 30, "$x$"), c.layer(60, 120, 80, 30, "layer")
    c.line(x.bottom(), f.top())
    c.note(160, 40, "(B, T, D)")
    return c


PLANTED = {
    "overlaps": lambda c: c.note(170, 46, "(B, T)"),
    "leaves the drawing": lambda c: c.note(340, 100, "too far to the right"),
    "leaves its shape": lambda c: c.layer(200, 120, 60, 30, "too long a name"),
    "leaves its shape ": lambda c: c.weight(200, 120, "$W_{abc}$", w=44, tied=True),
    "runs into the shape": lambda c: c.note(100, 60, "near the tensor") or c.tensor(140, 66, 30, 30, ""),
    "is smaller than 12": lambda c: c.text(200, 120, "small", size=11),
    "is smaller than 9": lambda c: c.text(200, 120, "$a_{i}$", size=12) or c._shapes.append(
        c._shapes.pop().replace('font-size="9.12"', 'font-size="8"')),
    "the shapes of": lambda c: c.plus(98, 110),
    "leaves the drawing ": lambda c: c.tensor(350, 120, 40, 30, ""),
    "crosses": lambda c: c.line((160, 10), (160, 90)),
    "(cd-frame) crosses": lambda c: c.frame(160, 80, 150, 80),
    "a line leaves the drawing": lambda c: c.line((200, 150), (359, 150), head=False),
    "runs under": lambda c: c.line((60, 150), (200, 150), (200, 120), (10, 120)),
    "a disc covers": lambda c: c.place(130, 40, 1)}


def test_a_sound_drawing_has_no_faults(page):
    assert measured(page, sound().svg(), CHECKS) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(page, fault):
    c = sound()
    PLANTED[fault](c)
    found = measured(page, c.svg(), CHECKS)
    assert any(fault.strip() in said for said in found), found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("role, what", [("ink", 'the text "x"'), ("ink", "the head of a line"), ("ink", "cd-flow"),
                                        ("soft", 'the text "(B, T, D)"'), ("data", "the outline of a rect"),
                                        ("learn-tint", 'the text "layer"')])
def test_a_faint_colour_is_found(page, theme, role, what):
    hue = "#6b7280" if "tint" in role else {"light": "#9aa0a8", "dark": "#5a626c"}[theme]
    svg = sound().svg().replace(COLOURS[role][theme == "dark"], hue)
    assert any(what in said for _, said in measured(page, svg, CONTRAST, theme)["faint"])


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


def html_of(name: str) -> str:
    return drawing(name)._repr_mimebundle_()["text/html"]


def narrow(image) -> list[str]:
    """What is wrong with an image's width in its page."""
    box, inside = image.bounding_box(), image.query_selector("..").evaluate("output => output.clientWidth")
    found = ["wider than its box"] if box["width"] > inside + 0.5 else []
    if 12 * box["width"] / 360 < 11:
        found.append(f"the smallest text is {12 * box['width'] / 360:.1f} pixels high")
    return found


@pytest.mark.parametrize("width", [390, 900, 1280])
def test_a_drawing_fits_its_page_and_its_text_can_be_read(page, width):
    images = shown(page, [html_of(name) for name in drawings()], width)
    for name, image in zip(drawings(), images, strict=True):
        assert narrow(image) == [], name
        box = image.bounding_box()
        assert abs(box["height"] / box["width"] - drawing(name).height / drawing(name).width) < 0.01, "not distorted"


def test_a_drawing_that_does_not_fit_is_found(page):
    wide = html_of("gpt").replace("max-width: 100%", "max-width: none !important")
    small = Drawing("x", Canvas(480, 200, "A", "B.").svg().replace('width="640"', 'width="300"'))
    images = shown(page, [wide, small._repr_mimebundle_()["text/html"]], 390)
    assert [narrow(image) for image in images] == [["wider than its box"], ["the smallest text is 10.0 pixels high"]]


def look(image) -> tuple:
    """The colour at the left edge of an image, and what the page does to it and to the box around it."""
    picture = Image.open(io.BytesIO(image.screenshot())).convert("RGB")
    style = "e => { const s = getComputedStyle(e); return [s.backgroundColor, s.padding, s.filter] }"
    return picture.getpixel((3, picture.height // 2)), image.evaluate(style), image.query_selector("..").evaluate(style)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_drawing_follows_the_theme_of_its_page_and_stands_on_its_own_ground(page, theme):
    page.emulate_media(color_scheme="light" if theme == "dark" else "dark")          # the system says otherwise
    html, untouched = html_of("gpt"), ["rgba(0, 0, 0, 0)", "0px", "none"]
    paper = tuple(bytes.fromhex(COLOURS["paper"][theme == "dark"][1:]))
    assert look(*shown(page, [html], 900, theme)) == (paper, untouched, untouched)
    if theme == "dark":                                              # without its classes it is changed
        _, image, box = look(*shown(page, [html.replace("course-drawing dark-light", "")], 900, theme))
        assert image[0] != untouched[0] and image[2] != "none" and box[0] != untouched[0]
