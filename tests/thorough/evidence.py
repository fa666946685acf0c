"""Record what a change of the course's machinery must not change, and compare with the last record.

    python -m tests.thorough.evidence compare            # what differs from the record; exit status 1 if anything does
    python -m tests.thorough.evidence record             # write the record anew, after a change that is meant
    python -m tests.thorough.evidence compare exercises interface weights class       # some parts only
    python -m tests.thorough.evidence compare answers --only attention train_nade     # some exercises only

The parts of the record (tests/thorough/evidence.json):

answers    state, points and named misconception of every known answer to every exercise, on three seeds
exercises  chapter, kind, points of each check, number of hints and names of the misconceptions of every exercise
interface  names and signatures that `course_lib` and `course_lib.grading` export
weights    `log_prob` of each shipped model, or another fixed output, on fixed input
class      CSV, JSON and HTML pages of a made-up class

The stored outputs of the notebooks are evidence, too; nbval compares them.
"""
from __future__ import annotations

import argparse
import contextlib
import html
import inspect
import io
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = Path(__file__).with_name("evidence.json")
SEEDS = range(3)
PATIENCE = 20.0               # times an exercise's own deadline: a busy machine must not change a verdict


# Answers

def known_answers(exercise_id: str) -> Iterator[tuple[str, str, Callable]]:
    """Kind, name and function of each known answer to an exercise."""
    from tests.exercises.known import ANSWERS

    for answer in ANSWERS:
        if answer.exercise.id == exercise_id and answer.kind not in ("solution", "empty"):
            yield answer.kind, answer.name, answer.fn


def grade(exercise_id: str) -> dict[str, dict[str, list[str]]]:
    """For each known answer to an exercise: "state earned/possible misconception" for each seed, once if they agree."""
    from course_lib.grading import EXERCISES
    from course_lib.grading.notebook import local_call
    from course_lib.grading.verdict import grade

    torch.set_num_threads(1)
    exercise = EXERCISES[exercise_id]
    exercise = replace(exercise, deadline=PATIENCE * exercise.deadline)
    found: dict[str, dict[str, list[str]]] = {}
    for kind, name, function in known_answers(exercise_id):
        verdicts = []
        for seed in SEEDS:
            torch.manual_seed(seed)
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                report = grade(exercise, local_call(exercise, function), seed)
            verdicts.append(f"{report.state} {report.earned}/{report.possible} {report.misconception or '-'}")
        found.setdefault(kind, {})[name] = verdicts[:1] if len(set(verdicts)) == 1 else verdicts
    return found


def record_answers(only: list[str], jobs: int) -> dict:
    from course_lib.grading import EXERCISES

    ids = only or list(EXERCISES)
    with ProcessPoolExecutor(jobs) as pool:
        found = {}
        for exercise_id, verdicts in zip(ids, pool.map(grade, ids)):
            found[exercise_id] = verdicts
            print(f"  {exercise_id}", file=sys.stderr, flush=True)
    return found


# Everything else

def record_exercises() -> dict:
    from course_lib.grading import EXERCISES

    return {exercise.id: {"chapter": exercise.chapter, "kind": exercise.kind,
                          "points": {check.name: check.points for check in exercise.checks},
                          "hints": len(exercise.hints), "misconceptions": sorted(exercise.misconceptions)}
            for exercise in EXERCISES.values()}


def signature(value: object) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return type(value).__name__


def record_interface() -> dict:
    import course_lib
    from course_lib import grading

    return {module.__name__: {name: signature(getattr(module, name)) for name in sorted(module.__all__)}
            for module in (course_lib, grading)}


def record_weights() -> dict:
    """Four log-probabilities of each model on tokens or pixels 0, 1, 0, 1, ...; other models by sums of what is stored."""
    from course_lib import hub

    found = {}
    for name in sorted(hub.available()):
        with contextlib.redirect_stdout(io.StringIO()):
            model = hub.load(name)
        values, lengths = None, (getattr(model, "n", None), getattr(model, "window", None), 16)
        length = next(n for n in lengths if isinstance(n, int))
        x = torch.stack([torch.arange(length) % k for k in (1, 2, 3, 5)])
        for compute in (lambda: model.log_prob(x), lambda: model.log_prob(x % 2), lambda: model.log_prob(x[:, 1:], x[:, :1]),
                        lambda: model(x).logsumexp((1, 2)), lambda: model.log_prob(x[:, 8:], x[:, :8])):
            if values is None:
                with contextlib.suppress(Exception), torch.no_grad():
                    values = compute()
        if values is None:
            values = [tensor.double().sum() for tensor in model.state_dict().values()][:4]
        found[name] = [float(f"{float(value):.6g}") for value in values]
    return found


CLASS = {                     # student -> for each exercise of chapter self-attention the answer that was handed in
    "ada": "solution", "bo": "stub", "cleo": "half", "dan": "wrong", "eve": "broken", "fay": "none", "gus": "error",
}


def hand_in(folder: Path) -> None:
    """The notebooks of a small class: solved, untouched, half solved, wrong, unreadable, empty, with an error in a cell."""
    solved = json.loads(next((ROOT / "solutions").glob("*-self-attention.ipynb")).read_text("utf-8"))
    stub = json.loads(next((ROOT / "exercises").glob("*-self-attention.ipynb")).read_text("utf-8"))

    def answers(notebook):
        return [cell for cell in notebook["cells"] if cell["metadata"].get("course", {}).get("role") == "answer"]

    def save(student, text):
        path = folder / student / "17-self-attention.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")

    half = json.loads(json.dumps(stub))
    for target, source in list(zip(answers(half), answers(solved)))[:3]:
        target["source"] = source["source"]
    wrong = json.loads(json.dumps(solved))
    for cell in answers(wrong):
        cell["source"] = "".join(cell["source"]).replace("math.sqrt(", "(").replace("diagonal", "transpose")
    error = json.loads(json.dumps(solved))
    answers(error)[1]["source"] = "def causal_mask(T, S:\n    return None\n"
    empty = {**solved, "cells": []}
    for student, text in (("ada", json.dumps(solved)), ("bo", json.dumps(stub)), ("cleo", json.dumps(half)),
                          ("dan", json.dumps(wrong)), ("eve", "{"), ("fay", json.dumps(empty)), ("gus", json.dumps(error))):
        save(student, text)


def visible(page: str) -> list[str]:
    """The text of a page, without markup."""
    text = re.sub(r"(?s)<(style|script|head).*?</\1>", "", page)
    return [line.strip() for line in html.unescape(re.sub(r"<[^>]+>", "\n", text)).splitlines() if line.strip()]


def record_class() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        hand_in(place / "in")
        out = place / "out"
        out.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "course_lib.grading", "grade", str(place / "in"), "--chapter", "self-attention", "--seed", "5",
             "--csv", str(out / "marks.csv"), "--json", str(out / "marks.json"), "--html", str(out / "html"),
             "--gradescope", str(out / "gradescope")], cwd=ROOT, capture_output=True, text=True)
        pages = {path.stem: visible(path.read_text("utf-8")) for path in sorted((out / "html").rglob("*.html"))}
        record = {"status": done.returncode, "csv": (out / "marks.csv").read_text("utf-8-sig").splitlines(),
                  "json": json.loads((out / "marks.json").read_text("utf-8")), "pages": pages,
                  "gradescope": {path.parent.name: json.loads(path.read_text("utf-8"))
                                 for path in sorted((out / "gradescope").rglob("results.json"))}}
        for part in ("pages", "gradescope"):
            record[part] = {name: value for name, value in record[part].items() if name in ("dan", "eve")}
        text = re.sub(r'("(?:seconds|execution_time)": )[0-9.e-]+', r"\1 0", json.dumps(record))
        text = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text.replace(folder, "FOLDER"))
        return json.loads(text)


PARTS = {"exercises": record_exercises, "interface": record_interface, "weights": record_weights, "class": record_class}


def differences(old: object, new: object, path: str = "") -> Iterator[str]:
    """One line for each leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in new or key not in old:
                yield f"{path}/{key}: {'gone' if key not in new else 'new'}"
            else:
                yield from differences(old[key], new[key], f"{path}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (before, after) in enumerate(zip(old, new)):
            yield from differences(before, after, f"{path}[{i}]")
    elif isinstance(old, float) and isinstance(new, float):
        if abs(old - new) > 1e-4 * max(abs(old), abs(new)):
            yield f"{path}: {old} -> {new}"
    elif old != new:
        yield f"{path}: {old!r} -> {new!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"answers, {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="of the answers, these exercises only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if unknown := set(options.parts) - {"answers", *PARTS}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; the parts are answers, {', '.join(PARTS)}")
    parts = options.parts or ["answers", *PARTS]
    new = {}
    for part in parts:
        print(part, file=sys.stderr, flush=True)
        new[part] = record_answers(options.only, options.jobs) if part == "answers" else PARTS[part]()
    old = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    if options.action == "record":
        if options.only:
            new["answers"] = old["answers"] | new["answers"]
        RECORD.write_text(json.dumps(old | new, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return 0
    if options.only:
        old["answers"] = {id: old["answers"][id] for id in options.only}
    found = [line for part in parts for line in differences(old.get(part), new[part], part)]
    print("\n".join(found) or "nothing differs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
