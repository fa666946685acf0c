"""The table on the class: counts against a loop, names as text; and pages without names."""
import csv
import io

import numpy
import pytest

from course_lib.grading.__main__ import parser as command_parser
from course_lib.grading.classroom import reports
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.pages import CLASS, class_page, class_rows
from course_lib.grading.verdict import Report
from tests.grading.classroom.test_reports import MARKUP, Tags

LOGLIK, TABLE = "bernoulli_chain_loglik", "conditional_table"
PLAN = [("right", None, 6), ("wrong_value", "swapped", 2), ("wrong_value", "swapped", 0), ("wrong_value", "not_logged", 0),
        ("timeout", None, 3), ("not_attempted", None, 0), ("missing", None, 0), ("error", None, 0)]


def test_class_rows():
    """Eight students; the last has a name with markup."""
    names = [*(f"s{i}" for i in range(len(PLAN) - 1)), MARKUP]
    records = [Graded(name, f"{name}.ipynb", reports=[Report(LOGLIK, state, earned, 6, mistake), Report(TABLE, "right", 5, 5)])
               for name, (state, mistake, earned) in zip(names, PLAN, strict=True)]
    one, two = (dict(zip(CLASS, row, strict=True)) for row in class_rows(records))
    assert one == {"exercise": LOGLIK, "students": 8, "full points": 1, "difficulty": "0.23", "discrimination": "-",
                   "states": "wrong value: 3; no such function: 1; not attempted yet: 1; right: 1; stopped with an error: 1; took too long: 1",
                   "mistakes": "swapped: 2; not_logged: 1", "without points": f"s2; s3; {MARKUP}"}
    assert (two["full points"], two["difficulty"], two["without points"]) == (8, "1.00", "")
    found = Tags(class_page(records))
    assert MARKUP in "".join(found.text) and not {"script", "img", "iframe", "link"} & set(found.tags)
    assert "8 students, mean score" in class_page(records) and "0 students" in class_page([])


def test_discrimination():
    """Against numpy; absent students and an exercise with the same points for all do not count."""
    points = [(6, 5), (3, 4), (0, 1), (2, 5)]
    graded = [Graded(str(i), "", reports=[Report(LOGLIK, "wrong_value", one, 6), Report(TABLE, "wrong_value", two, 5),
                                          Report("find_leaks", "right", 5, 5)]) for i, (one, two) in enumerate(points)]
    absent = Graded("absent", "", reports=[Report(name, "not_submitted", 0, 6) for name in (LOGLIK, TABLE, "find_leaks")])
    one, two, three = (row[CLASS.index("discrimination")] for row in class_rows([*graded, absent]))
    assert float(one) == pytest.approx(numpy.corrcoef(*zip(*points, strict=True))[0, 1], abs=0.005) and one == two and three == "-"


def test_anonymous_pages(tmp_path):
    names = [f"Ada No. {i}" for i in range(4)]
    graded = [Graded(name, f"{name}.ipynb", notes=[f"{name}.ipynb: x"], reports=[Report(LOGLIK, "right", 6, 6)]) for name in names]
    arguments = ["grade", "x", "--chapter", "1", "--anonymous", "--html", str(tmp_path / "pages"), "--report", str(tmp_path), "--csv", str(tmp_path / "m.csv")]
    reports.write(command_parser().parse_args(arguments), graded)
    pages = [*(tmp_path / "pages").glob("*.html"), tmp_path / "index.html", tmp_path / "class.csv"]
    assert len(pages) == 6 and not any("Ada" in path.read_text() for path in pages)
    index = list(csv.DictReader(io.StringIO((tmp_path / "pages/index.csv").read_text("utf-8-sig"))))
    assert sorted(row["student"] for row in index) == names and all((tmp_path / "pages" / row["file"]).exists() for row in index)
    assert "Ada No. 1" in (tmp_path / "m.csv").read_text("utf-8-sig")
