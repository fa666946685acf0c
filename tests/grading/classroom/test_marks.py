"""An instructor's own marks, and what changed since an earlier run: against marks that are worked out by hand."""
import csv
import io
import json

import pytest
from course_lib.grading.classroom.marks import apply_marks, describe_changes, read_earlier, read_marks, update_records

from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.pages import student_page
from course_lib.grading.classroom.reports import gradescope_results
from course_lib.grading.classroom.tables import csv_table, terminal_table
from course_lib.grading.verdict import Report
from tests.grading.sample_submissions import save

ONE, TWO = "bernoulli_chain_loglik", "conditional_table"       # 6 and 5 points


def record(student="ada", one=4, two=5, **more):
    return Graded(student, "a", reports=[Report(ONE, "right" if one == 6 else "wrong_value", one, 6), Report(TWO, "right", two, 5)],
                  **{"sha256": "1", "checks": "c", "isolation": "bubblewrap", "seed": 1, **more})


def entries(tmp_path, text, students=("ada", "bo")):
    return read_marks(str(save(tmp_path / "marks.toml", text)), students)


def test_apply_marks(tmp_path):
    given = entries(tmp_path, f"""
[[mark]]
student = "ada"
exercise = "{ONE}"
points = 5.5
reason = "the statement was unclear"
[[mark]]
student = "ada"
add = -1
reason = "no name on it"
[[mark]]
student = "bo"
add = -20
reason = "handed in by somebody else"
""")
    found = apply_marks([record(), record("bo"), record("cy")], given)
    assert found["ada"].points == {ONE: 5.5, TWO: 5} and found["ada"].total == 9.5
    assert found["ada"].why == (f"{ONE}: 5.5 instead of 4 (the statement was unclear)", "-1 points (no name on it)")
    assert found["bo"].total == 0 and found["cy"].total == 9 and found["cy"].why == ()          # never below 0
    assert apply_marks([record()], [])["ada"].total == 9


@pytest.mark.parametrize("text, words", [
    ('student = "ada"\nadd = 1', "has no reason"), ('student = "adda"\nadd = 1\nreason = "x"', "did you mean ada"),
    ('student = "ada"\nreason = "x"', "needs exercise and points, or exercise and weight, or add"),
    (f'student = "ada"\nreason = "x"\nadd = 1\npoints = 2\nexercise = "{ONE}"', "only one of these"), (f'student = "*"\nreason = "x"\nexercise = "{ONE}"\nweight = -1', "expected 0 or more"),
    ('student = "ada"\nreason = "x"\npoints = 2', "needs exercise"),
    (f'student = "ada"\nreason = "x"\nexercise = "{ONE}"\npoints = 7', "0 to 6"),
    ('student = "ada"\nreason = "x"\nexercise = "find_leak"\npoints = 2', "did you mean find_leaks"),
    ('student = "ada"\nreason = "x"\nadd = "1"', "expected a number"), ('student = "ada"\nreason = "x"\nadd = true', "expected a number"),
    ('student = "ada"\nreason = "x"\nadd = inf', "expected a number"), ('student = "ada"\nreasons = "x"\nadd = 1', "did you mean reason"),
    ('student = "ada"\nreason = "x"\ndeadline = 2026-11-25', "expected student, reason")])
def test_read_marks_refuses_entry(tmp_path, text, words):
    with pytest.raises(ValueError, match="entry 1 of .*marks.toml") as problem:
        entries(tmp_path, f"[[mark]]\n{text}\n")
    assert words in str(problem.value)


def test_entries_for_all_students(tmp_path):
    """Two exercises of 6 and 5 points; the second counts for nobody, then twice, and the first gives everybody full points."""
    text = '[[mark]]\nstudent = "*"\nreason = "r"\nexercise = "{}"\n{}\n'
    found = apply_marks([record(), record("bo", 0, 0)], entries(tmp_path, text.format(TWO, "weight = 0")))
    assert [(mark.total, mark.possible) for mark in found.values()] == [(4, 6), (0, 6)] and found["bo"].why == (f"{TWO} does not count (r)",)
    given = text.format(TWO, "weight = 2") + text.format(ONE, "points = 6")
    found = apply_marks([record(), record("bo", 0, 0)], entries(tmp_path, given))
    assert [(mark.total, mark.possible) for mark in found.values()] == [(16, 16), (6, 16)] and found["ada"].to_dict()["possible"] == 16
    shown = terminal_table([record(), record("bo", 0, 0)], found)
    assert "4/6" not in shown and "16/16  100%" in shown and "mean score 69%" in shown
    assert f"all students: {TWO} has weight 2 (r)" in shown and f"bo: {ONE}: 6 instead of 0 (r)" in shown


def test_update_records():
    """Ada's first exercise is graded again; Bo keeps everything, and Cy is new."""
    before = [one.to_dict() for one in (record(), record("bo"))]
    again = Graded("ada", "a", reports=[Report(ONE, "right", 6, 6)], seed=9)
    found = update_records(before, [again, record("cy")])
    assert [(one.student, one.earned) for one in found] == [("ada", 11), ("bo", 9), ("cy", 9)]
    assert [report.exercise for report in found[0].reports] == [ONE, TWO] and found[0].seed == 9
    assert describe_changes(before, [one.to_dict() for one in found])[0].startswith(f"ada: {ONE} 4 -> 6: right instead of wrong value")


@pytest.mark.parametrize("text, words", [("[[mark", "is not TOML"), ("[marks]\n", "expected entries"), ("mark = 3", "expected entries")])
def test_read_marks_refuses_file(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        entries(tmp_path, text)


def test_marks_are_in_every_report(tmp_path):
    one, other = record(), record("bo")
    found = apply_marks([one, other], entries(tmp_path, '[[mark]]\nstudent = "ada"\nadd = 0.2\nreason = "<b>"\n'))
    rows = list(csv.DictReader(io.StringIO(csv_table([one, other], found))))
    assert [(row["mark"], row["why"]) for row in rows] == [("9.2", "'+0.2 points (<b>)"), ("9", "")]
    assert "Mark: <strong>9.2</strong>" in student_page(one, found["ada"]) and "points (&lt;b&gt;)" in student_page(one, found["ada"])
    assert gradescope_results(one, found["ada"])["score"] == 9.2 and "+0.2 points" in gradescope_results(one, found["ada"])["output"]
    assert "mark" not in csv_table([one]) and "Mark:" not in student_page(one) and gradescope_results(one)["score"] == 9


def test_describe_changes(tmp_path):
    def run(*records, mark=None):
        return [one.to_dict() | ({"mark": {"mark": mark, "why": ["+1 points (typo)"]}} if mark else {}) for one in records]

    before = run(record(one=2))
    assert describe_changes(before, before) == []
    assert describe_changes(before, run(record(one=6, sha256="2", seed=9), mark=12)) == [
        f"ada: {ONE} 2 -> 6: right instead of wrong value: another file, another seed", "ada: mark 7 -> 12; +1 points (typo)"]
    assert "wrong value: other checks" in describe_changes(before, run(record(one=6, checks="d")))[0]
    assert describe_changes(before, run(record("bo"))) == ["bo: new in the class"]
    assert read_earlier(str(save(tmp_path / "old.json", json.dumps(before)))) == before
    for text in ("{", "[1]", '{"a": 1}', '[{"student": "ada"}]'):
        with pytest.raises(ValueError, match="holds no marks"):
            read_earlier(str(save(tmp_path / "bad.json", text)))
