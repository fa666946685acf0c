"""Which file is begun first: the longest, and before it any of which nothing is known."""
from __future__ import annotations

from types import SimpleNamespace

from tests.support import seconds

ITEMS = [SimpleNamespace(nodeid=nodeid) for nodeid in (
    "tests/test_short.py::test_b", "tests/test_long.py::test_b", "book/03-x.ipynb::Cell 0", "tests/test_short.py::test_a",
    "tests/test_new.py::test_a", "tests/test_long.py::test_a", "book/03-x.ipynb::Cell 1")]
TABLE = {"tests/test_short.py": 0.5, "tests/test_long.py": 60.0, "book/03-x.ipynb": 20.0}


def test_the_longest_file_is_first_and_keeps_its_order():
    assert [item.nodeid for item in seconds.longest_first(ITEMS, TABLE)] == [
        "tests/test_new.py::test_a", "tests/test_long.py::test_b", "tests/test_long.py::test_a", "book/03-x.ipynb::Cell 0",
        "book/03-x.ipynb::Cell 1", "tests/test_short.py::test_b", "tests/test_short.py::test_a"]


def test_where_nothing_is_known_the_file_with_most_tests_is_first():
    items = [SimpleNamespace(nodeid=nodeid) for nodeid in ("a.py::1", "b.py::1", "b.py::2", "c.py::2", "c.py::1")]
    assert [item.nodeid for item in seconds.longest_first(items, {})] == ["b.py::1", "b.py::2", "c.py::2", "c.py::1", "a.py::1"]
    assert [item.nodeid for item in seconds.longest_first(items, {"b.py": 1.0})][:3] == ["c.py::2", "c.py::1", "a.py::1"]


def test_what_was_measured_replaces_what_was_and_files_that_are_gone_go(tmp_path):
    path = tmp_path / "seconds.tsv"
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).touch()
    assert seconds.read(path) == {}
    seconds.write({"a.py": 1.0, "b.py": 2.0}, path, tmp_path)
    (tmp_path / "b.py").unlink()
    seconds.write({"a.py": 3.04, "c.py": 9.0}, path, tmp_path)
    assert path.read_text("utf-8") == "file\tseconds\nc.py\t9.0\na.py\t3.0\n"
    assert seconds.read(path) == {"c.py": 9.0, "a.py": 3.0}


def test_a_file_takes_what_its_tests_take_with_their_set_up(tmp_path):
    watch = seconds.Stopwatch(tmp_path / "seconds.tsv")
    for nodeid, duration in (("tests/test_seconds.py::a", 0.5), ("tests/test_seconds.py::a", 1.0), ("tests/test_seconds.py::b", 2.0)):
        watch.pytest_runtest_logreport(SimpleNamespace(nodeid=nodeid, duration=duration))
    watch.pytest_sessionfinish()
    assert seconds.read(watch.path) == {"tests/test_seconds.py": 3.5}

