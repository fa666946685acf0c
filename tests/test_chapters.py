"""The list of chapters: what the README and the start page show, and that neither is stale."""

import pytest

from tools import chapters

ONE = {"03": {"title": "FVSBN", "notebook": "03-fvsbn.ipynb", "builds": "images", "minutes": 50}, "04": {"title": "NADE"}}


def test_readme_and_start_page_hold_the_tables():
    listed = chapters.chapters()
    readme, intro = (path.read_text("utf-8") for path in (chapters.README, chapters.INTRO))
    home = chapters.repository(chapters.ROOT)
    assert readme == chapters.between(readme, "chapters", chapters.for_readme(listed, home)), "run tools/chapters.py"
    assert intro == chapters.between(intro, "chapters", chapters.for_intro(listed)), "run tools/chapters.py"


def test_the_list_is_the_notebooks_that_exist():
    notebooks = {c["notebook"] for _, c in chapters.finished(chapters.chapters())}
    assert notebooks == {path.name for path in (chapters.ROOT / "book").glob("[0-9][0-9]-*.ipynb")}


def test_badges_need_an_address():
    assert "badge" not in chapters.for_readme(ONE, {"url": ""})
    with_address = chapters.for_readme(ONE, {"url": "https://github.com/someone/course", "branch": "dev"})
    assert "https://colab.research.google.com/github/someone/course/blob/dev/book/03-fvsbn.ipynb" in with_address
    assert "https://mybinder.org/v2/gh/someone/course/dev?urlpath=lab/tree/book/03-fvsbn.ipynb" in with_address
    assert "NADE" not in with_address


@pytest.mark.parametrize("text", ["", "<!-- x:begin -->", "<!-- x:end --><!-- x:begin -->",
                                  "<!-- x:begin --><!-- x:end --><!-- x:begin --><!-- x:end -->"])
def test_marks_must_be_there_once_and_in_order(text):
    with pytest.raises(ValueError, match="x:begin"):
        chapters.between(text, "x", "new")
