"""An answer that reaches for the processes around it: the worker that holds it, the grader, the init of the sandbox.

The class command runs as the user of the tests, and in `test_ordinary_user.py` as an ordinary one. Memory, descriptors and
signals of other processes are tried, and the honest notebooks after it are graded.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import course_lib
from tests.grading.sample_submissions import IDS, LOGLIK, TABLE, notebook, save

pytestmark = pytest.mark.thorough

REACH = """
import ctypes, os, signal, sys

def ways():
    libc = ctypes.CDLL(None, use_errno=True)
    calls = sys.modules[next(name for name in sys.modules if name.endswith("protocol.calls"))]
    victim, other = calls.Local.call, calls.Local.__init__
    words = (ctypes.c_uint64 * 16).from_address(id(victim))
    place = id(victim) + 8 * list(words).index(id(victim.__code__))       # the same address in the parent
    value = id(other.__code__).to_bytes(8, "little")
    done = []

    def memory(pid):
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as file:
            file.seek(place)
            return file.write(value) == 8

    def memory_read(pid):
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
            file.seek(place)
            return len(file.read(8)) == 8

    def trace(pid):
        PTRACE_SEIZE = 0x4206
        return libc.ptrace(PTRACE_SEIZE, pid, 0, 0) == 0

    def vector(pid):
        class Piece(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
        data = ctypes.create_string_buffer(value, 8)
        mine, theirs = Piece(ctypes.addressof(data), 8), Piece(place, 8)
        return libc.process_vm_writev(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0) == 8

    def descriptor(pid):
        handle = libc.syscall(434, pid, 0)                                # pidfd_open, pidfd_getfd
        return handle >= 0 and any(libc.syscall(438, handle, fd, 0) >= 0 for fd in range(64))

    assert os.path.isdir("/course")
    pids = {int(name) for name in os.listdir("/proc") if name.isdigit()} | {os.getppid(), 1}
    for pid in sorted(pids - {os.getpid()}):
        for way in (memory_read, memory, trace, vector, descriptor):
            try:
                if way(pid):
                    done.append(f"{way.__name__} of {pid}")
            except Exception:
                pass
    for number in set(signal.Signals):
        for pid in (os.getppid(), 1):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    return done

def bernoulli_chain_loglik(x, p):
    raise RuntimeError(f"reached: {ways()}")
"""


def test_answer_reaches_no_other_process():
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap's sandbox")
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "out.jsonl"
        for student, cells in (("a", (LOGLIK, TABLE)), ("b", (REACH, TABLE)), ("c", (LOGLIK, TABLE))):
            save(folder / "class" / student / "hw.ipynb", notebook(*cells))
        command = [sys.executable, "-m", "course_lib.grading", "grade", str(folder / "class"), "--seed", "5", "--exercises",
                   ",".join(IDS), "--out", str(out)]
        environment = {**os.environ, "HOME": name, "TMPDIR": name}
        run = subprocess.run(command, capture_output=True, text=True, timeout=200,
                             cwd=Path(course_lib.__file__).parent.parent, env=environment)
        assert run.returncode == 0, run.stderr
        records = {line["student"]: line for line in map(json.loads, out.read_text().splitlines())}
    message = records["b"]["reports"][0]["message"]
    assert "reached: []" in message, message
    assert {name: record["score"] for name, record in records.items()} == {"a": 1, "b": 5 / 11, "c": 1}
    assert {record["isolation"].partition("+")[0] for record in records.values()} == {"bubblewrap"}


LOWER = """
import os, resource, sys

def lower():
    done = []
    for pid in {1, os.getppid()}:
        for way in (lambda: resource.prlimit(pid, resource.RLIMIT_DATA, (1_000_000, 1_000_000)),
                    lambda: resource.prlimit(pid, resource.RLIMIT_AS, (1_000_000, 1_000_000)),
                    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
                    lambda: os.sched_setaffinity(pid, {0}),
                    lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))):
            try:
                way()
                done.append(pid)
            except OSError:
                pass
    return done

def bernoulli_chain_loglik(x, p):
    raise RuntimeError(f"lowered: {lower()}")
"""


def test_later_students_keep_their_marks():
    """One answer lowers the limits, the priority and the processors of the worker, which the later answers would inherit."""
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap's sandbox")
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "out.jsonl"
        for student in ("a", "b", "c", "d", "e"):
            save(folder / "class" / student / "hw.ipynb", notebook(LOWER if student == "b" else LOGLIK, TABLE))
        command = [sys.executable, "-m", "course_lib.grading", "grade", str(folder / "class"), "--seed", "5", "--exercises",
                   ",".join(IDS), "--out", str(out)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=Path(course_lib.__file__).parent.parent,
                             env={**os.environ, "HOME": name, "TMPDIR": name})
        assert run.returncode == 0, run.stderr
        records = {line["student"]: line for line in map(json.loads, out.read_text().splitlines())}
    assert {name: record["score"] for name, record in records.items()} == {"a": 1, "b": 5 / 11, "c": 1, "d": 1, "e": 1}
    assert "lowered: []" in records["b"]["reports"][0]["message"], records["b"]["reports"][0]
