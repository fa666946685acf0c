"""`python -m course_lib.grading`: grade a class, list and show exercises, build, release and export their notebooks."""
from __future__ import annotations

import os
import sys

if __name__ == "__main__":               # `python -m` puts the current folder first: a submission there may be called tqdm.py
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    if sys.platform != "linux" and os.path.abspath(__file__).startswith(os.path.join(here, "course_lib", "")):
        sys.path.append(here)            # a clone, which the processes of --jobs import the package from; on Linux they are forked

import argparse
import gc
import textwrap
from importlib import import_module

from course_lib.grading.classroom import NOTICE

GRADE = """\
the student of a file:
  the first folder below what the paths have in common, or the file's name where there is none; the name that Moodle
  (Name_123_assignsubmission_file_) or Canvas (namelast_12345_67890_file.ipynb) wrote there; with --roster, the student
  who has that name, number or address. It is an error, before anything is graded, if two students cannot be told apart
  or if a path does not exist.

what counts:
  each exercise of a student once. If several files answer it, the answer with the most points counts, and of equal ones
  the first by file name; a note names the others. --out is a log with a line for each file; the other files hold what
  counts.

exercises:
  --chapter or --exercises. Without them a notebook is graded as the chapter in its metadata, else in its name
  (17-self-attention), else by what it defines; a note says which. --require-isolation needs one of the two.

several machines:
  --shard I/N in each of N jobs, all with the same --seed and each with its own --out. Then concatenate the logs and run
  the command without --shard, with that log as --out: it grades nothing again and writes the files. Or --dask
  tcp://scheduler:8786: the workers of that cluster grade. All machines see the submissions at the same path.

isolation:
  level        where                                        an answer cannot
  bubblewrap   Linux with bwrap that may make namespaces;   read files but the library and Python, reach the network or
               as root or as an ordinary user               other processes, outlive its exercise, take more than its
                                                            memory, time, files and processes
  bubblewrap+  the same, where systemd gives a control      hold more memory than the group, at any moment
   cgroup      group: its own, or that of its user
  limits       Linux without that, macOS                    take more than its time, processor, memory (not on macOS),
                                                            file size; it can read what you can, and the network
  On Windows use the container of book/_tools/Containerfile.
  Root or ordinary user: under limits, root gives each answer a user of its own, so it can read what others may; where
  Python lies in a folder that is closed to others, the answer runs as root, and nothing holds.
  Memory is that of each process. Under bubblewrap the memory and the files of all processes of an answer together are
  checked ten times a second; a control group bounds the memory at any moment.
  Marks for credit need bubblewrap: --require-isolation refuses the rest, and the level is in every report.

exit status:
  0 all graded; 1 something could not be graded, and has a row that says so; 2 the command is wrong (a path, the roster,
  an id), and nothing was graded; 130 stopped, and the same command with the same --out continues.

""" + textwrap.fill(NOTICE, 118)
OUTPUTS = {
    "csv": ("FILE", "the marks as a table for a spreadsheet, a row for each student"),
    "json": ("FILE", "the marks as JSON, an object for each student"),
    "gradescope": ("DIR", "results.json in Gradescope's format, a folder for each student"),
    "html": ("DIR", "a page for each student"),
    "report": ("DIR", "for you: a page on the class (each exercise with its states and named mistakes, who is stuck, an index "
                      "of the students' pages), and class.csv"),
    "moodle": ("FILE", "the marks in the table of --roster, Moodle's grading worksheet or participants, to be imported there"),
    "canvas": ("FILE", "the marks in the table of --roster, Canvas' gradebook, to be imported there"),
    "column": ("NAME", "what the marks are called there (default: course-lib); in Canvas an assignment of that name"),
    "marks": ("FILE", "marks.toml: an instructor's own marks, with the reason"),
    "since": ("FILE", "what --json wrote in an earlier run: says which marks changed, and why"),
}
MAKERS = {"build": "generate the exercises from the solutions",
          "release": "write a bundle for students, and one of the solutions",
          "export": "write the exercises for nbgrader, Gradescope or otter"}


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

    grade = verbs.add_parser("grade", help="grade notebooks", epilog=GRADE,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
    grade.set_defaults(run=run_grade)
    grade.add_argument("paths", nargs="+", metavar="PATH", help="a notebook, a script (.py), or a folder, a zip or a tar "
                                                                "file of them")
    what = grade.add_mutually_exclusive_group()
    what.add_argument("--chapter", metavar="NAME,NAME", type=lambda text: text.split(","),
                      help="what is asked for: all exercises of these chapters, by slug (self-attention) or number (13). A missing one is a 0")
    what.add_argument("--exercises", metavar="ID,ID", type=lambda text: text.split(","), help="what is asked for, by name")
    grade.add_argument("--roster", metavar="FILE", help="the students, one a line or CSV, also as Moodle and Canvas write it in English, "
                                                        "German, French or Spanish; a student without a submission gets a 0")
    grade.add_argument("--columns", metavar="NAME=TITLE,...", type=columns, default={},
                       help="the titles of the roster's columns where they are not known: student=Kürzel,email=Mail")
    grade.add_argument("--require-isolation", action="store_true",
                       help="for marks: refuse to grade without bubblewrap's sandbox, or without --chapter or --exercises")
    grade.add_argument("--seed", type=natural, help="draws the inputs of all checks; a random one if not given")
    grade.add_argument("--jobs", type=positive, default=1, help="processes that grade at the same time")
    grade.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N",
                       help="grade every N-th student, from the I-th (1 to N)")
    grade.add_argument("--dask", metavar="ADDRESS", help="grade on a cluster of dask.distributed, tcp://scheduler:8786, whose machines "
                                                         "see the same folder; pip install \"course-lib[cluster]\"")
    grade.add_argument("--out", metavar="FILE", help="the log of the run, a JSON line for each file; the same command continues "
                                                     "from it")
    for name, (metavar, text) in OUTPUTS.items():
        grade.add_argument(f"--{name}", metavar=metavar, help=text, default="course-lib" if name == "column" else None)

    listing = verbs.add_parser("list", help="list the exercises")
    listing.set_defaults(run=run_list)
    show = verbs.add_parser("show", help="show one exercise")
    show.set_defaults(run=run_show)
    show.add_argument("id", metavar="ID")
    for verb, text in MAKERS.items():
        verbs.add_parser(verb, help=text)
    return top


def natural(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def positive(text: str) -> int:
    if natural(text) < 1:
        raise argparse.ArgumentTypeError("expected at least 1")
    return int(text)


def columns(text: str) -> dict[str, str]:
    from course_lib.grading.classroom.roster import TITLES

    pairs = dict(part.partition("=")[::2] for part in text.split(","))
    if unknown := [name for name, title in pairs.items() if name not in TITLES or not title]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not NAME=TITLE with a NAME of {', '.join(TITLES)}")
    return pairs


def shard(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N, such as 2/8")
    return int(first), int(count)


def run_grade(args) -> int:
    from course_lib.grading.sandbox.sandbox import NoSandbox, Worker

    workers = []
    try:
        if args.require_isolation and not (args.chapter or args.exercises):
            raise ValueError("--require-isolation is for marks, and marks do not depend on the name of a file: name the "
                             "exercises with --chapter NAME or --exercises ID,ID")
        workers = [Worker(args.require_isolation) for _ in range(0 if args.dask else args.jobs)]    # before torch is imported here: they import it
        gc.disable()                                     # what is imported stays: a search for garbage in it costs time
        from course_lib.grading.classroom.roster import Roster, read_roster
        from course_lib.grading.classroom.run import grade_class

        gc.enable()
        return grade_class(args, workers, read_roster(args.roster, args.columns) if args.roster else Roster())
    except (NoSandbox, OSError, KeyError, ValueError, RuntimeError) as problem:
        from course_lib.grading.classroom.grading import printable

        print(f"grade: {printable(str(problem.args[0] if isinstance(problem, KeyError) else problem), lines=True)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grade: stopped. The same command continues from here." if args.out else "grade: stopped.", file=sys.stderr)
        return 130
    finally:
        for worker in workers:
            worker.close()


def run_list(args) -> int:
    from course_lib.exercises import EXERCISES, chapters

    width, longest = max(map(len, EXERCISES)), max(map(len, chapters()))
    for exercise in EXERCISES.values():
        print(f"{exercise.chapter.ljust(longest)}  {exercise.id.ljust(width)}  difficulty {exercise.difficulty}, {exercise.minutes:3d} min, "
              f"{exercise.possible} points  {exercise.title}")
    return 0


def run_show(args) -> int:
    from course_lib.exercises import get

    try:
        exercise = get(args.id)
    except KeyError as problem:
        print(f"show: {problem.args[0]}", file=sys.stderr)
        return 2
    print(f"{exercise.id}: {exercise.title}")
    print(textwrap.fill(exercise.contract, 88))
    print(f"Chapter {exercise.chapter}; teaches {', '.join(exercise.points)}; difficulty {exercise.difficulty} of 5; {exercise.minutes} minutes; "
          f"{exercise.deadline:g} seconds a call.")
    if exercise.forbid:
        print(f"Not to be used: {', '.join(exercise.forbid)}.")
    for check in exercise.checks:
        print(f"  {check.name}: {check.points} {'point' if check.points == 1 else 'points'}")
    print(f"{len(exercise.hints)} hints; {len(exercise.misconceptions)} misconceptions are known by name.")
    return 0


def command() -> None:
    """The program course-grader."""
    status = main()
    gc.freeze()                                          # all goes with the process: no last search for garbage
    sys.exit(status)


if __name__ == "__main__":
    command()
