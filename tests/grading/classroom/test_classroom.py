"""Who handed in what, what was graded before, and a class graded by several graders at once."""
import json
import multiprocessing
import os
import signal
import time

import pytest

from course_lib.grading import __main__
from course_lib.grading.classroom import graders
from course_lib.grading.classroom.collection import Submission
from course_lib.grading.classroom.graders import Task, grade_all
from course_lib.grading.classroom.grading import grade_file
from course_lib.grading.classroom.results_log import ResultsLog
from course_lib.grading.sandbox import sandbox
from course_lib.grading.sandbox.sandbox import Worker
from tests.grading.sample_submissions import ASKED, IDS, LOGLIK, TABLE, notebook, save


def hand_in(folder, *names, cells=(LOGLIK, TABLE)):
    return [save(folder / name, notebook(*cells)) for name in names]


def test_log_drops_partial_line(tmp_path, worker):
    ada, bo = hand_in(tmp_path, "a/hw.ipynb", "b/hw.ipynb")
    out = tmp_path / "out.jsonl"
    first, second = Submission("ada", str(ada)), Submission("bo", str(bo))
    ledger = ResultsLog(str(out))
    assert ledger.find(first, ASKED) is None
    ledger.add(grade_file(ada, worker, 3, "ada", exercises=ASKED), str(ada))
    ledger.add(grade_file(ada, worker, 3, "ada", exercises=ASKED), str(ada))                      # the same again: no second line
    ledger.close()
    whole = out.read_bytes()
    assert whole.count(b"\n") == 1
    out.write_bytes(whole + whole[:100])                                         # killed while it wrote
    ledger = ResultsLog(str(out))
    found = ledger.find(first, ASKED)
    assert found.score == 1 and found.reports[0].checks and ledger.find(second, ASKED) is None
    assert ledger.find(Submission("eve", str(ada)), ASKED) is None                          # another student, the same file
    ledger.add(grade_file(bo, worker, 3, "bo", exercises=ASKED), str(bo))
    ledger.close()
    assert [json.loads(line)["student"] for line in out.read_text().splitlines()] == ["ada", "bo"]


def test_log_ignores_changed_file(tmp_path, worker, monkeypatch):
    [ada] = hand_in(tmp_path, "ada.ipynb")
    one = Submission("ada", str(ada))
    ledger = ResultsLog(str(tmp_path / "out.jsonl"))
    ledger.add(grade_file(ada, worker, 3, "ada", exercises=ASKED), str(ada))
    assert ledger.find(one, ASKED)
    with monkeypatch.context() as patch:
        patch.setattr("course_lib.grading.exercise.Exercise.version", "another")
        assert ledger.find(one, ASKED) is None
    save(ada, notebook(LOGLIK))
    assert ledger.find(one, ASKED) is None
    ledger.close()


def test_log_is_read_before_parsing(tmp_path, worker, monkeypatch):
    ada, bo = hand_in(tmp_path, "ada.ipynb", "bo.ipynb")
    ledger = ResultsLog(str(tmp_path / "out.jsonl"))
    ledger.add(grade_file(ada, worker, 3, "ada", exercises=ASKED), str(ada))
    monkeypatch.setattr("course_lib.grading.classroom.grading.read", lambda *_: pytest.fail("parsed"))
    assert ledger.find(Submission("ada", str(ada)), ASKED).score == 1
    assert ledger.find(Submission("bo", str(bo)), ASKED) is None
    ledger.close()


def test_log_keeps_unknown_lines(tmp_path):
    out = save(tmp_path / "out.jsonl", '{"other": 1}\nno json\n[]\n')
    ledger = ResultsLog(str(out))
    assert ledger.records == {}
    ledger.close()
    assert out.read_text() == '{"other": 1}\nno json\n[]\n'


def test_log_is_locked(tmp_path):
    ledger = ResultsLog(str(tmp_path / "out.jsonl"))
    with pytest.raises(RuntimeError, match="another run is writing"):
        ResultsLog(str(tmp_path / "out.jsonl"))
    ledger.close()
    ResultsLog(str(tmp_path / "out.jsonl")).close()


@pytest.mark.thorough
def test_grade_all_with_several_graders(tmp_path):
    wrong = LOGLIK.replace("p, 1 - p", "1 - p, p")
    paths = [save(tmp_path / f"s{i}.ipynb", notebook(wrong if i % 3 else LOGLIK, TABLE)) for i in range(6)]
    items = [Submission(path.stem, str(path)) for path in paths]
    found = {item.student: record for item, record in grade_all(items, Task(7, IDS), Worker(), jobs=2)}
    assert len(found) == 6
    for i in range(6):
        record = found[f"s{i}"]
        assert record.student == f"s{i}" and record.seed == 7
        assert [report.score for report in record.reports] == [0 if i % 3 else 1, 1]
        assert record.reports[0].misconception == ("swapped" if i % 3 else None)


@pytest.mark.thorough
def test_grade_all_replaces_dead_grader(tmp_path, monkeypatch):
    paths = hand_in(tmp_path, *(f"s{i}.ipynb" for i in range(4)))
    items = [Submission(path.stem, str(path)) for path in paths]
    mark = tmp_path / "died"
    real = graders.grade_with

    def fragile(worker, item, *rest):
        if item.student == "s1" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item.student == "s2":
            os._exit(9)
        return real(worker, item, *rest)

    monkeypatch.setattr(graders, "grade_with", fragile)
    found = {item.student: record for item, record in grade_all(items, Task(7, IDS), Worker(), jobs=2)}
    assert {name: record if isinstance(record, str) else record.score for name, record in found.items()} == {
        "s0": 1, "s1": 1, "s2": "the grader stopped", "s3": 1}


def grade_alone(args: list[str]) -> None:
    """The command in a session of its own, as a shell starts it. Forked: torch is imported already."""
    os.setsid()
    os._exit(__main__.main(args))


def wait_until_free(out) -> None:
    """The graders of a run that was killed die with it, and let go of its file: not in the same instant."""
    end = time.monotonic() + 20
    while True:
        try:
            return ResultsLog(str(out)).close()
        except RuntimeError:
            assert time.monotonic() < end, "what it had started is still there"
            time.sleep(0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, 2])
def test_run_resumes_after_kill(tmp_path, worker, monkeypatch, capsys, jobs):
    """Nothing is lost, nothing doubled; what it had started is gone."""
    slow = LOGLIK + "\nimport time\nquick = bernoulli_chain_loglik\ndef bernoulli_chain_loglik(x, p):\n" \
                    "    time.sleep(0.05)\n    return quick(x, p)\n"
    hand_in(tmp_path / "class", *(f"s{i}/hw.ipynb" for i in range(6)), cells=(slow, TABLE))
    out = tmp_path / "out.jsonl"
    args = ["grade", str(tmp_path / "class"), "--out", str(out), "--seed", "4", "--exercises", ",".join(IDS)]
    run = multiprocessing.get_context("fork").Process(target=grade_alone, args=([*args, "--jobs", str(jobs)],))
    run.start()
    end = time.monotonic() + 60
    while (not out.exists() or out.read_bytes().count(b"\n") < 2) and time.monotonic() < end:
        time.sleep(0.01)
    run.kill()
    run.join()
    wait_until_free(out)
    before = out.read_bytes().count(b"\n")
    assert 2 <= before < 6
    with open(out, "ab") as file:
        file.write(b'{"student": "s5", "pa')
    monkeypatch.setattr(worker, "close", lambda: None)
    monkeypatch.setattr(sandbox, "Worker", lambda: worker)
    capsys.readouterr()
    assert __main__.main(args) == 0, capsys.readouterr().err
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(line["student"] for line in lines) == [f"s{i}" for i in range(6)]
    assert all(line["score"] == 1 for line in lines) and "6 students, mean score 100%" in capsys.readouterr().out
