"""Generated pages, tables and drawings are up to date, and their sources do not contradict each other."""
from __future__ import annotations

import pytest

from book._tools import chapters, generate


@pytest.mark.parametrize("name", generate.GENERATORS)
def test_generated_files_current(name, capsys):
    assert generate.main(["--check", name]) == 0, capsys.readouterr().err


def test_launch_badges():
    one = {"fvsbn": {"title": "FVSBN", "number": "03", "notebook": "04-fvsbn.ipynb", "builds": "images"}}
    assert "badge" not in chapters.for_readme(one, {"url": ""})
    text = chapters.for_readme(one, {"url": "https://github.com/someone/course", "branch": "dev"})
    assert "https://colab.research.google.com/github/someone/course/blob/dev/book/04-fvsbn.ipynb" in text
    assert "https://mybinder.org/v2/gh/someone/course/dev?urlpath=lab/tree/book/04-fvsbn.ipynb" in text
    assert "https://colab.research.google.com/github/someone/course/blob/dev/exercises/04-fvsbn.ipynb" in text
    assert "https://mybinder.org/v2/gh/someone/course/dev?urlpath=lab/tree/exercises/04-fvsbn.ipynb" in text
    assert all(line.count("|") == 5 for line in text.splitlines())


@pytest.mark.parametrize("text", ["", "<!-- x:end --><!-- x:begin -->", 2 * "<!-- x:begin --><!-- x:end -->"])
def test_between_marks(text):
    with pytest.raises(ValueError, match="x:begin"):
        chapters.between(text, "x", "new")
