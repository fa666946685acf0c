"""Two bundles for a class: one for students, without one line of a solution, and one with the solutions."""
from __future__ import annotations

import ast
import io
import json
import keyword
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from course_lib.exercises import chapters
from course_lib.grading.assignments import build, form, regions
from course_lib.grading.assignments.form import FormError, exercise, role

OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)[^)]*\)")         # links to files of the book
SENTENCE = 24                                                             # letters; shorter ones say nothing

STUDENT = """\
# Exercises

The notebooks of this folder hold exercises that check themselves. Write each function where
`raise NotImplementedError` stands, run its cell, then run the check below it. `hint("name")` helps, step by step.

    pip install -r requirements.txt
    jupyter lab

{notebooks}

`check` runs in your own notebook and tells you what it saw. The marks come from your teacher's computer, which runs
your functions again on inputs of its own. It finds them by their names: keep those.

The package `course_lib` holds the answers to compare with, in the open, and `solution("name")` prints one. Look there
once you have an answer of your own.
"""
TEACHER = """\
# Solutions

{notebooks}

Each answer is folded, with the reason below it. To grade a folder of submissions:

    course-grader grade FOLDER --chapter NAME --csv marks.csv --require-isolation
"""
NO_ADDRESS = "# course_lib itself has no public address yet: your teacher says where to get it. What it needs:\n"


def add_arguments(parser) -> None:
    """The options of `release`."""
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="gets the folders student and solutions")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR",
                        help="the notebooks with the answers (default: solutions)")
    parser.add_argument("--exercises", type=Path, default=Path("exercises"), metavar="DIR",
                        help="where the outputs of the exercises are stored (default: exercises)")
    parser.add_argument("--chapter", type=lambda text: text.split(","), metavar="NAME,NAME",
                        help="only the notebooks of these chapters, by slug or number, for a release week by week (default: all)")
    parser.add_argument("--force", action="store_true", help="write over files that are there")


def run(args) -> int:
    """The command `release`; returns its exit status."""
    try:
        if not args.solutions.is_dir():
            raise FormError(f"There is no folder {args.solutions} here: release hands out the notebooks of a clone of the "
                            "course. Run it in one, or name its folder by --solutions.")
        pages = build.read_sources(args.solutions)
        student, teacher = make_bundles(form.select_chapters(pages, args.chapter), args.exercises)
        leaks = find_leaks(pages.values(), student.items())
        there = [folder for folder in (args.to / "student", args.to / "solutions")
                 if folder.exists() and any(folder.iterdir())]
        if leaks:
            raise FormError("\n".join(leaks))
        if there and not args.force:
            raise FormError(f"{', '.join(map(str, there))} already there, and kept: name another folder, "
                            "or add --force")
        for folder, bundle in (("student", student), ("solutions", teacher)):
            write(args.to / folder, bundle)
        written = {str(path.relative_to(args.to)): path.read_text("utf-8", errors="replace")
                   for path in sorted((args.to / "student").rglob("*")) if path.is_file()}
        if leaks := find_leaks(pages.values(), written.items()):            # what lay there before
            raise FormError("\n".join(leaks))
    except (FormError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{args.to / 'student'}: {len(student)} files, compared with "
          f"{sum(1 for _ in secrets(pages.values()))} lines of solutions: none is in them")
    print(f"{args.to / 'solutions'}: {len(teacher)} files. Keep it to yourself: {args.to / 'student'} alone is to be "
          "handed out.")
    print("The package course_lib holds the references and model solutions, in the open.")
    if NO_ADDRESS in student["requirements.txt"]:
        print("This copy of the course has no public address in _config.yml: tell your students where to get "
              "course_lib.")
    return 0


def make_bundles(pages: dict[Path, dict], exercises: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The files of both bundles, by their names. Built from the solutions, so they are never stale."""
    student, teacher, titles = {}, {}, []
    requirement = None
    for path, page in pages.items():
        stored = exercises / path.name
        nb = build.exercise_page(page, path, form.read(stored) if stored.exists() else None)
        requirement = requirement or find_address(nb)
        titles.append(f"- `{{folder}}/{path.name}`: " + page["cells"][0]["source"].splitlines()[0].split(": ", 1)[-1])
        student[f"exercises/{path.name}"] = form.dumps(strip_links(nb, path.stem))
        teacher[f"solutions/{path.name}"] = form.dumps(strip_links(page, path.stem))
    lists = {folder: "\n".join(titles).format(folder=folder) for folder in ("exercises", "solutions")}
    for bundle, text, folder in ((student, STUDENT, "exercises"), (teacher, TEACHER, "solutions")):
        bundle["README.md"] = text.format(notebooks=lists[folder])
        bundle["requirements.txt"] = requirements(requirement)
    return student, teacher


def strip_links(nb: dict, stem: str) -> dict:
    """The notebook for a place where the rest of the book is not: links to its pages become plain text."""
    cells = [{**cell} for cell in nb["cells"] if role(cell) != "solution-link"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = OUTSIDE.sub(r"\1", cell["source"])
    return form.normal({**nb, "cells": cells}, stem)


def find_address(nb: dict) -> str | None:
    """Where the set-up cell of the notebook installs the library from, if the course has a public address."""
    match = re.search(r'"(course-lib @ git\+[^"]+)"', "\n".join(cell["source"] for cell in nb["cells"]))
    return match[1] if match else None


def requirements(course: str | None) -> str:
    """What a student installs: the library, or what it needs where nobody can download it; and a notebook."""
    if course:
        return f"{course}\njupyterlab\n"
    try:
        needs = [line for line in metadata.requires("course-lib") or [] if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        needs = ["torch"]
    return NO_ADDRESS + "\n".join([*needs, "jupyterlab"]) + "\n"


def write(folder: Path, bundle: dict[str, str]) -> None:
    """Write a bundle, names to texts, below a folder."""
    for name, text in bundle.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")


# Search for lines of solutions

def find_leaks(pages: Iterable[dict], texts: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of solutions and reasons that stand in the texts, each with where it was found."""
    pages = list(pages)
    lines = dict(secrets(pages))
    leaks = []
    for name, text in texts:
        parts = list(iterate_texts(name, text))
        seen = {normalize_line(line) for part in parts for line in part.splitlines()}
        running = " ".join(" ".join(parts).split())
        for secret, where in lines.items():
            if secret in seen:
                leaks.append(f"{name} holds a line of {where}: {secret}")
        for sentence, where in reasons(pages):
            if sentence in running:
                leaks.append(f"{name} holds a sentence of {where}: {sentence}")
    return leaks


def secrets(pages: Iterable[dict]) -> Iterator[tuple[str, str]]:
    """The lines that students may not get, normalized, with their origin; without those that a stub, or the
    code that a task shows, gives on purpose: a later exercise may hand out what an earlier one asked for."""
    pages = list(pages)
    given = {normalize_line(line) for page in pages for cell in page["cells"] if role(cell) == "task"
             for block in re.findall(r"```python\n(.*?)```", cell["source"], re.S) for line in block.splitlines()}
    place = {slug: number for number, slug in enumerate(chapters())}
    stubs = [(place.get(page["metadata"].get("course", {}).get("chapter"), -1), cell, {normalize_line(line) for line in regions.stub(cell["source"]).splitlines()})
             for page in pages for cell in page["cells"] if role(cell) == "answer"]
    for page in pages:
        chapter = place.get(page["metadata"].get("course", {}).get("chapter"), -1)
        later = set().union(given, *(lines for other, _, lines in stubs if other > chapter))
        for cell in page["cells"]:
            hidden: list[str] = []
            if role(cell) == "answer":
                hidden = regions.answers(cell["source"])
            elif role(cell) == "why":
                hidden = form.why(cell["source"]).splitlines()
            elif role(cell) == "solution-only":
                hidden = cell["source"].splitlines()
            own = next((lines for _, other, lines in stubs if other is cell), set())
            where = f"the {role(cell)} of {exercise(cell)}" if exercise(cell) else "a cell for the solutions only"
            for line in hidden:
                if has_content(line) and normalize_line(line) not in later | own:
                    yield normalize_line(line), where


def reasons(pages: Iterable[dict]) -> Iterator[tuple[str, str]]:
    """The sentences of the reasons, in one line each: wrapped otherwise, they would still be the same."""
    for page in pages:
        for cell in page["cells"]:
            if role(cell) == "why":
                for sentence in re.split(r"(?<=[.:;?])\s+", " ".join(form.why(cell["source"]).split())):
                    if len(sentence) >= SENTENCE:
                        yield sentence, f"the why of {exercise(cell)}"


def iterate_texts(name: str, text: str) -> Iterator[str]:
    """Every text in a file: all that a notebook holds, sources, outputs and metadata."""
    if not name.endswith(".ipynb"):
        yield text
        return

    def walk(part):
        if isinstance(part, str):
            yield part
        elif isinstance(part, list) and part and all(isinstance(line, str) for line in part):
            yield "".join(part)
        elif isinstance(part, list | dict):
            for each in part.values() if isinstance(part, dict) else part:
                yield from walk(each)

    yield from walk(json.loads(text))


def normalize_line(line: str) -> str:
    """A line without spaces, a comment at its end, and marks of comments and quotations before it."""
    line = line.strip().lstrip("#>*` ").rstrip("`")
    try:
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(line).readline)
                  if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        tokens = []
    if tokens:
        line = line[:tokens[0].start[1]]
    return "".join(line.split())


def has_content(line: str) -> bool:
    """Whether a line holds a name that is no keyword: braces, `else:` and `return None` reveal nothing."""
    names = re.findall(r"[^\W\d]\w*", line.split("#")[0] if is_code(line) else line)
    return any(not keyword.iskeyword(name) for name in names)


def is_code(line: str) -> bool:
    """True if a line parses as Python, the colon of a block left out."""
    try:
        ast.parse(line.strip().removesuffix(":"))
    except (SyntaxError, ValueError):
        return False
    return True
