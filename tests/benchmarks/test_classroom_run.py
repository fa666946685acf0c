"""A class of made-up submissions: what is in them, how a run is watched, and what its record says."""
from __future__ import annotations

import json
import sys
from collections import Counter

import pytest

from benchmarks import classroom, store
from course_lib.grading import EXERCISES
from tools import class_table

RECORD = store.read()[classroom.NAME]


def test_no_two_submissions_are_the_same_and_each_is_drawn_by_its_number():
    texts = [classroom.submission(number)[0] for number in range(300)]
    assert len(set(texts)) == 300 and texts[7] == classroom.submission(7)[0]


def test_every_kind_of_answer_is_drawn():
    kinds = Counter(kind for number in range(1500) for kind in classroom.submission(number)[1].values())
    assert set(kinds) == {*classroom.KINDS, "cut"}
    assert kinds["right"] > kinds["wrong"] > kinds["missing"] > kinds["endless"]


def test_an_answer_is_whole_and_under_its_exercises_name():
    for exercise in classroom.ASKED:
        for kind in ("right", "wrong"):
            found = classroom.sources(kind, exercise)
            assert len(found) == len(set(found)) >= 2
            for source in found:
                names: dict = {}
                exec(classroom.IMPORTS + "\n\n" + source, names)
                assert callable(names[exercise])


def test_a_verdict_that_was_not_planned_stops_the_run(tmp_path):
    one, two = classroom.ASKED[:2]
    table = tmp_path / "marks.csv"
    table.write_text(f"student,{one} state,{two} state\nada,right,wrong_value\n")
    assert classroom.as_planned(table, {"ada": {one: "right", two: "wrong"}}) == {"right": 1, "wrong_value": 1}
    with pytest.raises(AssertionError, match=f"ada, {two}: a right answer is called wrong_value"):
        classroom.as_planned(table, {"ada": {one: "right", two: "right"}})
    with pytest.raises(AssertionError, match=f"ada, {one}: a broken answer is called right"):
        classroom.as_planned(table, {"ada": {one: "broken", two: "wrong"}})
    with pytest.raises(AssertionError, match="1 students have a row; expected 2"):
        classroom.as_planned(table, {"ada": {}, "bo": {}})


def test_growth_leaves_the_start_out():
    looks = [1.0, 2.0, *range(100, 200)]
    assert classroom.growth(looks) == {"most": 199, "first": 104.5, "last": 194.5}
    assert classroom.growth([50.0] * 20) == {"most": 50, "first": 50, "last": 50}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory and seconds are read from /proc")
def test_a_watch_sees_what_a_command_and_its_children_take(monkeypatch):
    monkeypatch.setattr(classroom, "EVERY", 0.05)
    child = "import time; x = bytearray(150 * 2**20); end = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    command = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    found = classroom.watched([sys.executable, "-c", command])
    assert 0.3 < found["cpu_seconds"] <= found["seconds"] + 0.5
    assert found["mebibytes"]["sandbox"]["most"] > 150 > found["mebibytes"]["command"]["most"]
    fork = "import os, time\nif os.fork() == 0:\n    x = bytearray(150 * 2**20); time.sleep(0.5); os._exit(0)\nos.wait()"
    found = classroom.watched([sys.executable, "-c", fork])["mebibytes"]
    assert found["judge"]["most"] > 150 > found["command"]["most"] and "sandbox" not in found
    with pytest.raises(RuntimeError, match="ended with 3: it is over"):
        classroom.watched([sys.executable, "-c", "import sys; print('it is over', file=sys.stderr); sys.exit(3)"])


@pytest.mark.slow
def test_a_small_class_is_graded_and_recorded(tmp_path, monkeypatch):
    from course_lib.grading.sandbox.sandbox import best

    if best() != "bubblewrap":
        pytest.skip("marks need bubblewrap")
    classroom.main(["4", "--jobs", "1", "--results", str(tmp_path)])
    record = json.loads((tmp_path / f"{classroom.NAME}.json").read_text())
    row, = record["classes"]
    assert (row["students"], row["answers"]) == (4, 12) and sum(row["states"].values()) == 12
    assert row["again"]["cpu_seconds"] > 0 and row["cpu_seconds"] > 0 and row["environment"] == record["environment"]
    assert record["command"] == "python -m benchmarks.classroom 4 --jobs 1"
    assert next(line for line in class_table.class_table(record)[::-1] if line.startswith("| 4 |")).count("none") == 1
    monkeypatch.setattr(classroom, "grade", lambda students, jobs, folder: {**row, "students": students})
    classroom.main(["2", "4", "--results", str(tmp_path)])           # a size that is there is put in its place
    record = json.loads((tmp_path / f"{classroom.NAME}.json").read_text())
    assert [each["students"] for each in record["classes"]] == [2, 4]
    assert record["command"] == "python -m benchmarks.classroom 2 4 --jobs 1"
    monkeypatch.setattr(classroom, "ASKED", classroom.ASKED[:1])     # of other exercises: not beside those
    classroom.main(["3", "--results", str(tmp_path)])
    record = json.loads((tmp_path / f"{classroom.NAME}.json").read_text())
    assert [each["students"] for each in record["classes"]] == [3]


def test_the_record_has_a_small_and_a_large_class_and_memory_that_does_not_grow():
    rows = {row["students"]: row for row in RECORD["classes"]}
    assert {60, 300} <= set(rows) and RECORD["exercises"] == list(classroom.ASKED)
    for row in rows.values():
        assert row["answers"] == 3 * row["students"] == sum(row["states"].values())
        assert row["again"]["cpu_seconds"] < row["cpu_seconds"]
    for kind in ("judge", "sandbox"):
        sizes = rows[max(rows)]["mebibytes"][kind]
        assert sizes["last"] < 1.05 * sizes["first"], f"a {kind} grows from {sizes['first']} to {sizes['last']} MiB"


def test_the_table_shows_every_class():
    lines = class_table.class_table(RECORD)
    for row in RECORD["classes"]:
        assert len([line for line in lines if line.startswith(f"| {row['students']:,} |")]) == 2
    size = {"most": 3.0, "first": 1.0, "last": 2.0}
    made = {"students": 1200, "answers": 3600, "jobs": 2, "states": {"right": 1800}, "seconds": 100.0, "cpu_seconds": 150.0,
            "again": {"seconds": 4.0, "cpu_seconds": 5.0},
            "mebibytes": {"command": size, "judge": {**size, "last": 8.0}, "sandbox": {**size, "first": 7.0}}}
    times, memory = (line for line in class_table.class_table({"exercises": ["a", "b"], "classes": [made]})
                     if line.startswith("| 1,200 |"))
    assert times == "| 1,200 | 50% of 3,600 | 150 | 0.12 | 100 | 1.50 | 5 | 4 |"
    assert memory == "| 1,200 | 1 to 2 (3) | 1 to 8 (3) | 7 to 2 (3) |"


def test_what_the_page_says_of_the_class_is_how_it_is_made():
    assert "one\nin a thousand without end" in class_table.TEXT and "exercises of chapter 13" in class_table.TEXT
    assert classroom.KINDS["endless"] == 1 and sum(classroom.KINDS.values()) == 1000
    assert {EXERCISES[name].chapter for name in classroom.ASKED} == {"13"}
    assert "looked at twice a second" in class_table.MEMORY and classroom.EVERY == 0.5
