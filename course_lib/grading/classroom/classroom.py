"""A class: what was graded before, a record of each submission that survives a kill, and who handed in nothing."""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from course_lib.grading.bank import EXERCISES
from course_lib.grading.classroom.asked import NOTHING
from course_lib.grading.classroom.intake import Submission
from course_lib.grading.classroom.submission import Graded, empty, former_version, identified, printable, version
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.reading import archives
from course_lib.grading.reading.files import Unreadable

LEVELS = ("bubblewrap", "limits", "none", "")            # of isolation, the best first; "" is of who handed in nothing


def absent(student: str, exercises: Sequence[str], seed: int) -> Graded:
    """The record of a student of the roster who handed in nothing."""
    message = "No notebook of this student was found."
    chosen = [EXERCISES[one] for one in exercises]
    return Graded(student, "", checks=version(chosen), seed=seed, notes=[message],
                  reports=[empty(exercise, "missing", message) for exercise in chosen])


def not_graded(submission: Submission, reason: str, exercises: Sequence[str], seed: int) -> Graded:
    """The row of a submission whose judging failed or was interrupted: it is in every table, and in no ledger, so that
    the next run judges it."""
    message = f"Not graded: {reason}. The same command tries again."
    return Graded(submission.student, printable(submission.path), seed=seed, notes=[printable(message)],
                  reports=[empty(EXERCISES[one], "not_graded", message) for one in exercises])


def of_the_set(record: Graded, exercises: Sequence[str]) -> Graded:
    """The record; of a file that could not be read, or holds nothing, and does not say what it is, with a 0 for each of
    these exercises."""
    if record.reports or not record.notes:
        return record
    state = "missing" if NOTHING in record.notes else "unreadable"
    return replace(record, reports=[empty(EXERCISES[one], state, record.notes[0]) for one in exercises])


class Ledger:
    """A file of JSON lines, one for each submission graded, in the order in which they were done.

    A line counts for the same student, place, content, checks and isolation. Each is on the disk before the next is begun; of
    a last line that a kill cut short, nothing is kept.
    """

    def __init__(self, path: str | None):
        self.path, self.file = path, None
        self.done: dict[tuple[str, ...], Graded] = {}
        self.files: set[tuple[str, ...]] = set()
        if path is None:
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "a+b")
        lock(self.file, path)
        self.file.seek(0)
        data = self.file.read()
        whole = data[:data.rfind(b"\n") + 1]
        self.file.truncate(len(whole))
        for line in whole.splitlines():
            try:
                record = json.loads(line)
                self.keep(key_of(record), Graded.from_dict(record))
            except (ValueError, KeyError, TypeError):
                continue                                 # no line of ours; it stays, and counts for nothing

    def keep(self, key: tuple[str, ...], graded: Graded) -> None:
        """Know this record by its key, and its file by the part of the key that it has before it is parsed."""
        self.done[key] = graded
        self.files.add(key[:3])

    def find(self, submission: Submission, exercises: Sequence[Exercise] | None = None, isolated: bool = False
             ) -> Graded | None:
        """The record of this very submission, judged by these exercises, if it was graded; with `isolated`, in
        bubblewrap's sandbox."""
        try:
            digest = hashlib.sha256(archives.read(submission.path)).hexdigest()
        except Unreadable:
            digest = ""
        if (submission.student, os.path.abspath(submission.path), digest) not in self.files:
            return None                                  # new here: nothing of it is parsed to find that out
        if exercises is None:
            *_, exercises = identified(submission.path)
        return self.kept(submission.student, submission.path, digest, exercises, LEVELS[:1] if isolated else LEVELS)

    def kept(self, student: str, path: str, digest: str, exercises: Sequence[Exercise], levels: Sequence[str]
             ) -> Graded | None:
        """The record of these, made at the first of these levels of isolation that there is one of, by the checks as
        they are, before or after their files moved."""
        place = os.path.abspath(path) if path else ""
        return next((found for level in levels for checks in (version(exercises), former_version(exercises))
                     if (found := self.done.get((student, place, digest, checks, level)))), None)

    def add(self, graded: Graded, path: str) -> None:
        """Write one line for this submission, unless it is there already."""
        if self.file is None:
            return
        record = {"student": graded.student, "path": os.path.abspath(path) if path else "", **graded.to_dict()}
        judged_by = [EXERCISES[report.exercise] for report in graded.reports]
        if key_of(record) in self.done or self.kept(graded.student, path, graded.sha256, judged_by,
                                                       [graded.isolation]):
            return
        self.keep(key_of(record), graded)
        self.file.write(json.dumps(record).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def note(self, line: dict) -> None:
        """Write a line about the run itself, which no submission is found by."""
        if self.file is not None:
            self.file.write(json.dumps(line).encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        if self.file is not None:
            self.file.close()


def key_of(record: dict) -> tuple[str, str, str, str, str]:
    """What a line is found by: student, path, digest of the file, version of the checks, level of isolation."""
    return record["student"], record["path"], record["sha256"], record["checks"], record["isolation"]


def lock(file, path: str) -> None:
    """Raises RuntimeError if another run writes to the file."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        raise RuntimeError(f"another run is writing to {path}; give each shard a file of its own") from None


def share(items: Sequence, shard: tuple[int, int]) -> list:
    """The part of `items` that shard (i, n) grades, i from 1: every n-th."""
    return list(items[shard[0] - 1::shard[1]])
