"""`python -m course_lib.grading`: grade a class, list and show exercises, build, release and export their notebooks."""
from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from importlib import import_module

OPEN = ("The package itself holds the references, where anybody with a copy can read them: what is graded is whether the "
        "code does the task. Marks for credit need --require-isolation, so that no answer runs where they can be read.")
GRADE = """\
whose file is it:
  the first folder below what the paths have in common, or the file's name where there is none; the name that Moodle
  (Name_123_assignsubmission_file_) or Canvas (namelast_12345_67890_file.ipynb) wrote there; with --roster, the student
  whom that names. Two that cannot be told apart, or a path that does not exist, is an error before anything is graded.

what counts:
  each exercise of a student once. Of several answers to one the one with the most points counts, of these the first by
  the name of its file; a note tells of the others. --out is a log and has every file; all else is made of what counts.

what is asked for:
  --chapter or --exercises. Without them a notebook is judged as the chapter in its metadata, else in its name
  (13-self-attention), else by what it defines; a note says which. With --require-isolation one of them is needed.

what holds where:
  level        where                                        an answer cannot
  bubblewrap   Linux with bwrap that may make namespaces;   read files but the library and Python, reach the network or
               as root or as an ordinary user               other processes, outlive its exercise, take more than its
                                                            memory, time, files and processes
  limits       Linux without that, macOS                    take more than its time, processor, memory (not on macOS),
                                                            file size; it can read what you can, and the network
  none         Windows                                      take more than its time; it can do what you can
  Root or ordinary user: under limits, root gives each answer a user of its own, so it can read what others may.
  Marks for credit need bubblewrap: --require-isolation refuses the rest, and the level is in every report.

exit status:
  0 all graded; 1 something could not be graded, and is a row that says so; 2 the command is wrong (a path, the roster,
  an id), and nothing was graded; 130 stopped, and the same command with the same --out goes on.

""" + textwrap.fill(OPEN, 118)
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

    grade = verbs.add_parser("grade", help="grade notebooks", epilog=GRADE,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
    grade.set_defaults(run=run_grade)
    grade.add_argument("paths", nargs="+", metavar="PATH", help="a notebook, a script in cells, or a folder, a zip or a tar "
                                                                "file of them")
    what = grade.add_mutually_exclusive_group()
    what.add_argument("--chapter", metavar="NN,NN", type=lambda text: text.split(","),
                      help="what is asked for: all exercises of these chapters. A missing one is a 0")
    what.add_argument("--exercises", metavar="ID,ID", type=lambda text: text.split(","), help="what is asked for, by name")
    grade.add_argument("--roster", metavar="FILE", help="the students, one a line or CSV, also as Moodle and Canvas write it; "
                                                        "who hands in nothing gets a 0")
    grade.add_argument("--require-isolation", action="store_true",
                       help="for marks: refuse to grade without bubblewrap's sandbox, or without --chapter or --exercises")
    grade.add_argument("--seed", type=natural, help="draws the inputs of all checks; a random one if not given")
    grade.add_argument("--jobs", type=positive, default=1, help="judges at work at the same time")
    grade.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N",
                       help="grade every N-th student, from the I-th (1 to N)")
    grade.add_argument("--out", metavar="FILE", help="the log of the run, a JSON line for each file; run again to go on where "
                                                     "it ended")
    grade.add_argument("--csv", metavar="FILE", help="the marks as a table for a spreadsheet, a row for each student")
    grade.add_argument("--json", metavar="FILE", help="the marks as JSON, an object for each student")
    grade.add_argument("--gradescope", metavar="DIR", help="results.json in Gradescope's format, a folder for each student")
    grade.add_argument("--html", metavar="DIR", help="a page for each student")

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
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def positive(text: str) -> int:
    if natural(text) < 1:
        raise argparse.ArgumentTypeError("expected at least 1")
    return int(text)


def shard(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is no I/N with I from 1 to N, such as 2/8")
    return int(first), int(count)


def run_grade(args) -> int:
    from course_lib.grading.sandbox.sandbox import NoSandbox, Worker

    workers = []
    try:
        if args.require_isolation and not (args.chapter or args.exercises):
            raise ValueError("--require-isolation is for marks, and marks do not depend on what a file calls itself: say what is "
                             "asked for, with --chapter NN or --exercises ID,ID")
        workers = [Worker(args.require_isolation) for _ in range(args.jobs)]   # before torch is imported here: they import it
        from course_lib.grading.classroom.roster import read_roster

        return grade_class(args, workers, read_roster(args.roster) if args.roster else None)
    except (NoSandbox, OSError, KeyError, ValueError, RuntimeError) as problem:
        print(f"grade: {problem.args[0] if isinstance(problem, KeyError) else problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grade: stopped. The same command goes on from here." if args.out else "grade: stopped.", file=sys.stderr)
        return 130
    finally:
        for worker in workers:
            worker.close()


def grade_class(args, workers: list, roster) -> int:
    import torch
    from tqdm import tqdm

    from course_lib.grading.classroom import asked, classroom
    from course_lib.grading.classroom.intake import Submission, collect
    from course_lib.grading.classroom.judges import grade_all
    from course_lib.grading.classroom.once import COPIES, by_student
    from course_lib.grading.classroom.tables import exercises_of, for_terminal

    torch.set_num_threads(1)
    wanted = asked.of_chapters(args.chapter) if args.chapter else asked.of_ids(args.exercises) if args.exercises else None
    handed = collect(args.paths, roster)
    for path in handed.passed_over:
        print(f"Passed over, no notebook: {path}", file=sys.stderr)
    for item in handed.by_beginning:
        print(f"By the beginning of its name, {item.student}'s: {item.path}", file=sys.stderr)
    if args.require_isolation:
        workers[0].wait_ready()                          # refuses here, before anything is graded
    ledger = classroom.Ledger(args.out)
    seed = args.seed
    if seed is None:                                     # a run that goes on keeps the one it began with
        seed = next((record.seed for record in ledger.done.values()), int.from_bytes(os.urandom(4), "big"))
    present = list(dict.fromkeys(item.student for item in handed.submissions))
    here = set(classroom.share(present, args.shard))     # all files of a student are in one shard: they count together
    mine = [item for item in handed.submissions if item.student in here]
    known = {item: record for item in mine
             if (record := ledger.find(item, wanted, args.require_isolation)) is not None}
    failed: dict[Submission, str] = {}
    stopped = False
    with tqdm(total=len(mine), initial=len(known), unit="notebook", desc="grading") as bar:
        todo = [item for item in mine if item not in known]
        spare = workers[max(1, len(todo)):]
        for worker in spare:
            worker.close()
        try:
            for item, record in grade_all(todo, seed, workers[:max(1, len(todo))], exercises=wanted):
                if isinstance(record, str):
                    failed[item] = record
                else:
                    known[item] = record
                    ledger.add(record, item.path)
                bar.update()
        except KeyboardInterrupt:                        # what is done is written, and what is not is named
            stopped = True
    failed |= {item: "the run was stopped before it" for item in mine if item not in known and item not in failed}
    usual = [one.id for one in wanted] if wanted else exercises_of(list(known.values()))
    records = []
    for item in mine:
        own = usual if wanted else [one.id for one in asked.of_name(item.path)] or usual
        records.append(classroom.not_graded(item, failed[item], own, seed) if item in failed
                       else classroom.of_the_set(known[item], own))
    for student in classroom.share([one for one in roster.students if one not in present] if roster else [], args.shard):
        record = classroom.absent(student, usual, seed)
        if not stopped:
            ledger.add(record, "")
        records.append(record)
    ledger.close()
    records = by_student(records)
    write(args, records)
    print(for_terminal(records))
    strangers = sorted(set(present) - set(roster.students)) if roster else []
    if strangers:
        print(f"Not on the roster: {', '.join(strangers)}.", file=sys.stderr)
    for item, reason in failed.items():
        print(f"Not graded: {item.path}: {reason}", file=sys.stderr)
    for record in records:
        for note in record.notes:
            if note.startswith(COPIES):
                print(f"{record.student}: {note}", file=sys.stderr)
    about_isolation(records, workers)
    if stopped:
        raise KeyboardInterrupt
    return 1 if failed else 0


def about_isolation(records, workers) -> None:
    """Say what the marks are worth."""
    weak = sorted({level for record in records for level in record.isolation.split("; ")} - {"bubblewrap", ""})
    if weak:
        why = next((worker.why for worker in workers if worker.why), "")
        print(f"Graded without isolation (level: {', '.join(weak)}){'; ' + why if why else ''}. This is for your own "
              "machine and your own code, not for marks.", file=sys.stderr)
    print(OPEN, file=sys.stderr)


def write(args, records) -> None:
    """The files that were asked for."""
    from pathlib import Path

    from course_lib.grading.classroom.gradescope import results
    from course_lib.grading.classroom.page import page
    from course_lib.grading.classroom.tables import for_spreadsheet

    if args.csv:
        put(Path(args.csv), for_spreadsheet(records))
    if args.json:
        put(Path(args.json), json.dumps([record.to_dict() for record in records], indent=1) + "\n")
    for record in records:
        if args.html:
            put(Path(args.html, file_name(record.student) + ".html"), page(record))
        if args.gradescope:
            put(Path(args.gradescope, file_name(record.student), "results.json"), json.dumps(results(record), indent=1))


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
