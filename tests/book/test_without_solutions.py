"""The copy that a site without solutions is built from: nothing of them is in it, and what is left is whole."""
import json
import re

import pytest

from book._tools import without_solutions
from course_lib.grading.assignments import build
from tests.conftest import ROOT
from tests.support import leaks


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    to = tmp_path_factory.mktemp("copy") / "course"
    without_solutions.copied(ROOT, to)
    return to


def test_contents_without_solutions(copy):
    before, after = (re.findall(r"file: (\S+)", (root / "_toc.yml").read_text("utf-8")) for root in (ROOT, copy))
    assert after == [page for page in before if not page.startswith("solutions/")] and len(after) < len(before)
    assert "sections: []" not in (copy / "_toc.yml").read_text("utf-8")


def test_no_link_to_solution(copy):
    assert not (copy / "solutions").exists() and not (copy / "course_lib/exercises/solutions.json").exists()
    for path in [*copy.glob("book/**/*.md"), *copy.glob("book/*.ipynb"), *copy.glob("exercises/*.ipynb")]:
        assert not re.search(r"\]\([^)]*solutions/", path.read_text("utf-8")), path.name


def test_no_solution_line_leaks(copy):
    path = next(copy.glob("exercises/13-*.ipynb"))
    [solution] = [page for name, page in build.read_sources(ROOT / "solutions").items() if name.name == path.name]
    assert leaks.find_leaks([solution], [(path.name, path.read_text("utf-8"))]) == []


def test_exercise_cells_kept(copy):
    for path in sorted((ROOT / "exercises").glob("*.ipynb")):
        before, after = (json.loads((root / "exercises" / path.name).read_text("utf-8"))["cells"] for root in (ROOT, copy))
        links = [cell for cell in before if without_solutions.role(cell) == "solution-link"]
        assert links and after == [cell for cell in before if cell not in links]
