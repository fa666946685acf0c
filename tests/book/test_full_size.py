"""Where a chapter says "full size, on a GPU: ...", its cells run with what stands there: two steps, and images of 28 x 28 pixels."""
from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest

from tests.conftest import ROOT
from tests.support.full_size import switched, unread

CHAPTERS = [path for path in sorted((ROOT / "book").glob("*.ipynb")) if switched(path)]


def run(path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tests.support.full_size", str(path)], cwd=ROOT, capture_output=True,
                          text=True)


def test_the_chapters_that_promise_it_are_found():
    numbers = {path.stem[:2] for path in CHAPTERS}
    assert numbers == {"03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "14", "15", "16", "18", "19", "20"}


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_cells_run_at_full_size(path):
    ran = run(path)
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("last, message", [
    ("FVSBN(64).log_prob(images.train)", "x has 784 variables; this model has 64"),
    ("images.train[:, :64]", ""),
])
def test_a_size_that_is_written_out_is_found(tmp_path, last, message):
    cells = ["from course_lib.data import load_data\nfrom course_lib.density import FVSBN",
             'DATA = "digits"      # full size, on a GPU: "binarized_mnist"\nimages = load_data(DATA)', last]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(nb, str(tmp_path / "chapter.ipynb"))
    ran = run(tmp_path / "chapter.ipynb")
    assert message in ran.stderr and (ran.returncode != 0) is bool(message), ran.stderr


@pytest.mark.slow
def test_a_constant_that_nothing_reads_is_found(tmp_path):
    cells = ['DATA = "digits"      # full size, on a GPU: "binarized_mnist"']
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(nb, str(tmp_path / "chapter.ipynb"))
    assert "reads nowhere: DATA" in run(tmp_path / "chapter.ipynb").stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["binarized_mnist", "tiny_shakespeare"])
def test_data_that_are_not_loaded_by_their_constant_are_found(tmp_path, name):
    cells = [f'DATA = "digits"      # full size, on a GPU: "{name}"\nprint(DATA)']
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(nb, str(tmp_path / "chapter.ipynb"))
    assert "never loaded the data" in run(tmp_path / "chapter.ipynb").stderr


def test_time_is_short_and_sizes_are_full(tmp_path):
    cells = ["WIDTH, STEPS = 24, 100    # full size, on a GPU: 512, 10**5\nprint(WIDTH)", "x = WIDTH"]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(nb, str(tmp_path / "chapter.ipynb"))
    assert switched(tmp_path / "chapter.ipynb")[0].splitlines()[0] == "WIDTH, STEPS = 512, 2"
    assert unread(tmp_path / "chapter.ipynb") == ["STEPS"]
