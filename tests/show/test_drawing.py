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

NAMES = ["attentive_lm", "bert", "birnn_cloze", "decoder_block", "dropped_arrows", "encoder_decoder", "fvsbn",
         "gated_pixelcnn", "gpt", "lda", "look_back", "lstm", "made", "mlp", "nade", "objectives", "pixelcnn",
         "pixeldefend", "query_key_value", "retrieval_augmented", "rnn", "skip_gram", "transformer_block"]


def test_each_source_has_its_file_and_each_file_its_source():
    assert drawings() == sources() == NAMES
    assert sorted(path.name for path in FOLDER.glob("*.svg")) == [f"{name}.svg" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_file_is_what_the_source_makes(name):
    made, stored = make(name), drawing(name).svg
    assert made == stored, f"{name}.svg is older than {name}.py: run python -m {package.__name__}"


@pytest.mark.parametrize("wrong, told", [("nda", "nade"), ("GPT-2", "gpt"), ("encoder-decoder", "encoder_decoder"),
                                         ("block", "transformer_block"), ("xyz", "drawings of attentive_lm, bert")])
def test_an_unknown_name_is_answered_with_the_nearest(wrong, told):
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


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_sound_small_and_needs_nothing_else(name):
    assert faults(drawing(name).svg) == []


@pytest.mark.parametrize("old, new, fault", [
    ("</svg>", "<script>alert(1)</script></svg>", "element script"),
    ("</svg>", '<image href="https://a.example/i.png"/></svg>', "element image"),
    ("<desc>", '<desc onclick="x()">', "attribute onclick"),
    ("<style>", "<style>@import 'a.css';", "fetches"),
    ('fill="none"', 'fill="url(#g)"', "attribute fill"),
    ("<title>", '<title id="t">', "attribute id"),
    ("prefers-color-scheme", "prefers-contrast", "no dark"),
    ('role="img"', "", "role"),
    ('viewBox="0 0 360', 'viewBox="0 0 400', "larger")])
def test_the_faults_of_a_file_are_found(old, new, fault):
    svg = drawing("made").svg
    assert old in svg
    assert any(fault in said for said in faults(svg.replace(old, new, 1)))
    with pytest.raises(ElementTree.ParseError):
        faults(svg.replace("</g>", "", 1))


# --- the text alternative --------------------------------------------------------------------------------------------

SAYS = {"attentive_lm": ["not with itself", "sum to one", "[h_4; c_4]", "W_cy", "Without attention"],
        "bert": ["[MASK]", "[CLS]", "segment", "position", "without a causal mask", "tied"],
        "dropped_arrows": ["every later one", "x_1 to x_2", "pixel above", "keeps none", "crossed out"],
        "encoder_decoder": ["cross-attention", "causal mask", "shifted", "tied", "keys and values"],
        "birnn_cloze": ["gap", "forward network", "backward network", "No line comes from the gap"],
        "decoder_block": ["three sums", "causal mask", "cross-attention", "queries come from u", "encoder's output"],
        "fvsbn": ["alpha_0^i", "sigma", "none is used twice", "Nobody reads x_4"],
        "gated_pixelcnn": ["vertical stack", "horizontal stack", "rows above", "mask A in the first layer", "leaves out"],
        "gpt": ["causal mask", "residual stream", "tied", "shifted by one"],
        "lda": ["Dirichlet", "topic z is drawn from theta", "phi_z", "once a document", "only w is seen"],
        "look_back": ["reads both ways", "h_{t-1}", "sum to one", "context vector c_t", "Without attention"],
        "lstm": ["forget gate", "multiplied by f_t", "No matrix and no tanh", "output gate"],
        "made": ["degree", "crossed out", "p(x_3 | x_2)", "Nothing leaves x_1"],
        "mlp": ["three hidden units", "activation f", "sigma(z)", "entries of alpha"],
        "nade": ["tied", "w_1 in rows 2 to 4", "running sum", "V_i"],
        "objectives": ["two losses", "five losses", "sentinels", "whole sentence", "hides nothing"],
        "pixelcnn": ["mask A", "mask B", "1 by 1", "ReLU", "added to the block's input"],
        "pixeldefend": ["calibration images", "rank", "greedy decoding", "pixel that came", "logits"],
        "query_key_value": ["query", "key", "value", "softmax", "0.32"],
        "retrieval_augmented": ["rows of the collection", "top k", "numbered", "frozen", "Nothing in the drawing is trained"],
        "rnn": ["W_hh", "tied", "h_0 = b_0", "softmax"],
        "skip_gram": ["centre word", "second table", "inner product", "sigmoid", "drawn"],
        "transformer_block": ["residual stream", "u = x + u'", "z = u + z'", "post-LN"]}


@pytest.mark.parametrize("name", NAMES)
def test_the_alternative_names_the_parts_in_sentences(name):
    shown = drawing(name)
    assert shown.title and shown.description.endswith(".") and 250 < len(shown.description) < 900
    assert [part for part in SAYS[name] if part not in shown.alt] == []
    assert not re.search(r"\.svg|\\|\$|  ", shown.alt)
    assert len({drawing(other).alt for other in NAMES}) == len(NAMES)


class Image(HTMLParser):
    def handle_starttag(self, tag, attributes):
        assert tag == "img" and not hasattr(self, "attributes"), "one image, and nothing else"
        self.attributes = dict(attributes)


def test_a_notebook_gets_an_image_of_the_file_and_its_description_in_words():
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


def test_labels_are_set_as_the_equations_are():
    def said(label):
        return [(run.text, run.face, run.level) for run in _labels.runs(label, 13)]

    assert said("sum of $a_i$") == [("sum of ", "text", 0), ("a", "italic", 0), ("i", "italic", 1)]
    assert said(r"$\hat x_{i+1}$") == [("x\u0302", "italic", 0), ("i", "italic", 1), ("+1", "upright", 1)]
    assert said(r"$\rm{softmax}(s)$") == [("softmax", "upright", 0), ("(", "upright", 0), ("s", "italic", 0),
                                            (")", "upright", 0)]
    above = _labels.runs("$α_0^1$", 13)[2]
    assert (above.level, above.back > 0) == (-1, True), "the superscript stands above the subscript, not after it"


def test_a_label_that_cannot_be_set_is_refused():
    for label in ("$e^{s_{ij}}$", r"$\frac{a}{b}$"):
        with pytest.raises(ValueError, match="scripts do not nest"):
            Canvas(360, 100, "A", "B.").text(10, 10, label)
