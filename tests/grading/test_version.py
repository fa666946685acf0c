"""What makes a result one of other checks: a change of the exercise's code, not of its place."""
from __future__ import annotations

import importlib
import linecache
import sys

import pytest

from course_lib.grading import exercise
from tests.grading.sample_submissions import save

FILES = {
    "draws.py": "def bit():\n    return 1\n",
    "unread.py": "WORD = 'nobody imports this'\n",
    "ch/__init__.py": "",
    "ch/_shared.py": "from made_up_bank.draws import bit\n\n\ndef two():\n    return 2 * bit()\n",
    "ch/other.py": "NUMBER = 3\n",
    "ch/one.py": """\
from course_lib.grading.exercise import Exercise
from made_up_bank.ch._shared import two

exercise = Exercise("one", "01", "", "", [], 1, 1)


@exercise.reference()
def one_reference():
    return two()


exercise.compare("values", lambda generator: [()])
""",
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The exercise of the exercise in `made_up_bank`, whose files are FILES with some of them otherwise."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(exercise, "EXERCISES", "made_up_bank.")

    def write(files=FILES, module="made_up_bank.ch.one", **changes):
        for path in tmp_path.rglob("*.py"):
            path.unlink()
        for name, text in {"__init__.py": "", **files}.items():
            save(tmp_path / "made_up_bank" / name, changes.get(name.replace("/", "_").removesuffix(".py"), text))
        for name in [name for name in sys.modules if name.startswith("made_up_bank")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            linecache.checkcache()
            exercise.source_texts.cache_clear()
            return importlib.import_module(module).exercise.version
        finally:
            sys.dont_write_bytecode = before

    yield write
    exercise.source_texts.cache_clear()
    for name in [name for name in sys.modules if name.startswith("made_up_bank")]:
        del sys.modules[name]


@pytest.mark.parametrize("change", [
    {"ch_one": FILES["ch/one.py"].replace("return two()", "return two() + 1")},
    {"ch_one": FILES["ch/one.py"].replace("generator: [()]", "generator: [(), ()]")},
    {"ch_one": FILES["ch/one.py"].replace('compare("values"', 'compare("value"')},
    {"ch__shared": FILES["ch/_shared.py"].replace("2 * bit()", "3 * bit()")},
    {"draws": "def bit():\n    return 0\n"}])
def test_version_changes_with_code(written, change):
    assert written(**change) != written()


def test_version_ignores_moved_files(written):
    first = written()
    assert written(ch_other="NUMBER = 4\n", unread="WORD = ''\n") == first
    moved = {name.replace("ch/", "chapter/").replace("_shared", "common").replace("draws", "drawing"):
             text.replace("made_up_bank.ch._shared", "made_up_bank.chapter.common")
                 .replace("made_up_bank.draws", "made_up_bank.drawing") for name, text in FILES.items()}
    assert written(moved, "made_up_bank.chapter.one") == first
