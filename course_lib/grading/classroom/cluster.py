"""Judges on a cluster: the submissions of a class as tasks of dask.distributed, each judged where a worker of the
cluster is.

A task names a file, which every machine sees at the same path, and its hash, so that a machine that sees another file
says so. A thread of a worker has a judge, a process of its own with a sandbox. A worker that dies takes its tasks
with it, and others get them; each submission comes back once.
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
from typing import Any

from course_lib.grading.reading import archives
from course_lib.grading.reading.files import Unreadable

TRIES = 2                                                 # judges that may die over one submission
MINE = threading.local()                                  # the judge of a thread


def grade_all(items: Sequence[Any], seed: int, address: str, exercises: Sequence[Any] | None = None,
              require: bool = False) -> Iterator[tuple[Any, Any]]:
    """As `judges.grade_all`: each submission with its record, or with the reason why it has none, as they are done.
    `address` is that of a scheduler. Raises ValueError where dask.distributed is not installed, OSError where nobody
    answers."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ValueError("--dask needs dask.distributed: pip install \"course-lib[cluster]\"") from None
    from course_lib.grading.classroom.submission import Graded

    ids = [one.id for one in exercises] if exercises else None
    with Client(address, timeout=30, set_as_default=False) as client:
        asked = {client.submit(grade_there, item.student, os.path.abspath(item.path), item.path, digest(item.path),
                               seed, ids, require, pure=False): item for item in items}
        for future in as_completed(list(asked), loop=client.loop):
            item = asked.pop(future)
            try:
                result = future.result()
            except Exception as problem:                  # of the cluster's: workers killed, or no such module there
                result = f"the cluster could not judge it ({type(problem).__name__})"
            yield item, Graded.from_dict(result) if isinstance(result, dict) else result
            future.release()


def digest(path: str) -> str:
    """The hash of the file as it is here; nothing where it cannot be read, which is then what there is to say about
    it."""
    try:
        return hashlib.sha256(archives.read(path)).hexdigest()
    except Unreadable:
        return ""


def grade_there(student: str, path: str, shown: str, wanted: str, seed: int, ids: list[str] | None,
                require: bool) -> Any:
    """On a worker: the record of one submission as a dict, or the reason why there is none. A judge that dies is
    replaced."""
    asked = {"student": student, "path": path, "shown": shown, "digest": wanted, "seed": seed, "ids": ids}
    question = json.dumps(asked).encode() + b"\n"
    for _ in range(TRIES):
        judge = mine(require)
        try:
            judge.stdin.write(question)
            judge.stdin.flush()
            line = judge.stdout.readline()
        except OSError:
            line = b""
        if line.endswith(b"\n"):
            return json.loads(line)
        judge.kill()
        MINE.judge, code = None, judge.wait()
    return f"the judge stopped (exit code {code})"


def mine(require: bool) -> subprocess.Popen:
    """The judge of this thread, started if there is none. It ends when its pipe does: with this process, however that
    ends."""
    judge = getattr(MINE, "judge", None)
    if judge is None or judge.poll() is not None or MINE.require != require:
        MINE.require = require
        command = [sys.executable, "-m", __name__, *(["--require"] * require)]
        MINE.judge = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return MINE.judge


def judge_lines(questions, answers, require: bool) -> None:
    """A judge's life: a line with a submission comes, a line with its record goes."""
    from course_lib.grading.sandbox.sandbox import NoSandbox, Worker

    try:
        worker = Worker(require)                          # before torch is imported here: it imports it
        worker.wait_ready()
    except NoSandbox as problem:
        for _ in questions:
            answers.write(json.dumps(str(problem)).encode() + b"\n")
            answers.flush()
        return
    import torch

    from course_lib.grading.bank import EXERCISES
    from course_lib.grading.classroom.intake import Submission
    from course_lib.grading.classroom.judges import grade_with
    from course_lib.grading.classroom.submission import Graded, printable
    from course_lib.grading.sandbox.sandbox import Limits

    torch.set_num_threads(1)
    with worker:
        for line in questions:
            asked = json.loads(line)
            exercises = [EXERCISES[one] for one in asked["ids"]] if asked["ids"] else None
            found = grade_with(worker, Submission(asked["student"], asked["path"]), asked["seed"], Limits(), exercises)
            if isinstance(found, Graded):
                here = platform.node()
                found.file = printable(asked["shown"])
                found = found.to_dict() if found.sha256 == asked["digest"] else (
                    f"{here} sees another file at {asked['path']} than the machine that asked, or none: all need the "
                    "same folder")
            answers.write(json.dumps(found).encode() + b"\n")
            answers.flush()


if __name__ == "__main__":
    lines_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)                                         # what anything prints is no answer
    with contextlib.suppress(BrokenPipeError):            # nobody waits for the answer any more
        judge_lines(sys.stdin.buffer, lines_out, "--require" in sys.argv)
