"""The picture of progress: a form for each standing, words for who does not see it, and nothing that a terminal would need."""
from __future__ import annotations

import base64
import io
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from course_lib.grading import EXERCISES, next_exercise, picture, progress, shown, standing
from course_lib.grading.bank import CHAPTERS
from tests.conftest import ROOT
from tests.grading.test_standing import NAME, reported, solve

pytestmark = pytest.mark.slow
ROWS = [("01  The chain rule", [*standing.MEANING], "1 of 5 solved, 3 of 9 points"), ("all", (), "1 of 5 solved, 3 of 9 points")]


def grey(fig):
    """The figure without colour, (height, width)."""
    data = io.BytesIO()
    fig.savefig(data, format="png", dpi=100)
    data.seek(0)
    return imread(data)[..., :3].mean(-1)


def test_squares_differ_without_colour():
    cells = []
    for one in standing.MEANING:
        fig = Figure(figsize=(0.3, 0.3), facecolor="white")
        ax = fig.add_axes((0, 0, 1, 1), xlim=(0, 0.3), ylim=(0.3, 0))
        ax.axis("off")
        picture.square(ax, one, 0.15, 0.15)
        cells.append(grey(fig) < 0.75)
    assert all((a != b).mean() > 0.03 for k, a in enumerate(cells) for b in cells[:k])


def test_nothing_is_cut_off_and_no_words_overlap():
    titles = [(f"{k:02d}  A word is the company it keeps", ["changed"] * 11, "11 of 11 solved, 100 of 100 points") for k in range(20)]
    fig = picture.figure([*titles, ("all", (), "113 of 113 solved, 702 of 702 points")], standing.MEANING)
    edges = grey(fig)
    assert min(edges[:3].min(), edges[-3:].min(), edges[:, :3].min(), edges[:, -3:].min()) > 0.99
    ax, render = fig.axes[0], fig.canvas.get_renderer()
    words = [one.get_window_extent(render) for one in ax.texts]
    squares = [one.get_window_extent(render) for one in ax.patches]
    assert not any(a.overlaps(b) for k, a in enumerate(words) for b in (*words[:k], *squares))
    assert not plt.get_fignums()                                     # no window is left open


def test_a_standing_without_words():
    with pytest.raises(ValueError, match="the standing of an exercise of 01 is 'lost'; it is one of solved, partly, "):
        picture.figure([("01", ["lost"], "")], standing.MEANING)


def test_the_picture_in_words():
    assert picture.alt([*ROWS[:1], ("02  b", ["new"], ""), *ROWS[1:]], standing.MEANING) == (
        "A row of squares for each of 2 chapters, a square for each exercise. All: 1 solved, 1 with some points, 1 with no points yet, "
        "1 changed since solved, 2 not begun. 01  The chain rule: 1 solved, 1 with some points, 1 with no points yet, "
        "1 changed since solved, 1 not begun.")


def test_a_notebook_gets_picture_and_table_and_the_text_for_who_shows_none(folder, monkeypatch):
    given = []
    monkeypatch.setattr(shown, "in_notebook", lambda: True)
    import IPython.display
    monkeypatch.setattr(IPython.display, "display", given.append)
    progress()
    assert "<img" in given[-1]._repr_html_() and "<table" not in given[-1]._repr_html_()
    solve(NAME)
    standing.record(reported("fvsbn_sample", "wrong_value", 2, next(iter(EXERCISES["fvsbn_sample"].misconceptions))))
    progress()
    html = given[-1]._repr_html_()
    assert repr(given[-1]).startswith("01 chain rule ") and NAME in html
    assert [re.sub("<.*?>", "|", row) for row in html.split("<tr>")[2:]] == [
        f"|03||{NAME}||■ solved||6 of 6||1||right||\n", "|03||fvsbn_sample||◩ some points||2 of 5||1||wrong value||\n|\n|"]
    alt = re.search('alt="(.*?)"', html)[1]
    assert f"1 solved, 1 with some points, {len(EXERCISES) - 2} not begun. 03  FVSBN: 1 solved, 1 with some points, 3 not begun." in alt
    png = imread(io.BytesIO(base64.b64decode(re.search('base64,(.*?)"', html)[1])))
    assert png.shape[0] < png.shape[1] < 1800 and np.all(png[0, :, :3] == 1)           # on white in a dark page too
    progress(3)
    assert given[-1]._repr_html_().count("<tr>") == 1 + len(CHAPTERS[2].EXERCISES)
    next_exercise()
    assert 'href="../book/03-fvsbn.ipynb#' in given[-1]._repr_html_() and repr(given[-1]).startswith("fvsbn_sample: ")


def test_a_kernel_is_a_notebook_and_a_terminal_is_none(monkeypatch):
    class Shell:
        kernel = None

    class Python:
        get_ipython = staticmethod(lambda: Shell)

    assert not shown.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", Python)
    assert not shown.in_notebook()
    Shell.kernel = "a kernel"
    assert shown.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert not shown.in_notebook()


@pytest.mark.parametrize("code", ["import course_lib", "from course_lib.grading import next_exercise, progress; progress(); next_exercise()"])
def test_text_loads_neither_matplotlib_nor_ipython(code, tmp_path):
    code += "\nimport sys\nprint({'matplotlib', 'IPython'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False,
                          env={"PYTHONPATH": str(ROOT), "PATH": "", "COURSE_PROGRESS": "off"})
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "set()", done.stdout + done.stderr
