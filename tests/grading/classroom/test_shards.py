"""Shares of a class, put together: the same files byte for byte as one run; what is missing, doubled or unfinished is named."""
import hashlib
import json
import os
import signal
from pathlib import Path

import pytest

from course_lib.grading import __main__
from course_lib.grading.classroom import classroom
from course_lib.grading.classroom import run as run_module
from course_lib.grading.classroom.submission import Graded, empty, version
from course_lib.grading.sandbox import sandbox
from tests.grading.submissions import ASKED, IDS, LOGLIK, notebook, save

N = 3
STUDENTS = ["ada", "bo", "cy", "di", "eve", "fay", "gil"]


def judged(item, seed, exercises):
    """A record for these tests: nothing is run, and nothing is parsed."""
    data = Path(item.path).read_bytes()
    broken = ["This is not a notebook."] * (data == b"{")
    chosen = exercises or ([] if broken else ASKED)
    digest = hashlib.sha256(data).hexdigest()
    reports = [empty(one, "unreadable" if broken else "wrong_value", digest[:6], seed) for one in chosen]
    return Graded(item.student, item.path, digest, version(chosen), "limits", seed, reports=reports, notes=broken)


def judging(judge=judged):
    """In the place of all judges."""
    return lambda todo, seed, workers, exercises: ((item, judge(item, seed, exercises)) for item in todo)


class NoWorker:
    """In the place of a worker: there is nothing to run."""

    level, why, control = "limits", "a test", None

    def __init__(self, *_):
        pass

    def close(self):
        pass


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

    def command(*args, exercises=True):
        capsys.readouterr()
        verb, *rest = map(str, args)
        asked = ["--exercises", ",".join(IDS)] if verb == "grade" and exercises else []
        return __main__.main([verb, *rest, *asked]), capsys.readouterr()

    return command


def shares(run, folder, **options):
    """The logs of all shares."""
    for i in range(1, N + 1):
        assert run("grade", folder / "class", "--roster", folder / "roster.txt", "--seed", 5, "--shard", f"{i}/{N}", "--out",
                   folder / f"{i}.jsonl", **options)[0] == 0
    return [folder / f"{i}.jsonl" for i in range(1, N + 1)]


@pytest.mark.parametrize("exercises", [True, False])
def test_the_whole_is_what_one_run_gives_byte_for_byte(run, tmp_path, exercises):
    logs = shares(run, tmp_path, exercises=exercises)
    save(tmp_path / "class.toml", '[deadlines]\n"1" = 2000-01-01T00:00:00Z\n[late]\npenalty = 1\n')
    rules = ["--rules", tmp_path / "class.toml"] if exercises else []
    whole = run("grade", tmp_path / "class", "--roster", tmp_path / "roster.txt", "--seed", 5, "--csv", tmp_path / "a.csv", "--json",
                tmp_path / "a.json", "--report", tmp_path / "a", *rules, exercises=exercises)
    again = run("merge", *reversed(logs), "--csv", tmp_path / "b.csv", "--json", tmp_path / "b.json", "--report", tmp_path / "b", *rules)
    assert whole[0] == again[0] == 0 and whole[1].out == again[1].out
    for one in ("a.csv", "a.json", "a/index.html", "a/class.csv"):
        assert (tmp_path / one).read_bytes() == (tmp_path / one.replace("a", "b", 1)).read_bytes(), one
    assert (tmp_path / "a.csv").read_text().count("\n") == len(STUDENTS) + 4 + 1


@pytest.mark.parametrize("which, words", [
    ((0, 2), "of 3 shares 2 is missing"), ((1,), "of 3 shares 1, 3 are missing"), ((0, 1, 2, 1), "share 2 is there 2 times: ")])
def test_missing_and_doubled_shares_are_named(run, tmp_path, which, words):
    logs = shares(run, tmp_path)
    code, said = run("merge", *(logs[i] for i in which), "--csv", tmp_path / "b.csv")
    assert code == 2 and words in said.err and not (tmp_path / "b.csv").exists()
    if "times" in words:
        assert said.err.count("2.jsonl") == 2


def test_a_share_that_was_stopped_or_lost_a_line_is_named(run, tmp_path, monkeypatch):
    logs = shares(run, tmp_path)
    whole = logs[1].read_bytes()
    logs[1].write_bytes(b"".join(line for line in whole.splitlines(True) if line.startswith(b'{"part"') or b"/eve/" not in line))
    code, said = run("merge", *logs)
    assert code == 2 and "2.jsonl lacks the record of" in said.err and "eve" in said.err
    logs[1].write_bytes(whole)
    monkeypatch.setattr(run_module, "grade_all", judging(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)))
    save(tmp_path / "class/eve/hw.ipynb", notebook(LOGLIK))                  # its share is stopped before its end
    assert run("grade", tmp_path / "class", "--roster", tmp_path / "roster.txt", "--seed", 5, "--shard", "2/3", "--out", logs[1])[0] == 130
    code, said = run("merge", *logs)
    assert code == 2 and "2.jsonl holds no finished run" in said.err


def test_shares_of_two_classes_are_told_apart(run, tmp_path):
    logs = shares(run, tmp_path)
    save(tmp_path / "class/new/hw.ipynb", notebook(LOGLIK))
    assert run("grade", tmp_path / "class", "--roster", tmp_path / "roster.txt", "--shard", "3/3", "--out", logs[2])[0] == 0
    code, said = run("merge", *logs)
    assert code == 2 and "3.jsonl" in said.err and "different classes" in said.err
    assert run("grade", tmp_path / "class", "--shard", "1/2", "--out", tmp_path / "half.jsonl")[0] == 0
    code, said = run("merge", logs[0], tmp_path / "half.jsonl")
    assert code == 2 and "share 1 of 2" in said.err


def test_what_could_not_be_graded_stays_a_row(run, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "grade_all", judging(
        lambda item, *rest: "the worker has gone" if item.student == "cy" else judged(item, *rest)))
    for i in range(1, N + 1):
        run("grade", tmp_path / "class", "--seed", 5, "--shard", f"{i}/{N}", "--out", tmp_path / f"{i}.jsonl")
    whole = run("grade", tmp_path / "class", "--seed", 5, "--csv", tmp_path / "a.csv")
    again = run("merge", *(tmp_path / f"{i}.jsonl" for i in range(1, N + 1)), "--csv", tmp_path / "b.csv")
    assert whole[0] == again[0] == 1 and "the worker has gone" in again[1].err
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_log_of_no_share_and_no_log(run, tmp_path):
    run("grade", tmp_path / "class", "--out", tmp_path / "one.jsonl")
    assert "part" not in {key for line in (tmp_path / "one.jsonl").read_text().splitlines() for key in json.loads(line)}
    for path in (tmp_path / "one.jsonl", save(tmp_path / "no.jsonl", "{\n[]\n3\n")):
        code, said = run("merge", path)
        assert code == 2 and "holds no finished run" in said.err
    assert run("merge", tmp_path / "gone.jsonl")[0] == 2


def test_different_seeds_are_said(run, tmp_path):
    logs = shares(run, tmp_path)
    run("grade", tmp_path / "class", "--roster", tmp_path / "roster.txt", "--seed", 6, "--shard", "3/3", "--out", save(tmp_path / "o.jsonl", ""))
    code, said = run("merge", *logs[:2], tmp_path / "o.jsonl")
    assert code == 0 and "graded with 2 seeds" in said.err


@pytest.mark.slow
def test_a_cluster_gives_what_one_machine_gives_and_loses_nothing_with_a_worker(tmp_path, worker, monkeypatch, capsys):
    """Two workers, one killed while it works: each submission once, and the same table byte for byte."""
    distributed = pytest.importorskip("distributed")
    for i in range(6):
        save(tmp_path / f"class/s{i}/hw.ipynb", notebook(LOGLIK.replace("sum", "mean" if i % 2 else "sum") + f"\n# {i}"))
    args = ["grade", str(tmp_path / "class"), "--seed", "5", "--exercises", IDS[0]]
    monkeypatch.setattr(worker, "close", lambda: None)
    monkeypatch.setattr(sandbox, "Worker", lambda *_: worker)
    assert __main__.main([*args, "--csv", str(tmp_path / "a.csv")]) == 0
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    real = classroom.Ledger.add
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as cluster:
        nannies = list(cluster.workers.values())
        for nanny in nannies:
            nanny.auto_restart = False

        def kill_one(ledger, record, path):
            if not ledger.done:
                os.kill(nannies[0].pid, signal.SIGKILL)
            real(ledger, record, path)

        monkeypatch.setattr(classroom.Ledger, "add", kill_one)
        assert __main__.main([*args, "--csv", str(tmp_path / "b.csv"), "--out", str(tmp_path / "b.jsonl"), "--dask",
                              cluster.scheduler_address]) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    lines = [json.loads(line)["student"] for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert sorted(lines) == [f"s{i}" for i in range(6)]

