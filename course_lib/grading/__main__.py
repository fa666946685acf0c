"""`python -m course_lib.grading`: grade a class, list and show exercises, build, release and export their notebooks."""
from __future__ import annotations

import argparse
import gc
import sys
import textwrap
from importlib import import_module

from course_lib.grading.classroom import outputs

GRADE = """\
whose file is it:
  the first folder below what the paths have in common, or the file's name where there is none; the name that Moodle
  (Name_123_assignsubmission_file_) or Canvas (namelast_12345_67890_file.ipynb) wrote there; with --roster, the student
  whom that names. Two that cannot be told apart, or a path that does not exist, is an error before anything is graded.

what counts:
  each exercise of a student once. Of several answers to one the one with the most points counts, of these the first by
  the name of its file; a note tells of the others. --out is a log and has every file; all else is made of what counts.

marks:
  --rules class.toml has deadlines, late days and the penalty of a day, --marks marks.toml what was decided for
  somebody, with the reason. When a file was handed in: `_attempt_2026-11-20-23-58-00` in its name, else its entry in
  the archive that was named, else the date of the file. What came in time, or later with its penalty: what gives more
  counts. --since FILE says which marks changed since an earlier --json, and why.

beyond one machine:
  --shard I/N in each of N jobs, each with a log of its own, then `merge LOG LOG ...`: the same files as of one run. Or
  --dask tcp://scheduler:8786: the workers of that cluster judge. Either way all machines see the same folder.

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
  Root or ordinary user: under limits, root gives each answer a user of its own, so it can read what others may; where
  Python lies in a folder that is closed to others, the answer is root itself, and nothing holds.
  Memory is that of each process. Under bubblewrap what all of an answer's hold together is looked at ten times a
  second, and its files too; no control group is made: for more, start the command in one.
  Marks for credit need bubblewrap: --require-isolation refuses the rest, and the level is in every report.

exit status:
  0 all graded; 1 something could not be graded, and is a row that says so; 2 the command is wrong (a path, the roster,
  an id), and nothing was graded; 130 stopped, and the same command with the same --out goes on.

""" + textwrap.fill(outputs.OPEN, 118)
MAKERS = {"build": "generate the exercises from the solutions",
          "release": "write a bundle for students, and one of the solutions",
          "export": "write the exercises for nbgrader, Gradescope or otter"}
OTHERS = {"merge": "put the runs of grade --shard together",
          "similar": "answers of a class that look alike, side by side; no proof of anything"}
HOMES = {**dict.fromkeys(MAKERS, "notebooks"), **dict.fromkeys(OTHERS, "classroom")}


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in HOMES and argv[1:] != []:
        return run_maker(argv[0], argv[1:])
    args = parser().parse_args(argv)
    return args.run(args)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m course_lib.grading", description=__doc__.split(": ", 1)[1], epilog=outputs.OPEN)
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
                       help="grade every N-th student, from the I-th (1 to N); merge puts the logs together")
    grade.add_argument("--dask", metavar="ADDRESS", help="judge on a cluster of dask.distributed, tcp://scheduler:8786, whose machines "
                                                         "see the same folder; pip install \"course-lib[cluster]\"")
    grade.add_argument("--out", metavar="FILE", help="the log of the run, a JSON line for each file; run again to go on where "
                                                     "it ended")
    outputs.add_arguments(grade)

    listing = verbs.add_parser("list", help="list the exercises")
    listing.set_defaults(run=run_list)
    show = verbs.add_parser("show", help="show one exercise")
    show.set_defaults(run=run_show)
    show.add_argument("id", metavar="ID")
    for verb, text in {**OTHERS, **MAKERS}.items():
        verbs.add_parser(verb, help=text, add_help=False).set_defaults(run=lambda args: run_maker(args.verb, []))
    return top


def run_maker(verb: str, rest: list[str]) -> int:
    """A verb whose arguments and work are in a module of its own, imported when it is asked for."""
    module = import_module(f"course_lib.grading.{HOMES[verb]}.{verb}")
    own = argparse.ArgumentParser(prog=f"python -m course_lib.grading {verb}", description={**MAKERS, **OTHERS}[verb])
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
        here = 0 if args.dask else args.jobs
        workers = [Worker(args.require_isolation) for _ in range(here)]    # before torch is imported here: they import it
        gc.disable()                                     # what is imported stays: a search for garbage in it costs time
        from course_lib.grading.classroom.roster import read_roster
        from course_lib.grading.classroom.run import grade_class

        gc.enable()
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
    status = main()
    gc.freeze()                                          # all goes with the process: no last search for garbage
    sys.exit(status)
