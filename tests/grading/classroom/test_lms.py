"""Marks on the way back into Moodle and Canvas: the platform's own columns as they were, and the marks in theirs."""
import csv
import io

import pytest

from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.lms import check_roster, import_table
from course_lib.grading.classroom.roster import read_roster
from course_lib.grading.verdict import Report
from tests.grading.classroom.test_collection import CANVAS, GERMAN, MOODLE
from tests.grading.sample_submissions import save

ONE = "bernoulli_chain_loglik"
WORKSHEET = ('Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed","Last modified (grade)",'
             '"Feedback comments"\n'
             '"Participant 501","Mo Lee",mo@uni.org,"Submitted for grading",,100.00,Yes,-,\n'
             '"Participant 503",=cruz,zoe@uni.org,"No submission",,100.00,Yes,-,\n')


def record(student, earned, possible=6):
    return Graded(student, "a", reports=[Report(ONE, "right" if earned == possible else "wrong_value", earned, possible, None,
                                               "<b>what a student wrote</b>")])


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def sheet(tmp_path, text):
    return read_roster(str(save(tmp_path / "roster.csv", text)))


def test_moodle_worksheet(tmp_path):
    text = import_table("moodle", sheet(tmp_path, WORKSHEET), [record("Mo Lee", 4), record("=cruz", 6)], "x")
    mo, cruz = rows(text)
    assert mo["Grade"] == "66.67" and cruz["Grade"] == "100" and mo["Feedback comments"] == f"{ONE}: wrong value (4 of 6)"
    before = rows(WORKSHEET)
    for name in before[0]:
        if name not in ("Grade", "Feedback comments"):
            assert [mo[name], cruz[name]] == [row[name] for row in before]      # as they were, what looks like a formula too
    assert "student wrote" not in text


def test_moodle_feedback_has_reasons(tmp_path):
    """One sentence for a whole submission; for a missing function what the grader found; no markup."""
    def comment(*reports):
        [row, _] = rows(import_table("moodle", sheet(tmp_path, WORKSHEET), [Graded("Mo Lee", "a", reports=list(reports))], "x"))
        return row["Feedback comments"]

    for state, words in (("not_submitted", "not submitted"), ("no_notebook", "no notebook in the submission"), ("unreadable", "could not be read")):
        assert comment(*(Report(name, state, 0, 6, message="Why.") for name in (ONE, "find_leaks"))) == f"{words}: Why"
    found = comment(Report(ONE, "missing", 0, 6, message="There is a function <b>: rename it."), Report("find_leaks", "right", 5, 5))
    assert found == f"{ONE}: no such function (0 of 6). There is a function &lt;b&gt;: rename it; find_leaks: right (5 of 5)"


def test_moodle_participants(tmp_path):
    found = rows(import_table("moodle", sheet(tmp_path, MOODLE), [record("Mo Lee (mo@uni.org)", 4), record("Zoë de la Cruz", 6)], "Chapter 1"))
    assert [(row["ID number"], row["Email address"], row["Chapter 1"]) for row in found] == [
        ("77", "mo@uni.org", "4"), ("78", "mo.lee@uni.org", ""), ("79", "zoe@uni.org", "6")]


def test_canvas_gradebook(tmp_path):
    records = [record("Lee, Mo", 3), record("de la Cruz, Zoë", 6), record("O'Neil, Bo-Ann", 0)]
    found = rows(import_table("canvas", sheet(tmp_path, CANVAS), records, "hw"))
    assert list(found[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw (123)"]
    assert [row["hw (123)"] for row in found] == ["10", "5", "10", "0"] and found[0]["Student"] == "    Points Possible"
    assert [row["ID"] for row in found[1:]] == ["7001", "7002", "7003"] and found[2]["Student"] == "de la Cruz, Zoë"
    found = rows(import_table("canvas", sheet(tmp_path, CANVAS), records[:1], "Chapter 1"))
    assert list(found[0])[-1] == "Chapter 1" and [row["Chapter 1"] for row in found] == ["6", "3", "", ""]


@pytest.mark.parametrize("option, text, words", [
    ("moodle", "student\nada\n", "participants or its grading"),
    ("canvas", MOODLE, "has First name, Surname"), ("moodle", "ada\nbo\n", "has no header")])
def test_check_roster_refuses_other_tables(tmp_path, option, text, words):
    with pytest.raises(ValueError, match=f"--{option}") as problem:
        check_roster(option, sheet(tmp_path, text))
    assert words in str(problem.value)


def test_moodle_worksheet_in_german(tmp_path):
    [mo, zoe] = rows(import_table("moodle", sheet(tmp_path, GERMAN), [record("Mo Lee", 3)], "x"))
    assert (mo["Bewertung"], mo["Feedback als Kommentar"]) == ("50", f"{ONE}: wrong value (3 of 6)") and zoe["Bewertung"] == ""
    assert mo["ID"] == "Teilnehmer/in501" and mo["Bestwertung"] == "100,00"
    check_roster("moodle", sheet(tmp_path, GERMAN))
