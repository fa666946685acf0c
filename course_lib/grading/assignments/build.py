"""Build exercises/ from solutions/, and what `solution(id)` prints. Outputs of cells that did not change are kept."""
import copy
import json
import re
import sys
from importlib.resources import files
from itertools import chain
from pathlib import Path

from course_lib.exercises import EXERCISES, get
from course_lib.exercises import chapters as chapter_table
from course_lib.grading.assignments import form, regions
from course_lib.grading.assignments.form import FormError, exercise, role
from course_lib.grading.exercise import Exercise

TASKS = {"write": "Write a function", "find": "Find the fault", "measure": "Predict, then measure", "train": "Train to a score",
         "build": "Build a model of your own", "repair": "Repair the code"}
LINES = re.compile(r"\*(Difficulty \d of 5, |You may use ).*\*")
PAGE = "../book/what-is-judged.md"
FOLD = "hide-input"


def add_arguments(parser) -> None:
    """The options of `build`."""
    parser.add_argument("--check", action="store_true", help="write nothing; say what is stale and exit with 1")
    form.add_folders(parser, "the notebooks to build", elsewhere=False)
    parser.add_argument("--store", type=Path, default=Path(str(files("course_lib.exercises") / "solutions.json")), metavar="FILE",
                        help="the model solutions (default: the package's own)")


def run(args) -> int:
    """The command `build`; returns its exit status."""
    try:
        wanted = build_files(args.solutions, args.exercises, args.store)
    except FormError as problem:
        print(problem, file=sys.stderr)
        return 1
    stale = {path: text for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text}
    strays = [f"{path} has no source in the solutions: delete it" for path in sorted(args.exercises.glob("*.ipynb")) if path not in wanted]
    if not args.check:
        form.write_files(Path(), {str(path): text for path, text in stale.items()})
        print(*(f"wrote {path}" for path in stale), sep="\n", end="\n" * bool(stale))
    no_output = {path: form.cells_without_output(form.read(path), path) for path in wanted if path.suffix == ".ipynb" and path.exists()}
    if args.check:
        strays = [*(f"{path} is {'stale' if path.exists() else 'missing'}: run python -m course_lib.grading build" for path in stale), *strays, *chain(*no_output.values())]
        if not strays:
            print(f"{len(wanted)} files are as they would be built")
    elif any(no_output.values()):
        print("to be run, so that outputs are stored:", *(path for path, cells in no_output.items() if cells))
    print(*strays, sep="\n", end="\n" * bool(strays), file=sys.stderr)
    return 1 if strays else 0


def build_files(solutions: Path, exercises: Path, store: Path) -> dict[Path, str]:
    """The text that each file should have: solution notebooks, exercise notebooks, the model solutions. Raises FormError as `read_sources`."""
    pages, wanted = read_sources(solutions), {}
    for path, page in pages.items():
        target = exercises / path.name
        wanted[path] = form.dumps(page)
        wanted[target] = form.dumps(exercise_page(page, path, form.read(target) if target.exists() else None))
    cells = {(exercise(cell), role(cell)): cell["source"] for page in pages.values() for cell in page["cells"]}
    stored = {name: {"source": regions.without_marks(cells[name, "answer"]), "why": form.why(cells[name, "why"])}
              for name in EXERCISES if (name, "answer") in cells}
    wanted[store] = json.dumps(stored, indent=1, ensure_ascii=False) + "\n"
    return wanted


def read_sources(solutions: Path) -> dict[Path, dict]:
    """The solution notebooks of a folder, in form. Raises FormError with all their faults."""
    faults, pages, chapters = [], {}, {}
    for path in sorted(solutions.glob("*.ipynb")):
        try:
            nb = form.read(path)
            if (twin := chapters.setdefault(form.chapter(path), path)) != path:
                raise FormError(f"{path} and {twin} are both of chapter {form.chapter(path)}; it has one notebook")
            faults += form.find_faults(nb, path)
            pages[path] = nb
        except FormError as problem:
            faults.append(str(problem))
    faults += [f"{solutions} has no notebook for the exercises of chapter {slug}: {chapter_table()[slug]['number']}-{slug}.ipynb is needed"
               for slug in dict.fromkeys(each.chapter for each in EXERCISES.values()) if slug not in chapters]
    if faults:
        raise FormError("\n".join(faults))
    return {path: solution_page(nb, path) for path, nb in pages.items()}


def solution_page(nb: dict, path: Path) -> dict:
    """The solution notebook with its generated parts fresh, in normal form."""
    nb = copy.deepcopy(nb)
    for cell in nb["cells"]:
        if role(cell) == "task":
            cell["source"] = add_rules(cell["source"], get(exercise(cell)))
        elif role(cell) == "why":
            cell["source"] = f"<details><summary>Explanation</summary>\n\n{form.why(cell['source'])}\n\n</details>"
        elif role(cell) == "answer":
            tags = cell["metadata"].get("tags", [])
            cell["metadata"]["tags"] = tags if FOLD in tags else [*tags, FOLD]
    ids = [exercise(cell) for cell in nb["cells"] if role(cell) == "task"]
    nb["metadata"]["course"] = {"chapter": form.chapter(path), "exercises": ids}
    return form.normal(nb, path.stem)


def exercise_page(page: dict, path: Path, old: dict | None) -> dict:
    """The notebook for learners: without answers, with links in place of reasons and the outputs that `old` stores."""
    nb, cells, titles = copy.deepcopy(page), [], {}
    nb["metadata"].pop("widgets", None)
    for cell in nb["cells"]:
        if role(cell) == "solution-only":
            continue
        if role(cell) == "task":
            titles[exercise(cell)] = form.heading(cell["source"])
        elif role(cell) == "answer":
            cell["source"] = regions.stub(cell["source"])
            cell["metadata"]["tags"] = [tag for tag in cell["metadata"]["tags"] if tag != FOLD]
        elif role(cell) == "why":
            anchor = form.slug(titles[exercise(cell)])
            cell["source"] = f"[Solution and explanation](../{path.parent.name}/{path.name}#{anchor})"
            cell["metadata"]["course"]["role"] = "solution-link"
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        cells.append(cell)
    cells[0]["source"] = cells[0]["source"].replace("# Solutions", "# Exercises", 1)
    nb = form.normal({**nb, "cells": cells}, path.stem)
    stored = {cell.get("id"): cell for cell in old["cells"] if cell["cell_type"] == "code"} if old else {}
    for cell in nb["cells"]:
        before = stored.get(cell["id"]) if cell["cell_type"] == "code" else None
        if before and before["source"] == cell["source"]:
            cell["outputs"], cell["execution_count"] = before["outputs"], before["execution_count"]
    if old and "widgets" in old["metadata"]:
        nb["metadata"]["widgets"] = old["metadata"]["widgets"]
    return form.normal(nb, path.stem)


def add_rules(source: str, each: Exercise) -> str:
    """The task with what the registry says of it under its heading, in the place of older lines: what it is, and the two rules of its grading."""
    title, *rest = source.splitlines()
    while rest and (not rest[0] or LINES.fullmatch(rest[0].strip())):
        del rest[0]
    line = (f"*Difficulty {each.difficulty} of 5, about {each.minutes} minutes, {each.possible} points. "
            f"{TASKS[each.kind]}. Practices {', '.join(each.points)}.*")
    rules = each.rules.replace("any library function", f"[any library function]({PAGE})", 1)
    return "\n".join([title, "", line, "", f"*{rules}*", "", *rest])
