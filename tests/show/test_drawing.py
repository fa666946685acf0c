"""The drawings as files and as objects: what is listed, and what a notebook gets."""
from __future__ import annotations

import base64
from html.parser import HTMLParser

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.show import architectures as package
from course_lib.show.architectures import make, sources
from course_lib.show.architectures._canvas import Canvas
from course_lib.show.drawing import FOLDER, drawing, drawings


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


def test_label_refused():
    for label in ("$e^{s_{ij}}$", r"$\frac{a}{b}$"):
        with pytest.raises(ValueError, match="which is not supported; expected scripts that do not nest"):
            Canvas(360, 100, "A", "B.").text(10, 10, label)
