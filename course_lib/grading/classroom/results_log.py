"""The log of a run, from which an interrupted run continues."""
import fcntl
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from course_lib.grading.classroom.collection import Submission
from course_lib.grading.classroom.grading import Graded, checks_version
from course_lib.grading.exercise import Exercise
from course_lib.grading.sandbox.sandbox import ISOLATED
from course_lib.grading.submissions.files import Unreadable, read

KEY = ("student", "path", "sha256", "checks", "isolation")        # what a record counts for


class ResultsLog:
    """JSON lines, one for each submission graded, each on the disk before the next is begun; logs of shards may be concatenated."""

    def __init__(self, path: str | None):
        self.file, self.records, self.paths = None, {}, set()       # the records by the values of KEY, and the first two of these
        if path is None:
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"another run is writing to {path}; give each shard a file of its own") from None
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
        key = tuple(line[name] for name in KEY)
        self.records[key] = Graded.from_dict(line)
        self.paths.add(key[:2])

    @property
    def seed(self) -> int | None:
        """The seed of the first record; None if there is none."""
        return next((record.seed for record in self.records.values()), None)

    def find(self, submission: Submission, exercises: Sequence[Exercise], level: str = "") -> Graded | None:
        """The record of this submission on these exercises, at the best level of isolation that has one, or at this level."""
        file = submission.student, os.path.abspath(submission.path)
        if file not in self.paths:
            return None                                  # new: it need not be read
        try:
            digest = hashlib.sha256(read(submission.path)).hexdigest()
        except Unreadable:
            digest = ""
        keys = [(*file, digest, checks_version(exercises), level) for level in (*ISOLATED, level)]
        return next((self.records[key] for key in keys if key in self.records), None)

    def add(self, graded: Graded, path: str) -> None:
        """Write one line for this submission, unless it is there already."""
        line = {"student": graded.student, "path": os.path.abspath(path) if path else "", **graded.to_dict()}
        if self.file is None or tuple(line[name] for name in KEY) in self.records:
            return
        self.load(line)
        self.file.write(json.dumps(line).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
