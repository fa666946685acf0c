"""Export the exercises for another grader. The points there are the points here."""
from __future__ import annotations

import sys
from pathlib import Path

from course_lib.grading.notebooks import build, gradescope, nbgrader, otter
from course_lib.grading.notebooks.form import FormError

TARGETS = {"nbgrader": nbgrader, "otter": otter, "gradescope": gradescope}


def add_arguments(parser) -> None:
    parser.add_argument("target", choices=sorted(TARGETS), help="the grader to export for")
    parser.add_argument("to", type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR",
                        help="the notebooks with the answers (default: solutions)")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="draws the inputs of nbgrader's and otter's checks (default: 0)")
    parser.add_argument("--force", action="store_true", help="write over files that are there")


def run(args) -> int:
    target = TARGETS[args.target]
    try:
        found = target.files(build.sources(args.solutions), args.seed)
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
