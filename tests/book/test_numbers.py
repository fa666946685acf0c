"""How stored outputs are compared: decimals with a tolerance; no integer, sign or order of magnitude slips through."""
from __future__ import annotations

import os
import subprocess
import sys

import nbformat
import pytest

from book._tools.nb import KERNELSPEC
from tests.conftest import ROOT
from tests.support.numbers import agree

SAME = [
    ("97.86", "97.86"),
    ("97.86", "97.87"),                       # one unit in the last place
    ("0.69314718", "0.69314721"),
    ("loss 0.500, p = 0.25", "loss 0.501, p = 0.25"),
    ("[ 0.1234 -0.5]", "[0.1234 -0.5001]"),   # white space follows the digits
    ("1.00e-05", "9.99e-06"),
    ("-0.0", "0.0"),
    ("0.30000000000000004", "0.3"),
    ("sum 1.000000", "sum 0.999999"),
]
OTHER = [
    ("5", "6"), ("512 images", "511 images"), ("5.0", "5"),
    ("0.5", "-0.5"), ("-12.25", "12.25"),
    ("0.1", "0.2"), ("0.01", "0.02"), ("0.00", "0.01"), ("0.0", "1e-9"),
    ("1e-12", "1e-11"), ("1.5e-3", "1.5e-2"), ("1.5e3", "1.5e4"), ("97.86", "978.6"), ("0.5", "5"),
    ("97.86", "98.86"), ("97.8600", "97.9600"),
    ("0.5 nats", "0.5 bits"), ("0.5", "0.5 0.5"), ("0.5", "nan"), ("inf", "-inf"),
    ("version 1.2.3", "version 1.2.4"), ("x_1 = 0.5", "x_2 = 0.5"), ("12.3ms", "12.4ms"),
    ("True", "False"), ("", "0.5"),
]


@pytest.mark.parametrize("a, b", SAME)
def test_agree(a, b):
    assert agree(a, b) and agree(b, a)


@pytest.mark.parametrize("a, b", OTHER)
def test_differ(a, b):
    assert not agree(a, b) and not agree(b, a)


def notebook(path, *cells):
    """A notebook of (source, stored text) cells."""
    made = [nbformat.v4.new_code_cell(source, execution_count=1,
                                      outputs=[nbformat.v4.new_output("stream", text=text)] if text else [])
            for source, text in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": KERNELSPEC}), str(path))


def run_nbval(*paths):
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT),
               "-p", "tests.support.chapters",
               "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "60", "-v", *map(str, paths)]
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)


@pytest.mark.thorough
def test_nbval_compares_and_measures(tmp_path):
    """The whole chain: a close decimal passes, a wrong integer fails, cells stay in order, no network, the cost."""
    cells = [(f"x = {i} if {i} == 0 else x + 1\nprint(x, x + 0.12345)", f"{i} {i + 0.12346:.5f}\n") for i in range(8)]
    notebook(tmp_path / "good.ipynb", *cells, ("import os\nprint('COURSE_DATA' in os.environ)", "False\n"))
    good = run_nbval(tmp_path / "good.ipynb")
    assert "9 passed" in good.stdout, good.stdout
    assert "good.ipynb: " in good.stdout and "CPU-seconds" in good.stdout and "MiB" in good.stdout
    reach = "import urllib.request\nurllib.request.urlopen('http://example.org')"
    notebook(tmp_path / "bad.ipynb", ("print(512)", "511\n"), ("print(-0.5)", "0.5\n"), (reach, ""))
    bad = run_nbval(tmp_path / "bad.ipynb")
    assert "3 failed" in bad.stdout and "without a network" in bad.stdout, bad.stdout
