"""Every known answer to every exercise, and the verdict that an answer of its kind has to get."""
from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from course_lib.grading import EXERCISES
from course_lib.grading.exercise import Exercise
from course_lib.grading.notebook import local_call
from course_lib.grading.verdict import Report, grade
from tests.exercises.answers import BLIND, CALLED, RIGHT, WRONG

ROOT = Path(__file__).parents[2]
SOLUTIONS = json.loads((ROOT / "course_lib" / "exercises" / "solutions.json").read_text("utf-8"))
IMPORTED = """                              # what the solutions' notebooks import
import itertools, math, string
from collections import Counter
import torch
import torch.nn.functional as F
from torch import nn
from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical, MixtureOfGaussians
"""


def stub(*args):
    raise NotImplementedError


def nothing(*args):
    return None


def broken(*args):
    return 1 / 0


def identity(*args):
    return args[0]


EMPTY = {stub: "not_attempted", nothing: "wrong_shape", broken: "error", identity: None}        # the state; None where it depends


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise: what kind it is, its name, and the function or class."""

    exercise: Exercise
    kind: str                               # "solution", "reference", "right", "empty", "misconception", "wrong", "blind"
    name: str
    fn: Callable

    def __str__(self) -> str:
        return f"{self.exercise.id}, {self.kind}" + (f": {self.name}" if self.name else "")

    @property
    def is_right(self) -> bool:
        return self.kind in ("solution", "reference", "right")

    def report(self, seed: int, explain: bool = True) -> Report:
        torch.manual_seed(seed)             # for answers that sample on their own
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return grade(self.exercise, local_call(self.exercise, self.fn), seed, explain)

    def expects(self, report: Report) -> bool:
        """Whether the report is what an answer of this kind has to get."""
        name = report.misconception
        if self.is_right:
            return report.state == "right" and report.earned == report.possible == self.exercise.possible > 0
        if self.kind == "empty":
            return report.earned == 0 and name is None and EMPTY[self.fn] in (None, report.state)
        if self.kind == "misconception":
            return report.score < 1 and name == self.name and report.message == self.exercise.misconceptions[name]
        named = CALLED[f"{self.exercise.id}: {self.name}"] if self.kind == "wrong" else (None, *self.exercise.misconceptions)
        return report.score < 1 and name in named and report.message != ""


def solution(text: str, name: str) -> Callable:
    """The function or class that a model solution defines."""
    space: dict = {}
    exec(IMPORTED + text, space)
    return space[name]


def answers(exercise: Exercise) -> list[Answer]:
    """The known answers to an exercise."""
    found = [("solution", "", solution(SOLUTIONS[exercise.id]["source"], exercise.id)), ("reference", "", exercise.solve)]
    found += [("empty", fn.__name__, fn) for fn in EMPTY]
    found += [("misconception", name, partial(exercise.solve, bugs=[name])) for name in exercise.misconceptions]
    for kind, entered in (("right", RIGHT), ("wrong", WRONG), ("blind", BLIND)):
        entries = [(name.partition(": "), fn) for name, fn in entered.items()]
        found += [(kind, name, fn) for (id, _, name), fn in entries if id == exercise.id]
    return [Answer(exercise, *each) for each in found]


ANSWERS = [answer for exercise in EXERCISES.values() for answer in answers(exercise)]
