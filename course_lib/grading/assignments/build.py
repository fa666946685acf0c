"""Build exercises/ from solutions/, and the model solutions that `solution(id)` prints.

A solution notebook is the one source. The build also keeps its generated parts fresh: the lines under the heading
of each task, the folded answers and reasons, the list of its exercises. What the notebooks print is stored by running
them; the build keeps the outputs of cells that did not change.
"""
from __future__ import annotations

import copy
import json
import re
import sys
from importlib.resources import files
from pathlib import Path

from course_lib.exercises import EXERCISES, get
from course_lib.exercises import chapters as chapter_table
from course_lib.grading.assignments import form, regions
from course_lib.grading.assignments.form import FormError, exercise, role
from course_lib.grading.exercise import Exercise

TASKS = {"write": "Write a function", "find": "Find the fault", "measure": "Predict, then measure",
         "train": "Train to a score", "build": "Build a model of your own",
         "repair": "Repair the code"}
LINES = re.compile(r"\*(Difficulty \d of 5, |You may use ).*\*")
PAGE = "../book/what-is-judged.md"
FOLD = "hide-input"
COMMAND = "python -m course_lib.grading build"


def add_arguments(parser) -> None:
    """The options of `build`."""
    parser.add_argument("--check", action="store_true", help="write nothing; say what is stale and exit with 1")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR",
                        help="the notebooks with the answers (default: solutions)")
    parser.add_argument("--exercises", type=Path, default=Path("exercises"), metavar="DIR",
                        help="the notebooks to build (default: exercises)")
    parser.add_argument("--store", type=Path, default=Path(str(files("course_lib.exercises") / "solutions.json")),
                        metavar="FILE", help="the model solutions (default: the package's own)")


def run(args) -> int:
    """The command `build`; returns its exit status."""
    try:
        wanted = build_files(args.solutions, args.exercises, args.store)
    except FormError as problem:
        print(problem, file=sys.stderr)
        return 1
    stale = {path: text for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text}
    if args.check:
        complaints = [f"{path} is {'stale' if path.exists() else 'missing'}: run {COMMAND}" for path in stale]
        complaints += find_strays(wanted, args.exercises)
        complaints += [fault for path in wanted if path.suffix == ".ipynb" and path.exists()
                       for fault in form.cells_without_output(form.read(path), path)]
        print("\n".join(complaints) or f"{len(wanted)} files are as they would be built", file=sys.stderr if complaints
              else sys.stdout)
        return 1 if complaints else 0
    for path, text in stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"wrote {path}")
    unrun = [path for path in wanted if path.suffix == ".ipynb" and form.cells_without_output(form.read(path), path)]
    if unrun:
        print("to be run, so that outputs are stored:", *unrun)
    left = find_strays(wanted, args.exercises)
    print("\n".join(left), end="\n" if left else "", file=sys.stderr)
    return 1 if left else 0


def build_files(solutions: Path, exercises: Path, store: Path) -> dict[Path, str]:
    """The text that each file should have: solution notebooks, exercise notebooks, the model solutions.

    Raises FormError with every fault of every solution notebook.
    """
    pages = read_sources(solutions)
    wanted: dict[Path, str] = {}
    for path, page in pages.items():
        target = exercises / path.name
        wanted[path] = form.dumps(page)
        wanted[target] = form.dumps(exercise_page(page, path, form.read(target) if target.exists() else None))
    wanted[store] = json.dumps(model_solutions(pages.values()), indent=1, ensure_ascii=False) + "\n"
    return wanted


def read_sources(solutions: Path) -> dict[Path, dict]:
    """The solution notebooks of a folder, in form. Raises FormError with all their faults."""
    faults: list[str] = []
    pages: dict[Path, dict] = {}
    chapters: dict[str, Path] = {}
    for path in sorted(solutions.glob("*.ipynb")):
        try:
            nb = form.read(path)
            if (twin := chapters.setdefault(form.chapter(path), path)) != path:
                raise FormError(f"{path} and {twin} are both of chapter {form.chapter(path)}; it has one notebook")
            faults += form.find_faults(nb, path)
            pages[path] = nb
        except FormError as problem:
            faults.append(str(problem))
    missing = [slug for slug in dict.fromkeys(each.chapter for each in EXERCISES.values()) if slug not in chapters]
    faults += [f"{solutions} has no notebook for the exercises of chapter {slug}: {chapter_table()[slug]['number']}-{slug}.ipynb is needed"
               for slug in missing]
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
            cell["source"] = form.fold(cell["source"])
        elif role(cell) == "answer":
            tags = cell["metadata"].get("tags", [])
            cell["metadata"]["tags"] = tags if FOLD in tags else [*tags, FOLD]
    ids = [exercise(cell) for cell in nb["cells"] if role(cell) == "task"]
    nb["metadata"]["course"] = {"chapter": form.chapter(path), "exercises": ids}
    return form.normal(nb, path.stem)


def exercise_page(page: dict, path: Path, old: dict | None) -> dict:
    """The notebook for learners: answers taken out, a link to the solution in place of its reason; the outputs that `old`
    stores for the same cells."""
    nb, titles = copy.deepcopy(page), {}
    nb["cells"] = []
    nb["metadata"].pop("widgets", None)
    for cell in copy.deepcopy(page["cells"]):
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
        nb["cells"].append(cell)
    nb["cells"][0]["source"] = nb["cells"][0]["source"].replace("# Solutions", "# Exercises", 1)
    nb = form.normal(nb, path.stem)
    if old is not None:
        restore_outputs(nb, old)
    return form.normal(nb, path.stem)


def restore_outputs(nb: dict, old: dict) -> None:
    """Give each code cell the outputs that a cell with the same content stores in `old`."""
    stored = {cell.get("id"): cell for cell in old["cells"] if cell["cell_type"] == "code"}
    for cell in nb["cells"]:
        before = stored.get(cell["id"]) if cell["cell_type"] == "code" else None
        if before and before["source"] == cell["source"]:
            cell["outputs"], cell["execution_count"] = before["outputs"], before["execution_count"]
    if "widgets" in old["metadata"]:
        nb["metadata"]["widgets"] = old["metadata"]["widgets"]


def add_rules(source: str, each: Exercise) -> str:
    """The task with what the registry says of it under its heading, in the place of older lines: what it is, and the two
    rules of its grading."""
    title, *rest = source.splitlines()
    rest = "\n".join(rest).lstrip("\n").splitlines()
    while rest and LINES.fullmatch(rest[0].strip()):
        rest = "\n".join(rest[1:]).lstrip("\n").splitlines()
    line = (f"*Difficulty {each.difficulty} of 5, about {each.minutes} minutes, {each.possible} points. "
            f"{TASKS[each.kind]}. Practices {', '.join(each.points)}.*")
    rules = each.rules.replace("any library function", f"[any library function]({PAGE})", 1)
    return "\n".join([title, "", line, "", f"*{rules}*", "", *rest])


def model_solutions(pages) -> dict[str, dict[str, str]]:
    """For each exercise the source of its solution and the reason, in the order of the registry."""
    stored: dict[str, dict[str, str]] = {}
    for page in pages:
        for cell in page["cells"]:
            if role(cell) == "answer":
                stored.setdefault(exercise(cell), {})["source"] = regions.without_marks(cell["source"])
            elif role(cell) == "why":
                stored.setdefault(exercise(cell), {})["why"] = form.why(cell["source"])
    return {each: stored[each] for each in EXERCISES if each in stored}


def find_strays(wanted: dict[Path, str], exercises: Path) -> list[str]:
    """Notebooks of exercises without a source."""
    return [f"{path} has no source in the solutions: delete it" for path in sorted(exercises.glob("*.ipynb"))
            if path not in wanted]
