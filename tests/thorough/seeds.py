"""Grade all solutions, right and wrong answers and misconceptions on 200 seeds, on 10 where the exercise trains, before a release.

    python -m tests.thorough.seeds                     all exercises
    python -m tests.thorough.seeds 03 train_nade       these chapters and exercises alone

A right answer has to get full marks with every seed and a wrong one with none. Where a class is asked for, its right answers are
graded on 200 seeds too, by the checks that do not train. Progress is stored in _build/seeds.tsv about once a minute, so that a
run that was stopped goes on; it counts as long as neither the grader nor an answer has changed. Ends with 1 where a verdict was
wrong. Several runs, of different exercises, may go on at the same time.
"""
from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import defaultdict
from dataclasses import replace

import torch

from course_lib.grading import EXERCISES
from course_lib.grading.checks import Check, Property
from course_lib.grading.notebook import local_call
from tests.exercises.known import ANSWERS, ROOT, Answer

FILE = ROOT / "_build" / "seeds.tsv"
SEEDS, SEEDS_TRAINING = 200, 10
STORED_EVERY = 60.0                         # seconds


class Trains(Exception):
    """A check asks for `fit`."""


def untrained(answer: Answer) -> list[Check]:
    """The checks of an exercise on a class that do not train."""
    own = local_call(replace(answer.exercise, deadline=600.0), answer.fn)

    def call(args, *rest, **more):
        if args[0] == "fit":
            raise Trains
        return own(args, *rest, **more)

    found = []
    for check in answer.exercise.checks:
        generator = answer.exercise.generator(0, check.name)
        try:
            (check.test if isinstance(check, Property) else check.records)(answer.exercise, call, generator)
            found.append(check)
        except Trains:
            pass
    return found


def todo(answers: list[Answer]) -> list[tuple[str, Answer, int]]:
    """What is graded: a name, an answer, and on how many seeds."""
    found, parts = [], {}
    for one in answers:
        found.append((str(one), one, SEEDS_TRAINING if one.exercise.trains else SEEDS))
        if one.is_right and one.exercise.of_class:
            id = one.exercise.id
            parts[id] = parts[id] if id in parts else untrained(one)
            if parts[id]:
                found.append((f"{one}, untrained", replace(one, exercise=replace(one.exercise, checks=parts[id])), SEEDS))
    return found


def state_of_the_code() -> str:
    """A digest of the package and of the known answers."""
    files = sorted(path for folder in ("course_lib", "tests/grading") for path in (ROOT / folder).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def read(code: str) -> dict[str, tuple[int, list[int]]]:
    """For each answer on how many seeds it was graded with this code, and with which its verdict was wrong."""
    found: dict[str, tuple[int, list[int]]] = defaultdict(lambda: (0, []))
    for line in FILE.read_text("utf-8").splitlines() if FILE.exists() else ():
        cells = line.split("\t")
        if len(cells) == 4 and cells[0] == code:
            found[cells[1]] = int(cells[2]), [int(seed) for seed in cells[3].split()]
    return found


def store(code: str, name: str, seeds: int, wrong: list[int]) -> None:
    FILE.parent.mkdir(exist_ok=True)
    with FILE.open("a", encoding="utf-8") as file:
        file.write(f"{code}\t{name}\t{seeds}\t{' '.join(map(str, wrong))}\n")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="chapters (03) and exercises (train_nade)")
    only = set(parser.parse_args(arguments).only)
    if unknown := only - {part for each in EXERCISES.values() for part in (each.id, each.chapter)}:
        parser.error(f"no chapter and no exercise: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    code, failed = state_of_the_code(), 0
    done, work = read(code), todo([one for one in ANSWERS if one.kind not in ("reference", "empty")
                                   and (not only or {one.exercise.id, one.exercise.chapter} & only)])
    for number, (name, answer, seeds) in enumerate(work, 1):
        graded, wrong = done[name]
        began = stored = time.monotonic()
        for seed in range(graded, seeds):
            report = answer.report(seed, explain=False)
            if answer.is_right and report.state == "timeout":
                sys.exit(f"{name}: no answer in time with seed {seed}. Is the machine busy? Run again to go on from here.")
            wrong = wrong if (report.state == "right") == answer.is_right else [*wrong, seed]
            if seed + 1 == seeds or time.monotonic() - stored > STORED_EVERY:
                store(code, name, seed + 1, wrong)
                stored = time.monotonic()
        failed += bool(wrong)
        print(f"{number} of {len(work)}  {name}: {seeds} seeds" + f", wrong with {wrong}" * bool(wrong)
              + f"  ({time.monotonic() - began:.1f} s)", flush=True)
    print(f"{failed} of {len(work)} got a wrong verdict" if failed else "every right answer passes, every wrong one fails")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
