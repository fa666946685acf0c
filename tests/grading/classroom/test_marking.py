"""Deadlines, late days, exceptions, and what a second grading changed: against marks that are worked out by hand."""
import csv
import io
import json
import os
import tarfile
import zipfile
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from course_lib.grading.classroom.changes import changes, for_spreadsheet, in_words, read
from course_lib.grading.classroom.gradescope import results
from course_lib.grading.classroom.marking import Terms, marks
from course_lib.grading.classroom.once import by_student
from course_lib.grading.classroom.page import page
from course_lib.grading.classroom.rules import Rules, read_marks, read_rules
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.classroom.tables import for_spreadsheet as marks_table
from course_lib.grading.classroom.when import Clock, Handed, times
from course_lib.grading.judge.report import Report
from tests.grading.submissions import save

pytest.importorskip("tomllib")
BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime(2026, 11, 20, 23, 59, tzinfo=BERLIN)
ONE, TWO = "bernoulli_chain_loglik", "conditional_table"       # 6 and 5 points, chapter 01
LEAKS = "find_leaks"                                           # 5 points, chapter 03
TOML = """
zone = "Europe/Berlin"
[deadlines]
"1" = 2026-11-20T23:59:00
"03" = 2026-11-27
[late]
days = 2
penalty = 20
most = 6
grace = 10
"""


def record(file, student="ada", **points):
    """One file's record: the points of its exercises; None for one that holds no answer."""
    most = {ONE: 6, TWO: 5, LEAKS: 5}
    return Graded(student, file, reports=[Report(name, "missing" if earned is None else "right" if earned == most[name] else "wrong_value",
                                                 earned or 0, most[name]) for name, earned in points.items()])


def mark(rules, late, *records, exemptions=()):
    """The mark of one student whose files came so many hours after the deadline."""
    times = {one.file: Handed(DUE + timedelta(hours=late.get(one.file, -1)), "test") for one in records}
    [found] = marks(records, Terms(rules, exemptions, times)).values()
    return found


@pytest.mark.parametrize("hours, days", [(-100, 0), (0, 0), (1 / 6, 0), (0.2, 1), (24, 1), (24.2, 2), (72.2, 4)])
def test_a_day_late_begins_after_the_grace(hours, days):
    assert Rules(grace=10).days_late(DUE + timedelta(hours=hours), DUE) == days


def test_a_day_has_24_hours_when_the_clocks_are_put_back():
    due = datetime(2026, 10, 24, 23, 0, tzinfo=BERLIN)
    assert [Rules().days_late(datetime(2026, 10, 25, hour, 30, tzinfo=BERLIN), due) for hour in (21, 22)] == [1, 2]


def test_the_file_says_deadlines_and_days(tmp_path):
    found = read_rules(str(save(tmp_path / "class.toml", TOML)))
    assert found.deadlines == {"01": DUE, "03": datetime(2026, 11, 27, 23, 59, 59, tzinfo=BERLIN)}
    assert (found.days, found.penalty, found.most, found.grace) == (2, 20, 6, 10)


@pytest.mark.parametrize("old, new, words", [
    ("[late]", "[latte]", "did you mean late"), ("penalty = 20", "penalties = 20", "did you mean penalty"),
    ("days = 2", "days = -2", "a number from 0"), ("days = 2", "days = 1.5", "a whole one"), ("penalty = 20", "penalty = 120", "100 at most"),
    ('"1" =', '"99" =', "names chapter 99"), ("Europe/Berlin", "Europe/Berlln", "zone in"), ('zone = "Europe/Berlin"', "", "has no offset"),
    ("2026-11-27\n", '"soon"\n', "expected a time like"), ("[deadlines]", "[deadlines", "is not TOML"),
    (TOML, "[late]\ndays = 1", "has no deadline"), (TOML, "deadlines = 3", "expected a table")])
def test_a_rule_that_is_not_understood_stops_it(tmp_path, old, new, words):
    with pytest.raises(ValueError, match="class.toml") as problem:
        read_rules(str(save(tmp_path / "class.toml", TOML.replace(old, new))))
    assert words in str(problem.value)


def test_late_work_loses_its_share_and_free_days_come_first():
    rules = Rules({"01": DUE}, penalty=20, days=2, most=6)
    whole = record("a", **{ONE: 6, TWO: 4})
    assert mark(rules, {}, whole).total == 10 and mark(rules, {}, whole).why == ()
    for hours, total, late in ((20, 10, 1), (40, 10, 2), (60, 8, 3), (100, 4, 5), (130, 2, 6), (150, 0, 0)):
        found = mark(rules, {"a": hours}, whole)
        assert (found.total, found.late) == (total, late), hours
    [why] = mark(rules, {"a": 60}, whole).why
    assert why == ("chapter 01: 3 days late, 2 of them free, 80 % of the points (handed in 2026-11-23 11:59 +0100, by test; deadline "
                   "2026-11-20 23:59 +0100)")
    assert mark(rules, {"a": 150}, whole).why == ("chapter 01: 7 days late, and no points for it",)


def test_the_files_up_to_the_best_day_count():
    rules = Rules({"01": DUE}, penalty=20)
    early, late = record("a", **{ONE: 4, TWO: 5}), record("b", **{ONE: 6, TWO: None})
    found = mark(rules, {"b": 1}, early, late)                          # 9 in time, or 11 less a fifth
    assert (found.total, found.late) == (9, 0) and found.why[0].startswith("chapter 01: what came 1 day late gives no more")
    assert mark(Rules({"01": DUE}, penalty=10), {"b": 1}, early, late).total == pytest.approx(9.9)
    assert mark(rules, {"b": 1}, record("a", **{ONE: 0}), late).total == pytest.approx(4.8)
    nothing = record("b", **{ONE: None, TWO: None})                     # an empty file that comes late costs nothing
    assert mark(rules, {"b": 1}, early, nothing) == mark(rules, {}, early)


def test_free_days_are_spent_in_the_order_of_the_deadlines():
    rules = Rules({"01": DUE + timedelta(days=7), "03": DUE}, penalty=50, days=3)
    first, second = record("a", **{LEAKS: 4}), record("b", **{ONE: 6})
    found = mark(rules, {"a": 40, "b": 24 * 7 + 40}, second, first)     # two days each: the first free, of the second one
    assert found.points == {ONE: 3, LEAKS: 4} and found.late == 4
    assert [why[:10] for why in found.why] == ["chapter 03", "chapter 01"]


def entries(tmp_path, text, students=("ada", "bo")):
    return read_marks(str(save(tmp_path / "marks.toml", text)), students, BERLIN)


def test_what_was_decided_is_final_and_says_why(tmp_path):
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
add = 9
reason = "another's"
""")
    found = mark(Rules({"01": DUE}, penalty=50), {"a": 1}, record("a", **{ONE: 4, TWO: 5}), exemptions=given[:2])
    assert found.points == {ONE: 5.5, TWO: 2.5} and found.total == 7
    assert found.why[1:] == (f"{ONE}: 5.5 instead of 2 (the statement was unclear)", "-1 points (no name on it)")
    assert marks([record("a", **{ONE: 4})], Terms(exemptions=given))["ada"].total == 4.5
    assert marks([record("a", **{ONE: 0})], Terms(exemptions=given[1:]))["ada"].total == 0        # never below


@pytest.mark.parametrize("way", ["deadline", "submitted"])
def test_another_deadline_or_time_for_one_student(tmp_path, way):
    when = {"deadline": "2026-11-25T12:00:00", "submitted": "2026-11-20T10:00:00"}[way]
    given = entries(tmp_path, f'[[mark]]\nstudent = "ada"\nchapter = "1"\n{way} = {when}\nreason = "ill"\n')
    found = mark(Rules({"01": DUE}, penalty=20), {"a": 30}, record("a", **{ONE: 6}), exemptions=given)
    assert found.total == 6 and len(found.why) == 1 and "(ill)" in found.why[0] and when[:10] in found.why[0]


@pytest.mark.parametrize("text, words", [
    ('student = "ada"\nadd = 1', "has no reason"), ('student = "adda"\nadd = 1\nreason = "x"', "did you mean ada"),
    ('student = "ada"\nreason = "x"', "nothing to change"), ('student = "ada"\nreason = "x"\nadd = 1\npoints = 2', "points and add"),
    ('student = "ada"\nreason = "x"\npoints = 2', "expected exercise"), (f'student = "ada"\nreason = "x"\nexercise = "{ONE}"\npoints = 7', "0 to 6"),
    ('student = "ada"\nreason = "x"\nexercise = "find_leak"\npoints = 2', "did you mean find_leaks"),
    ('student = "ada"\nreason = "x"\nadd = "1"', "expected a number"), ('student = "ada"\nreason = "x"\nadd = true', "expected a number"),
    ('student = "ada"\nreasons = "x"\nadd = 1', "did you mean reason"),
    ('student = "ada"\nreason = "x"\ndeadline = 2026-11-25', "expected chapter")])
def test_an_entry_that_is_not_understood_stops_it(tmp_path, text, words):
    with pytest.raises(ValueError, match="entry 1 of .*marks.toml") as problem:
        entries(tmp_path, f"[[mark]]\n{text}\n")
    assert words in str(problem.value)


def test_when_a_file_was_handed_in(tmp_path):
    """The name on the outside, else the entry in the archive of the class, else the file; never what a student writes."""
    named = save(tmp_path / "a/hw_ada_attempt_2026-11-20-23-58-00_hw.ipynb", "x")
    inner = save(tmp_path / "a/bo/x_attempt_2020-01-01-00-00-00_hw.ipynb", "x")
    folder = save(tmp_path / "a/cy_attempt_2020-01-01-00-00-00/hw.ipynb", "x")
    for path in (named, inner, folder):
        os.utime(path, (1_800_000_000, 1_800_000_000))
    clock, date = Clock(str(tmp_path / "a"), BERLIN), datetime.fromtimestamp(1_800_000_000, timezone.utc)
    assert clock.handed_in(str(named)) == Handed(datetime(2026, 11, 20, 23, 58, tzinfo=BERLIN), "its name")
    assert clock.handed_in(str(inner)) == clock.handed_in(str(folder)) == Handed(date, "the date of the file")
    own = io.BytesIO()
    with zipfile.ZipFile(own, "w") as archive:
        archive.writestr(zipfile.ZipInfo("hw.ipynb", (2020, 1, 1, 0, 0, 0)), "x")
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("ada/", (2020, 1, 1, 0, 0, 0)), "")
        archive.writestr(zipfile.ZipInfo("ada/hw.ipynb", (2026, 11, 21, 8, 30, 2)), "x")
        archive.writestr(zipfile.ZipInfo("bo/hw.zip", (2026, 11, 22, 9, 0, 0)), own.getvalue())
    clock = Clock(str(tmp_path / "class.zip"), BERLIN)
    assert clock.handed_in(str(tmp_path / "class.zip/ada/hw.ipynb")) == Handed(
        datetime(2026, 11, 21, 8, 30, 2, tzinfo=BERLIN), "the entry in class.zip")
    assert clock.handed_in(str(tmp_path / "class.zip/bo/hw.zip/hw.ipynb")).at == datetime(2026, 11, 22, 9, tzinfo=BERLIN)
    save(tmp_path / "b/cy.zip", own.getvalue())
    os.utime(tmp_path / "b/cy.zip", (1_800_000_000, 1_800_000_000))
    assert Clock(str(tmp_path / "b")).handed_in(str(tmp_path / "b/cy.zip/hw.ipynb")) == Handed(date, "the date of the file")
    with tarfile.open(tmp_path / "class.tar.gz", "w:gz") as archive:
        top = tarfile.TarInfo("ada")
        top.type = tarfile.DIRTYPE
        archive.addfile(top)
        one = tarfile.TarInfo("ada/hw.ipynb")
        one.mtime = 1_800_000_000
        archive.addfile(one)
    assert Clock(str(tmp_path / "class.tar.gz")).handed_in(str(tmp_path / "class.tar.gz/ada/hw.ipynb")).at == date
    for path in (named, tmp_path / "class.zip/ada/hw.ipynb"):
        with pytest.raises(ValueError, match="names no zone"):
            Clock(str(path.parent if path == named else tmp_path / "class.zip")).handed_in(str(path))


def test_an_entry_without_a_date_costs_no_other_its_time(tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("ada/hw.ipynb", (1980, 0, 0, 0, 0, 0)), "x")
        archive.writestr(zipfile.ZipInfo("bo/hw.ipynb", (2026, 11, 21, 8, 30, 2)), "x")
    assert times(str(tmp_path / "class.zip")) == {"bo/hw.ipynb": datetime(2026, 11, 21, 8, 30, 2)}


def test_every_report_has_the_mark_and_its_reasons():
    one, other = record("a", **{ONE: 6}), record("", "bo", **{ONE: None})
    times = {"a": Handed(DUE + timedelta(hours=30), "test")}
    found = marks([one, other], Terms(Rules({"01": DUE}, penalty=15), (), times))
    rows = list(csv.DictReader(io.StringIO(marks_table([one, other], found))))
    assert [(row["mark"], row["late days"]) for row in rows] == [("4.2", "2"), ("0", "0")] and "2 days late" in rows[0]["why"]
    assert "Mark: <strong>4.2</strong>" in page(one, found["ada"]) and "2 days late" in page(one, found["ada"])
    assert results(one, found["ada"])["score"] == 4.2 and "2 days late" in results(one, found["ada"])["output"]
    assert "mark" not in marks_table([one, other]) and "Mark:" not in page(one) and results(one)["score"] == 6


def test_what_changed_and_why(tmp_path):
    def run(points, mark_, reasons, **more):
        one = Graded("ada", "a", reports=[Report(ONE, "right" if points == 6 else "wrong_value", points, 6), Report(TWO, "right", 5, 5)],
                     **{"sha256": "1", "checks": "c", "isolation": "bubblewrap", "seed": 1, **more})
        return [one.to_dict() | {"mark": {"mark": mark_, "why": reasons}}]

    before = run(2, 7, ["late"])
    assert changes(before, before) == [] and in_words([]) == "No mark has changed."
    [points, whole] = changes(before, run(6, 10.5, [f"{TWO}: 4.5 instead of 5 (typo)"], sha256="2", seed=9))
    assert (points.what, points.old, points.new) == (ONE, 2, 6) and points.why == "right instead of wrong value: another file, another seed"
    assert (whole.what, whole.old, whole.new, whole.why) == ("mark", 7, 10.5, f"{TWO}: 4.5 instead of 5 (typo); no longer: late")
    [points, _] = changes(before, run(6, 11, ["late"], checks="d"))
    assert points.why == "right instead of wrong value: other checks"
    bo = Graded("bo", "b", reports=[Report(ONE, "right", 6, 6)]).to_dict()
    assert [(one.student, one.old, one.new, one.why) for one in changes(before, [bo])] == [
        ("bo", None, 6, "new in the class"), ("ada", 7, None, "no longer in the class")]
    rows = list(csv.reader(io.StringIO(for_spreadsheet([whole]))))
    assert rows[1][:4] == ["ada", "mark", "7", "10.5"] and "ada: mark 7 -> 10.5" in in_words([whole])
    assert read(str(save(tmp_path / "old.json", json.dumps(before)))) == before
    for text in ("{", "[1]", '{"a": 1}'):
        with pytest.raises(ValueError, match="holds no marks"):
            read(str(save(tmp_path / "bad.json", text)))


def test_one_mark_for_several_files_of_a_student():
    records = [record("a", **{ONE: 6}), record("b", **{TWO: 5}), record("c", "bo", **{ONE: 6})]
    found = marks(records, Terms())
    assert {name: one.total for name, one in found.items()} == {"ada": 11, "bo": 6} == {
        one.student: one.earned for one in by_student(records)}
