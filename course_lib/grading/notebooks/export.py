"""Export the exercises for another grader. The points there are the points here."""
from __future__ import annotations

import sys
from pathlib import Path

from course_lib.grading.notebooks import build, gradescope_autograder, nbgrader, otter
from course_lib.grading.notebooks.form import FormError, chapter

TARGETS = {"nbgrader": nbgrader, "otter": otter, "gradescope": gradescope_autograder}


def add_arguments(parser) -> None:
    """The options of `export`."""
    parser.add_argument("target", choices=sorted(TARGETS), help="the grader to export for")
    parser.add_argument("to", type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR",
                        help="the notebooks with the answers (default: solutions)")
    parser.add_argument("--chapter", metavar="NN,NN", type=lambda text: [one.strip().zfill(2) for one in text.split(",")],
                        help="the chapters to export; all of them if not given. Gradescope's autograder needs to know: it "
                             "asks for all exercises of these")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="draws the inputs of nbgrader's and otter's checks (default: 0)")
    parser.add_argument("--force", action="store_true", help="write over files that are there")


def run(args) -> int:
    """The command `export`; returns its exit status."""
    target = TARGETS[args.target]
    try:
        if args.target == "gradescope" and not args.chapter:
            raise FormError("an autograder is for one assignment: say with --chapter NN which chapters it asks for")
        found = target.files(chosen(build.sources(args.solutions), args.chapter), args.seed)
        there = [name for name in found if (args.to / name).exists()]
        if there and not args.force:
            raise FormError(f"{args.to / there[0]} is already there, and kept: name another folder, or add --force")
        for name, content in found.items():
            path = args.to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            if name in target.PROGRAMS:
                path.chmod(0o755)
    except (FormError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"wrote {len(found)} files to {args.to}; {target.NEXT.format(to=args.to)}")
    return 0


def chosen(pages: dict[Path, dict], chapters: list[str] | None) -> dict[Path, dict]:
    """The notebooks of these chapters; all of them if None. Raises FormError for a chapter that has none."""
    there = {chapter(path): path for path in pages}
    missing = [one for one in chapters or () if one not in there]
    if missing:
        raise FormError(f"there is no notebook of chapter {', '.join(missing)}; there are {', '.join(sorted(there))}")
    return {path: page for path, page in pages.items() if not chapters or chapter(path) in chapters}
