"""Where a chapter says "full size, on a GPU: ...", its cells run with what stands there, on images of 28 x 28 pixels."""
from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest

from tests.conftest import ROOT
from tests.support.full_size import switched

CHAPTERS = [path for path in sorted((ROOT / "book").glob("*.ipynb")) if switched(path)]


def run(path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tests.support.full_size", str(path)], cwd=ROOT, capture_output=True,
                          text=True)


def test_the_chapters_that_promise_it_are_found():
    assert {"03-fvsbn", "04-nade"} <= {path.stem for path in CHAPTERS}


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
    assert "never loaded the data" in run(tmp_path / "chapter.ipynb").stderr
