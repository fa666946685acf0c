"""Time and memory of grading a class of synthetic submissions, by the command that an instructor uses.

    python -m benchmarks.classroom 60 300 1000      a class of each size, into results/class-graded.json

Each notebook is sampled from the right and wrong answers of tests/exercises/answers, cells that do not parse, missing
answers, and, rarely, an answer that does not terminate or a truncated file. No two are the same. A second run reads the
log of the first.
"""
from __future__ import annotations

import argparse
import ast
import contextlib
import csv
import functools
import inspect
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks import store
from tests.exercises.answers import RIGHT, WRONG

NAME = "class-graded"
ASKED = ("causal_mask", "split_heads", "merge_heads")                # of chapter self-attention
KINDS = {"right": 600, "wrong": 290, "missing": 60, "broken": 49, "endless": 1}             # of a thousand answers
CUT = 0.01                                                           # the share of files that are cut in half
IMPORTS = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn"
KNOWN = {"math", "torch", "F", "nn"}
JOBS = 2
EVERY = 0.5                                                          # seconds between two looks at the memory


# --- the submissions --------------------------------------------------------------------------------------------------


@functools.cache
def sources(kind: str, exercise: str) -> list[str]:
    """Source of each answer to this exercise that needs only the imports above, under the exercise's name."""
    found = []
    for name, answer in {"right": RIGHT, "wrong": WRONG}[kind].items():
        if name.partition(":")[0] != exercise or not inspect.isfunction(answer) or answer.__closure__:
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer))).body[0]
        used = {name for name in answer.__code__.co_names if name in answer.__globals__}
        if isinstance(tree, ast.FunctionDef) and used <= KNOWN:
            tree.name, tree.decorator_list = exercise, []
            found.append(ast.unparse(tree))
    return found


def answer(exercise: str, kind: str, draw: random.Random) -> str:
    """Cell with an answer of this kind."""
    if kind in ("right", "wrong"):
        return draw.choice(sources(kind, exercise))
    if kind == "missing":
        return "# not yet"
    return f"def {exercise}(*args:\n    pass" if kind == "broken" else f"def {exercise}(*args):\n    while True:\n        pass"


def submission(number: int) -> tuple[str, dict[str, str]]:
    """File of a student, and the kind of each answer in it; "cut" for all answers of a truncated file."""
    draw = random.Random(number)
    kinds = {one: draw.choices(list(KINDS), list(KINDS.values()))[0] for one in ASKED}
    cells = [IMPORTS, f"MINE = {draw.random()}      # so that no two files are the same",
             *(answer(one, kind, draw) for one, kind in kinds.items())]
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None} for source in cells]})
    return (text[:len(text) // 2], dict.fromkeys(ASKED, "cut")) if draw.random() < CUT else (text, kinds)


def write_class(folder: Path, students: int) -> dict[str, dict[str, str]]:
    """Write a file for each student; return the kinds of the answers by student and exercise."""
    planned = {}
    for number in range(students):
        student = f"student-{number:05}"
        text, planned[student] = submission(number)
        path = folder / student / "hw.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return planned


# --- a run, watched ---------------------------------------------------------------------------------------------------


def family(root: int) -> Iterator[tuple[str, float, float]]:
    """Processes below `root`, and itself: kind ("command", "judge", a fork of it, or "sandbox", all others), resident
    MiB, and CPU seconds of the process and its terminated children. Their sum is the CPU time of the family.
    """
    parents, spent, page, tick = {}, {}, os.sysconf("SC_PAGE_SIZE") / 2**20, os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):                           # one that has ended meanwhile
            pid, fields = int(path.parent.name), path.read_text().rpartition(")")[2].split()
            parents[pid], spent[pid] = int(fields[1]), sum(map(int, fields[11:15])) / tick
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    try:
        own = Path(f"/proc/{root}/cmdline").read_bytes()
    except OSError:
        return
    for pid in below:
        try:
            kind = "command" if pid == root else "judge" if Path(f"/proc/{pid}/cmdline").read_bytes() == own else "sandbox"
            yield kind, int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page, spent.get(pid, 0.0)
        except (OSError, IndexError):
            continue


def watched(command: list[str]) -> dict[str, Any]:
    """Run the command; return wall-clock and CPU seconds, and the memory of the largest process of each kind at each
    sample, in MiB."""
    looks: dict[str, list[float]] = {"command": [], "judge": [], "sandbox": []}
    began, spent = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(process.stderr))
    reader.start()
    while process.poll() is None:
        now = list(family(process.pid))
        for kind, sizes in looks.items():
            if own := [mebibytes for each, mebibytes, _ in now if each == kind and mebibytes]:       # one that ends has none
                sizes.append(max(own))
        spent = max(spent, sum(cpu for *_, cpu in now))              # at the end those are missing whose end nobody saw
        time.sleep(EVERY)
    seconds = time.monotonic() - began
    reader.join()
    if process.returncode not in (0, 1):             # 1: the files that are cut cannot be read
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {''.join(said)[-500:]}")
    return {"seconds": round(seconds, 1), "cpu_seconds": round(spent, 1), "mebibytes": {kind: growth(values) for kind, values in looks.items() if values}}


def growth(values: list[float]) -> dict[str, float]:
    """Maximum, and medians of the first and the last tenth of the samples, without those before the start."""
    begun = values[next(k for k, value in enumerate(values) if value >= max(values) / 2):]
    tenth = max(1, len(begun) // 10)
    return {"most": round(max(values), 1), "first": round(statistics.median(begun[:tenth]), 1),
            "last": round(statistics.median(begun[-tenth:]), 1)}


def grade(students: int, jobs: int, folder: Path) -> dict[str, Any]:
    """Grade a class, then once more by its log: a row of the record. Raises AssertionError for an unexpected verdict.
    """
    planned = write_class(folder / "class", students)
    command = [sys.executable, "-m", "course_lib.grading", "grade", str(folder / "class"), "--exercises", ",".join(ASKED),
               "--jobs", str(jobs), "--seed", "7", "--out", str(folder / "log.jsonl"),
               "--csv", str(folder / "marks.csv")]
    first = watched(command)
    states = as_planned(folder / "marks.csv", planned)
    table = (folder / "marks.csv").read_bytes()
    again = watched(command)
    if (folder / "marks.csv").read_bytes() != table:
        raise AssertionError("the second run gives other marks")
    torch.set_num_threads(1)                                         # as every judge has it
    return {"students": students, "answers": students * len(ASKED), "jobs": jobs, "states": states, **first,
            "environment": store.environment(torch.device("cpu")),
            "again": {key: again[key] for key in ("seconds", "cpu_seconds")}}


def as_planned(table: Path, planned: dict[str, dict[str, str]]) -> dict[str, int]:
    """Number of answers in each state. Raises AssertionError unless exactly the right answers passed."""
    states: Counter[str] = Counter()
    with table.open(encoding="utf-8-sig", newline="") as rows:
        graded = {row["student"]: row for row in csv.DictReader(rows)}
    if set(graded) != set(planned):
        raise AssertionError(f"{len(graded)} students have a row; expected {len(planned)}")
    for student, kinds in planned.items():
        for exercise, kind in kinds.items():
            state = graded[student][f"{exercise} state"]
            if (state == "right") is not (kind == "right"):
                busy = "; is the machine busy?" if state == "timeout" else ""
                raise AssertionError(f"{student}, {exercise}: a {kind} answer is called {state}{busy}")
            states[state] += 1
    return dict(states.most_common())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classroom", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", type=int, metavar="N", help="students of a class")
    parser.add_argument("--jobs", type=int, default=JOBS, help="judges at work")
    parser.add_argument("--results", type=Path, default=store.RESULTS, help="folder for the record")
    chosen = parser.parse_args(arguments)
    for students in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            row = grade(students, chosen.jobs, Path(folder))
        print(json.dumps(row), flush=True)
        record(row, chosen.results)
    return 0


def record(row: dict[str, Any], results: Path) -> None:
    """Add a class to the record, in place of one of the same size; other sizes stay if they have the same exercises."""
    known = store.read(results).get(NAME, {"exercises": None, "classes": []})
    others = [each for each in known["classes"] if each["students"] != row["students"] and known["exercises"] == list(ASKED)]
    rows = sorted([row, *others], key=lambda each: each["students"])
    jobs = sorted({each["jobs"] for each in rows})
    store.write({"name": NAME, "kind": "class", "exercises": list(ASKED), "classes": rows,
                 "command": f"python -m benchmarks.classroom {' '.join(str(each['students']) for each in rows)}"
                            + (f" --jobs {jobs[0]}" if jobs != [JOBS] and len(jobs) == 1 else ""),
                 "environment": row["environment"]}, results)


if __name__ == "__main__":
    sys.exit(main())
