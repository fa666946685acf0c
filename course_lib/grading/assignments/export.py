"""Export the exercises for another grader: nbgrader, otter or Gradescope. The points there are the points here."""
from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable
from importlib.resources import files as resources
from pathlib import Path
from typing import NamedTuple

from course_lib.exercises import get
from course_lib.grading.assignments import build, form, regions, release
from course_lib.grading.assignments.form import FormError, chapter, exercise, role, select_chapters


def add_arguments(parser) -> None:
    """The options of `export`."""
    parser.add_argument("target", choices=sorted(TARGETS), help="the grader to export for")
    parser.add_argument("to", type=Path, metavar="DIR", help="the folder to write")
    form.add_folders(parser)
    parser.add_argument("--chapter", metavar="NAME,NAME", type=lambda text: text.split(","),
                        help="the chapters to export, by slug or number; all of them if not given. Gradescope's autograder needs to know: it "
                             "asks for all exercises of these")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the inputs of nbgrader's and otter's checks (default: 0)")
    parser.add_argument("--force", action="store_true", help="write over files that are there")


def run(args) -> int:
    """The command `export`; returns its exit status."""
    target = TARGETS[args.target]
    try:
        if args.target == "gradescope" and not args.chapter:
            raise FormError("an autograder is for one assignment: say with --chapter NAME which chapters it asks for")
        files = target.write(select_chapters(build.read_sources(args.solutions), args.chapter), args.seed)
        there = [name for name in files if (args.to / name).exists()]
        if there and not args.force:
            raise FormError(f"{args.to / there[0]} is already there, and kept: name another folder, or add --force")
        form.write_files(args.to, files)
        for name in target.programs:
            (args.to / name).chmod(0o755)
    except (FormError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"wrote {len(files)} files to {args.to}; {target.next_step.format(to=args.to)}")
    return 0


# nbgrader

NBGRADER_CONFIG = f"""\
c = get_config()  # noqa: F821, nbgrader provides it
c.CourseDirectory.course_id = "chain-rule-to-bert"
c.ClearSolutions.code_stub = {{"python": "{regions.STUB}"}}
c.Execute.timeout = 300
"""
NBGRADER_TEST = """\
from course_lib.grading.assignments.points import earned

earned("{id}", seed={seed})"""


def nbgrader_files(pages: dict[Path, dict], seed: int) -> dict[str, str]:
    """An nbgrader course: source/NAME/NAME.ipynb for each chapter, and its configuration. Answers are solution cells, which nbgrader empties;
    each check is a locked test cell that ends in the points earned, since nbgrader would give all points for one that ends in nothing."""
    files = {"nbgrader_config.py": NBGRADER_CONFIG}
    for path, page in pages.items():
        files[f"source/{path.stem}/{path.name}"] = form.dumps(nbgrader_notebook(page, path, seed))
    return files


def nbgrader_notebook(page: dict, path: Path, seed: int) -> dict:
    """The source notebook of one assignment."""
    cells, opened = [], False
    for cell in copy.deepcopy(page["cells"]):
        kind, name, mark = role(cell), exercise(cell), {}
        if kind in ("why", "solution-only"):
            continue
        opened = opened or kind == "task"
        if kind == "task":
            mark = {"grade_id": f"{name}-task", "locked": True}
        elif kind == "answer":
            cell["metadata"].pop("tags", None)
            mark = {"grade_id": name, "solution": True}
        elif kind == "check":
            cell["source"] = NBGRADER_TEST.format(id=name, seed=seed)
            mark = {"grade_id": f"{name}-check", "grade": True, "locked": True, "points": get(name).possible}
        elif not opened and cell["cell_type"] == "code":
            mark = {"grade_id": f"cell-{len(cells)}", "locked": True}
        if mark:
            cell["metadata"]["nbgrader"] = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False, **mark}
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        elif cell["cell_type"] == "markdown":
            cell["source"] = release.OUTSIDE.sub(r"\1", cell["source"])
        cells.append(cell)
    cells[0]["source"] = cells[0]["source"].replace("# Solutions", "# Exercises", 1)
    return form.normal({**page, "cells": cells}, path.stem)


# otter

OTTER_INIT = 'import otter\n\ngrader = otter.Notebook("{name}")'
OTTER_HEAD = '''\
"""The checks of {id}, for otter-grader 7."""
from otter.test_files import test_case

from course_lib.grading.assignments.points import demand

OK_FORMAT = False

name = "{id}"
points = None
'''
OTTER_CASE = '''

@test_case(name="{check}", points={points})
def test_{function}(env):
    demand("{id}", "{check}", env, seed={seed})
'''


def otter_files(pages: dict[Path, dict], seed: int) -> dict[str, str]:
    """An otter-grader assignment for each chapter: the notebook of the exercises, and tests in the exception-based form. Each check of an
    exercise is a test case with its points."""
    files: dict[str, str] = {}
    for path, page in pages.items():
        nb = otter_notebook(page, path)
        files[f"{path.stem}/{path.name}"] = form.dumps(nb)
        files[f"{path.stem}/otter_config.json"] = json.dumps({"show_all_public": True}, indent=1) + "\n"
        files[f"{path.stem}/requirements.txt"] = release.requirements(release.find_address(page)) + "otter-grader==7.*\n"
        for name in nb["metadata"]["course"]["exercises"]:
            cases = (OTTER_CASE.format(id=name, check=check.name, points=check.points, seed=seed, function=re.sub(r"\W+", "_", check.name))
                     for check in get(name).checks)
            files[f"{path.stem}/tests/{name}.py"] = OTTER_HEAD.format(id=name) + "".join(cases)
    return files


def otter_notebook(page: dict, path: Path) -> dict:
    """The notebook that students get, with otter's own calls in the place of check."""
    nb = release.strip_links(build.exercise_page(page, path, None), path.stem)
    for cell in nb["cells"]:
        if role(cell) == "check":
            cell["source"] = f'grader.check("{exercise(cell)}")'
    first = next(i for i, cell in enumerate(nb["cells"]) if role(cell) == "task")
    nb["cells"].insert(first, {"cell_type": "code", "source": OTTER_INIT.format(name=path.name), "metadata": {},
                               "outputs": [], "execution_count": None})
    return form.normal(nb, path.stem)


# Gradescope

PACKAGED = (".py", ".json", ".toml", ".tsv", ".js", ".css", ".html", ".txt")


def gradescope_files(pages: dict[Path, dict], seed: int) -> dict[str, str | bytes]:
    """A Gradescope autograder for the chapters of these pages: a folder to zip and upload, with the package as it is now, so that marks do
    not change when the course does. The seed is drawn anew for each submission."""
    chapters = ",".join(map(chapter, pages))
    setup, run_each = (Path(__file__).with_name(f"gradescope_{name}.sh").read_text("utf-8") for name in ("setup", "run"))
    needs = [line for line in release.requirements(None).splitlines() if not line.startswith("#") and line != "jupyterlab"]
    files: dict[str, str | bytes] = {"setup.sh": setup, "run_autograder": run_each.replace("CHAPTERS", chapters),
                                     "requirements.txt": "\n".join(needs) + "\n"}
    package = Path(str(resources("course_lib")))
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in PACKAGED and "__pycache__" not in path.parts:
            files[f"course_lib/{path.relative_to(package).as_posix()}"] = path.read_bytes()
    return files


class Target(NamedTuple):
    """A grader to export for: what makes the files, given notebooks and seed; what to do next; the files that are executed."""

    write: Callable[[dict[Path, dict], int], dict]
    next_step: str
    programs: tuple[str, ...] = ()


TARGETS = {
    "nbgrader": Target(nbgrader_files, "next, in that folder: nbgrader generate_assignment NAME"),
    "otter": Target(otter_files, "next, in the folder of a chapter: otter generate -t tests -c otter_config.json -r requirements.txt "
                                 "-o autograder.zip"),
    "gradescope": Target(gradescope_files, "next: zip what is in {to} (not the folder itself) and upload it as the autograder",
                         ("setup.sh", "run_autograder")),
}
