"""A class: which student handed in which file, what was graded before, and a record of each that survives a kill."""
from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.bank import EXERCISES
from course_lib.grading.exercise import Exercise
from course_lib.grading.submission import Graded, empty, identified, printable, version

COLUMNS = ("student", "sid", "id", "username", "email", "e-mail", "name")       # of a roster, the first that is there


@dataclass(frozen=True)
class Handed:
    """One file and the student it belongs to."""

    student: str
    path: str


def collect(paths: Sequence[str], roster: Sequence[str] = ()) -> list[Handed]:
    """The submissions: each path that is a file, each notebook in one that is a folder.

    The student is the one of the roster whose name is the file's, the beginning of it, or a folder's on the way to
    it. Without a roster, the first folder below what the paths have in common, or the file's name if there is none.
    """
    files: list[tuple[Path, Path]] = []                           # (root, file)
    single = []
    for path in map(Path, paths):
        if path.is_dir() and not path.is_symlink():
            files += [(path, found) for found in notebooks(path)]
        else:
            single.append(path)
    if single:
        parents = {Path(os.path.abspath(path)).parent for path in single}
        common = Path(os.path.commonpath(parents))
        files += [(common, path) for path in single]
    names = {name.casefold(): name for name in roster}
    unique = {os.path.abspath(file): (root, file) for root, file in files}
    return [Handed(student_of(root, file, names), str(file)) for _, (root, file) in sorted(unique.items())]


def notebooks(folder: Path) -> Iterable[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(".ipynb") and not name.startswith("."):
                yield Path(place, name)


def student_of(root: Path, file: Path, roster: dict[str, str]) -> str:
    inner = Path(os.path.relpath(os.path.abspath(file), os.path.abspath(root)))
    folders, stem = [part for part in inner.parts[:-1] if part != ".."], file.stem
    for candidate in [*folders, stem, *beginnings(stem)]:
        if candidate.casefold() in roster:
            return roster[candidate.casefold()]
    return printable(folders[0] if folders else stem)


def beginnings(stem: str) -> Iterable[str]:
    """"mo_lee" and "mo" of "mo_lee_03": what stands before a separator, the longest first."""
    for i in reversed(range(len(stem))):
        if stem[i] in "_- ":
            yield stem[:i]


def read_roster(path: str) -> list[str]:
    """The students: one a line, or a column of a CSV file. Raises ValueError if there is none, or one twice."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file)]
    rows = [row for row in rows if any(row)]
    column = 0
    if rows:
        header = [cell.casefold() for cell in rows[0]]
        known = [header.index(name) for name in COLUMNS if name in header]
        if known:
            column, rows = known[0], rows[1:]
    students = [printable(row[column]) for row in rows if len(row) > column and row[column]]
    if not students:
        raise ValueError(f"{path} names no student; write one a line, or a column called student")
    twice = sorted({name for name in students if students.count(name) > 1})
    if twice:
        raise ValueError(f"{path} names {', '.join(twice)} more than once")
    return students


def absent(student: str, exercises: Sequence[str], seed: int) -> Graded:
    """The record of a student of the roster who handed in nothing."""
    message = "No notebook of this student was found."
    chosen = [EXERCISES[one] for one in exercises]
    return Graded(student, "", checks=version(chosen), seed=seed, notes=[message],
                  reports=[empty(exercise, "missing", message) for exercise in chosen])


class Ledger:
    """A file of JSON lines, one for each submission graded, in the order in which they were done.

    A line counts for the same student, place, content and checks. Each is on the disk before the next is begun; of
    a last line that a kill cut short, nothing is kept.
    """

    def __init__(self, path: str | None):
        self.path, self.file, self.done = path, None, {}
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
                self.done[key_of(record)] = Graded.from_dict(record)
            except (ValueError, KeyError, TypeError):
                continue                                 # no line of ours; it stays, and counts for nothing

    def find(self, handed: Handed, exercises: Sequence[Exercise] | None = None) -> Graded | None:
        """The record of this very submission, judged by these exercises, if it was graded."""
        if not self.done:
            return None
        _, _, digest, chosen = identified(handed.path, exercises)
        return self.done.get((handed.student, os.path.abspath(handed.path), digest, version(chosen)))

    def add(self, graded: Graded, path: str) -> None:
        if self.file is None:
            return
        record = {"student": graded.student, "path": os.path.abspath(path) if path else "", **graded.to_dict()}
        if key_of(record) in self.done:
            return
        self.done[key_of(record)] = graded
        self.file.write(json.dumps(record).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def key_of(record: dict) -> tuple[str, str, str, str]:
    return record["student"], record["path"], record["sha256"], record["checks"]


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
