"""A class in shares: what each run of `grade --shard I/N` did, as the last line of its log says it, and the whole
again.

The line names each file of the share with its place in the whole class and the key of its record, so that the whole
can be put together without the submissions, in the order in which one run would have had them.
"""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course_lib.grading.bank import EXERCISES
from course_lib.grading.classroom.classroom import key_of
from course_lib.grading.classroom.intake import Submission
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.exercise.exercise import Exercise


@dataclass(frozen=True)
class Part:
    """What one run graded. shard: I and N; whole: of the class, the same for all its shares; root: what all its paths
    have in common; files: for each its place in the class, student, path, the key of its record, or why there is
    none; absent: who is on the roster and handed in nothing, with the place among these."""

    shard: tuple[int, int]
    whole: str
    root: str
    seed: int
    exercises: list[str] | None
    files: list[dict[str, Any]]
    absent: list[tuple[int, str]]

    def line(self) -> dict[str, Any]:
        """As the log holds it."""
        return {"part": asdict(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Part:
        """The way back from a line of the log."""
        return cls(**{**data, "shard": tuple(data["shard"]), "absent": [tuple(one) for one in data["absent"]]})


def part_of(shard: tuple[int, int], root: str, everything: Sequence[Submission],
            found: Sequence[tuple[Submission, Graded | str]], none: Sequence[str], wanted: Sequence[Exercise] | None,
            seed: int) -> Part:
    """What this share was. everything: all files of the class in their order; found: those of the share with their
    records, or with the reason why there is none; none: who of the whole roster handed in nothing."""
    ids = [one.id for one in wanted] if wanted else None
    whole = json.dumps([[(one.student, one.path) for one in everything], list(none), ids, shard[1]])
    places = {item: place for place, item in enumerate(everything)}
    files = [{"place": places[item], "student": item.student, "path": item.path,
              "reason": record if isinstance(record, str) else "",
              "key": None if isinstance(record, str) else [item.student, os.path.abspath(item.path), record.sha256,
                                                           record.checks, record.isolation]} for item, record in found]
    absent = [(place, student) for place, student in enumerate(none) if place % shard[1] == shard[0] - 1]
    return Part(tuple(shard), hashlib.sha256(whole.encode()).hexdigest()[:16], root, seed, ids, files, absent)


@dataclass(frozen=True)
class Log:
    """One log: its path, what its last run says of itself, and the records in it by their keys."""

    path: str
    part: Part
    records: dict[tuple[str, ...], Graded]


def read_log(path: str) -> Log:
    """A log of a share. Raises ValueError if its run did not come to an end, or was of no share; OSError if it cannot
    be read."""
    part, records = None, {}
    for line in Path(path).read_bytes().splitlines():
        try:
            data = json.loads(line)
            if "part" in data:
                part = Part.from_dict(data["part"]) if data["part"] else None
            else:
                records[key_of(data)] = Graded.from_dict(data)
        except (ValueError, KeyError, TypeError):
            continue                                     # cut short, or no line of ours
    if part is None:
        raise ValueError(f"{path} holds no finished run of a --shard: run its command again, it goes on where it "
                         "stopped")
    return Log(path, part, records)


def together(logs: Sequence[Log]) -> None:
    """Raises ValueError, with the names, if these are not all shares of one class, each once."""
    first = logs[0]
    count = first.part.shard[1]
    by_number: dict[int, list[str]] = {}
    for log in logs:
        if log.part.shard[1] != count:
            raise ValueError(f"{log.path} is share {log.part.shard[0]} of {log.part.shard[1]}, and {first.path} one "
                             f"of {count}")
        if log.part.whole != first.part.whole:
            raise ValueError(f"{log.path} and {first.path} are of different classes: other files, another roster or "
                             "other exercises. Run the older of them again")
        by_number.setdefault(log.part.shard[0], []).append(log.path)
    missing = [str(number) for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise ValueError(f"of {count} shares {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    doubled = {number: paths for number, paths in by_number.items() if len(paths) > 1}
    if doubled:
        raise ValueError("; ".join(f"share {number} is there {len(paths)} times: {', '.join(paths)}"
                                   for number, paths in sorted(doubled.items())))


def found_in(logs: Sequence[Log]) -> tuple[list[tuple[Submission, Graded | str]], list[str]]:
    """The files of the whole class in their order, each with its record or with the reason why there is none, and who
    handed in nothing. Raises ValueError for a record that its log lacks."""
    files, absent = [], []
    for log in logs:
        for one in log.part.files:
            record = log.records.get(tuple(one["key"])) if one["key"] else one["reason"]
            if record is None:
                raise ValueError(f"{log.path} lacks the record of {one['path']}: run its command again")
            files.append((one["place"], Submission(one["student"], one["path"]), record))
        absent += log.part.absent
    files.sort(key=lambda one: one[0])
    return [(item, record) for _, item, record in files], [student for _, student in sorted(absent)]


def wanted_of(part: Part) -> list[Exercise] | None:
    """The exercises that were asked for; None if nothing was. Raises ValueError for one that there no longer is."""
    gone = [one for one in part.exercises or () if one not in EXERCISES]
    if gone:
        raise ValueError(f"the log asks for {', '.join(gone)}, which this version of the course does not have")
    return [EXERCISES[one] for one in part.exercises] if part.exercises else None
