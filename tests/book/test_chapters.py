"""The list of chapters: what the README shows of it, and that it is not stale. The cards are in test_front.py."""

import pytest

from tools import chapters

ONE = {"03": {"title": "FVSBN", "notebook": "03-fvsbn.ipynb", "builds": "images", "minutes": 50}, "04": {"title": "NADE"}}


def test_the_readme_holds_the_table():
    readme = chapters.README.read_text("utf-8")
    table = chapters.for_readme(chapters.chapters(), chapters.repository(chapters.ROOT))
    assert readme == chapters.between(readme, "chapters", table), "run tools/chapters.py"


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
