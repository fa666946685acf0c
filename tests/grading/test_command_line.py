"""`python -m course_lib.grading` as an instructor uses it."""
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from course_lib.grading import __main__, judges, sandbox
from course_lib.grading.bank import EXERCISES
from tests.grading.submissions import IDS, LOGLIK, TABLE, notebook, save

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


def test_a_class_with_everything(folder, grade):
    found = grade(folder / "class", "--roster", folder / "roster.txt", "--seed", 6, "--out", folder / "out.jsonl", "--csv",
                  folder / "marks.csv", "--gradescope", folder / "scope", "--html", folder / "pages")
    assert found.code == 0 and "5 submissions, mean score" in found.out
    records = {line["student"]: line for line in lines(folder / "out.jsonl")}
    assert {name: line["score"] for name, line in records.items()} == {"ada": 1, "bo": 1, "cy": 0, "di": 0, "eve": 0}
    assert {line["seed"] for line in records.values()} == {6}
    states = {name: [report["state"] for report in line["reports"]] for name, line in records.items()}
    assert states["cy"] == ["wrong_value", "not_attempted"] and states["eve"] == ["missing", "missing"]
    assert records["cy"]["reports"][0]["misconception"] == "not_logged"
    assert records["di"]["notes"] and "no notebook" in records["di"]["notes"][0]
    assert (folder / "marks.csv").read_text().count("\n") == 6
    assert sorted(path.name for path in (folder / "pages").iterdir()) == [f"{name}.html" for name in sorted(records)]
    for name, record in records.items():
        assert json.loads((folder / "scope" / name / "results.json").read_text())["score"] == record["earned"]
    assert "The package itself holds the references" in found.err


def test_every_record_says_how_isolated_it_was(folder, grade, worker):
    found = grade(folder / "class/ada/hw.ipynb", "--out", folder / "out.jsonl")
    assert lines(folder / "out.jsonl")[0]["isolation"] == worker.level and worker.level in found.out
    assert ("Graded without isolation" in found.err) == (worker.level != "bubblewrap")


def test_what_was_graded_is_not_graded_again(folder, grade, monkeypatch):
    args = (folder / "class", "--out", folder / "out.jsonl", "--roster", folder / "roster.txt", "--csv", folder / "a.csv")
    grade(*args)
    before, table = (folder / "out.jsonl").read_bytes(), (folder / "a.csv").read_text()

    def never(*_):
        raise AssertionError("graded again")

    monkeypatch.setattr(judges, "grade_file", never)
    found = grade(*args)
    assert found.code == 0 and (folder / "out.jsonl").read_bytes() == before
    assert (folder / "a.csv").read_text() == table                              # the seed of the first run included


def test_two_runs_over_two_folders_keep_students_with_the_same_file_apart(folder, grade):
    for name in ("ada", "bo"):
        grade(folder / "class" / name / "hw.ipynb", "--out", folder / "out.jsonl")
    assert len(lines(folder / "out.jsonl")) == 2


def test_shards_cover_the_class_and_the_roster_once(folder, grade):
    for i in (1, 2, 3):
        assert grade(folder / "class", "--roster", folder / "roster.txt", "--shard", f"{i}/3", "--out",
                     folder / f"{i}.jsonl").code == 0
    found = [line["student"] for i in (1, 2, 3) for line in lines(folder / f"{i}.jsonl")]
    assert sorted(found) == ["ada", "bo", "cy", "di", "eve"]


def test_a_student_who_is_not_on_the_roster_is_graded_and_named(folder, grade):
    save(folder / "class/zoe/hw.ipynb", notebook(LOGLIK, TABLE))
    found = grade(folder / "class", "--roster", folder / "roster.txt")
    assert found.code == 0 and "Not on the roster: zoe." in found.err and "zoe" in found.out


def test_a_missing_path_is_a_submission_that_cannot_be_read(folder, grade):
    found = grade(folder / "gone" / "01-ada.ipynb")
    assert found.code == 0 and "could not be read" in found.out


def test_an_empty_folder_says_so(folder, grade):
    (folder / "empty").mkdir()
    assert "No submission was found." in grade(folder / "empty").out


def test_what_could_not_be_graded_shows_in_the_exit_code(folder, grade, monkeypatch):
    monkeypatch.setattr(judges, "grade_with", lambda worker, item, *_: "the worker has gone")
    found = grade(folder / "class/ada/hw.ipynb")
    assert found.code == 1 and "Not graded" in found.err and "the worker has gone" in found.err


def test_without_isolation_it_says_so_or_refuses(folder, limited, monkeypatch, capsys):
    monkeypatch.setattr(sandbox.shutil, "which", lambda _: None)
    assert __main__.main(["grade", str(folder / "class"), "--require-isolation"]) == 2
    assert "isolation was required" in capsys.readouterr().err


@pytest.mark.parametrize("args, words", [
    (["grade"], "PATH"), (["grade", "x", "--shard", "3/2"], "3/2"), (["grade", "x", "--jobs", "0"], "at least 1"),
    (["grade", "x", "--seed", "-1"], "seed"), (["frobnicate"], "invalid choice"), ([], "VERB")])
def test_a_wrong_command_is_explained(args, words, capsys):
    with pytest.raises(SystemExit) as problem:
        __main__.main(args)
    assert problem.value.code == 2 and words in capsys.readouterr().err


def test_an_exercise_that_does_not_exist_is_explained(folder, grade):
    found = grade(folder / "class", "--exercises", "conditional_tables")
    assert found.code == 2 and "did you mean conditional_table" in found.err


def test_what_is_asked_for_counts_whether_it_is_there_or_not(folder, grade):
    save(folder / "class/ada/hw.ipynb", notebook(LOGLIK))
    found = grade(folder / "class/ada/hw.ipynb", "--exercises", "bernoulli_chain_loglik,find_leaks", "--out", folder / "a.jsonl")
    [record] = lines(folder / "a.jsonl")
    assert found.code == 0 and [report["state"] for report in record["reports"]] == ["right", "missing"]
    assert (record["earned"], record["possible"]) == (6, 11)


def test_an_unreadable_roster_is_explained(folder, grade):
    found = grade(folder / "class", "--roster", folder / "no-such-roster")
    assert found.code == 2 and "no-such-roster" in found.err


def test_list_and_show(capsys):
    assert __main__.main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"\b{name}\b", listed) for name in EXERCISES)
    assert __main__.main(["show", "find_leaks"]) == 0
    assert EXERCISES["find_leaks"].title in capsys.readouterr().out
    assert __main__.main(["show", "find_leak"]) == 2
    assert "did you mean find_leaks" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["build", "release", "export"])
def test_the_other_verbs_pass_their_arguments_on(verb, monkeypatch):
    seen = []
    module = types.SimpleNamespace(add_arguments=lambda parser: parser.add_argument("--to"),
                                   run=lambda args: seen.append(args.to) or 3)
    monkeypatch.setattr(__main__, "import_module", lambda name: module if name.endswith(f"notebooks.{verb}") else None)
    assert __main__.main([verb, "--to", "x"]) == 3 and __main__.main([verb]) == 3
    assert seen == ["x", None]


def test_help_says_that_the_references_are_open(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["grade", "--help"])
    assert "itself holds the references" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_as_a_program_with_two_jobs_and_a_progress_bar(folder):
    environment = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}
    run = subprocess.run([sys.executable, "-m", "course_lib.grading", "grade", str(folder / "class"), "--jobs", "2", "--exercises",
                          ",".join(IDS), "--roster", str(folder / "roster.txt")], capture_output=True, text=True, env=environment, timeout=120,
                         cwd=Path(__file__).parents[2])
    assert run.returncode == 0, run.stderr
    assert "5 submissions, mean score 40%" in run.stdout and "4/4" in run.stderr and "grading" in run.stderr
