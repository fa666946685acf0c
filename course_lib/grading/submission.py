"""One notebook, judged: which exercises it holds, a report on each, and what was left out of it.

The judge draws the inputs and compares; the worker holds the learner's definitions. Nothing that the notebook stores,
outputs and marks included, is looked at.
"""
from __future__ import annotations

import hashlib
import os
import re
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from course_lib.grading.bank import EXERCISES, of_chapter
from course_lib.grading.evaluate import judge
from course_lib.grading.exercise import Exercise
from course_lib.grading.extract import Notebook, Unreadable, parse, read_bytes
from course_lib.grading.remote import Remote
from course_lib.grading.report import Report
from course_lib.grading.sandbox import Limits, NoSandbox, Worker

SHOWN = 20_000                  # characters of an answer that a report shows


@dataclass
class Graded:
    """What became of one submission. `isolation` is the worker's level; `notes` are about the file as a whole."""

    student: str
    file: str
    sha256: str = ""
    checks: str = ""                         # version of the checks
    isolation: str = ""
    seed: int = 0
    seconds: float = 0.0
    reports: list[Report] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def earned(self) -> int:
        return sum(report.earned for report in self.reports)

    @property
    def possible(self) -> int:
        return sum(report.possible for report in self.reports)

    @property
    def score(self) -> float:
        return self.earned / self.possible if self.possible else 0.0

    def to_dict(self) -> dict:
        return {**asdict(self), "earned": self.earned, "possible": self.possible, "score": self.score,
                "reports": [report.to_dict() for report in self.reports]}

    @classmethod
    def from_dict(cls, data: dict) -> Graded:
        kept = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(**{**kept, "reports": [Report.from_dict(report) for report in data["reports"]]})


def grade_file(path: str | os.PathLike, worker: Worker, seed: int, student: str = "", limits: Limits = Limits(),
               exercises: Sequence[Exercise] | None = None) -> Graded:
    """Judge the notebook at `path`. Never raises for what it holds."""
    began = time.monotonic()
    result = Graded(student or Path(path).stem, printable(str(path)), seed=seed)
    notebook, problem, result.sha256, chosen = identified(path, exercises)
    result.checks = version(chosen)
    if notebook is None:
        result.notes.append(problem)
        result.reports = [empty(exercise, "unreadable", problem) for exercise in chosen]
        result.isolation = worker.level
        result.seconds = time.monotonic() - began
        return result
    if not chosen:
        result.notes.append("No exercise was found: neither the notebook's metadata nor the chapter number at the "
                            "beginning of its name says which it holds, and it defines no function of that name.")
    elif not exercises and not notebook.exercises and not by_file_name(path):
        result.notes.append("Neither its metadata nor its name tells the chapter: it was judged by what it defines.")
    result.notes += [f"Cell {cell} could not be read: {problem}."
                     for cell, (_, problem) in list(notebook.broken.items())[:20]]
    if notebook.idle:
        result.notes.append(f"Loops and calls at the top level of a cell are not run; there are some in "
                            f"{cells(notebook.idle)}.")
    left_out: dict[str, tuple[str, str]] = {}
    until = began + limits.submission
    problems: dict[int, str] = {}
    for exercise in chosen:
        report, code = grade_one(exercise, notebook, worker, seed, limits, left_out, until, problems)
        result.reports.append(report)
        result.code[exercise.id] = printable(code[:SHOWN], lines=True)
    result.notes += [f"Something in cell {cell} was left out: {printable(why)}" for cell, why in sorted(problems.items())]
    result.isolation = worker.level                      # after the first start, which may have had to go lower
    result.seconds = time.monotonic() - began
    return result


def identified(path: str | os.PathLike, exercises: Sequence[Exercise] | None = None
               ) -> tuple[Notebook | None, str, str, list[Exercise]]:
    """The notebook, or None and why there is none; the hash of the file; the exercises that it is judged by."""
    digest = ""
    try:
        data = read_bytes(path)
        digest = hashlib.sha256(data).hexdigest()
        notebook = parse(data)
    except Unreadable as problem:
        return None, str(problem), digest, list(exercises or by_file_name(path))
    return notebook, "", digest, list(exercises or exercises_of(notebook, path))


def grade_one(exercise: Exercise, notebook: Notebook, worker: Worker, seed: int, limits: Limits,
              left_out: dict, until: float, problems: dict[int, str]) -> tuple[Report, str]:
    """The report on one exercise, and the code that it is about."""
    needed = notebook.needed(exercise.id)
    code = "\n\n".join(one.text for one in needed)
    if not any(exercise.id in one.binds for one in needed):
        state, message = notebook.why_missing(exercise.id)
        return empty(exercise, state, message, seed), ""
    if time.monotonic() >= until:
        return empty(exercise, "timeout", f"The {limits.submission:g} seconds for the whole notebook are over.",
                     seed), code
    try:
        with Remote(worker, needed, exercise.id, exercise.deadline, limits, left_out, until) as remote:
            report = judge(exercise, remote.call, seed, code)
            problems.update(remote.problems)
    except NoSandbox:
        raise
    except Exception as problem:             # a fault of the judge's; the other exercises go on
        report = empty(exercise, "error", f"Your answer could not be judged ({type(problem).__name__} in the grader). "
                                          "Tell your instructor.", seed)
    else:
        if report.state == "error" and remote.problems and "left out" not in report.message:
            cell, why = next(iter(remote.problems.items()))
            report = replace(report, message=f"{report.message.rstrip('.')}. In cell {cell} something was left out: {why}")
    return clean(report), code


def cells(numbers: list[int]) -> str:
    """"cell 2", or "cells 2, 5 and 7"; of many, the first ten."""
    shown = [str(number) for number in numbers[:10]] + (["others"] if len(numbers) > 10 else [])
    return f"cell {shown[0]}" if len(shown) == 1 else f"cells {', '.join(shown[:-1])} and {shown[-1]}"


def empty(exercise: Exercise, state: str, message: str, seed: int | None = None) -> Report:
    return clean(Report(exercise.id, state, 0, exercise.possible, message=message, seed=seed))


def clean(report: Report) -> Report:
    """The report with nothing in it that a terminal, a page or a table could take for a command."""
    return replace(report, message=printable(report.message),
                   checks=[replace(check, message=printable(check.message)) for check in report.checks])


def printable(text: str, lines: bool = False) -> str:
    """`text` with control characters, lone surrogates and direction marks spelt out."""
    def shown(char: str) -> str:
        if lines and char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            return char
        return " " if char in "\n\t\r" else f"\\u{ord(char):04x}"

    return text if text.isascii() and text.isprintable() else "".join(map(shown, text))


def exercises_of(notebook: Notebook, path: str | os.PathLike) -> list[Exercise]:
    """All exercises of the chapters that the metadata speaks of, else of the chapter in the file's name: nothing is
    gained by leaving one out of the metadata. A notebook that tells neither is judged by the functions it defines."""
    for ids in (notebook.exercises, [one.id for one in by_file_name(path)]):
        chapters = {EXERCISES[one].chapter for one in ids if one in EXERCISES}
        if chapters:
            return [one for one in EXERCISES.values() if one.chapter in chapters]
    names = set(notebook.names)
    return [one for one in EXERCISES.values() if one.id in names]


def by_file_name(path: str | os.PathLike) -> list[Exercise]:
    found = re.match(r"(\d\d)(?!\d)", Path(path).name)
    return of_chapter(found[1]) if found else []


def version(exercises: Sequence[Exercise]) -> str:
    """Changes when a check does."""
    return hashlib.sha256(" ".join(f"{one.id}:{one.version}" for one in exercises).encode()).hexdigest()[:12]
