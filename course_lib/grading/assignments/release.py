"""Two bundles for a class: one for students, without one line of a solution, and one with the solutions."""
import re
import sys
from importlib import metadata
from pathlib import Path

from course_lib.grading.assignments import build, form
from course_lib.grading.assignments.form import FormError, role

OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)[^)]*\)")         # links to files of the book
NO_ADDRESS = "# course_lib itself has no public address yet: your teacher says where to get it. What it needs:\n"


def add_arguments(parser) -> None:
    """The options of `release`."""
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="gets the folders student and solutions")
    form.add_folders(parser, "where the outputs of the exercises are stored")


def run(args) -> int:
    """The command `release`; returns its exit status."""
    try:
        if not args.solutions.is_dir():
            raise FormError(f"There is no folder {args.solutions} here: release hands out the notebooks of a clone of the "
                            "course. Run it in one, or name its folder by --solutions.")
        pages = form.select_chapters(build.read_sources(args.solutions), args.chapter)
        student, teacher = make_bundles(pages, args.exercises)
        there = [folder for folder in (args.to / "student", args.to / "solutions") if folder.exists() and any(folder.iterdir())]
        if there and not args.force:
            raise FormError(f"{', '.join(map(str, there))} already there, and kept: name another folder, or add --force")
        for folder, bundle in (("student", student), ("solutions", teacher)):
            form.write_files(args.to / folder, bundle)
    except (FormError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{args.to / 'student'}: {len(student)} files to hand out, without solutions")
    print(f"{args.to / 'solutions'}: {len(teacher)} files for you")
    print("The package course_lib contains the references and the model solutions.")
    if NO_ADDRESS in student["requirements.txt"]:
        print("This copy of the course has no public address in _config.yml: tell your students where to get course_lib.")
    return 0


def make_bundles(pages: dict[Path, dict], exercises: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The files of both bundles, by their names. Built from the solutions, so they are never stale."""
    student, teacher, titles, address = {}, {}, [], None
    for path, page in pages.items():
        stored = exercises / path.name
        nb = build.exercise_page(page, path, form.read(stored) if stored.exists() else None)
        address = address or re.search(r'"(course-lib @ git\+[^"]+)"', "\n".join(cell["source"] for cell in nb["cells"]))      # of the set-up
        titles.append(f"- `{{folder}}/{path.name}`: " + page["cells"][0]["source"].splitlines()[0].split(": ", 1)[-1])
        student[f"exercises/{path.name}"] = form.dumps(strip_links(nb, path.stem))
        teacher[f"solutions/{path.name}"] = form.dumps(strip_links(page, path.stem))
    lists = {folder: "\n".join(titles).format(folder=folder) for folder in ("exercises", "solutions")}
    for bundle, name, folder in ((student, "student.md", "exercises"), (teacher, "teacher.md", "solutions")):
        bundle["README.md"] = Path(__file__).with_name(name).read_text("utf-8").format(notebooks=lists[folder])
        bundle["requirements.txt"] = requirements(address and address[1])
    return student, teacher


def strip_links(nb: dict, stem: str) -> dict:
    """The notebook for a place where the rest of the book is not: links to its pages become plain text."""
    cells = [{**cell} for cell in nb["cells"] if role(cell) != "solution-link"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = OUTSIDE.sub(r"\1", cell["source"])
    return form.normal({**nb, "cells": cells}, stem)


def requirements(course: str | None) -> str:
    """What a student installs: the library, or what it needs where nobody can download it; and a notebook."""
    if course:
        return f"{course}\njupyterlab\n"
    try:
        needs = [line for line in metadata.requires("course-lib") or [] if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        needs = ["torch"]
    return NO_ADDRESS + "\n".join([*needs, "jupyterlab"]) + "\n"
