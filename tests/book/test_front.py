"""The start page and README.md: what they show is made by the models, what they print is printed, what is embedded works."""
from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import tomllib
from types import SimpleNamespace

import pytest
import torch

from book._ext import course_front
from tests.book.test_own_data import blocks
from tests.conftest import ROOT
from tools import front_page

pytestmark = pytest.mark.slow

INTRO = "book/intro.html"
LISTED = tomllib.loads((ROOT / "book" / "chapters.toml").read_text("utf-8"))
DONE = {int(number): c for number, c in LISTED.items() if "notebook" in c}


# --- what the models make --------------------------------------------------------------------------------------------


def test_pictures_and_blocks_are_what_the_shipped_models_make(capsys):
    assert front_page.main(["--check"]) == 0, capsys.readouterr().err


def test_another_model_makes_them_stale(monkeypatch, capsys):
    load = front_page.hub.load
    monkeypatch.setattr(front_page.hub, "load", lambda name: shifted(load(name), 0.3))
    assert front_page.main(["--check"]) == 1
    assert capsys.readouterr().err.count("is stale") == 4


def test_they_do_not_hang_on_the_last_digits_of_a_processor():
    """Weights that differ in the ninth digit give the same images, the same text and the same attention."""
    for name, make in ((front_page.PAINTER, lambda m: front_page.picture_of_digits(front_page.digits(m))),
                       (front_page.WRITER, front_page.play), (front_page.READER, front_page.attention)):
        model = front_page.hub.load(name).double().eval()
        assert make(model) == make(shifted(copy.deepcopy(model), 1e-9))


def shifted(model, by: float):
    """Every parameter times 1 + `by` times noise."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p *= 1 + by * torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p)
    return model


# --- what the page says that code prints -----------------------------------------------------------------------------


def prints(code: str, names: dict) -> str:
    """What code prints; an error that the course raises on purpose is its last line."""
    from course_lib.contract import ContractError

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, "page", "exec"), names)
        except ContractError as error:
            print(f"ContractError: {error}")
    return out.getvalue()


@pytest.mark.parametrize("page, least", [("book/intro.md", 2), ("README.md", 1)])
def test_code_prints_what_the_page_says(page, least):
    text = re.sub(r"<!-- outputs:begin -->.*<!-- outputs:end -->", "", (ROOT / page).read_text("utf-8"), flags=re.S)
    shown, names = blocks(text), {}
    assert len(shown) >= least and all(says for _, says in shown)
    for code, says in shown:
        assert prints(code, names) == says, code
    assert len([line for line in shown[0][0].splitlines() if line.strip()]) <= 4


def test_code_that_prints_something_else_is_noticed():
    (code, says), *_ = blocks((ROOT / "book/intro.md").read_text("utf-8").split("<!-- outputs:end -->")[1])
    assert prints(code.replace("FVSBN(9)", "FVSBN(8)"), {}) != says


# --- cards -----------------------------------------------------------------------------------------------------------


def test_a_card_for_every_chapter_with_its_picture_and_the_names_of_those_to_come(site):
    page = (site / INTRO).read_text("utf-8")
    cards = re.search(r'<ul class="course-cards[^>]*>(.*?)</ul>', page, re.S)[1].split("<li>")[1:]
    assert len(cards) == len(DONE)
    for card, (number, c) in zip(cards, sorted(DONE.items())):
        assert f'href="{c["notebook"].replace(".ipynb", ".html")}"' in card and f">{number} {c['title']}<" in card
        assert f"{c['minutes']} min" in card
        image, alt = re.search(r'src="([^"]+)"', card)[1], re.search(r'alt="([^"]+)"', card)[1]
        assert (site / INTRO).parent.joinpath(image).is_file() and len(alt) > 40
        assert ("drawing" in c) == image.endswith(f"{c.get('drawing')}.svg")
    awaited = [f"{int(n)} {c['title']}" for n, c in LISTED.items() if "notebook" not in c]
    assert re.findall(r"To come: </strong>(.*?)</p>", page) == [", ".join(awaited) + "."] * bool(awaited)
    assert f"{len(DONE)} chapters, about {round(sum(c['minutes'] for c in DONE.values()) / 60)} hours" in page


def test_a_drawing_of_an_architecture_is_on_the_card_of_its_chapter():
    """The list names a drawing for each chapter whose notebook shows one."""
    for c in DONE.values():
        notebook = (ROOT / "book" / c["notebook"]).read_text("utf-8")
        shown = re.findall(r'show\.drawing\(\\"(\w+)\\"\)', notebook)
        assert not shown or c.get("drawing") in shown, c["title"]


def test_the_first_figure_is_the_first_with_a_text_alternative():
    png = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAAC"                          # a header that says 3 by 2
    cells = [{"metadata": {}, "outputs": [{"data": {"image/png": png}}]}, {"metadata": {}},
             {"metadata": {"mystnb": {"image": {"alt": "A line"}}}, "outputs": [{}, {"data": {"image/png": [png]}}]}]
    found, alt = course_front.first_figure({"cells": cells})
    assert alt == "A line" and course_front.size(found) == (3, 2)
    assert course_front.first_figure({"cells": cells[:2]}) is None


@pytest.mark.parametrize("chapter, says", [
    ({"drawing": "pixelrnn"}, "names the drawing 'pixelrnn', and there is no course_lib/show/architectures/pixelrnn.svg"),
    ({"notebook": "99-bare.ipynb"}, "99-bare.ipynb stores no figure with a text alternative")])
def test_a_card_without_a_picture_is_refused(tmp_path, chapter, says):
    (tmp_path / "book").mkdir()
    (tmp_path / "book/99-bare.ipynb").write_text('{"cells": []}')
    directive = SimpleNamespace(env=SimpleNamespace(srcdir=tmp_path), error=ValueError)
    with pytest.raises(ValueError, match=says):
        course_front.Chapters.picture(directive, chapter)


def test_the_timeline_leads_to_every_finished_chapter_that_it_names():
    """Its links stand in chapter 1; a new chapter asks for one."""
    from course_lib.explorables.timeline import SYSTEMS

    notebook = json.loads((ROOT / "book" / DONE[1]["notebook"]).read_text("utf-8"))
    (timeline,) = course_front.stored(notebook, "Timeline").values()
    linked = timeline["state"]["existing"]
    missing = [system["label"] for system in SYSTEMS if int(system["chapter"]) in DONE
               and not {system["id"], system["chapter"]} & set(linked)]
    assert missing == []


# --- the figure that works in the page -------------------------------------------------------------------------------


def test_the_embedded_state_is_the_chapters():
    notebook = json.loads((ROOT / "book/04-nade.ipynb").read_text("utf-8"))
    (state,) = course_front.stored(notebook, "NadePixels").values()
    assert state["state"]["_anywidget_id"].endswith(".NadePixels")
    assert course_front.stored(notebook, "Pixels") == {} == course_front.stored({"metadata": {}}, "NadePixels")


def test_a_script_element_is_not_ended_by_what_it_holds():
    what = {"esm": "x = '</script>'; y = '<!--'"}
    text = course_front.in_script(what)
    assert "</script>" not in text and "<!--" not in text and json.loads(text) == what


@pytest.mark.parametrize("width", [1280, 390])
def test_the_figure_answers_the_keyboard_without_a_network(visit, width):
    """Lets the model draw what is not set, then draw anew, by keys alone."""
    with visit(INTRO, width=width) as page:
        assert page.locator(".afm-view:not(.afm-note)").count() == 2
        figure = page.locator(".course-explorable").filter(has=page.get_by_role("button", name="draw the rest"))
        start = figure.inner_text()
        figure.get_by_role("button", name="draw the rest").focus()
        page.keyboard.press("Enter")
        figure.get_by_text("All 64 pixels are known").wait_for(timeout=5000)
        drawn = figure.inner_text()
        assert drawn != start
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")                                 # "sample again"
        page.wait_for_function("before => document.querySelectorAll('.course-explorable')[1].innerText !== before", arg=drawn)
        assert page.faults == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_transformer_answers_the_keyboard_without_a_network(visit, width):
    """One head of cross-attention is off, and a word is wrong; switched on again, it is not."""
    with visit(INTRO, width=width) as page:
        said = page.locator(".course-explorable [data-says='0']")
        assert said.inner_text().startswith("la montagna rossa")
        page.locator("[data-head='cross,2']").focus()
        page.keyboard.press("Space")
        assert said.inner_text() == "la macchina rossa vede il gatto bianco"
        assert page.faults == []


def test_the_start_page_describes_itself_to_search_engines(site):
    (said,) = re.findall(r'<meta content="([^"]+)" name="description"', (site / INTRO).read_text("utf-8"))
    assert 100 < len(said) < 200


def test_the_first_screen_shows_what_it_is_and_a_picture(visit):
    with visit(INTRO) as page:
        for what in ("h1", ".course-lead", ".course-go a", ".course-strip img"):
            box = page.locator(f"article {what}").first.bounding_box()
            assert box["y"] + min(box["height"], 150) < 900, what


@pytest.mark.parametrize("scheme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 30)")])
def test_the_pictures_follow_the_theme(visit, scheme, ground):
    """A corner of the picture has the ground of its theme, as the browser paints it."""
    from PIL import Image

    with visit(INTRO, scheme=scheme) as page:
        picture = page.locator(".course-strip img").last
        picture.scroll_into_view_if_needed()
        page.wait_for_function("e => e.complete && e.naturalWidth", arg=picture.element_handle())
        image = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
        assert f"rgb{image.getpixel((image.width - 20, 20))}" == ground
