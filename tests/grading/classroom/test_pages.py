"""The page on the class and its table: counts against a loop, names as text, nothing from outside, the same bytes again."""
import csv
import io
import re
from collections import Counter

import numpy
import pytest

from course_lib.exercises import EXERCISES
from course_lib.grading.__main__ import parser as command_parser
from course_lib.grading.classroom import reports
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.pages import class_page, class_table, summarize
from course_lib.grading.verdict import STATES, Report
from tests.grading.classroom.test_reports import MARKUP, Tags

LOGLIK, TABLE = "bernoulli_chain_loglik", "conditional_table"
PLAN = [("right", None, 6), ("wrong_value", "swapped", 2), ("wrong_value", "swapped", 0), ("wrong_value", "not_logged", 0),
        ("timeout", None, 3), ("not_attempted", None, 0), ("missing", None, 0), ("error", None, 0)]


@pytest.fixture(scope="module")
def records():
    """Eight students; the last has a name with markup."""
    names = [*(f"s{i}" for i in range(len(PLAN) - 1)), MARKUP]
    return [Graded(name, f"{name}.ipynb", reports=[Report(LOGLIK, state, earned, 6, mistake), Report(TABLE, "right", 5, 5)],
                   isolation="bubblewrap") for name, (state, mistake, earned) in zip(names, PLAN, strict=True)]


def test_summarize_counts(records):
    one, other = summarize(records)
    assert {name: len(people) for name, people in one.states.items()} == Counter(state for state, *_ in PLAN) and one.count == len(PLAN)
    assert {name: people for name, people, _ in one.named} == {"swapped": ["s1", "s2"], "not_logged": ["s3"]}
    assert [name for name, *_ in one.named] == ["swapped", "not_logged"]
    assert one.named[0][2] == EXERCISES[LOGLIK].misconceptions["swapped"]
    assert one.kinds == {"full": 1, "some": 2, "none": 3, "ungraded": 2}
    assert (one.earned, one.possible) == (11, 48) and other.kinds == {"full": 8}


def test_summarize_stuck_students(records):
    one, other = summarize(records)
    assert one.stuck == [("s2", "wrong_value"), ("s3", "wrong_value"), ("s4", "timeout"), (MARKUP, "error")] and not other.stuck


def test_class_page_text(records):
    text = " ".join("".join(Tags(class_page(records)).text).split())
    sentence = " ".join(EXERCISES[LOGLIK].misconceptions["swapped"].split())
    for words in (f"2 of 8: {sentence} (swapped)s1, s2", "8 students, 2 exercises", "took too long1 of 8",
                  "s4bernoulli_chain_loglik (took too long)", "it is for the teacher"):
        assert words in text, words


def test_class_page_bar(records):
    found = re.findall(r'<svg role="img" aria-label="([^"]+)".*?</svg>', class_page(records))
    assert found[0] == ("bernoulli_chain_loglik: of 8, 1 with full points, 2 with some points, 3 tried without points, 2 with nothing to grade")
    [first, _] = re.findall(r"<svg.*?</svg>", class_page(records))
    widths = [float(one) for one in re.findall(r' width="([\d.]+)"', first)]
    assert widths == [12.5, 25, 37.5, 25] and re.findall(r' x="([\d.]+)"', first) == ["0.00", "12.50", "37.50", "75.00"]


def test_class_page_is_safe(records):
    page = class_page(records, {"s0": "../pages/s0.html", MARKUP: "../pages/s7.html"})
    found = Tags(page)
    assert MARKUP in "".join(found.text) and not {"script", "img", "iframe", "link"} & set(found.tags)
    assert {value for name, value in found.attributes if name in ("href", "src")} == {
        "../pages/s0.html", "../pages/s7.html", f"#{LOGLIK}", f"#{TABLE}"}
    assert "default-src 'none'" in page and "url(" not in page and "http" not in page.replace("http-equiv", "")
    assert page.count("prefers-color-scheme: dark") == 2 and '<html lang="en">' in page


def test_class_table_counts(records):
    rows = list(csv.DictReader(io.StringIO(class_table(records))))
    mine = [row for row in rows if row["exercise"] == LOGLIK]
    assert {row["name"]: int(row["count"]) for row in mine if row["kind"] == "state"} == Counter(state for state, *_ in PLAN)
    assert [row["name"] for row in mine if row["kind"] == "state"] == [name for name in STATES if name in {one[0] for one in PLAN}]
    assert [(row["name"], row["count"], row["students"]) for row in mine if row["kind"] == "mistake"] == [
        ("swapped", "2", "s1; s2"), ("not_logged", "1", "s3")]
    assert {row["of"] for row in rows if row["kind"] != "statistic"} == {"8"}
    assert [(row["name"], row["count"]) for row in mine if row["kind"] == "statistic"] == [("difficulty", "0.23"), ("discrimination", "-")]


def test_class_page_is_reproducible(records):
    again = [Graded.from_dict(one.to_dict()) for one in records]
    assert class_page(again) == class_page(records) and class_table(again) == class_table(records)


def test_class_page_of_empty_class():
    assert "0 students, 0 exercises" in class_page([])


def test_discrimination():
    """Against numpy; absent students and an exercise with the same points for all do not count."""
    points = [(6, 5), (3, 4), (0, 1), (2, 5)]
    graded = [Graded(str(i), "", reports=[Report(LOGLIK, "wrong_value", one, 6), Report(TABLE, "wrong_value", two, 5),
                                          Report("find_leaks", "right", 5, 5)]) for i, (one, two) in enumerate(points)]
    absent = Graded("absent", "", reports=[Report(name, "not_submitted", 0, 6) for name in (LOGLIK, TABLE, "find_leaks")])
    one, two, three = summarize([*graded, absent])
    assert one.discrimination == pytest.approx(numpy.corrcoef(*zip(*points, strict=True))[0, 1]) == two.discrimination
    assert three.discrimination is None and "0.76" in class_page([*graded, absent])


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


def test_class_page_links_to_students(records, tmp_path):
    arguments = ["grade", "x", "--chapter", "1", "--html", str(tmp_path / "out/pages"), "--report", str(tmp_path / "out/class")]
    reports.write(command_parser().parse_args(arguments), records)
    page = (tmp_path / "out/class/index.html").read_text()
    links = [value for name, value in Tags(page).attributes if name == "href" and not value.startswith("#")]
    assert len(set(links)) == len(records) and all((tmp_path / "out/class" / link).is_file() for link in links)
    assert (tmp_path / "out/class/class.csv").read_text("utf-8-sig") == class_table(records)
    assert {path.name for path in (tmp_path / "out/class").iterdir()} == {"index.html", "class.csv"}
