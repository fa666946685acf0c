"""Where a chapter says "full size, on a GPU: ...", its cells run with what stands there: two steps, and images of 28 x 28 pixels."""
from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.support.full_size import switched

pytestmark = pytest.mark.thorough
CHAPTERS = [path for path in sorted((ROOT / "book").glob("*.ipynb")) if switched(path)]


def run(path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tests.support.full_size", str(path)], cwd=ROOT, capture_output=True,
                          text=True)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_cells_at_full_size(path):
    ran = run(path)
    assert ran.returncode == 0, ran.stderr[-3000:]
