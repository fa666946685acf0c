"""`python -m course_lib.grading`: grade a class, list the exercises, build, release and export their notebooks."""
import os
import sys

if __name__ == "__main__":               # `python -m` puts the current folder first: a submission there may be called tqdm.py
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]

import argparse
import gc
from importlib import import_module

NOTICE = ("The package itself holds the references, where anybody with a copy can read them: what is graded is whether "
          "the code does the task. Answers run in a sandbox that does not hold them.")
EPILOG = """\
PATH: a notebook, a script, or a folder or zip file of them
exit status: 0 all graded, 1 not all, 2 wrong command, 130 stopped
"""
MAKERS = {"build": "generate the exercises from the solutions",
          "release": "write a bundle for students, and one of the solutions",
          "export": "write the exercises as nbgrader assignments"}


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):              # a pipe may not know the letters of a name
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if argv and argv[0] in MAKERS:                       # its options are in a module of its own, imported when it is used
        module = import_module(f"course_lib.grading.assignments.{argv[0]}")
        options = argparse.ArgumentParser(prog=f"course-grader {argv[0]}", description=MAKERS[argv[0]])
        module.add_arguments(options)
        return module.run(options.parse_args(argv[1:]))
    args = parser().parse_args(argv)
    return args.run(args)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="course-grader", description=__doc__.split(": ", 1)[1], epilog=NOTICE)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    grade = verbs.add_parser("grade", help="grade notebooks", epilog=EPILOG, usage="course-grader grade PATH ... --chapter NAME [options]",
                             formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=21, width=79))
    grade.set_defaults(run=run_grade)
    add, ids = grade.add_argument, {"type": lambda text: text.split(",")}
    add("paths", nargs="+", metavar="PATH", help=argparse.SUPPRESS)
    what = grade.add_mutually_exclusive_group(required=True)
    what.add_argument("--chapter", metavar="NAME", **ids, help="all exercises of a chapter (self-attention, or 17)")
    what.add_argument("--exercises", metavar="ID,ID", **ids, help="these exercises")
    add("--roster", metavar="FILE", help="the students, also as Moodle or Canvas write them")
    add("--jobs", type=lambda text: natural(text, 1), default=1, metavar="N", help="processes that grade at the same time")
    add("--shard", type=shard, default=(1, 1), metavar="I/N", help="grade every N-th student, from the I-th")
    add("--no-sandbox", action="store_true", help="grade without isolation: on macOS, not for marks")
    add("--seed", type=natural, metavar="N", help="draws the inputs of all checks; random if not given")
    add("--out", metavar="FILE", help="a log, from which the same command continues")
    add("--marks", metavar="FILE", help="marks.toml, with your own changes of marks")
    add("--update", metavar="FILE", help="earlier marks of --json, kept for what is not graded now")
    add("--csv", metavar="FILE", help="write the marks as a table")
    add("--json", metavar="FILE", help="write the marks as JSON")
    add("--html", metavar="DIR", help="write a page for each student, and index.csv")
    add("--anonymous", action="store_true", help="numbers in place of names on the pages and in the report")
    add("--report", metavar="DIR", help="write a table on the class, its exercises and mistakes")
    add("--gradescope", metavar="DIR", help="write a results.json for each student")
    add("--moodle", metavar="FILE", help="write --roster with the marks, for Moodle")
    add("--canvas", metavar="FILE", help="write --roster with the marks, for Canvas")
    add("--column", metavar="NAME", default="course-lib", help="what the marks are called in --moodle or --canvas")
    add("--feedback", metavar="ZIP", help="write the pages as Moodle or Canvas upload them")
    verbs.add_parser("list", help="list the exercises").set_defaults(run=run_list)
    for verb, text in MAKERS.items():
        verbs.add_parser(verb, help=text)
    return top


def natural(text: str, least: int = 0) -> int:
    if not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, at least {least}")
    return int(text)


def shard(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N, such as 2/8")
    return int(first), int(count)


def run_grade(args) -> int:
    from course_lib.grading.sandbox.sandbox import NoSandbox, Unisolated, Worker

    worker = None
    try:
        worker = Unisolated() if args.no_sandbox else Worker()                                # before torch is imported here: it imports it
        gc.disable()                                     # what is imported stays: a search for garbage in it costs time
        from course_lib.grading.classroom.roster import Roster, read_roster
        from course_lib.grading.classroom.run import grade_class

        gc.enable()
        return grade_class(args, worker, read_roster(args.roster) if args.roster else Roster())
    except (NoSandbox, OSError, KeyError, ValueError, RuntimeError) as problem:
        from course_lib.grading.classroom.grading import printable

        print(f"grade: {printable(str(problem.args[0] if isinstance(problem, KeyError) else problem), lines=True)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grade: stopped. The same command continues from here." if args.out else "grade: stopped.", file=sys.stderr)
        return 130
    finally:
        if worker is not None:
            worker.close()


def run_list(args) -> int:
    from course_lib.exercises import EXERCISES, chapters

    width, longest = max(map(len, EXERCISES)), max(map(len, chapters()))
    for exercise in EXERCISES.values():
        print(f"{exercise.chapter.ljust(longest)}  {exercise.id.ljust(width)}  difficulty {exercise.difficulty}, {exercise.minutes:3d} min, "
              f"{exercise.possible} points  {exercise.title}")
    return 0


def command() -> None:
    """The program course-grader."""
    status = main()
    gc.freeze()                                          # all goes with the process: no last search for garbage
    sys.exit(status)


if __name__ == "__main__":
    command()
