"""Export the exercises as an nbgrader course. The points there are the points here."""
import copy
import sys
from pathlib import Path

from course_lib.exercises import get
from course_lib.grading.assignments import build, form, regions, release
from course_lib.grading.assignments.form import FormError, exercise, role, select_chapters

CONFIG = f"""\
c = get_config()  # noqa: F821, nbgrader provides it
c.CourseDirectory.course_id = "chain-rule-to-bert"
c.ClearSolutions.code_stub = {{"python": "{regions.STUB}"}}
c.Execute.timeout = 300
"""
TEST = """\
from course_lib.grading.assignments.points import earned

earned("{id}", seed={seed})"""


def add_arguments(parser) -> None:
    """The options of `export`."""
    parser.add_argument("target", choices=["nbgrader"], help="the grader to export for")
    parser.add_argument("to", type=Path, metavar="DIR", help="the folder to write")
    form.add_folders(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the inputs of the checks (default: 0)")


def run(args) -> int:
    """The command `export`; returns its exit status."""
    try:
        pages = select_chapters(build.read_sources(args.solutions), args.chapter)
        files = {"nbgrader_config.py": CONFIG} | {f"source/{path.stem}/{path.name}": form.dumps(nbgrader_notebook(page, path, args.seed))
                                                 for path, page in pages.items()}
        there = [name for name in files if (args.to / name).exists()]
        if there and not args.force:
            raise FormError(f"{args.to / there[0]} is already there, and kept: name another folder, or add --force")
        form.write_files(args.to, files)
    except (FormError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"wrote {len(files)} files to {args.to}; next, in that folder: nbgrader generate_assignment NAME")
    return 0


def nbgrader_notebook(page: dict, path: Path, seed: int) -> dict:
    """The source notebook of one assignment. A test cell ends in the points earned; nbgrader would give all for one that ends in nothing."""
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
            cell["source"] = TEST.format(id=name, seed=seed)
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
