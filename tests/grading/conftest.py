"""One worker for all tests of a file that judge submissions; a folder in which progress is progress_file."""
from __future__ import annotations

import shutil

import pytest

from course_lib.grading import progress_file
from course_lib.grading.sandbox.sandbox import Worker
from tests.support.reference_cache import compared_with_once


@pytest.fixture(scope="module")
def once():
    """In the tests of a file, what answers are compared with is computed once."""
    with compared_with_once():
        yield


@pytest.fixture(scope="session")
def worker():
    """The sandbox, where this machine has one."""
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap's sandbox")
    with Worker() as one:
        one.wait_ready()
        yield one


@pytest.fixture
def sandboxed(worker):
    """The worker, for what its sandbox promises."""
    return worker


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, where what `check` says is progress_file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_file, "enabled", lambda: True)
    return tmp_path
