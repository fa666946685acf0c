"""`python -m course_lib.grading` as an instructor uses it."""
import csv
import json
import os
import re
import shutil
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
        monkeypatch.setattr(sandbox, "Worker", lambda *_: worker)
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
    assert "The package itself holds the references" in found.err


def test_grade_records_isolation(folder, grade, worker):
    found = grade(folder / "class/ada/hw.ipynb", "--out", folder / "out.jsonl")
    assert lines(folder / "out.jsonl")[0]["isolation"] == worker.level and worker.level in found.out
    assert ("Graded without isolation" in found.err) == (worker.level not in sandbox.ISOLATED)


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


def test_grade_ignores_unisolated_records(folder, grade, worker, limited, monkeypatch):
    if worker.level not in sandbox.ISOLATED:
        pytest.skip(f"needs bubblewrap's sandbox; here: {worker.why}")
    monkeypatch.setattr(limited, "close", lambda: None)
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "Worker", lambda *_: limited)
        assert __main__.main(["grade", str(folder / "class"), "--exercises", ",".join(IDS), "--roster",
                              str(folder / "roster.txt"), "--out", str(folder / "out.jsonl")]) == 1
    args = (folder / "class", "--out", folder / "out.jsonl", "--roster", folder / "roster.txt", "--csv", folder / "a.csv")
    found = grade(*args, "--require-isolation")
    rows = (folder / "a.csv").read_text().splitlines()
    assert found.code == 1 and "Graded without isolation" not in found.err
    assert [row.split(",")[3].strip('"') for row in rows] == ["isolation", *[worker.level] * 4, ""]
    assert [line["isolation"] for line in lines(folder / "out.jsonl")] == [*["limits"] * 4, "", *[worker.level] * 4]
    monkeypatch.setattr(graders, "grade_file", lambda *_: pytest.fail("graded again"))
    assert grade(*args).code == grade(*args, "--require-isolation").code == 1
    assert (folder / "a.csv").read_text().splitlines() == rows             # the best that there is, in either case


def test_grade_two_folders_with_one_log(folder, grade):
    for name in ("ada", "bo"):
        grade(folder / "class" / name / "hw.ipynb", "--out", folder / "out.jsonl")
    assert len(lines(folder / "out.jsonl")) == 2


def test_grade_names_strangers(folder, grade):
    save(folder / "class/zoe/hw.ipynb", notebook(LOGLIK, TABLE))
    found = grade(folder / "class", "--roster", folder / "roster.txt")
    assert found.code == 1 and "Not on the roster: zoe." in found.err and "zoe" in found.out


def test_grade_missing_path(folder, grade):
    found = grade(folder / "class", folder / "gone" / "01-ada.ipynb", "--csv", folder / "a.csv")
    assert found.code == 2 and "there is no" in found.err and "01-ada.ipynb" in found.err
    assert not found.out and not (folder / "a.csv").exists()


def test_grade_folder_without_notebook(folder, grade):
    save(folder / "empty/notes.txt", "x")
    found = grade(folder / "empty")
    assert found.code == 2 and "no notebook in" in found.err and not found.out


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


def test_grade_without_isolation(folder, limited, monkeypatch, capsys):
    monkeypatch.setattr(sandbox.shutil, "which", lambda _: None)
    assert __main__.main(["grade", str(folder / "class"), "--require-isolation", "--chapter", "1"]) == 2
    assert "isolation was required" in capsys.readouterr().err


@pytest.mark.parametrize("args, words", [
    (["grade"], "PATH"), (["grade", "x", "--exercises", "y", "--shard", "3/2"], "3/2"), (["grade", "x", "--jobs", "0"], "at least 1"),
    (["grade", "x", "--seed", "-1"], "seed"), (["frobnicate"], "invalid choice"), ([], "VERB")])
def test_grade_wrong_command(args, words, capsys):
    with pytest.raises(SystemExit) as problem:
        __main__.main(args)
    assert problem.value.code == 2 and words in capsys.readouterr().err


def test_grade_marks_and_update(folder, grade):
    """Bo gets two points; then Ada hands in half of it."""
    pytest.importorskip("tomllib")
    marks = save(folder / "marks.toml", '[[mark]]\nstudent = "bo"\nadd = 2\nreason = "a good question"\n')
    args = (folder / "class/ada", folder / "class/bo", "--marks", marks, "--json", folder / "marks.json", "--seed", 1)
    assert grade(*args, "--csv", folder / "a.csv").code == 0
    assert {name: (row["earned"], row["mark"]) for name, row in table(folder / "a.csv").items()} == {"ada": ("11", "11"), "bo": ("11", "13")}
    save(folder / "class/ada/hw.ipynb", notebook(LOGLIK))
    save(marks, "")
    found = grade(*args, "--update", folder / "marks.json")
    assert "ada: conditional_table 5 -> 0: " in found.err and ": another file\n" in found.err
    assert "ada: mark 11 -> 6\n" in found.err and "bo: mark 13 -> 11\n" in found.err


@pytest.mark.parametrize("option, text, words", [
    ("--marks", "[[mark]]\nstudent = 'ada'\nadd = 1\n", "has no reason"), ("--update", "{}", "holds no marks"), ("--feedback", "", "needs the submissions under the names")])
def test_grade_invalid_option_file(folder, grade, monkeypatch, option, text, words):
    monkeypatch.setattr(graders, "grade_file", lambda *_: pytest.fail("graded"))
    found = grade(folder / "class", option, save(folder / "given", text), "--out", folder / "out.jsonl")
    assert found.code == 2 and words in found.err and not (folder / "out.jsonl").exists()


def test_grade_unknown_exercise(folder, grade):
    found = grade(folder / "class", "--exercises", "conditional_tables")
    assert found.code == 2 and "did you mean conditional_table" in found.err


def test_grade_requested_exercise_missing(folder, grade):
    save(folder / "class/ada/hw.ipynb", notebook(LOGLIK))
    found = grade(folder / "class/ada/hw.ipynb", "--exercises", "bernoulli_chain_loglik,find_leaks", "--out", folder / "a.jsonl")
    [record] = lines(folder / "a.jsonl")
    assert found.code == 0 and [report["state"] for report in record["reports"]] == ["right", "missing"]
    assert (record["earned"], record["possible"]) == (6, 11)


def test_grade_unreadable_roster(folder, grade):
    found = grade(folder / "class", "--roster", folder / "no-such-roster")
    assert found.code == 2 and "no-such-roster" in found.err


def test_list(capsys):
    assert __main__.main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"\b{name}\b", listed) for name in EXERCISES)


@pytest.mark.parametrize("verb", __main__.MAKERS)
def test_verbs_pass_arguments(verb, monkeypatch):
    seen = []
    module = types.SimpleNamespace(add_arguments=lambda parser: parser.add_argument("--to"),
                                   run=lambda args: seen.append(args.to) or 3)
    monkeypatch.setattr(__main__, "import_module", lambda name: module if name.endswith(f"assignments.{verb}") else None)
    assert __main__.main([verb, "--to", "x"]) == 3 and __main__.main([verb]) == 3
    assert seen == ["x", None]


def test_help_mentions_references(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["--help"])
    assert "itself holds the references" in " ".join(capsys.readouterr().out.split())


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


@pytest.mark.thorough
def test_grade_expanded_star(folder, grade):
    marks, _ = everywhere(grade, folder, folder / "class", unread=True)
    assert everywhere(grade, folder, *sorted((folder / "class").iterdir()), unread=True)[0] == marks
    assert list(marks) == ["ada", "bo", "cy", "di"] and marks["di"] == (0, 11)
    packed = shutil.make_archive(str(folder / "class"), "zip", folder, "class")
    assert everywhere(grade, folder, packed, unread=True)[0] == marks


def test_grade_zip_and_script(folder, grade):
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("ada/hw.ipynb", json.dumps(notebook(LOGLIK, TABLE)))
        archive.writestr("bo/hw.py", f"{LOGLIK}\n{TABLE}")
        archive.writestr("cy/hw.zip", b"no archive")
    marks, found = everywhere(grade, folder, folder / "all.zip", unread=True)
    assert marks == {"ada": (11, 11), "bo": (11, 11), "cy": (0, 11)}
    assert "The archive cannot be read" in table(folder / "marks/a.csv")["cy"]["notes"]


def test_grade_other_roster(folder, grade):
    found = grade(folder / "class", "--roster", save(folder / "other.txt", "xi\nyo\n"), "--out", folder / "out.jsonl")
    assert found.code == 2 and "no notebook belongs to a student of the roster" in found.err
    assert not (folder / "out.jsonl").exists()


def test_grade_needs_exercises(folder, capsys):
    with pytest.raises(SystemExit) as problem:
        __main__.main(["grade", str(folder / "class")])
    assert problem.value.code == 2 and "--chapter" in capsys.readouterr().err


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
    assert "of chapter chain-rule; its metadata say chapter bert and its name says chapter bert." in rows["bo"]["notes"]
    code, _, err = run_alone(folder, worker, monkeypatch, capsys, folder / "set", "--chapter", "1,99")
    assert code == 2 and "there is no chapter '99'; expected a number from 1 to 28, or one of chain-rule, " in err
    with pytest.raises(SystemExit):
        __main__.main(["grade", "x", "--chapter", "1", "--exercises", "attention"])


def test_help_fits_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    options = {}
    for name in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            __main__.main(["grade", name])
        text = capsys.readouterr().out
        options[name] = set(re.findall(r"^  (--[\w-]+)", text, re.M))
        assert max(map(len, text.splitlines())) <= 80 and "exit status" in text
        assert name == "--help-all" or len(text.splitlines()) <= 24
    assert options["--help"] < options["--help-all"] and "--seed" in options["--help-all"]


def test_grade_as_program_with_jobs(folder):
    environment = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}
    run = subprocess.run([sys.executable, "-m", "course_lib.grading", "grade", str(folder / "class"), "--jobs", "2", "--exercises",
                          ",".join(IDS), "--roster", str(folder / "roster.txt")], capture_output=True, text=True, env=environment, timeout=120,
                         cwd=Path(__file__).parents[3])
    assert run.returncode == 1, run.stderr
    assert "5 students, mean score 40%" in run.stdout and "4/4" in run.stderr and "grading" in run.stderr


def test_grade_output_survives_code_page(tmp_path):
    """A pipe on Windows is cp1252, which has no 王."""
    save(tmp_path / "class/王伟/hw.ipynb", notebook(LOGLIK))
    save(tmp_path / "roster.txt", "ada\n王伟\n")
    done = subprocess.run([sys.executable, "-m", "course_lib.grading", "grade", str(tmp_path / "class"), "--exercises", IDS[0], "--roster",
                           str(tmp_path / "roster.txt"), "--csv", str(tmp_path / "marks.csv")], capture_output=True,
                          env={**os.environ, "PYTHONIOENCODING": "cp1252"})
    assert done.returncode == 0, done.stderr.decode("cp1252")
    assert b"\\u738b\\u4f1f" in done.stdout and b"2 students, mean score" in done.stdout
    data = (tmp_path / "marks.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and "王伟" in data.decode("utf-8-sig")


def test_grade_tables_for_excel(folder, grade):
    save(folder / "class/Jürgen हिन्दी/hw.ipynb", notebook(LOGLIK))
    assert grade(folder / "class", "--csv", folder / "marks.csv", "--report", folder / "report").code == 1
    for path in (folder / "marks.csv", folder / "report/class.csv"):
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert "Jürgen हिन्दी" in table(folder / "marks.csv")


def test_grade_last_entry_of_a_name_counts(folder, grade):
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(folder / "class.zip", "w") as archive:
        for text in (WRONG, LOGLIK):
            archive.writestr("ada/hw.ipynb", json.dumps(notebook(text)))
    found = grade(folder / "class.zip", "--json", folder / "marks.json", "--exercises", IDS[0])
    [record] = json.loads((folder / "marks.json").read_text())
    assert record["score"] == 1 and "the last counts" in found.err and "the last counts" in " ".join(record["notes"])


def test_grade_columns(folder, grade):
    save(folder / "roster.csv", "Kürzel;Kurs\nada;1\nbo;1\n")
    assert "several columns" in grade(folder / "class", "--roster", folder / "roster.csv").err
    found = grade(folder / "class/ada", folder / "class/bo", "--roster", folder / "roster.csv", "--columns", "student=Kürzel")
    assert found.code == 0 and "2 students" in found.out


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


def test_program_is_installed():
    """course-grader, which Python starts without the current folder."""
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert f'course-grader = "{__main__.__name__}:command"' in text and callable(__main__.command)


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
