"""`python -m course_lib.grading`: grade a class, list and show exercises, build, release and export their notebooks."""
from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module

OPEN = ("The package itself holds the references, where anybody with a copy can read them: what is graded is whether the "
        "code does the task. Marks for credit need --require-isolation, so that no answer runs where they can be read.")
MAKERS = {"build": "generate the exercises from the solutions",
          "release": "write a bundle for students, and one of the solutions",
          "export": "write the exercises for nbgrader, Gradescope or otter"}


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in MAKERS and argv[1:] != []:
        return run_maker(argv[0], argv[1:])
    args = parser().parse_args(argv)
    return args.run(args)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m course_lib.grading", description=__doc__.split(": ", 1)[1], epilog=OPEN)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    grade = verbs.add_parser("grade", help="grade notebooks", epilog=OPEN)
    grade.set_defaults(run=run_grade)
    grade.add_argument("paths", nargs="+", metavar="PATH", help="a notebook, or a folder of them")
    grade.add_argument("--seed", type=natural, help="draws the inputs of all checks; a random one if not given")
    grade.add_argument("--exercises", metavar="ID,ID", help="what is asked for; all exercises of a notebook's chapter if "
                                                            "not given. A missing one is a 0")
    grade.add_argument("--jobs", type=positive, default=1, help="judges at work at the same time")
    grade.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N", help="grade every N-th, from the I-th (1 to N)")
    grade.add_argument("--roster", metavar="FILE", help="the students, one a line or CSV; who hands in nothing gets a 0")
    grade.add_argument("--out", metavar="FILE", help="a JSON line for each submission; run again to go on where it ended")
    grade.add_argument("--csv", metavar="FILE", help="a table for a spreadsheet")
    grade.add_argument("--gradescope", metavar="DIR", help="results.json in Gradescope's format, a folder for each student")
    grade.add_argument("--html", metavar="DIR", help="a page for each student")
    grade.add_argument("--require-isolation", action="store_true", help="refuse to grade without bubblewrap's sandbox")

    listing = verbs.add_parser("list", help="list the exercises")
    listing.set_defaults(run=run_list)
    show = verbs.add_parser("show", help="show one exercise")
    show.set_defaults(run=run_show)
    show.add_argument("id", metavar="ID")
    for verb, text in MAKERS.items():
        verbs.add_parser(verb, help=text, add_help=False).set_defaults(run=lambda args: run_maker(args.verb, []))
    return top


def run_maker(verb: str, rest: list[str]) -> int:
    """A verb whose arguments and work are in a module of its own, imported when it is asked for."""
    module = import_module(f"course_lib.grading.notebooks.{verb}")
    own = argparse.ArgumentParser(prog=f"python -m course_lib.grading {verb}", description=MAKERS[verb])
    module.add_arguments(own)
    return module.run(own.parse_args(rest))


def natural(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def positive(text: str) -> int:
    if natural(text) < 1:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return int(text)


def shard(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is no I/N with I from 1 to N, such as 2/8")
    return int(first), int(count)


def run_grade(args) -> int:
    from course_lib.grading.sandbox import NoSandbox, Worker

    workers = []
    try:                                                 # before torch is imported here: they import it meanwhile
        workers = [Worker(args.require_isolation) for _ in range(args.jobs)]
        from course_lib.grading import classroom

        roster = classroom.read_roster(args.roster) if args.roster else []
        return grade_class(args, workers, roster)
    except (NoSandbox, OSError, KeyError, ValueError, RuntimeError) as problem:
        print(f"grade: {problem.args[0] if isinstance(problem, KeyError) else problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grade: stopped. The same command goes on from here." if args.out else "grade: stopped.", file=sys.stderr)
        return 130
    finally:
        for worker in workers:
            worker.close()


def grade_class(args, workers: list, roster: list[str]) -> int:
    import torch
    from tqdm import tqdm

    from course_lib.grading import classroom
    from course_lib.grading.bank import get
    from course_lib.grading.judges import grade_all
    from course_lib.grading.tables import exercises_of, for_terminal

    torch.set_num_threads(1)
    handed = classroom.collect(args.paths, roster)
    if args.require_isolation:
        workers[0].wait_ready()                          # refuses here, before anything is graded
    ledger = classroom.Ledger(args.out)
    seed = args.seed
    if seed is None:                                     # a run that goes on keeps the one it began with
        seed = next((record.seed for record in ledger.done.values()), int.from_bytes(os.urandom(4), "big"))
    asked = [get(one) for one in args.exercises.split(",")] if args.exercises else None
    mine = classroom.share(handed, args.shard)
    known = {item: record for item in mine if (record := ledger.find(item, asked)) is not None}
    failed: dict[str, str] = {}
    with tqdm(total=len(mine), initial=len(known), unit="notebook", desc="grading") as bar:
        todo = [item for item in mine if item not in known]
        spare = workers[max(1, len(todo)):]
        for worker in spare:
            worker.close()
        for item, record in grade_all(todo, seed, workers[:max(1, len(todo))], exercises=asked):
            if isinstance(record, str):
                failed[item.path] = record
            else:
                known[item] = record
                ledger.add(record, item.path)
            bar.update()
    records = [known[item] for item in mine if item in known]
    present = {item.student for item in handed}
    for student in classroom.share([one for one in roster if one not in present], args.shard):
        record = classroom.absent(student, [one.id for one in asked] if asked else exercises_of(records), seed)
        ledger.add(record, "")
        records.append(record)
    ledger.close()
    write(args, records)
    print(for_terminal(records))
    strangers = sorted(present - set(roster)) if roster else []
    if strangers:
        print(f"Not on the roster: {', '.join(strangers)}.", file=sys.stderr)
    for path, reason in failed.items():
        print(f"Not graded: {path}: {reason}", file=sys.stderr)
    about_isolation(records, workers)
    return 1 if failed else 0


def about_isolation(records, workers) -> None:
    """Say what the marks are worth."""
    weak = sorted({record.isolation for record in records} - {"bubblewrap", ""})
    if weak:
        why = next((worker.why for worker in workers if worker.why), "")
        print(f"Graded without isolation (level: {', '.join(weak)}){'; ' + why if why else ''}. This is for your own "
              "machine and your own code, not for marks.", file=sys.stderr)
    print(OPEN, file=sys.stderr)


def write(args, records) -> None:
    """The files that were asked for."""
    from pathlib import Path

    from course_lib.grading.gradescope import results
    from course_lib.grading.page import page
    from course_lib.grading.tables import for_spreadsheet

    if args.csv:
        put(Path(args.csv), for_spreadsheet(records))
    students: dict[str, list] = {}
    for record in records:
        students.setdefault(record.student, []).append(record)
    for student, files in students.items():
        if args.html:
            put(Path(args.html, file_name(student) + ".html"), page(student, files))
        if args.gradescope:
            put(Path(args.gradescope, file_name(student), "results.json"), json.dumps(results(files), indent=1))


def put(path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def file_name(student: str) -> str:
    """A name that no file system minds, and that no two students share."""
    import hashlib
    import re

    plain = re.sub(r"[^A-Za-z0-9._@-]", "_", student).strip(".")[:80]
    if plain and plain == student and not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", plain) and plain == plain.lower():
        return plain
    return f"{plain or 'student'}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def run_list(args) -> int:
    from course_lib.grading.bank import EXERCISES

    width = max(len(name) for name in EXERCISES)
    for one in EXERCISES.values():
        print(f"{one.chapter}  {one.id.ljust(width)}  difficulty {one.difficulty}, {one.minutes:3d} min, "
              f"{one.possible} points  {one.title}")
    return 0


def run_show(args) -> int:
    import textwrap

    from course_lib.grading.bank import get

    try:
        one = get(args.id)
    except KeyError as problem:
        print(f"show: {problem.args[0]}", file=sys.stderr)
        return 2
    print(f"{one.id}: {one.title}")
    print(textwrap.fill(one.contract, 88))
    print(f"Chapter {one.chapter}; teaches {', '.join(one.points)}; difficulty {one.difficulty} of 5; {one.minutes} minutes; "
          f"{one.deadline:g} seconds a call.")
    if one.forbid:
        print(f"Not to be used: {', '.join(one.forbid)}.")
    for check in one.checks:
        print(f"  {check.name}: {check.points} {'point' if check.points == 1 else 'points'}")
    print(f"{len(one.hints)} hints; {len(one.misconceptions)} misconceptions are known by name.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
