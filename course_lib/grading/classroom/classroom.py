"""The rows of a class that nobody graded, and the log, from which an interrupted run continues."""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom import asked
from course_lib.grading.classroom.intake import Submission
from course_lib.grading.classroom.submission import Graded, empty, identified, printable, version
from course_lib.grading.classroom.tables import exercises_of
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.reading import archives
from course_lib.grading.reading.files import Unreadable

LEVELS = ("bubblewrap", "limits", "")                    # of isolation, the best first; "" is of who handed in nothing


def whole_class(found: Sequence[tuple[Submission, Graded | str]], none: Sequence[str], wanted: Sequence[Exercise] | None,
                seed: int) -> tuple[list[Graded], list[Graded]]:
    """One record for each file, of these with their records or with the reason why there is none; and one for each
    student who handed in nothing. What could not be graded is in every table, and in no log: the next run tries it."""
    usual = [one.id for one in wanted] if wanted else exercises_of([record for _, record in found
                                                                    if isinstance(record, Graded)])
    records = []
    for item, record in found:
        own = [EXERCISES[one] for one in usual] if wanted else asked.of_name(item.path) or [EXERCISES[one] for one in usual]
        if isinstance(record, str):
            message = f"Not graded: {record}. The same command tries again."
            record = Graded(item.student, "", seed=seed, notes=[printable(message)],
                            reports=[empty(one, "not_graded", message) for one in own])
        elif not record.reports and record.notes:        # it does not say what it is: a 0 for each exercise
            state = "missing" if asked.NOTHING in record.notes else "unreadable"
            record = replace(record, reports=[empty(one, state, record.notes[0]) for one in own])
        records.append(replace(record, file=printable(item.path)))       # the log may know it by another path
    return records, [absent(student, usual, seed) for student in none]


def absent(student: str, exercises: Sequence[str], seed: int) -> Graded:
    """The record of a student of the roster who handed in nothing."""
    message = "No notebook of this student was found."
    chosen = [EXERCISES[one] for one in exercises]
    return Graded(student, "", checks=version(chosen), seed=seed, notes=[message],
                  reports=[empty(exercise, "missing", message) for exercise in chosen])


class Ledger:
    """The log: JSON lines, one for each submission graded, in the order in which they were done.

    A line counts for the same student, path, content, checks and isolation. Each is on the disk before the next is begun,
    and a last line that was cut short is removed. Logs of several shards may be concatenated.
    """

    def __init__(self, path: str | None):
        self.path, self.file = path, None
        self.done: dict[tuple[str, ...], dict[tuple[str, ...], Graded]] = {}      # by file, then by checks and level
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
                self.keep(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue                                 # no line of ours; it stays, and counts for nothing

    def keep(self, line: dict) -> None:
        """Know the record of this line."""
        file, judged = key_of(line)
        self.done.setdefault(file, {})[judged] = Graded.from_dict(line)

    @property
    def seed(self) -> int | None:
        """The seed of the first record; None if there is none."""
        return next((record.seed for records in self.done.values() for record in records.values()), None)

    def find(self, submission: Submission, exercises: Sequence[Exercise] | None = None, isolated: bool = False
             ) -> Graded | None:
        """The record of this very submission, judged by these exercises, made at the best level that there is one of;
        with `isolated`, in bubblewrap's sandbox."""
        try:
            digest = hashlib.sha256(archives.read(submission.path)).hexdigest()
        except Unreadable:
            digest = ""
        records = self.done.get((submission.student, os.path.abspath(submission.path), digest))
        if records is None:
            return None                                  # new here: nothing of it is parsed to find that out
        if exercises is None:
            *_, exercises = identified(submission.path)
        checks = version(exercises)
        return next((records[checks, level] for level in (LEVELS[:1] if isolated else LEVELS) if (checks, level) in records), None)

    def add(self, graded: Graded, path: str) -> None:
        """Write one line for this submission, unless it is there already."""
        if self.file is None:
            return
        line = {"student": graded.student, "path": os.path.abspath(path) if path else "", **graded.to_dict()}
        file, judged = key_of(line)
        if judged in self.done.get(file, ()):
            return
        self.keep(line)
        self.file.write(json.dumps(line).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        if self.file is not None:
            self.file.close()


def key_of(line: dict) -> tuple[tuple[str, str, str], tuple[str, str]]:
    """What a line is found by: student, path and digest of the file; version of the checks and level of isolation."""
    return (line["student"], line["path"], line["sha256"]), (line["checks"], line["isolation"])


def lock(file, path: str) -> None:
    """Raises RuntimeError if another run writes to the file."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        raise RuntimeError(f"another run is writing to {path}; give each shard a file of its own") from None
