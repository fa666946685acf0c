"""Graders on a cluster: the submissions of a class as tasks of dask.distributed.

All machines see the submissions at the same path. Each thread of a dask worker has a grader, a process of its own with a
sandbox, which reads a line of JSON for each submission and answers with one.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from course_lib.grading.submissions import archives
from course_lib.grading.submissions.files import Unreadable

TRIES = 2                                                 # graders that may die over one submission
LOCAL = threading.local()                                 # the grader of a thread


def grade_all(items: Sequence[Any], task: Any, address: str, require: bool = False) -> Iterator[tuple[Any, Any]]:
    """As `graders.grade_all`; `address` is that of a scheduler. Raises ValueError where dask.distributed is not installed,
    OSError where it does not answer."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ValueError("--dask needs dask.distributed: pip install \"course-lib[cluster]\"") from None
    from course_lib.grading.classroom.grading import Graded, printable

    with Client(address, timeout=30, set_as_default=False) as client:
        futures = {client.submit(grade_there, [item.student, os.path.abspath(item.path), task.seed, task.ids], require, pure=False):
                 item for item in items}
        for future in as_completed(list(futures), loop=client.loop):
            item = futures.pop(future)
            try:
                host, result = future.result()
            except Exception as problem:                  # the cluster's: workers killed, or no such module there
                result = f"the cluster could not grade it ({type(problem).__name__})"
            if isinstance(result, dict):
                result = Graded.from_dict({**result, "file": printable(item.path)})
                if result.sha256 != digest(item.path):
                    result = f"{host} sees another file at {os.path.abspath(item.path)}, or none: all machines need the same folder"
            yield item, result
            future.release()


def digest(path: str) -> str:
    """The hash of the file as it is here; empty where it cannot be read."""
    try:
        return hashlib.sha256(archives.read(path)).hexdigest()
    except Unreadable:
        return ""


def grade_there(question: list, require: bool) -> tuple[str, Any]:
    """On a worker: the name of the machine, and the record of one submission as a dict or the reason why there is none."""
    for _ in range(TRIES):
        grader = getattr(LOCAL, "grader", None)
        if grader is None or grader.poll() is not None or LOCAL.require != require:
            command = [sys.executable, "-m", __name__, *(["--require"] * require)]
            home = Path(__file__).parents[3]              # the folder of the package: modules of the current folder are not imported
            grader = LOCAL.grader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home)
            LOCAL.require = require
        line = b""
        with contextlib.suppress(OSError):
            grader.stdin.write(json.dumps(question).encode() + b"\n")
            grader.stdin.flush()
            line = grader.stdout.readline()
        if line.endswith(b"\n"):
            return platform.node(), json.loads(line)
        grader.kill()
        code = grader.wait()
    return platform.node(), f"the grader stopped (exit code {code})"


def answer_lines(questions, answers, require: bool) -> None:
    """A grader: answer each line with a line until the pipe ends."""
    from course_lib.grading.sandbox.sandbox import NoSandbox, Worker

    try:
        worker = Worker(require)                          # before torch is imported here: it imports it
    except NoSandbox as problem:
        for _ in questions:
            answers.write(json.dumps(str(problem)).encode() + b"\n")
            answers.flush()
        return
    with worker:
        import torch

        from course_lib.grading.classroom.collection import Submission
        from course_lib.grading.classroom.graders import Task, grade_with

        torch.set_num_threads(1)
        for question in questions:
            student, path, seed, ids = json.loads(question)
            result = grade_with(worker, Submission(student, path), Task(seed, ids))
            answers.write(json.dumps(result if isinstance(result, str) else result.to_dict()).encode() + b"\n")
            answers.flush()


if __name__ == "__main__":
    lines_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)                                         # what anything prints is not an answer
    with contextlib.suppress(BrokenPipeError):            # nothing waits for the answer any more
        answer_lines(sys.stdin.buffer, lines_out, "--require" in sys.argv)
