"""An nbgrader course: source/NAME/NAME.ipynb for each chapter, and the configuration that goes with it.

Answers are solution cells, which nbgrader empties; each check is a locked test cell that ends in the points earned.
A check leaves nothing on stderr, for which nbgrader would give 0, and never ends in nothing, for which it would give
all points.
"""
from __future__ import annotations

import copy
from pathlib import Path

from course_lib.exercises import get
from course_lib.grading.notebooks import form, regions, release
from course_lib.grading.notebooks.form import exercise, role

PROGRAMS = ()
NEXT = "next, in that folder: nbgrader generate_assignment NAME"
CONFIG = f"""\
c = get_config()  # noqa: F821, nbgrader provides it
c.CourseDirectory.course_id = "chain-rule-to-bert"
c.ClearSolutions.code_stub = {{"python": "{regions.STUB}"}}
c.Execute.timeout = 300
"""
TEST = """\
from course_lib.grading.notebooks.marks import earned

earned("{id}", seed={seed})"""


def files(pages: dict[Path, dict], seed: int) -> dict[str, str]:
    """The files of the course, by their names."""
    found = {"nbgrader_config.py": CONFIG}
    for path, page in pages.items():
        found[f"source/{path.stem}/{path.name}"] = form.dumps(assignment(page, path, seed))
    return found


def assignment(page: dict, path: Path, seed: int) -> dict:
    """The source notebook of one assignment."""
    cells, opened = [], False
    for cell in copy.deepcopy(page["cells"]):
        kind, name = role(cell), exercise(cell)
        if kind in ("why", "solution-only"):
            continue
        opened = opened or kind == "task"
        if kind == "task":
            cell["metadata"]["nbgrader"] = marks(f"{name}-task", locked=True)
        elif kind == "answer":
            cell["metadata"].pop("tags", None)
            cell["metadata"]["nbgrader"] = marks(name, solution=True)
        elif kind == "check":
            cell["source"] = TEST.format(id=name, seed=seed)
            cell["metadata"]["nbgrader"] = marks(f"{name}-check", grade=True, locked=True, points=get(name).possible)
        elif not opened and cell["cell_type"] == "code":
            cell["metadata"]["nbgrader"] = marks(f"cell-{len(cells)}", locked=True)
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        elif cell["cell_type"] == "markdown":
            cell["source"] = release.OUTSIDE.sub(r"\1", cell["source"])
        cells.append(cell)
    cells[0]["source"] = cells[0]["source"].replace("# Solutions", "# Exercises", 1)
    return form.normal({**page, "cells": cells}, path.stem)


def marks(grade_id: str, grade: bool = False, solution: bool = False, locked: bool = False,
          points: int | None = None) -> dict:
    """The metadata by which nbgrader knows a cell."""
    found = {"schema_version": 3, "grade_id": grade_id, "grade": grade, "solution": solution, "locked": locked,
             "task": False}
    return found if points is None else {**found, "points": points}
