"""An instructor's own marks, and what changed since an earlier run: against marks that are worked out by hand."""
import csv
import io
import json

import pytest

from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import apply_marks, describe_changes, read_earlier, read_marks, update_records
from course_lib.grading.classroom.pages import student_page
from course_lib.grading.classroom.reports import gradescope_results
from course_lib.grading.classroom.tables import csv_table, terminal_table
from course_lib.grading.verdict import Report
from tests.grading.sample_submissions import save

ONE, TWO = "bernoulli_chain_loglik", "conditional_table"       # 6 and 5 points


def record(student="ada", one=4, two=5, **more):
    return Graded(student, "a", reports=[Report(ONE, "right" if one == 6 else "wrong_value", one, 6), Report(TWO, "right", two, 5)],
                  **{"sha256": "1", "checks": "c", "isolation": "bubblewrap", "seed": 1, **more})


def entries(tmp_path, *given):
    text = "".join("[[mark]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in entry.items()) for entry in given)
    return read_marks(str(save(tmp_path / "marks.toml", text)), ["ada", "bo"])


def test_apply_marks(tmp_path):
    given = entries(tmp_path, {"student": "ada", "exercise": ONE, "points": 5.5, "reason": "unclear"}, {"student": "ada", "add": -1, "reason": "no name"},
                    {"student": "bo", "add": -20, "reason": "of somebody else"})
    ada, bo, cy = [apply_marks(one, given) for one in (record(), record("bo"), record("cy"))]
    assert (ada.total, ada.most, ada.why) == (9.5, 11, [f"{ONE}: 5.5 instead of 4 (unclear)", "-1 points (no name)"])
    assert bo.total == 0 and cy.total == 9 and cy.why == []          # never below 0


def test_entries_for_all_students(tmp_path):
    """Two exercises of 6 and 5 points; the second counts for nobody, then twice, and the first gives everybody full points."""
    def everybody(**more):
        return {"student": "*", "reason": "r", **more}

    given = entries(tmp_path, everybody(exercise=TWO, weight=0))
    found = [apply_marks(one, given) for one in (record(), record("bo", 0, 0))]
    assert [(one.total, one.most) for one in found] == [(4, 6), (0, 6)] and found[1].why == [f"{TWO} does not count (r)"]
    given = entries(tmp_path, everybody(exercise=TWO, weight=2), everybody(exercise=ONE, points=6))
    found = [apply_marks(one, given) for one in (record(), record("bo", 0, 0))]
    shown = terminal_table(found)
    assert "16/16  100%" in shown and "6/16" in shown and "mean score 69%" in shown
    assert f"all students: {TWO} has weight 2 (r)" in shown and f"bo: {ONE}: 6 instead of 0 (r)" in shown


def test_marks_are_in_every_report(tmp_path):
    one, plain = apply_marks(record(), entries(tmp_path, {"student": "ada", "add": 0.2, "reason": "<b>"})), record()
    row, = csv.DictReader(io.StringIO(csv_table([one])))
    assert (row["mark"], row["mark possible"], row["why"]) == ("9.2", "11", "'+0.2 points (<b>)")
    assert "Mark: <strong>9.2 of 11</strong>" in student_page(one) and "points (&lt;b&gt;)" in student_page(one)
    assert gradescope_results(one)["score"] == 9.2 and "+0.2 points" in gradescope_results(one)["output"]
    assert Graded.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert "mark" not in csv_table([plain]) and "Mark:" not in student_page(plain) and gradescope_results(plain)["score"] == 9


ADA = {"student": "ada", "reason": "x"}


@pytest.mark.parametrize("entry, words", [
    ({"student": "ada", "add": 1}, "needs a student and a reason"), (ADA | {"student": "adda", "add": 1}, "did you mean ada"),
    (ADA, "needs exercise and points, or exercise and weight, or add"), (ADA | {"points": 2}, "needs exercise"),
    (ADA | {"add": 1, "points": 2, "exercise": ONE}, "only one of these"), (ADA | {"exercise": ONE, "weight": -1}, "expected 0 or more"),
    (ADA | {"exercise": ONE, "points": 7}, "0 to 6"), (ADA | {"exercise": "find_leak", "points": 2}, "did you mean find_leaks"),
    (ADA | {"add": "1"}, "expected a number"), (ADA | {"add": True}, "expected a number"),
    ({"student": "ada", "reasons": "x", "add": 1}, "did you mean reason")])
def test_read_marks_refuses_entry(tmp_path, entry, words):
    with pytest.raises(ValueError, match="entry 1 of .*marks.toml") as problem:
        entries(tmp_path, entry)
    assert words in str(problem.value)


@pytest.mark.parametrize("text, words", [("[[mark", "is not TOML"), ("[marks]\n", "expected entries"), ("mark = 3", "expected entries"),
                                         ('[[mark]]\nstudent = "ada"\nreason = "x"\nadd = inf', "expected a number")])
def test_read_marks_refuses_file(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read_marks(str(save(tmp_path / "marks.toml", text)), ["ada"])


def test_update_records(tmp_path):
    """Ada's first exercise is graded again; Bo keeps everything, and Cy is new."""
    before = read_earlier(str(save(tmp_path / "old.json", json.dumps([record().to_dict(), record("bo").to_dict()]))))
    again = Graded("ada", "a", "1", isolation="bubblewrap", reports=[Report(ONE, "right", 6, 6)], seed=9)
    found = update_records(before, [again, record("cy")])
    assert [(one.student, one.earned) for one in found] == [("ada", 11), ("bo", 9), ("cy", 9)]
    assert [report.exercise for report in found[0].reports] == [ONE, TWO] and found[0].seed == 9
    ada, mark, *rest = describe_changes(before, found)
    assert ada == f"ada: {ONE} 4 -> 6: right instead of wrong value: other checks, another seed" and mark == "ada: mark 9 -> 11"
    assert rest[0].startswith(f"cy: {ONE} None -> 4: wrong value instead of not graded: another file") and len(rest) == 3
    assert [*describe_changes(before, before)] == []
    for text in ("{", "[1]", '{"a": 1}', '[{"student": "ada"}]'):
        with pytest.raises(ValueError, match="holds no marks"):
            read_earlier(str(save(tmp_path / "bad.json", text)))
