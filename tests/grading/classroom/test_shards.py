"""A class in shards: the same files, byte for byte, as of one run."""
import hashlib
import json
from pathlib import Path

import pytest

from course_lib.grading import __main__
from course_lib.grading.classroom import graders
from course_lib.grading.classroom import run as run_module
from course_lib.grading.classroom.collection import Submission
from course_lib.grading.classroom.grading import Graded, checks_version, empty_report
from course_lib.grading.sandbox import sandbox
from tests.grading.sample_submissions import ASKED, IDS, LOGLIK, notebook, save

N, SHARD_OF_DI = 3, 1           # the shard that grades di, whose file is broken
STUDENTS = ["ada", "bo", "cy", "di", "eve", "fay", "gil"]


def judged(item, task):
    """A record for these tests: nothing is run, and nothing is parsed."""
    data = Path(item.path).read_bytes()
    broken = ["This is not a notebook."] * (data == b"{")
    digest = hashlib.sha256(data).hexdigest()
    reports = [empty_report(one, "unreadable" if broken else "wrong_value", digest[:6], task.seed) for one in ASKED]
    return Graded(item.student, item.path, digest, checks_version(ASKED), "bubblewrap", task.seed, reports=reports, notes=broken)


def judging(judge=judged):
    """In the place of all judges."""
    return lambda todo, task, *_: ((item, judge(item, task)) for item in todo)


class NoWorker:
    """In the place of a worker: there is nothing to run."""

    level = "bubblewrap"

    def wait_ready(self):
        pass

    close = wait_ready


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command, with a judge that runs nothing; a class in which there is a broken file, a student with two, and absent ones."""
    monkeypatch.setattr(sandbox, "Worker", NoWorker)
    monkeypatch.setattr(run_module, "grade_all", judging())
    for i, name in enumerate(STUDENTS):
        save(tmp_path / f"class/{name}/hw.ipynb", notebook(LOGLIK + f"\n# {i}"))
    save(tmp_path / "class/bo/again.ipynb", notebook(LOGLIK + "\n# more"))
    save(tmp_path / "class/di/hw.ipynb", b"{")
    save(tmp_path / "roster.txt", "\n".join(["zoe", *STUDENTS, "yan", "xi", "wim"]))

    def command(*args):
        capsys.readouterr()
        verb, *rest = map(str, args)
        asked = ["--exercises", ",".join(IDS)] if verb == "grade" else []
        return __main__.main([verb, *rest, *asked]), capsys.readouterr()

    return command


def test_shard_logs_together_equal_one_run(run, tmp_path, monkeypatch):
    files = [text for one in ("csv", "json", "html") for text in (f"--{one}", f"out.{one}")]
    monkeypatch.chdir(tmp_path)
    whole = ["grade", tmp_path / "class", "--roster", tmp_path / "roster.txt", "--seed", 5]
    for i in range(1, N + 1):
        assert run(*whole, "--shard", f"{i}/{N}", "--out", f"{i}.jsonl")[0] == (i == SHARD_OF_DI)
    logs = [Path(f"{i}.jsonl").read_text() for i in range(N, 0, -1)]
    students = [{json.loads(line)["student"] for line in log.splitlines()} for log in logs]
    assert sorted(sum(map(list, students), [])) == sorted([*STUDENTS, "zoe", "yan", "xi", "wim"])      # each in one shard
    assert run(*whole, *files)[0] == 1
    before = {path: Path(path).read_bytes() for path in ("out.csv", "out.json", "out.html/ada.html")}
    assert before["out.csv"].count(b"\n") == len(STUDENTS) + 4 + 1
    monkeypatch.setattr(run_module, "grade_all", judging(lambda *_: pytest.fail("graded again")))
    log = save(tmp_path / "all.jsonl", "".join(logs))
    assert run(*whole[:-2], "--out", log, *files)[0] == 1            # the seed of the log
    assert {path: Path(path).read_bytes() for path in before} == before and log.read_text() == "".join(logs)


def test_shards_with_different_seeds(run, tmp_path):
    for i in (1, 2):
        run("grade", tmp_path / "class", "--shard", f"{i}/2", "--seed", i, "--out", tmp_path / f"{i}.jsonl")
    log = save(tmp_path / "all.jsonl", "".join((tmp_path / f"{i}.jsonl").read_text() for i in (1, 2)))
    code, said = run("grade", tmp_path / "class", "--out", log)
    assert code == 1 and "made with 2 seeds" in said.err


def test_student_has_a_budget(monkeypatch):
    """Of seconds and of notebooks; after it, no more of this student is graded, and the others are."""
    monkeypatch.setattr(graders, "grade_file", lambda path, worker, seed, student, *_, exercises: Graded(student, path, seconds=700.0))
    items = [Submission("ada", f"{i}.ipynb") for i in range(6)] + [Submission("bo", "bo.ipynb")]
    refused = {item.path: record for item, record in graders.grade_all(items, graders.Task(5, IDS), None) if isinstance(record, str)}
    assert sorted(refused) == ["3.ipynb", "4.ipynb", "5.ipynb"] and "took more than 1800 seconds together" in refused["3.ipynb"]
    monkeypatch.setattr(graders, "MOST", 2)
    refused = {item.path: record for item, record in graders.grade_all(items, graders.Task(5, IDS), None) if isinstance(record, str)}
    assert sorted(refused) == ["2.ipynb", "3.ipynb", "4.ipynb", "5.ipynb"] and "2 notebooks of this student" in refused["2.ipynb"]
