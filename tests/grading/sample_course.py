"""Small solution notebooks in the form of the real ones, for tests that break them."""
from __future__ import annotations

import argparse
import json
from pathlib import Path

from course_lib.exercises import chapters, of_chapter
from course_lib.grading.assignments import build

SETUP = "# Set-up\nimport importlib.util"


def cell(kind: str, source: str, role: str | None = None, exercise: str | None = None, **metadata) -> dict:
    course = {key: value for key, value in (("role", role), ("exercise", exercise)) if value}
    found = {"cell_type": kind, "source": source, "id": "0", "metadata": {**metadata, **({"course": course} if course
                                                                                       else {})}}
    return {**found, "outputs": [], "execution_count": None} if kind == "code" else found


def answer(name: str) -> str:
    return (f'LIMIT_{name} = 3\n\n\ndef {name}(x, y=None):\n    """What {name} returns."""\n    ### BEGIN SOLUTION\n'
            f"    total_{name} = x + 1        # the whole idea\n\n    if y:\n        return total_{name}\n"
            f"    return None\n    ### END SOLUTION")


def why(name: str) -> str:
    return (f"Because {name} adds one\nto whatever comes, and one is\nenough.\n\nA second paragraph on {name}: with "
            "braces, {}.")


def notebook(chapter: str) -> dict:
    """A whole solution notebook of this chapter's exercises."""
    cells = [cell("markdown", f"# Solutions: chapter {chapter}\n\nTo [the chapter](../book/page.ipynb)."),
             cell("code", SETUP, tags=["setup", "hide-input"]),
             cell("code", "from course_lib.grading import check, hint, solution")]
    for each in of_chapter(chapter):
        cells += [cell("markdown", f"## {each.title}\n\nWrite `{each.id}`.", "task", each.id),
                  cell("code", answer(each.id), "answer", each.id),
                  cell("code", f'check("{each.id}")', "check", each.id),
                  cell("code", f"# play with {each.id}\nprint(1)"),
                  cell("markdown", why(each.id), "why", each.id),
                  cell("markdown", f"For teachers: {each.id} is easy to mark.", "solution-only")]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(folder: Path) -> dict[str, Path]:
    """A folder of solution notebooks, one for each chapter that has exercises; their paths by chapter."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {slug: folder / f"{row['number']}-made-up.ipynb" for slug, row in chapters().items()}
    for slug, path in paths.items():
        path.write_text(json.dumps(notebook(slug)), "utf-8")
    return paths


def course(folder: Path) -> argparse.Namespace:
    """The options of a build from made-up notebooks, which it writes."""
    write(folder / "solutions")
    return options(folder)


def options(folder: Path) -> argparse.Namespace:
    """The options of a build in this folder."""
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    return parser.parse_args(["--solutions", str(folder / "solutions"), "--exercises", str(folder / "exercises"),
                              "--store", str(folder / "solutions.json")])


def one(course: argparse.Namespace, chapter: str = "04", folder: str = "exercises") -> Path:
    """The path of one chapter's notebook."""
    return next(getattr(course, folder).glob(f"{chapter}-*.ipynb"))


def cells(path: Path, role: str | None, exercise: str | None = None) -> list[dict]:
    """The cells of a stored notebook with this role."""
    nb = json.loads(path.read_text("utf-8"))
    return [each for each in nb["cells"] if (each["metadata"].get("course") or {}).get("role") == role
            and exercise in (None, (each["metadata"].get("course") or {}).get("exercise"))]


def text(cell: dict) -> str:
    return "".join(cell["source"])


def change(path: Path, edit) -> None:
    """Load the notebook, let `edit(nb)` change it, store it."""
    nb = json.loads(path.read_text("utf-8"))
    for each in nb["cells"]:
        each["source"] = "".join(each["source"])
    edit(nb)
    path.write_text(json.dumps(nb), "utf-8")


def of(nb: dict, role: str, number: int = 0) -> dict:
    """The cell with this role, counted from 0."""
    return [each for each in nb["cells"] if (each["metadata"].get("course") or {}).get("role") == role][number]
