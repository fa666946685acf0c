"""The same submissions graded by nbgrader and here: the points must be the same.

    python book/_tools/peers.py                    every chapter; nbgrader gets an environment of its own, once
    python book/_tools/peers.py --chapter fvsbn

Six submissions for each chapter: full, partial, stub, broken, noisy, and one with edited checks.
Exits with 1 where the two disagree.
A job of its own, outside `make test`: nbgrader brings many packages.
"""
from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from book._tools.environment import install_once  # noqa: E402
from course_lib.exercises import chapter_slug, get  # noqa: E402
from course_lib.grading.assignments import build, export, form, regions  # noqa: E402
from course_lib.grading.assignments.form import exercise, role  # noqa: E402

SEED = 0
PACKAGE = "nbgrader==0.9.6"
SHARED = ("torch", "numpy", "ipykernel")               # as pinned for the tests

# What becomes of each answer, by its place in the chapter. `{answer}` is the model solution, `{id}` its name.
RIGHT = "{answer}"
STUB = "{stub}"
BEFORE = "{answer}\n\n\nright_{id} = {id}\n\n\ndef {id}(*args):\n"
DETACHED = BEFORE + ("    result = right_{id}(*args)\n"
                     "    return result.detach() if hasattr(result, 'detach') else result")
WRITES = BEFORE + ("    result = right_{id}(*args)\n    for arg in args:\n        if hasattr(arg, 'zero_'):\n"
                   "            arg.data.zero_()\n    return result")
NOISY = BEFORE + ("    import sys, warnings\n    warnings.warn('careful')\n    print('out')\n"
                  "    print('err', file=sys.stderr)\n    return right_{id}(*args)")
SYNTAX = "def {id}(*args)\n    return 1"
RAISES = "def {id}(*args):\n    raise RuntimeError('no')"
EXITS = "def {id}(*args):\n    raise SystemExit"
NOTHING = "def {id}(*args):\n    pass"
RENAMED = "{answer}\n\n\nmy_{id} = {id}\ndel {id}"
SUBMISSIONS = {"full": [RIGHT], "partial": [DETACHED, WRITES, STUB, RIGHT], "stub": [STUB],
               "broken": [SYNTAX, RAISES, EXITS, NOTHING, RENAMED], "noisy": [NOISY], "edited": [STUB]}


def answers(page: dict, kind: str) -> dict[str, str]:
    """The source of the answer cell of each exercise in one submission."""
    patterns, found = SUBMISSIONS[kind], {}
    for cell in page["cells"]:
        if role(cell) == "answer":
            name = exercise(cell)
            pattern = patterns[len(found) % len(patterns)]
            found[name] = pattern.format(id=name, answer=regions.without_marks(cell["source"]),
                                         stub=regions.stub(cell["source"]))
    return found


def submitted(nb: dict, kind: str, sources: dict[str, str]) -> str:
    """The notebook that a student hands in: these answers in its answer cells; "edited" has its checks edited."""
    nb = copy.deepcopy(nb)
    for cell in nb["cells"]:
        if role(cell) == "answer":
            cell["source"] = sources[exercise(cell)]
        elif role(cell) == "check" and kind == "edited":
            cell["source"] = f"{get(exercise(cell)).possible}          # all points"
    return form.dumps(nb)


def ours(page: dict, path: Path, kinds: dict[str, dict[str, str]], work: Path) -> dict[str, dict[str, float]]:
    """The points of the command line: each submission a student's folder, judged in the sandbox where there is one."""
    handed_out = build.exercise_page(page, path, None)
    for kind, sources in kinds.items():
        (work / "class" / kind).mkdir(parents=True)
        (work / "class" / kind / path.name).write_text(submitted(handed_out, kind, sources), "utf-8")
    run([Path(sys.executable), "-m", "course_lib.grading", "grade", "class", "--chapter", form.chapter(path), "--seed", SEED, "--out",
         "ours.jsonl"], work)
    records = map(json.loads, (work / "ours.jsonl").read_text("utf-8").splitlines())
    return {record["student"]: {report["exercise"]: report["earned"] for report in record["reports"]}
            for record in records}


GRADEBOOK = """\
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    found = {}
    for submission in book.assignment_submissions(sys.argv[1]):
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        found[submission.student.id] = {grade.name.removesuffix("-check"): [grade.score, grade.max_score]
                                        for grade in grades}
print(json.dumps(found))
"""


def nbgrader(page: dict, path: Path, kinds: dict[str, dict[str, str]], work: Path, bin: Path) -> dict[str, dict]:
    """The points in nbgrader's gradebook after generate_assignment, autograde and generate_feedback."""
    folder = work / "nbgrader"
    exported(path, folder)
    run([bin / "nbgrader", "generate_assignment", path.stem], folder)
    handed_out = form.read(folder / "release" / path.stem / path.name)
    for cell in handed_out["cells"]:
        if role(cell) == "answer" and "raise NotImplementedError" not in cell["source"]:
            raise SystemExit(f"nbgrader left the answer of {exercise(cell)} in the students' notebook")
    for kind, sources in kinds.items():
        target = folder / "submitted" / kind / path.stem / path.name
        target.parent.mkdir(parents=True)
        target.write_text(submitted(handed_out, kind, sources), "utf-8")
    run([bin / "nbgrader", "autograde", path.stem], folder)
    run([bin / "nbgrader", "generate_feedback", path.stem], folder)
    pages = list((folder / "feedback").glob("*/*/*.html"))
    if len(pages) != len(kinds):
        raise SystemExit(f"nbgrader wrote feedback for {len(pages)} of {len(kinds)} submissions")
    book = json.loads(run([bin / "python", "-c", GRADEBOOK, path.stem], folder))
    for kind, grades in book.items():
        if {name: full for name, (_, full) in grades.items()} != {name: get(name).possible for name in kinds[kind]}:
            raise SystemExit(f"nbgrader knows other full points: {grades}")
    return {kind: {name: score for name, (score, _) in grades.items()} for kind, grades in book.items()}


def exported(path: Path, to: Path) -> None:
    parser = argparse.ArgumentParser()
    export.add_arguments(parser)
    with contextlib.redirect_stdout(io.StringIO()):
        failed = export.run(parser.parse_args(["nbgrader", str(to), "--solutions", str(path.parent), "--seed", str(SEED)]))
    if failed:
        raise SystemExit("the export failed")


def run(command: list, folder: Path) -> str:
    """What the command prints. Its own failure is ours: other graders report a broken submission as a grade."""
    environment = {**os.environ, "PATH": f"{command[0].parent}{os.pathsep}{os.environ['PATH']}",
                   "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def environment() -> Path:
    """The folder of programs of nbgrader's own environment, made once."""
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.split("==")[0] in SHARED]
    install_once(str(ROOT / ".venv-nbgrader"), "nbgrader", "\n".join([*pins, PACKAGE]), [*pins, PACKAGE])
    return ROOT / ".venv-nbgrader" / "bin"


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapter", help="one chapter only, by slug or number")
    parser.add_argument("--solutions", type=Path, default=ROOT / "solutions", metavar="DIR")
    parser.add_argument("--environment", type=Path, metavar="DIR",
                        help="an environment that already holds nbgrader, instead of one of its own")
    options = parser.parse_args(arguments)
    programs = (options.environment / "bin").resolve() if options.environment else environment()
    different = 0
    for path, page in build.read_sources(options.solutions.resolve()).items():
        if options.chapter and chapter_slug(options.chapter) != form.chapter(path):
            continue
        kinds = {kind: answers(page, kind) for kind in SUBMISSIONS}
        with tempfile.TemporaryDirectory() as work:
            here = ours(page, path, kinds, Path(work))
        with tempfile.TemporaryDirectory() as work:
            there = nbgrader(page, path, kinds, Path(work), programs)
        different += compare(path.stem, here, there)
    print("the points are the same" if not different else f"{different} points differ")
    return 1 if different else 0


def compare(stem: str, here: dict, there: dict) -> int:
    """Print a line for each submission; how many exercises have other points there."""
    different = 0
    for kind in SUBMISSIONS:
        points, other = here[kind], there.get(kind, {})
        wrong = [f"{name}: {points[name]} here, {other.get(name, 'nothing')} there" for name in points
                 if other.get(name) != points[name]]
        detail = "; ".join(wrong) or " ".join(f"{value:g}" for value in points.values())
        print(f"{stem:16s} {kind:8s} {sum(points.values()):3g} of "
              f"{sum(get(name).possible for name in points):3d} points here, "
              f"{sum(other.values()):3g} there  ({detail})", flush=True)
        different += len(wrong)
    return different


if __name__ == "__main__":
    sys.exit(main())
