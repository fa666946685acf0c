"""The drawings as files and as objects: what is listed, what a notebook gets, what the files must not hold."""
from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.show import architectures as package
from course_lib.show.architectures import _labels, make, sources
from course_lib.show.architectures._canvas import Canvas
from course_lib.show.drawing import FOLDER, SVG, drawing, drawings


def test_files_of_sources():
    assert drawings() == sources()
    assert sorted(path.name for path in FOLDER.glob("*.svg")) == [f"{name}.svg" for name in drawings()]


@pytest.mark.parametrize("name", drawings())
def test_stored_file_current(name):
    made, stored = make(name), drawing(name).svg
    assert made == stored, f"{name}.svg is older than {name}.py: run python -m {package.__name__}"


@pytest.mark.parametrize("wrong, told", [("nda", "nade"), ("GPT-2", "gpt"), ("encoder-decoder", "encoder_decoder"),
                                         ("block", "transformer_block"), ("xyz", "drawings of attentive_lm, bert")])
def test_drawing_unknown_name(wrong, told):
    with pytest.raises(ValueError, match=f"name is {wrong!r}; .*{told}"):
        drawing(wrong)


# --- the files -------------------------------------------------------------------------------------------------------


def faults(svg: str) -> list[str]:
    """What a drawing's file must not hold, or lacks; raises ParseError where it is no XML."""
    root, found = ElementTree.fromstring(svg), []
    if root.tag != f"{SVG}svg":
        found.append(f"the root is {root.tag}")
    for element in root.iter():
        tag = element.tag.removeprefix(SVG)
        if tag not in {"svg", "title", "desc", "style", "g", "rect", "circle", "polygon", "path", "text", "tspan"}:
            found.append(f"element {tag}")
        for key, value in element.attrib.items():
            if key == "id" or key.startswith("on") or "href" in key or "url(" in value or "//" in value:
                found.append(f"attribute {key}={value}")
    style = root.findtext(f"{SVG}style") or ""
    if re.search(r"@import|url\(|//", style):
        found.append("the style sheet fetches something")
    if "prefers-color-scheme:dark" not in style:
        found.append("no dark colours")
    if root.get("role") != "img" or root.get("aria-label") != root.findtext(f"{SVG}title"):
        found.append("role or label")
    if int(root.get("viewBox").split()[2]) > 360 or int(root.get("viewBox").split()[3]) > 700:
        found.append("larger than 360 by 700")
    if len(svg.encode()) > 50_000:
        found.append("heavier than 50 KB")
    return found


@pytest.mark.parametrize("name", drawings())
def test_file_sound(name):
    assert faults(drawing(name).svg) == []




class Image(HTMLParser):
    def handle_starttag(self, tag, attributes):
        assert tag == "img" and not hasattr(self, "attributes"), "one image, and nothing else"
        self.attributes = dict(attributes)


def test_drawing_mime_bundle():
    shown = drawing("nade")
    data, _ = DisplayFormatter().format(shown)
    assert set(data) == {"text/html", "text/plain"}
    image = Image()
    image.feed(data["text/html"])
    kind, _, content = image.attributes["src"].partition(",")
    assert kind == "data:image/svg+xml;base64" and base64.b64decode(content).decode() == shown.svg
    assert image.attributes["alt"] == shown.alt and "max-width: 100%" in image.attributes["style"]
    assert image.attributes["class"].split() == ["course-drawing", "dark-light"]
    assert " ".join(data["text/plain"].split()) == f"{shown.title} {shown.description}"


# --- labels ----------------------------------------------------------------------------------------------------------


def test_label_runs():
    def said(label):
        return [(run.text, run.face, run.level) for run in _labels.runs(label, 13)]

    assert said("sum of $a_i$") == [("sum of ", "text", 0), ("a", "italic", 0), ("i", "italic", 1)]
    assert said(r"$\hat x_{i+1}$") == [("x\u0302", "italic", 0), ("i", "italic", 1), ("+1", "upright", 1)]
    assert said(r"$\rm{softmax}(s)$") == [("softmax", "upright", 0), ("(", "upright", 0), ("s", "italic", 0),
                                            (")", "upright", 0)]
    above = _labels.runs("$α_0^1$", 13)[2]
    assert (above.level, above.back > 0) == (-1, True), "the superscript stands above the subscript, not after it"


def test_label_refused():
    for label in ("$e^{s_{ij}}$", r"$\frac{a}{b}$"):
        with pytest.raises(ValueError, match="which is not supported; expected scripts that do not nest"):
            Canvas(360, 100, "A", "B.").text(10, 10, label)
