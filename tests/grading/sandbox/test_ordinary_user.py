"""The attacks once more, as an ordinary user: as root each answer has a user of its own, which hides what is lacking else.

Where the tests run as root, another pytest runs the files of attacks without a right of root's. Each of their tests has to
pass there; one that was skipped or did not run is a failure.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import pytest

from tests.grading.unprivileged import CODE, NOBODY, as_nobody, give

pytestmark = pytest.mark.thorough

# The files of attacks; of each the tests that ask nothing of a user: of the judge's own code, and of other systems.
FILES = {
    "test_hostile": {"test_verdict_on_any_reply"},
    "test_sandbox": {"test_no_sandbox_says_what_to_do", "test_sandbox_module_imports_no_torch"},
    "test_takeover": set(),
}


@pytest.fixture
def home():
    """A folder that is the ordinary user's, on the way to which no folder is closed to them."""
    if os.getuid() != 0:
        pytest.skip("these tests run as an ordinary user already")
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap")
    with tempfile.TemporaryDirectory() as name:
        yield give(Path(name))


def run_as_nobody(home: Path, *command: str, **view) -> subprocess.CompletedProcess:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own |= {"HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([*as_nobody(**view), *command], capture_output=True, text=True, cwd=CODE, env=own)


def test_unprivileged_user_has_no_rights(home):
    code = ("import os\nprint(os.getresuid(), os.getresgid(), os.getgroups())\n"
            "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'CapPrm'))])\n"
            f"print(*[os.access(place, os.W_OK) for place in ({str(CODE)!r}, '/etc', {str(home)!r})])")
    none = "0" * 16
    ids = (NOBODY,) * 3
    assert run_as_nobody(home, sys.executable, "-c", code).stdout.splitlines() == [
        f"{ids} {ids} []", f"{none} {none}", "False False True"]


def test_unprivileged_user_reads_code(home, tmp_path):
    """Python and the course in root's own folder, side by side."""
    (tmp_path / "closed").mkdir(mode=0o700)
    files = [tmp_path / "closed" / name / "deep" / "file" for name in ("python", "course")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(file.parts[-3])
    needed = [sys.prefix, sys.base_prefix, CODE, *(file.parent for file in files)]
    run = run_as_nobody(home, shutil.which("cat"), *map(str, files), needed=needed)
    assert run.stdout == "pythoncourse", run.stderr


@pytest.mark.parametrize("name", FILES)
def test_attacks_fail_for_unprivileged_user(home, name):
    module, report = import_module(f"tests.grading.sandbox.{name}"), home / "report.xml"
    there = {test for test in vars(module) if test.startswith("test_")}
    assert FILES[name] < there
    file = Path(module.__file__).relative_to(CODE)
    run = run_as_nobody(home, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp",
                        str(home / "pytest"), "--junitxml", str(report), str(file),
                        *(f"--deselect={file}::{test}" for test in FILES[name]))
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    [suite] = ET.parse(report).getroot()
    cases = [(case.get("name").partition("[")[0], [child.tag for child in case]) for case in suite]
    assert {test for test, _ in cases} == there - FILES[name]
    assert [case for case in cases if case[1]] == [], "failed or skipped"
    assert len(cases) == int(suite.get("tests")) > 0
