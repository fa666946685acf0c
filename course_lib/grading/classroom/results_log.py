"""The log of a run, from which an interrupted run continues."""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from course_lib.grading.classroom.collection import Submission
from course_lib.grading.classroom.grading import Graded, checks_version
from course_lib.grading.exercise import Exercise
from course_lib.grading.sandbox.sandbox import ISOLATED
from course_lib.grading.submissions import archives
from course_lib.grading.submissions.files import Unreadable

LEVELS = (*ISOLATED, "limits", "")                       # of isolation, the best first; "" is of a student without a submission


class ResultsLog:
    """The log: JSON lines, one for each submission graded, in the order in which they were finished.

    A line counts for the same student, path, content, checks and isolation. Each is on the disk before the next is begun,
    and a last line that was cut short is removed. Logs of several shards may be concatenated.
    """

    def __init__(self, path: str | None):
        self.path, self.file = path, None
        self.records: dict[tuple[str, ...], dict[tuple[str, ...], Graded]] = {}      # by file, then by checks and level
        self.paths: set[tuple[str, ...]] = set()         # students and paths of the records
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
                self.load(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue                                 # not a line of a log; it stays, and counts for nothing

    def load(self, line: dict) -> None:
        """Load the record of this line."""
        file, grading = line_key(line)
        self.records.setdefault(file, {})[grading] = Graded.from_dict(line)
        self.paths.add(file[:2])

    @property
    def seed(self) -> int | None:
        """The seed of the first record; None if there is none."""
        return next((record.seed for records in self.records.values() for record in records.values()), None)

    def find(self, submission: Submission, exercises: Sequence[Exercise], isolated: bool = False) -> Graded | None:
        """The record of this submission on these exercises, at the best level of isolation that has one; with `isolated`, in
        bubblewrap's sandbox."""
        if (submission.student, os.path.abspath(submission.path)) not in self.paths:
            return None                                  # new: it need not be read
        try:
            digest = hashlib.sha256(archives.read(submission.path)).hexdigest()
        except Unreadable:
            digest = ""
        records = self.records.get((submission.student, os.path.abspath(submission.path), digest))
        if records is None:
            return None                                  # another content
        checks = checks_version(exercises)
        return next((records[checks, level] for level in (ISOLATED if isolated else LEVELS) if (checks, level) in records), None)

    def add(self, graded: Graded, path: str) -> None:
        """Write one line for this submission, unless it is there already."""
        if self.file is None:
            return
        line = {"student": graded.student, "path": os.path.abspath(path) if path else "", **graded.to_dict()}
        file, grading = line_key(line)
        if grading in self.records.get(file, ()):
            return
        self.load(line)
        self.file.write(json.dumps(line).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()


def line_key(line: dict) -> tuple[tuple[str, str, str], tuple[str, str]]:
    """The key of a line: student, path and digest of the file; version of the checks and level of isolation."""
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
