"""The shares of a class put together: the logs of all runs of `grade --shard I/N`, and from them the files of one
whole run."""
from __future__ import annotations

import sys

from course_lib.grading.classroom import outputs


def add_arguments(parser) -> None:
    """The options of `merge`."""
    parser.add_argument("logs", nargs="+", metavar="LOG", help="what --out wrote in each run of grade --shard I/N, "
                                                               "all N of them")
    parser.add_argument("--roster", metavar="FILE", help="for --moodle and --canvas: the table that was the roster")
    outputs.add_arguments(parser)


def run(args) -> int:
    """The command `merge`; returns its exit status."""
    try:
        return merge(args)
    except (OSError, KeyError, ValueError) as problem:
        print(f"merge: {problem.args[0] if isinstance(problem, KeyError) else problem}", file=sys.stderr)
        return 2


def merge(args) -> int:
    """Put together what the command line names."""
    from course_lib.grading.classroom import shards
    from course_lib.grading.classroom.marking import marks
    from course_lib.grading.classroom.once import by_student
    from course_lib.grading.classroom.run import about_isolation, tell, terms_of, whole_class
    from course_lib.grading.classroom.tables import for_terminal

    logs = [shards.read_log(path) for path in args.logs]
    shards.together(logs)
    first = logs[0].part
    found, absent = shards.found_in(logs)
    terms = terms_of(args, [item for item, _ in found], [item.student for item, _ in found] + absent, first.root)
    outputs.check(args)
    files, _ = whole_class(found, absent, shards.wanted_of(first), first.seed)
    records = by_student(files)
    outputs.write(args, records, marks(files, terms) if terms else None)
    print(for_terminal(records))
    seeds = {log.part.seed for log in logs}
    if len(seeds) > 1:
        print(f"The shares were graded with {len(seeds)} seeds; give all runs the same --seed, and all students get "
              "the same inputs.",
              file=sys.stderr)
    failed = {item: record for item, record in found if isinstance(record, str)}
    tell(records, failed)
    about_isolation(records)
    return 1 if failed else 0
