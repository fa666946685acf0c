"""Answers that hang, crash, cheat or are merely unlucky: each gets what it deserves, and touches no other."""
import json

import pytest
import torch

from course_lib.exercises import EXERCISES
from course_lib.grading.checks import Compare
from course_lib.grading.classroom.grading import grade_file
from course_lib.grading.protocol import calls
from course_lib.grading.protocol.calls import Outcome
from course_lib.grading.protocol.wire import Endpoint
from course_lib.grading.verdict import grade
from tests.grading.sample_submissions import ASKED, LEAKS, LOGLIK, SHORT, TABLE, code, graded, notebook, quick, save

HEAD = "import torch, sys, os, time, signal, ctypes, gc, threading, subprocess, builtins, warnings\n"
RIGHT = "torch.where(x == 1, p, 1 - p).log().sum(dim=1)"


def answer(body: str) -> str:
    return HEAD + "\ndef bernoulli_chain_loglik(x, p):\n" + "\n".join("    " + line for line in body.strip().splitlines())


# the function itself: state, words of the message
ENDS = {
    "infinite loop": ("while True: pass", "timeout", "No answer within 0.5 seconds"),
    "a loop that swallows interruptions": (
        "while True:\n    try:\n        while True: sum([1, 2])\n    except BaseException:\n        pass", "timeout", "No answer"),
    "sleep with its signals blocked": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\ntime.sleep(60)", "timeout", "No answer"),
    "a matrix product without end": ("a = torch.randn(5000, 5000)\nwhile True: a = a @ a", "timeout", "No answer"),
    "memory bomb of torch": ("return torch.ones(10**11)", "memory", "more memory"),
    "memory bomb of Python": ("return [0] * 10**12", "memory", "more memory"),
    "memory that grows": ("kept = []\nwhile True: kept.append(bytes(100_000_000))", "memory", "more memory"),
    "sys.exit": ("sys.exit(0)", "error", "SystemExit"),
    "os._exit": ("os._exit(3)", "error", "ended Python (exit code 3)"),
    "os._exit with success": ("os._exit(0)", "error", "ended Python (exit code 0)"),
    "segmentation fault": ("ctypes.string_at(0)", "error", "SIGSEGV"),
    "abort": ("os.abort()", "error", "crashed Python itself (SIGABRT)"),
    "kills itself": ("os.kill(os.getpid(), 9)", "error", "The system stopped it"),
    "endless recursion": ("return bernoulli_chain_loglik(x, p)", "error", "RecursionError"),
    "input": ("return float(input('x?'))", "error", "nobody is there when it is graded"),
    "an exception": ("raise ValueError('my reason')", "error", "ValueError: my reason"),
    "an exception whose text raises": (
        "class Bad(Exception):\n    def __str__(self): raise self\nraise Bad()", "error", ""),
    "a generator": ("yield 1", "wrong_shape", "an object of type generator"),
    "NotImplementedError": ("raise NotImplementedError", "not_attempted", ""),
    "closes every file": ("os.closerange(0, 100)\nreturn " + RIGHT, "error", ""),
    "an object equal to everything": (
        "class Same:\n    __eq__ = __ne__ = lambda *_: True\n    shape = p.shape[:1]\nreturn Same()", "wrong_shape",
        "an object of type Same"),
    "a callable equal to everything": (
        "class Same:\n    __eq__ = lambda *_: True\n    __call__ = lambda *_: 0\nreturn Same()", "wrong_shape", "function"),
    "a tensor that lies": (
        "class Liar(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, t, a=(), k=None):\n"
        "        return True\nreturn torch.ones(x.shape[0]).as_subclass(Liar)", "wrong_shape", ""),
    "a huge number": ("return 10**4000", "wrong_shape", "64 bits"),
    "a number that is huge as a float": ("return float('1e400')", "wrong_shape", "one float"),
    "far too much": ("return torch.zeros(30_000_000)", "error", "more data than a message may hold"),
    "lists without end": ("a = []\na.append(a)\nreturn a", "wrong_shape", "deep"),
    "text with lone surrogates": ("return '\\ud800' * 3", "wrong_shape", "str"),
    "a set": ("return {1, 2}", "wrong_shape", "an object of type set"),
    "sparse": ("return torch.eye(3).to_sparse()", "wrong_shape", "sparse"),
    "complex": ("return " + RIGHT + " + 0j", "wrong_shape", "floats"),
    "None": ("return None", "wrong_shape", "None"),
    "the identity": ("return x", "wrong_shape", "shape"),
}


@pytest.mark.parametrize("what", ENDS)
def test_failing_answer_costs_only_itself(tmp_path, worker, what):
    body, state, words = ENDS[what]
    patience = quick(deadline=0.5 if state == "timeout" else 5)
    first, second = graded(tmp_path, worker, answer(body), TABLE, exercises=patience, limits=SHORT).reports
    assert (first.state, first.earned) == (state, 0), first
    assert words in first.message
    assert second.state == "right"


FORGED = f"b = next(o for o in gc.get_objects() if type(o).__name__ == '{Endpoint.__name__}')\n"
CHEATS = {
    "lines that say PASS": "print('PASS 6/6'); sys.stdout.write('{\"score\": 1.0}')\nreturn None",
    "a result file": "open('results.json', 'w').write('{\"score\": 6}')\nreturn None",
    "a forged verdict": FORGED + "b.channel.send({'reply': 1, 'data': {'dict': [['state', 'right'], ['score', 1.0], "
                                 "['earned', 6], ['kind', 'right']]}}, [])\nreturn None",
    "forged replies": FORGED + "for i in range(200):\n    b.channel.send({'reply': i, 'data': {'dict': [['kind', 'value'], "
                               "['value', True]]}}, [])\nreturn None",
    "a reply that is no answer": FORGED + "for i in range(50):\n    b.channel.send({'reply': i, 'data': 7}, [])\nreturn None",
    "a kind that does not exist": FORGED + "for i in range(50):\n    b.channel.send({'reply': i, 'data': {'dict': [['kind', "
                                           "'no_gradient']]}}, [])\nreturn None",
    "noise on the wire": FORGED + "b.channel.sock.sendall(os.urandom(5000))\nreturn None",
    "a frame without end": FORGED + "b.channel.sock.sendall(b'\\xff' * 8)\nreturn None",
    "questions to the judge": FORGED + "return b.ask('solve', x)",
    "calls of functions it was not given": FORGED + "return b.apply(0, (x, p), {})",
    "a patched torch": "torch.allclose = torch.equal = torch.isclose = torch.testing.assert_close = lambda *a, **k: True\n"
                       "torch.Tensor.__eq__ = lambda *a: True\nreturn torch.zeros(len(x))",
    "a patched checker": f"import {calls.__name__} as l, {calls.__name__} as o\n"
                         "l.Local.call = lambda *a, **k: o.Outcome('value', True)\no.same = l.same = lambda *a, **k: True\n"
                         "return None",
    "a patched end": FORGED + "b.answers['call'] = lambda data: {'kind': 'right', 'score': 1}\nreturn None",
    "a verdict as its answer": "return {'state': 'right', 'score': 1.0, 'earned': 6, 'passed': True}",
    "NaN": "return torch.full((len(x),), float('nan'))",
    "reads its caller": "frame = sys._getframe()\nwhile frame:\n    for value in list(frame.f_locals.values()):\n"
                        "        if 'expected' in str(type(value)): return value\n    frame = frame.f_back\nreturn None",
}


@pytest.mark.parametrize("what", CHEATS)
def test_cheating_earns_nothing(tmp_path, worker, what):
    first, second = graded(tmp_path, worker, answer(CHEATS[what]), TABLE, exercises=quick(), limits=SHORT).reports
    assert first.earned == 0 and first.state != "right", first
    assert second.state == "right"
    assert "could not be graded" not in first.message, "the grader stumbled"


def test_forged_outcome_of_statement(tmp_path, worker):
    """The grader makes no text of what is sent in the place of one."""
    send = "TABLE = [b.channel.send({'reply': i, 'data': {'list': [1, 2, 3]}}, []) for i in range(50)]"
    first, second = graded(tmp_path, worker, HEAD + FORGED, send, "def bernoulli_chain_loglik(x, p):\n    return TABLE", TABLE,
                           exercises=quick(), limits=SHORT).reports
    assert first.earned == 0 and "It sent something that is no answer" in first.message and "1, 2, 3" not in first.message, first
    assert second.state == "right"


IN_PLACE = """
def attention(q, k, v, mask=None):
    TRICK
    scores = (q * 1) @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    result = weights.nan_to_num() @ v
    q.data.mul_(2)
    return result
"""
TRICKS = {
    "none": "pass",
    "a patched comparison": f"import {calls.__name__} as l, {calls.__name__} as o\n"
                            "    l.same = o.same = lambda *a, **k: True\n"
                            "    l.written_to = o.written_to = lambda *a, **k: ()",
    "a reply that says so": FORGED.strip() + "\n    real = b.answers['call']\n    b.answers['call'] = lambda data: "
                            "{**real(data), 'changed': ()}",
    "a reply without the arguments": FORGED.strip() + "\n    real = b.answers['call']\n    b.answers['call'] = lambda data: "
                                     "{name: one for name, one in real(data).items() if name != 'after'}",
}


@pytest.mark.thorough
@pytest.mark.parametrize("what", TRICKS)
def test_grader_compares_arguments(tmp_path, worker, what):
    cell = HEAD + IN_PLACE.replace("TRICK", TRICKS[what])
    report = graded(tmp_path, worker, cell, exercises=quick("attention", deadline=10)).reports[0]
    assert (report.state, report.earned) == ("changed_arguments", 6) and "writes into q" in report.message, report


@pytest.mark.parametrize("top", [
    "torch.testing.assert_close = torch.allclose = lambda *a, **k: True", "import builtins\nbuiltins.all = lambda *a: True",
    "from unittest import mock\nmock.patch('torch.allclose', return_value=True).start()"])
def test_top_level_patch_earns_nothing(tmp_path, worker, top):
    cheat = "def bernoulli_chain_loglik(x, p):\n    return torch, builtins, mock"
    assert graded(tmp_path, worker, top, HEAD, cheat, exercises=quick()).reports[0].earned == 0


KIND = {"prints a lot": "print('x' * 10_000_000); sys.stderr.write('y' * 1000)",
        "writes to the descriptors": "os.write(1, b'z' * 1_000_000); os.write(2, b'z')",
        "warns": "warnings.warn('careful'); warnings.simplefilter('always')",
        "runs threads": "t = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(8)]\n"
                        "[one.start() for one in t]; [one.join() for one in t]",
        "leaves a thread": "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()",
        "starts a process": "subprocess.run(['true'])",
        "torch threads": "torch.set_num_threads(4)",
        "makes sockets": "import socket; [socket.socket(family).close() for family in (socket.AF_UNIX, socket.AF_INET)]",
        "makes a file": "open('notes.txt', 'w').write('x')",
        "logs": "import logging; logging.basicConfig(); logging.error('x')"}


@pytest.mark.thorough
@pytest.mark.parametrize("what", KIND)
def test_right_answer_with_side_effects(tmp_path, worker, what):
    exercises = quick("bernoulli_chain_loglik", deadline=10)
    report = graded(tmp_path, worker, answer(KIND[what] + "\nreturn " + RIGHT), exercises=exercises).reports[0]
    assert report.score == 1, report


TOP = {"infinite loop": "while True: pass", "memory bomb": "[0] * 10**12", "sys.exit": "import sys\nsys.exit()",
       "os._exit": "import os\nos._exit(0)", "segmentation fault": "import ctypes\nctypes.string_at(0)",
       "recursion": "def r(): r()\nr()", "input": "input()", "exception": "1 / 0; print(undefined)",
       "training": "for epoch in range(10**9):\n    loss = train(epoch)"}


@pytest.mark.parametrize("what", TOP)
def test_failing_cell_costs_only_itself(tmp_path, worker, what):
    result = graded(tmp_path, worker, TOP[what], LOGLIK, TOP[what], TABLE, TOP[what], exercises=quick(deadline=5))
    assert result.score == 1
    if what != "exception" and "[0]" not in TOP[what]:
        assert "not run: cell 1, cell 3, cell 5" in " ".join(result.notes)


NEEDED = {"hangs": ("[i for i in iter(int, 1)]", "did not end within 0.6 seconds"),
          "hangs for good": ("hang()", "did not end within 0.6 seconds"),
          "crashes": ("__import__('ctypes').string_at(0)", "SIGSEGV"),
          "exits": ("__import__('os')._exit(0)", "ended Python"),
          "raises": ("1 / 0", "ZeroDivisionError"), "asks": ("input()", "nobody is there"),
          "exits politely": ("__import__('sys').exit()", "SystemExit")}
HANG = "def hang():\n    while True:\n        try:\n            while True: sum([1, 2])\n        except BaseException: pass"


@pytest.mark.thorough
@pytest.mark.parametrize("what", NEEDED)
def test_needed_statement_that_fails_is_noted(tmp_path, worker, what):
    value, words = NEEDED[what]
    wants = "\ndef bernoulli_chain_loglik(x, p):\n    return TABLE\n"
    does_not = TABLE.replace("later =", "unused = lambda: TABLE\n    later =")      # reads it, and never needs it
    result = graded(tmp_path, worker, "import torch\n" + HANG, f"TABLE = {value}", wants, does_not, exercises=quick(),
                    limits=SHORT)
    first, second = result.reports
    assert first.state == "error" and "'TABLE' is not defined" in first.message and words in first.message, first
    assert second.state == "right"
    assert any("cell 2 was left out" in note and words in note for note in result.notes), result.notes


@pytest.mark.parametrize("what, state", [("hangs", "timeout"), ("crashes", "error"), ("raises", "error")])
def test_failing_definition_is_reported(tmp_path, worker, what, state):
    value, words = NEEDED[what]
    broken = f"def bernoulli_chain_loglik(x, p, table={value}):\n    return 1"
    first, second = graded(tmp_path, worker, broken, TABLE, exercises=quick(), limits=SHORT).reports
    assert first.state == state and words in first.message and "Cell 1" in first.message
    assert second.state == "right"


def test_notebook_has_time_limit(tmp_path, worker):
    from dataclasses import replace

    limits = replace(SHORT, submission=0.7)
    reports = graded(tmp_path, worker, answer("while True: pass"), TABLE, exercises=quick(deadline=30), limits=limits).reports
    assert [report.state for report in reports] == ["timeout", "timeout"]
    assert "whole notebook" in reports[1].message


def test_fork_bomb_is_bounded(tmp_path, sandboxed):
    from tests.grading.sandbox.test_sandbox import count

    bomb = "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    first, second = graded(tmp_path, sandboxed, answer(bomb), TABLE, exercises=quick(deadline=3), limits=SHORT).reports
    assert first.earned == 0 and second.state == "right"
    assert sandboxed.process is None or count(sandboxed.process.pid) <= 2


def test_functions_cross_sandbox(tmp_path, worker):
    result = graded(tmp_path, worker, "import torch", LEAKS, exercises=[EXERCISES["find_leaks"]])
    assert result.score == 1, result.reports


@pytest.mark.parametrize("body, words", [
    ("return conditionals(torch.zeros(3, 99))", "You passed"), ("return conditionals('x', 3, y=4)", ""),
    ("return conditionals(object())", "an object of type object"), ("return conditionals", "function"),
    ("return sorted([(conditionals, 1)])", ""), ("conditionals(conditionals(torch.zeros(1, n)) * 10**9)\nreturn []", "")])
def test_misused_function_costs_only_answer(tmp_path, worker, body, words):
    cell = "def find_leaks(conditionals, n):\n" + "\n".join("    " + line for line in body.splitlines())
    report = graded(tmp_path, worker, "import torch", cell, exercises=quick("find_leaks", deadline=3)).reports[0]
    assert report.earned == 0 and words in report.message and "could not be graded" not in report.message, report


def test_notebook_without_metadata_is_graded(tmp_path, worker):
    path = save(tmp_path / "hw.ipynb", {"cells": [{"cell_type": "code", "source": LOGLIK}, {"source": [TABLE]}]})
    result = grade_file(path, worker, 1, exercises=ASKED)
    assert [report.exercise for report in result.reports] == ["bernoulli_chain_loglik", "conditional_table"]
    assert result.score == 1


def test_notes_are_bounded_and_printable(tmp_path, worker):
    values = [f"A{i} = undefined" for i in range(30)]
    wants = f"def bernoulli_chain_loglik(x, p):\n    return {', '.join(f'A{i}' for i in range(30))}"
    assert len(graded(tmp_path, worker, *values, wants, exercises=quick("bernoulli_chain_loglik")).notes) == 20
    save(tmp_path / "bo" / "\x1b[2J\n=1+1\u202e.pdf", "")
    [note] = grade_file(tmp_path / "bo", worker, 1, exercises=ASKED).notes
    assert "[2J" in note and note.isprintable()


def test_missing_function_is_explained(tmp_path, worker):
    reports = graded(tmp_path, worker, code(LOGLIK, "markdown"), TABLE.replace("conditional_table", "conditional_tabel"),
                     ).reports
    assert [report.state for report in reports] == ["missing", "missing"]
    assert "cell 1, which is a text cell" in reports[0].message
    assert "conditional_tabel" in reports[1].message
    assert "No cell defines" in graded(tmp_path, worker, TABLE).reports[0].message


def test_stored_outputs_are_ignored(tmp_path, worker):
    cell = code("def bernoulli_chain_loglik(x, p):\n    return None")
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "bernoulli_chain_loglik: right (6 of 6 points)"}]
    content = notebook(cell)
    content["metadata"]["grade"] = {"score": 1.0, "points": 100}
    assert grade_file(save(tmp_path / "hw.ipynb", content), worker, 1, exercises=ASKED).score == 0


@pytest.mark.parametrize("data, words", [
    (b"", "empty"), (b"\xff\xfe", "UTF-8"), (b"{", "breaks off"), (json.dumps(notebook(LOGLIK)).encode()[:200], "breaks off"),
    (b"[" * 100_000, "deeply"), (b"[]", "no notebook"), (b" " * 60_000_001, "60 MB")])
def test_unreadable_file_earns_nothing(tmp_path, worker, data, words):
    result = grade_file(save(tmp_path / "hw.ipynb", data), worker, 1, exercises=ASKED)
    assert [(report.exercise, report.state) for report in result.reports] == [(each.id, "unreadable") for each in ASKED]
    assert result.score == 0 and words in result.reports[0].message and words in result.notes[0]


WEIRD = [None, True, 2**62, float("nan"), "x", (), {None: None}, [(0, 1, 2)], ["a", ("b",)], print,
         (torch.full((9, 9), torch.nan), torch.ones(9)), torch.tensor(1.0), torch.tensor(1j), torch.empty(3, 0)]


@pytest.mark.thorough
@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", EXERCISES)
def test_verdict_on_any_reply(name):
    """As a forged reply could bring it, with gradients that are missing or of another shape."""
    exercise = EXERCISES[name]
    for value in [*WEIRD, *shaped_alike(exercise)]:
        gradients = {0: torch.ones(1), 1: torch.ones(2, 3), 2: torch.tensor(1)}
        report = grade(exercise, lambda *_, **__: Outcome("value", value, gradients, (0, 1)), 3)
        assert report.score < 1 and report.state in ("wrong_shape", "wrong_value", "wrong_gradient", "changed_arguments"), value


def shaped_alike(exercise):
    """Tensors of the shape that the first case asks for, and lists that begin as the right one, of no sensible content."""
    check = exercise.checks[0]
    if not isinstance(check, Compare):
        return []
    [first, *_] = check.cases(exercise.generator(3, check.name))
    right = exercise.solve(*first)
    if isinstance(right, list):
        return [[right], {0: right}, [*right, ["x"]], [*right, None]]
    if not isinstance(right, torch.Tensor):
        return [[right], (right,), {0: right}]
    fills = (0.0, float("nan"), -1e30) if right.is_floating_point() else (0, -1, 2 ** 62)
    return [torch.full_like(right, fill) for fill in fills] + [right.to(torch.complex64), [right]]


PEEK = "import torch\n\ndef find_peeking(layer, T, d):\n    "
GREEDY = {                      # exercise, its code, state, words of the message
    "a long sequence": ("find_peeking", PEEK + "return layer(torch.zeros(1, 20_000, d))", "memory", "allocate memory"),
    "large batches, one after the other": (
        "find_peeking", PEEK + "while True: layer(torch.zeros(30_000, T, d))", "timeout", "No answer within 2 seconds"),
    "calls without end": (
        "find_peeking", PEEK + "while True: layer(torch.zeros(1, T, d))", "error", "more than 20 calls of the functions"),
    "a long list": ("find_peeking", PEEK + "return [(i, i + 1) for i in range(60_000)]", "timeout", "grader's processor"),
    "a model of many units": (
        "train_nade", "import torch\n\ndef train_nade(x):\n    H = 150_000\n    return (torch.randn(H, 6), "
                      "torch.randn(6, H) / H, torch.ones(6), torch.zeros(H))", "wrong_shape", "1000 at most"),
}


@pytest.mark.parametrize("what", GREEDY)
def test_grader_work_is_bounded(tmp_path, worker, what, monkeypatch):
    """In memory, in seconds, in calls; and it goes on to the next exercise."""
    import resource
    import time
    from dataclasses import replace

    deadline, seconds = 2, 5.0                           # the answer's, by the clock; the judge's, of processor
    if what == "a long list":                            # the judge reads it in 0.2 s; the answer may take its time
        deadline, seconds = 20, 0.1
    if what == "calls without end":
        monkeypatch.setattr("course_lib.grading.sandbox.remote.CALLS", 20)
    name, cell, state, words = GREEDY[what]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent, limits = time.process_time(), replace(SHORT, own=seconds, own_memory=500_000_000)
    exercises = quick(name, deadline=deadline) + quick("conditional_table")
    first, second = graded(tmp_path, worker, cell, TABLE, exercises=exercises, limits=limits).reports
    assert (first.state, first.earned) == (state, 0) and words in first.message, first
    assert second.state == "right"
    assert time.process_time() - spent < 6
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < most + 700_000           # KB
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
