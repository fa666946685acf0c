"""`python -m course_lib.grading` as an instructor uses it."""
import csv
import json
import os
import re
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest

from course_lib.exercises import EXERCISES, of_chapter
from course_lib.grading import __main__
from course_lib.grading.classroom import graders
from course_lib.grading.classroom.grading import empty_report
from course_lib.grading.classroom.tables import to_csv
from course_lib.grading.sandbox import sandbox
from tests.grading.sample_submissions import IDS, LOGLIK, TABLE, notebook, save

WRONG = LOGLIK.replace(".sum(dim=1)", ".sum(dim=1).exp()")


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "class/ada/hw.ipynb", notebook(LOGLIK, TABLE))
    save(tmp_path / "class/bo/hw.ipynb", notebook(LOGLIK, TABLE))
    save(tmp_path / "class/cy/hw.ipynb", notebook(WRONG, "def conditional_table(joint, i):\n    raise NotImplementedError"))
    save(tmp_path / "class/di/hw.ipynb", b"{")
    save(tmp_path / "roster.txt", "ada\nbo\ncy\ndi\neve\n")
    return tmp_path


@pytest.fixture
def grade(folder, worker, monkeypatch, capsys):
    """The command, with the worker of these tests in the place of its own."""
    monkeypatch.setattr(worker, "close", lambda: None)

    def run(*args):
        monkeypatch.setattr(sandbox, "Worker", lambda: worker)
        capsys.readouterr()
        code = __main__.main(["grade", *map(str, args), *([] if "--exercises" in args else ["--exercises", ",".join(IDS)])])
        return types.SimpleNamespace(code=code, **capsys.readouterr()._asdict())

    return run


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_grade_writes_every_report(folder, grade):
    found = grade(folder / "class", "--roster", folder / "roster.txt", "--seed", 6, "--out", folder / "out.jsonl", "--csv",
                  folder / "marks.csv", "--gradescope", folder / "scope", "--html", folder / "pages")
    assert found.code == 1 and "5 students, mean score" in found.out and "Not graded: " in found.err      # di's
    records = {line["student"]: line for line in lines(folder / "out.jsonl")}
    assert {name: line["score"] for name, line in records.items()} == {"ada": 1, "bo": 1, "cy": 0, "di": 0, "eve": 0}
    assert {line["seed"] for line in records.values()} == {6}
    states = {name: [report["state"] for report in line["reports"]] for name, line in records.items()}
    assert states["cy"] == ["wrong_value", "not_attempted"] and states["eve"] == ["not_submitted"] * 2
    assert records["cy"]["reports"][0]["misconception"] == "not_logged"
    assert records["di"]["notes"] and "not a notebook" in records["di"]["notes"][0]
    assert (folder / "marks.csv").read_text().count("\n") == 6
    assert sorted(path.name for path in (folder / "pages").iterdir()) == [*(f"{name}.html" for name in sorted(records)), "index.csv"]
    for name, record in records.items():
        assert json.loads((folder / "scope" / name / "results.json").read_text())["score"] == record["earned"]


def test_grade_resumes_from_log(folder, grade, monkeypatch):
    args = (folder / "class", "--out", folder / "out.jsonl", "--roster", folder / "roster.txt", "--csv", folder / "a.csv")
    grade(*args)
    before, table = (folder / "out.jsonl").read_bytes(), (folder / "a.csv").read_text()

    def never(*_):
        raise AssertionError("graded again")

    monkeypatch.setattr(graders, "grade_file", never)
    found = grade(*args)
    assert found.code == 1 and (folder / "out.jsonl").read_bytes() == before
    assert (folder / "a.csv").read_text() == table                              # the seed of the first run included


@pytest.mark.parametrize("jobs", [1, 2])
def test_grade_without_sandbox(folder, jobs, capsys):
    save(folder / "class/bo/hw.ipynb", notebook("import os\nos._exit(3)", "import course_lib.functional", LOGLIK.replace("x", "undefined", 1)))
    args = ["grade", folder / "class/ada", folder / "class/bo", "--exercises", ",".join(IDS), "--no-sandbox", "--out", folder / "out.jsonl",
            "--csv", folder / "a.csv", "--html", folder / "pages", "--jobs", jobs]
    assert __main__.main([str(one) for one in args]) == 0
    found = capsys.readouterr()
    assert "isolation: limits" in found.out and "Graded without isolation: " in found.err and "This is not for marks." in found.err
    rows = table(folder / "a.csv")
    assert rows["ada"]["earned"] == "11" and rows["bo"]["earned"] == "0"
    assert "Graded without isolation, with seed" in (folder / "pages/ada.html").read_text()
    assert __main__.main([str(one) for one in args]) == 0 and len(lines(folder / "out.jsonl")) == 2


def test_grade_names_strangers(folder, grade):
    save(folder / "class/zoe/hw.ipynb", notebook(LOGLIK, TABLE))
    found = grade(folder / "class", "--roster", folder / "roster.txt")
    assert found.code == 1 and "Not on the roster: zoe." in found.err and "zoe" in found.out


def table(path):
    with open(path, newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_grade_tells_four_states(folder, grade):
    """Not submitted, no notebook, unreadable, function missing."""
    save(folder / "class/bo/hw.ipynb", notebook("def my_loglik(x, p):\n    return x"))
    os.remove(folder / "class/cy/hw.ipynb")
    save(folder / "class/cy/essay.pdf", b"%PDF")
    with zipfile.ZipFile(folder / "moodle.zip", "w") as archive:
        for path in (folder / "class").rglob("*.*"):
            archive.write(path, path.relative_to(folder / "class"))
    for paths in (folder / "class", folder / "moodle.zip"):
        found = grade(paths, "--roster", folder / "roster.txt", "--json", folder / "a.json", "--html", folder / "pages")
        records = {record["student"]: record["reports"][1] for record in json.loads((folder / "a.json").read_text())}
        assert {name: report["state"] for name, report in records.items()} == {
            "ada": "right", "bo": "missing", "cy": "no_notebook", "di": "unreadable", "eve": "not_submitted"}
        assert found.code == 1 and len({report["message"] for report in records.values()}) == 5
        assert re.search("^di .* could not be read$", found.out, re.M) and re.search("^eve .* not submitted$", found.out, re.M)
        assert (folder / "pages/cy.html").read_text().count("no notebook in the submission") == 1


def test_grade_failure_is_in_every_table(folder, grade, monkeypatch):
    real = graders.grade_with
    monkeypatch.setattr(graders, "grade_with", lambda worker, item, *rest:
                        "the worker has gone" if item.student == "bo" else real(worker, item, *rest))
    args = (folder / "class", "--out", folder / "out.jsonl", "--roster", folder / "roster.txt", "--csv", folder / "a.csv",
            "--html", folder / "pages", "--gradescope", folder / "scope")
    found = grade(*args)
    assert found.code == 1 and "Not graded" in found.err and "the worker has gone" in found.err
    rows = table(folder / "a.csv")
    assert sorted(rows) == ["ada", "bo", "cy", "di", "eve"]
    assert (rows["bo"]["earned"], rows["bo"]["possible"], rows["bo"]["conditional_table state"]) == ("0", "11", "not_graded")
    assert "Not graded: the worker has gone" in rows["bo"]["notes"]
    assert "not graded" in (folder / "pages/bo.html").read_text() and (folder / "scope/bo/results.json").exists()
    assert sorted(line["student"] for line in lines(folder / "out.jsonl")) == ["ada", "cy", "di", "eve"]
    monkeypatch.setattr(graders, "grade_with", real)
    assert grade(*args).code == 1 and table(folder / "a.csv")["bo"]["earned"] == "11"


def test_grade_stopped_writes_results(folder, grade, monkeypatch):
    real = graders.grade_with

    def stop_at_bo(worker, item, *rest):
        if item.student == "bo":
            raise KeyboardInterrupt
        return real(worker, item, *rest)

    monkeypatch.setattr(graders, "grade_with", stop_at_bo)
    found = grade(folder / "class", "--out", folder / "out.jsonl", "--csv", folder / "a.csv")
    rows = table(folder / "a.csv")
    assert found.code == 130 and "continues from here" in found.err
    assert [rows[name]["conditional_table state"] for name in ("ada", "bo", "cy", "di")] == ["right", *["not_graded"] * 3]
    assert [line["student"] for line in lines(folder / "out.jsonl")] == ["ada"]


@pytest.mark.parametrize("args, words", [
    (["grade"], "PATH"), (["grade", "x", "--exercises", "y", "--shard", "3/2"], "3/2"), (["grade", "x", "--jobs", "0"], "at least 1"),
    (["grade", "x", "--seed", "-1"], "seed"), (["frobnicate"], "invalid choice"), ([], "VERB")])
def test_grade_wrong_command(args, words, capsys):
    with pytest.raises(SystemExit) as problem:
        __main__.main(args)
    assert problem.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize("args, words", [
    (["class", "--feedback", "back.zip"], "needs the submissions under the names"), (["class", "--exercises", "conditional_tables"], "did you mean conditional_table"),
    (["class", "--roster", "no-such-roster"], "no-such-roster"), (["class", "gone/01-ada.ipynb"], "there is no .*01-ada.ipynb"), (["empty"], "no notebook in"),
    (["class", "--roster", "other.txt"], "no notebook belongs to a student of the roster"), (["class", "--moodle", "x.csv"], "has no header"),
    (["class", "--marks", "marks.toml"], "needs a student and a reason"), (["class", "--update", "other.txt"], "holds no marks")])
def test_grade_refuses_before_grading(folder, grade, monkeypatch, args, words):
    monkeypatch.setattr(graders, "grade_file", lambda *_: pytest.fail("graded"))
    monkeypatch.chdir(folder)
    save(folder / "empty/notes.txt", "x")
    save(folder / "other.txt", "xi\nyo\n")
    save(folder / "marks.toml", "[[mark]]\nstudent = 'ada'\nadd = 1\n")
    found = grade(*args, "--out", folder / "out.jsonl")
    assert found.code == 2 and re.search(words, found.err) and not found.out and not (folder / "out.jsonl").exists()


def test_grade_marks_and_update(folder, grade):
    """Bo gets two points; then Ada hands in half of it."""
    marks = save(folder / "marks.toml", '[[mark]]\nstudent = "bo"\nadd = 2\nreason = "a good question"\n')
    args = (folder / "class/ada", folder / "class/bo", "--marks", marks, "--json", folder / "marks.json", "--seed", 1)
    assert grade(*args, "--csv", folder / "a.csv").code == 0
    assert {name: (row["earned"], row["mark"]) for name, row in table(folder / "a.csv").items()} == {"ada": ("11", "11"), "bo": ("11", "13")}
    save(folder / "class/ada/hw.ipynb", notebook(LOGLIK))
    save(marks, "")
    found = grade(*args, "--update", folder / "marks.json")
    assert "ada: conditional_table 5 -> 0: " in found.err and ": another file\n" in found.err
    assert "ada: mark 11 -> 6\n" in found.err and "bo: mark 13 -> 11\n" in found.err


def test_list(capsys):
    assert __main__.main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"\b{name}\b", listed) for name in EXERCISES)


def everywhere(grade, folder, *paths, unread=False):
    """The marks of each student as each report has them: points and those that can be earned."""
    out = folder / "marks"
    found = grade(*paths, "--csv", out / "a.csv", "--json", out / "a.json", "--gradescope", out / "scope", "--html", out / "pages")
    assert found.code == bool(unread), found.err
    tables = [{name: (int(row["earned"]), int(row["possible"])) for name, row in table(out / "a.csv").items()},
              {one["student"]: (one["earned"], one["possible"]) for one in json.loads((out / "a.json").read_text())}, {}, {}]
    for name in tables[0]:
        scope = json.loads((out / "scope" / name / "results.json").read_text())
        tables[2][name] = scope["score"], sum(one["max_score"] for one in scope["tests"])
        tables[3][name] = tuple(map(int, re.search(r"<h1>.*: (\d+) of (\d+) points</h1>", (
            out / "pages" / f"{name}.html").read_text()).groups()))
    assert tables[0] == tables[1] == tables[2] == tables[3]
    return tables[0], found


def test_grade_counts_copies_once(folder, grade):
    """Half an answer handed in twice is half an answer; of a wrong and a right one the right one counts."""
    for name in ("a", "b"):
        save(folder / f"copies/ada/{name}.ipynb", notebook(LOGLIK))
    save(folder / "copies/bo/1.ipynb", notebook(WRONG, TABLE))
    save(folder / "copies/bo/2.ipynb", notebook(LOGLIK))
    save(folder / "copies/cy/hw.ipynb", notebook(LOGLIK, TABLE))
    marks, found = everywhere(grade, folder, folder / "copies")
    assert marks == {"ada": (6, 11), "bo": (11, 11), "cy": (11, 11)}
    assert "3 students" in found.out and "ada: Handed in more than once" in found.err
    rows = table(folder / "marks/a.csv")
    assert "bernoulli_chain_loglik (0 of 6 in 1.ipynb; 6 of 6 in 2.ipynb, which counts)." in rows["bo"]["notes"]
    assert "more than once" not in rows["cy"]["notes"] and "cy: " not in found.err
    assert rows["bo"]["file"] == "1.ipynb; 2.ipynb" and "Handed in more than once" in (folder / "marks/pages/ada.html").read_text()


def test_grade_zip_and_script(folder, grade):
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("ada/hw.ipynb", json.dumps(notebook(LOGLIK, TABLE)))
        archive.writestr("bo/hw.py", f"{LOGLIK}\n{TABLE}")
        archive.writestr("cy/hw.zip", b"no archive")
    marks, found = everywhere(grade, folder, folder / "all.zip", unread=True)
    assert marks == {"ada": (11, 11), "bo": (11, 11), "cy": (0, 11)}
    assert "The archive cannot be read" in table(folder / "marks/a.csv")["cy"]["notes"]


def run_alone(folder, worker, monkeypatch, capsys, *args):
    """The command without --exercises."""
    monkeypatch.setattr(worker, "close", lambda: None)
    monkeypatch.setattr(sandbox, "Worker", lambda *_: worker)
    capsys.readouterr()
    code = __main__.main(["grade", *map(str, args), "--csv", str(folder / "a.csv")])
    return code, table(folder / "a.csv") if code < 2 else {}, capsys.readouterr().err


def test_grade_chapter_by_number(folder, worker, monkeypatch, capsys):
    save(folder / "set/ada/hw.ipynb", notebook(TABLE, exercises=()))
    save(folder / "set/bo/24-bert.ipynb", notebook("x = 1", exercises=["mlm_mask"]))
    code, rows, err = run_alone(folder, worker, monkeypatch, capsys, folder / "set", "--chapter", "1")
    assert "Graded as chapter chain-rule." in err
    whole = str(sum(one.possible for one in of_chapter("chain-rule")))
    assert code == 0 and (rows["ada"]["earned"], rows["ada"]["possible"], rows["ada"]["notes"]) == ("5", whole, "")
    assert rows["bo"]["possible"] == whole
    assert "of chapter chain-rule; its name says chapter bert." in rows["bo"]["notes"]
    code, _, err = run_alone(folder, worker, monkeypatch, capsys, folder / "set", "--chapter", "1,99")
    assert code == 2 and "there is no chapter '99'; expected a number from 1 to 28, or one of chain-rule, " in err
    with pytest.raises(SystemExit):
        __main__.main(["grade", "x", "--chapter", "1", "--exercises", "attention"])


def test_help_fits_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        __main__.main(["grade", "--help"])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80 and len(text.splitlines()) <= 28 and "exit status" in text


def test_grade_as_program_with_jobs(folder):
    environment = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}
    run = subprocess.run([sys.executable, "-m", "course_lib.grading", "grade", str(folder / "class"), "--jobs", "2", "--exercises",
                          ",".join(IDS), "--roster", str(folder / "roster.txt")], capture_output=True, text=True, env=environment, timeout=120,
                         cwd=Path(__file__).parents[3])
    assert run.returncode == 1, run.stderr
    assert "5 students, mean score 40%" in run.stdout and "4/4" in run.stderr and "grading" in run.stderr


@pytest.mark.parametrize("way", ["a clone", *(pytest.param(way, marks=pytest.mark.thorough) for way in ("installed", "course-grader"))])
def test_grade_imports_nothing_from_current_folder(tmp_path, way):
    """Files among the submissions that are called as any module of Python's, or as one that the grader imports."""
    package = Path(__file__).parents[3]
    for name in {*sys.stdlib_module_names, "torch", "numpy", "tqdm", "einops", "course_lib" * (way == "course-grader")} - {"runpy", ""}:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\nraise SystemExit(9)\n")
    environment, module = {**os.environ, "PYTHONPATH": str(package)}, "course_lib.grading"
    if way == "a clone":
        os.symlink(package / "course_lib", tmp_path / "course_lib")
        del environment["PYTHONPATH"]
    code = f"import sys; sys.path.insert(0, {str(package)!r}); sys.path.remove(''); from course_lib.grading.__main__ import command; command()"
    start = ["-c", code] if way == "course-grader" else ["-m", module]
    run = subprocess.run([sys.executable, *start, "grade", "none.ipynb", "--chapter", "1"], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=100)
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
    assert "there is no none.ipynb" in run.stderr, run


def test_messages_hold_no_control_characters(folder, grade):
    name = "class/bo/\x1b[2J\u202egnp.txt"
    save(folder / name, b"x")
    save(folder / "class/\x1b[2J.txt", b"x")
    found = grade(folder / "class")
    assert "Passed over" in found.err and "\x1b" not in found.err + found.out
    assert "\x1b" not in grade(folder / "class", folder / "\x1b[2Jno.ipynb").err


def test_tables_hold_short_cells():
    """Cells that Python's csv and spreadsheets read, and no formula by a sign of full width."""
    [[long, formula]] = csv.reader([to_csv([["y" * 900_000, "\uff1dHYPERLINK(1)"]])])
    assert len(long) < 33_000 and formula.startswith("'")
    assert len(empty_report(EXERCISES[IDS[0]], "error", "y" * 900_000).message) < 33_000
