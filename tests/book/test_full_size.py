"""Where a chapter says "full size, on a GPU: ...", its cells run with what stands there: two steps, and images of 28 x 28 pixels."""
from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest

from tests.conftest import ROOT
from tests.support.full_size import switched

pytestmark = pytest.mark.thorough
CHAPTERS = [path for path in sorted((ROOT / "book").glob("*.ipynb")) if switched(path)]


def run(path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tests.support.full_size", str(path)], cwd=ROOT, capture_output=True,
                          text=True)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_cells_run_at_full_size(path):
    ran = run(path)
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.parametrize("cells, message", [
    (['DATA = "digits"      # full size, on a GPU: "binarized_mnist"', "images = load_data(DATA)\nFVSBN(64).log_prob(images.train)"],
     "x has 784 variables; this model has 64"),
    (['DATA = "digits"      # full size, on a GPU: "binarized_mnist"'], "reads nowhere: DATA"),
    (['DATA = "digits"      # full size, on a GPU: "tiny_shakespeare"', "print(DATA)"], "never loaded the data"),
])
def test_a_size_that_is_written_out_and_a_constant_without_use_are_found(tmp_path, cells, message):
    imports = "from course_lib.data import load_data\nfrom course_lib.density import FVSBN"
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in [imports, *cells]])
    nbformat.write(nb, str(tmp_path / "chapter.ipynb"))
    ran = run(tmp_path / "chapter.ipynb")
    assert ran.returncode and message in ran.stderr, ran.stderr
