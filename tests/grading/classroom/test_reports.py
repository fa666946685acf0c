"""What is written about a submission: a page, a table, Gradescope's JSON. Nothing of the learner's is markup in any."""
import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from course_lib.grading.classroom.grading import Graded, printable
from course_lib.grading.classroom.pages import student_page
from course_lib.grading.classroom.reports import file_name, gradescope_results
from course_lib.grading.classroom.tables import csv_table, terminal_table
from course_lib.grading.verdict import Report
from tests.grading.sample_submissions import TABLE, graded, save

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;</pre></code></title><b>"


@pytest.fixture(scope="module")
def record(worker, tmp_path_factory):
    """A submission with markup wherever a learner can put it."""
    folder = tmp_path_factory.mktemp("hw")
    answer = (f"def bernoulli_chain_loglik(x, p):\n    # {MARKUP} \u202e\x1b[31m\n"
              f"    raise ValueError({MARKUP!r} + chr(27) + '[2J' + chr(0x202e))")
    found = graded(folder, worker, answer, TABLE, "def x(:", seed=11)
    return Graded.from_dict({**found.to_dict(), "student": MARKUP, "file": MARKUP})


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def test_student_page_content(record):
    text = "".join(Tags(student_page(record)).text)
    for words in ("The log-likelihood of a Bernoulli model", "stopped with an error", "0 of 6", "5 of 5", "ValueError",
                  "def conditional_table(joint, i):", "arguments left alone", "not run", "Cell 3 could not be read",
                  "bubblewrap", "seed 11", "Your code"):
        assert words in text or words == "bubblewrap" and record.isolation != "bubblewrap", words


def test_student_page_escapes(record):
    found = Tags(student_page(record))
    assert set(found.tags) <= {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "section",
                               "code", "pre", "strong", "span", "table", "thead", "tbody", "tr", "th", "td"}
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert MARKUP in "".join(found.text)                                    # shown, as text


def test_student_page_loads_nothing(record):
    text = student_page(record)
    assert "default-src 'none'" in text and "url(" not in text and "@import" not in text and "http" not in text.replace(
        "http-equiv", "")
    assert "prefers-color-scheme: dark" in text and '<html lang="en">' in text


def test_printable(record):
    for text in (student_page(record), terminal_table([record]), csv_table([record]), json.dumps(gradescope_results(record))):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", text)
    assert "\\u001b[2J" in record.reports[0].message and "\\u202e" in record.code["bernoulli_chain_loglik"]
    assert printable("käse 東京 \U0001f600") == "käse 東京 \U0001f600" and printable("\ud800\n") == "\\ud800 "


def spreadsheet(records):
    return list(csv.DictReader(io.StringIO(csv_table(records))))


def test_csv_table_rows(record):
    other = Graded("bo", "x/bo.ipynb", reports=[Report("find_leaks", "right", 5, 5)], isolation="limits")
    first, second = spreadsheet([record, other])
    assert first["conditional_table points"] == "5" and first["conditional_table state"] == "right"
    assert first["bernoulli_chain_loglik state"] == "error" and first["find_leaks state"] == ""
    assert (second["student"], second["earned"], second["score"], second["isolation"]) == ("bo", "5", "1.0000", "limits")
    assert first["student"] == MARKUP


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx"])
def test_csv_table_has_no_formula(name):
    [row] = spreadsheet([Graded(name, name)])
    assert row["student"] == "'" + name and row["file"] == "'" + name


@pytest.mark.parametrize("name", ["x;=1+1", "x\t=1", 'x;"=1+1', "x; @y", "a|+1"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_table_has_no_formula_inside_cell(name, separator):
    text = csv_table([Graded("ada", name, notes=[name])])
    cells = [cell for row in csv.reader(io.StringIO(text), delimiter=separator) for cell in row]
    assert not [cell for cell in cells if cell.strip(' "')[:1] in tuple("=+@\t")] and "x; y" in csv_table([Graded("x; y", "")])


def test_terminal_table(record):
    text = terminal_table([record, Graded("bo", "a/bo.ipynb", reports=[Report("find_leaks", "right", 5, 5)])])
    assert "bo.ipynb" in text and "100%" in text and "2 students, mean score 73%" in text
    assert "bernoulli_chain_loglik stopped with an error" in text
    assert terminal_table([]) == "No submission was found."


# https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
VISIBLE = {"hidden", "after_due_date", "after_published", "visible"}
TOP = {"score": (int, float), "execution_time": (int, float), "output": str, "output_format": FORMATS,
       "test_output_format": FORMATS, "test_name_format": FORMATS, "visibility": VISIBLE, "stdout_visibility": VISIBLE,
       "extra_data": dict, "tests": list, "leaderboard": list}
TEST = {"score": (int, float), "max_score": (int, float), "status": {"passed", "failed"}, "name": str,
        "name_format": FORMATS, "number": str, "output": str, "output_format": FORMATS, "tags": list, "visibility": VISIBLE,
        "extra_data": dict}


def valid(data: dict, fields: dict) -> bool:
    return all(name in fields and (value in fields[name] if isinstance(fields[name], set) else
                                   isinstance(value, fields[name]) and not isinstance(value, bool))
               for name, value in data.items())


def test_gradescope_results_are_valid(record):
    data = json.loads(json.dumps(gradescope_results(record), allow_nan=False))
    assert valid(data, TOP) and all(valid(test, TEST) for test in data["tests"])
    assert "tests" in data or "score" in data
    assert data["score"] == sum(test["score"] for test in data["tests"]) == 5
    assert all(0 <= test["score"] <= test["max_score"] and all(isinstance(tag, str) for tag in test["tags"])
               for test in data["tests"])
    assert [test["status"] for test in data["tests"]] == ["failed", "passed"]
    assert data["output_format"] == "text" and {test["output_format"] for test in data["tests"]} == {"text"}


def test_file_name_is_safe_and_unique(tmp_path):
    names = ["ada", "Ada", "../etc/passwd", "..", "", "a/b", "a_b", "x" * 300, "x" * 301, "käse", "con", "nul.txt", "\ud800", "index"]
    names.append(file_name("käse"))                        # who takes the name of another student's page
    found = [file_name(name) for name in names]
    assert len({one.casefold() for one in found}) == len(names) and found[0] == "ada"
    assert "index" not in found                             # the page of the class
    for one in found:
        assert not re.search(r"[/\\]", one) and one not in (".", "..")
        save(tmp_path / one, "x")
    assert len(list(tmp_path.iterdir())) == len(names)
