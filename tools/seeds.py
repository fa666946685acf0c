"""Whether a verdict hangs on its seed: every known answer judged over many seeds, the counts in tests/grading/seeds.tsv.

    python tools/seeds.py                     what is stale or missing: 200 seeds an answer, 10 where an exercise trains
    python tools/seeds.py 03 train_nade       of these chapters and exercises alone
    python tools/seeds.py --seeds 20          fewer; a later run goes on from there
    python tools/seeds.py --list              what is stale, without running it; of how many seeds each is

Judged are the solution, the right answers in other words and the wrong ones of tests/grading/answers/, and the
reference with each misconception. A row counts as long as its digest does: of the exercise's code, which draws the
inputs, and of the answer's. What all exercises share (judge, kinds of checks) is not in it: three new seeds in the
tests look after that. The file is written after every answer, and once a minute, so that a run that was stopped goes on.
Where an exercise trains, its right answers have a row more, of 200 seeds: the parts that do not train, by themselves.
Ends with 1 where a right answer failed or a wrong one passed.
"""
from __future__ import annotations

import argparse
import contextlib
import hashlib
import inspect
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import torch  # noqa: E402

from course_lib.grading import EXERCISES  # noqa: E402
from course_lib.grading.exercise.checks import Check  # noqa: E402
from course_lib.grading.exercise.exercise import Exercise  # noqa: E402
from course_lib.grading.judge.judge import in_this_process, judge  # noqa: E402

FILE = ROOT / "tests" / "grading" / "seeds.tsv"
SEEDS, SEEDS_TRAINING = 200, 10
SHOWN = 5                                   # seeds of surprising verdicts that a row keeps
HEAD = ("exercise", "kind", "answer", "digest", "seeds", "passed", "surprising")
RIGHT_KINDS = ("solution", "right")
UNTRAINED = ", untrained"                   # ends the kind of a row that is of the parts that do not train
BEFORE_FIT = {"OwnDetector": 0, "FrozenPrompt": 1}          # parts of a class before the first that trains; else all but the last
STORED_EVERY = 60.0                         # seconds, of an answer that takes longer
IMPORTED = """                              # what the solutions' notebooks import
import itertools, math, string
from collections import Counter
import torch
import torch.nn.functional as F
from torch import nn
from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical, MixtureOfGaussians
"""


@dataclass(frozen=True)
class Answer:
    """One known answer: its exercise, or the parts of it that are judged, what kind it is, its name, the function, and the text
    that it is made of."""

    exercise: Exercise
    kind: str                               # "solution", "right", "wrong", "misconception"
    name: str
    fn: Callable
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.exercise.id, self.kind, self.name

    @property
    def digest(self) -> str:
        """Changes with the exercise's checks and with the answer."""
        return hashlib.sha256(f"{self.exercise.version}\n{self.text}".encode()).hexdigest()[:10]

    @property
    def is_right(self) -> bool:
        return self.kind.removesuffix(UNTRAINED) in RIGHT_KINDS

    @property
    def trains(self) -> bool:
        """Whether a verdict takes a training."""
        return self.exercise.trains and not self.kind.endswith(UNTRAINED)


@dataclass(frozen=True)
class Row:
    """How often an answer got full marks on the seeds 0 to `seeds` - 1; the first few that surprise."""

    digest: str
    seeds: int = 0
    passed: int = 0
    surprising: tuple[int, ...] = field(default=())

    def after(self, passed: bool, is_right: bool) -> Row:
        """The row with one more seed."""
        odd = self.surprising + ((self.seeds,) if passed != is_right else ())
        return replace(self, seeds=self.seeds + 1, passed=self.passed + passed, surprising=odd[:SHOWN])


Table = dict[tuple[str, str, str], Row]


def rows() -> list[Answer]:
    """What has a row of the table: every known answer, and the right ones once more where parts of an exercise do not train."""
    found = answers()
    parts = {id: untrained(exercise) for id, exercise in EXERCISES.items()}
    again = [replace(one, kind=one.kind + UNTRAINED, exercise=replace(one.exercise, checks=parts[one.exercise.id]))
             for one in found if one.is_right and parts[one.exercise.id]]
    place = {id: i for i, id in enumerate(EXERCISES)}
    return sorted(found + again, key=lambda one: place[one.exercise.id])


def untrained(exercise: Exercise) -> list[Check]:
    """The parts of an exercise that trains which do not: of a class those before the first that asks for `fit`."""
    if not exercise.of_class:
        return []
    return exercise.checks[:BEFORE_FIT.get(exercise.id, -1)] if hasattr(exercise.model, "fit") else exercise.checks


def answers() -> list[Answer]:
    """Every known answer to every exercise, in the order of the bank."""
    from tests.grading.answers import RIGHT, WRONG

    stored = json.loads((ROOT / "course_lib" / "grading" / "solutions.json").read_text("utf-8"))
    found = []
    for id, exercise in EXERCISES.items():
        found.append(Answer(exercise, "solution", "", solution(stored[id]["source"], id), stored[id]["source"]))
        for kind, entered in (("right", RIGHT), ("wrong", WRONG)):
            for name, fn in entered.items():
                if name.split(":")[0] == id:
                    found.append(Answer(exercise, kind, name.partition(": ")[2], fn, source(fn)))
        for name in exercise.misconceptions:
            found.append(Answer(exercise, "misconception", name, partial(exercise.solve, bugs=[name]), ""))
    return found


def solution(text: str, name: str) -> Callable:
    """The function or class that a model solution defines."""
    space: dict = {}
    exec(IMPORTED + text, space)
    return space[name]


def source(fn: FunctionType | type) -> str:
    """The text of `fn`, of the functions and classes of its module that it uses, and the constants."""
    texts, todo, done = [], [fn], set()
    while todo:
        one = todo.pop()
        done.add(one.__qualname__)
        texts.append(inspect.getsource(one))
        methods = [part for part in vars(one).values() if isinstance(part, FunctionType)] if isinstance(one, type) else [one]
        bases = [base.__name__ for base in getattr(one, "__bases__", ())]
        for name in sorted({*bases, *(name for part in methods for name in names(inspect.unwrap(part).__code__))}):
            value = sys.modules[one.__module__].__dict__.get(name)
            if isinstance(value, FunctionType | type) and value.__module__ == fn.__module__:
                todo += [value] if value.__qualname__ not in done else []
            elif isinstance(value, bool | int | float | str | tuple):
                texts.append(f"{name} = {value!r}")
    return "\n".join(texts)


def names(code: CodeType) -> Iterator[str]:
    """The names of globals that code may read, in the functions inside it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names(constant)


def passes(answer: Answer, seed: int) -> bool:
    """Whether the answer gets full marks with this seed. Asks for no explanation: that takes longer than judging.

    Raises TimeoutError where a right answer took too long: that says something of the machine, nothing of the seed.
    """
    torch.manual_seed(seed)                                          # for answers that draw on their own
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        state = judge(answer.exercise, in_this_process(answer.exercise, answer.fn), seed, explain=False).state
    if answer.is_right and state == "timeout":
        raise TimeoutError(f"{' '.join(answer.key)}: no answer in time with seed {seed}; is the machine busy? Run it again")
    return state == "right"


def read(path: Path = FILE) -> Table:
    """The stored rows; none if there is no file."""
    if not path.exists():
        return {}
    table: Table = {}
    for line in path.read_text("utf-8").splitlines()[1:]:
        id, kind, name, digest, seeds, passed, odd = line.split("\t")
        table[id, kind, name] = Row(digest, int(seeds), int(passed), tuple(map(int, odd.split())))
    return table


def write(table: Table, known: Iterable[Answer], path: Path = FILE) -> None:
    """Store the rows of `known` answers, in their order; all at once, so that a stop leaves a whole file."""
    lines = ["\t".join(HEAD)]
    for answer in known:
        if row := table.get(answer.key):
            cells = (*answer.key, row.digest, row.seeds, row.passed, " ".join(map(str, row.surprising)))
            lines.append("\t".join(map(str, cells)))
    new = path.with_suffix(".new")
    new.write_text("\n".join(lines) + "\n", "utf-8")
    os.replace(new, path)


def wanted(answer: Answer, seeds: int, training: int) -> int:
    return training if answer.trains else seeds


def stale(table: Table, known: Iterable[Answer], seeds: int = SEEDS, training: int = SEEDS_TRAINING) -> list[Answer]:
    """The answers without a row of their digest and as many seeds."""
    return [one for one in known if held(table, one) < wanted(one, seeds, training)]


def held(table: Table, answer: Answer) -> int:
    """How many seeds the table has of an answer as it is."""
    row = table.get(answer.key, Row(""))
    return row.seeds if row.digest == answer.digest else 0


def surprises(table: Table, known: Iterable[Answer]) -> list[str]:
    """A line for each current row of a right answer that failed, or of a wrong one that passed."""
    lines = []
    for one in known:
        row = table.get(one.key)
        if row and row.digest == one.digest and row.passed != (row.seeds if one.is_right else 0):
            lines.append(f"{one.exercise.id}, {one.kind} {one.name!r}: full marks on {row.passed} of {row.seeds} seeds; "
                         f"not as it should be with seed {', '.join(map(str, row.surprising))}")
    return lines


def run(todo: list[Answer], known: list[Answer], seeds: int, training: int, path: Path = FILE) -> Table:
    """Judge the answers `todo`, each from where its row ends, and store after each: its row alone, since another run may have
    stored others meanwhile."""
    for number, answer in enumerate(todo, 1):
        row, began = read(path).get(answer.key, Row("")), time.perf_counter()
        if row.digest != answer.digest:
            row = Row(answer.digest)
        stored = began
        while row.seeds < wanted(answer, seeds, training):
            row = row.after(passes(answer, row.seeds), answer.is_right)
            if time.perf_counter() - stored > STORED_EVERY:
                stored = time.perf_counter()
                write(read(path) | {answer.key: row}, known, path)
        write(read(path) | {answer.key: row}, known, path)
        print(f"{number} of {len(todo)}  {answer.exercise.id}, {answer.kind} {answer.name}: "
              f"{row.passed} of {row.seeds}  ({time.perf_counter() - began:.1f} s)", flush=True)
    return read(path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="chapters (03) and exercises (train_nade)")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--training", type=int, default=SEEDS_TRAINING, help="seeds of exercises that train")
    parser.add_argument("--list", action="store_true", help="name what is stale, run nothing")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.only) - {part for e in EXERCISES.values() for part in (e.id, e.chapter)}:
        parser.error(f"no chapter and no exercise: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    known = rows()
    chosen = [one for one in known if not asked.only or {one.exercise.id, one.exercise.chapter} & set(asked.only)]
    todo = stale(read(), chosen, asked.seeds, asked.training)
    if asked.list:
        table = read()
        print("\n".join(f"{' '.join(one.key)}: {held(table, one)} of {wanted(one, asked.seeds, asked.training)}" for one in todo)
              or "nothing is stale")
        return 0
    found = surprises(run(todo, known, asked.seeds, asked.training), chosen)
    print("\n".join(found) or "every right answer passes, every wrong one fails")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
