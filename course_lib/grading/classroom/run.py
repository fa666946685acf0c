"""Grade a class, from its files to its reports: read the log, grade what it does not hold, write the tables."""
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

import torch
from tqdm import tqdm

from course_lib.exercises import chapter_slug, get, of_chapter
from course_lib.grading.classroom import marks, reports
from course_lib.grading.classroom.collection import collect
from course_lib.grading.classroom.graders import Task, grade_all
from course_lib.grading.classroom.grading import Graded, checks_version, empty_report, list_chapters, printable
from course_lib.grading.classroom.results_log import ResultsLog
from course_lib.grading.classroom.roster import Roster
from course_lib.grading.classroom.tables import terminal_table
from course_lib.grading.exercise import Exercise
from course_lib.grading.sandbox.sandbox import LIMITS, Worker


def grade_class(args, worker: Worker, roster: Roster) -> int:
    """Grade what the command line names; returns the exit status."""
    torch.set_num_threads(1)
    requested = select_exercises(args.chapter, args.exercises)
    if args.chapter:
        print(f"Graded as {list_chapters({exercise.chapter for exercise in requested})}.", file=sys.stderr)
    collected = collect(args.paths, roster)
    for path in collected.skipped:
        print(f"Passed over, no notebook: {printable(path)}", file=sys.stderr)
    for item in collected.by_prefix:
        print(f"By the beginning of its name, {item.student}'s: {printable(item.path)}", file=sys.stderr)
    present = list(dict.fromkeys(item.student for item in collected.submissions))
    downloads = {item.student: item.download for item in reversed(collected.submissions) if item.download}
    reports.check_options(args, roster, downloads)
    earlier = marks.read_earlier(args.update) if args.update else []
    before = {record.student for record in earlier}
    entries = marks.read_marks(args.marks, {*present, *roster.students, *before}) if args.marks else None
    worker.wait_ready()                                  # refuses here, before anything is graded
    log = ResultsLog(args.out)
    seed = args.seed
    if seed is None:                                     # a run that continues keeps the seed that it began with
        seed = log.seed if log.seed is not None else int.from_bytes(os.urandom(4), "big")
    first, count = args.shard                            # all files of a student are in one shard, since they count together
    here = set(present[first - 1::count])
    items = [item for item in collected.submissions if item.student in here]
    graded = {item: record for item in items if (record := log.find(item, requested, worker.level)) is not None}
    waiting, failed, stopped = [item for item in items if item not in graded], {}, False
    results = grade_all(waiting, Task(seed, [exercise.id for exercise in requested]), worker, args.jobs)
    with tqdm(total=len(items), initial=len(graded), unit="notebook", desc="grading") as bar:
        try:
            for item, record in results:
                if isinstance(record, str):
                    failed[item] = record
                else:
                    graded[item] = record
                    log.add(record, item.path)
                bar.update()
        except KeyboardInterrupt:                        # what is done is written, and what is not is named
            stopped = True
    failed |= {item: "the run was stopped before it" for item in items if item not in graded and item not in failed}
    again = "Not graded: {}. The same command tries again."
    files = [replace(graded.get(item) or ungraded_record(item.student, "not_graded", again.format(failed[item]), requested, seed),
                     file=printable(item.path)) for item in items]         # the log may know it by another path
    missing = [student for student in roster.students if student not in present and student not in before][first - 1::count]
    absent = [ungraded_record(student, "not_submitted", "No submission of this student was found.", requested, seed) for student in missing]
    for record in absent if not stopped else ():
        log.add(record, "")
    log.close()
    records = marks.merge_by_student([*files, *absent])
    if args.update:
        records = marks.update_records(earlier, records)
    if entries is not None:
        records = [marks.apply_marks(record, entries) for record in records]
    reports.write(args, records, roster, downloads)
    if args.update:
        print("\n".join(marks.describe_changes(earlier, records)) or "No mark has changed.", file=sys.stderr)
    print(terminal_table(records))
    unread = [record for record in files if record.reason]
    print_notes(records, unread, sorted({*present} - {*roster.students}) if roster else [])
    if stopped:
        raise KeyboardInterrupt
    return 1 if unread else 0


def select_exercises(chapters: Sequence[str] | None, ids: Sequence[str] | None = None) -> list[Exercise]:
    """The exercises of these chapters, or with these ids, each once. Raises ValueError or KeyError for one that there is not."""
    if chapters:
        return [exercise for slug in dict.fromkeys(map(chapter_slug, chapters)) for exercise in of_chapter(slug)]
    return [get(name) for name in dict.fromkeys(name.strip() for name in ids)]


def ungraded_record(student: str, state: str, message: str, exercises: Sequence[Exercise], seed: int) -> Graded:
    """The record of a student without a submission, or of a file that could not be graded now, which is not in the log."""
    return Graded(student, "", checks=checks_version(exercises), seed=seed, notes=[printable(message)],
                  reports=[empty_report(exercise, state, message) for exercise in exercises])


def print_notes(records: Sequence[Graded], unread: Sequence[Graded], strangers: Sequence[str]) -> None:
    """Print which students are not on the roster, and what was not graded or handed in twice."""
    lines = [f"Not on the roster: {', '.join(strangers)}."] if strangers else []
    lines += [f"Not graded: {record.file}: {record.reports[0].message.removeprefix('Not graded: ')}" for record in unread]
    lines += [f"{record.student}: {note}" for record in records for note in record.notes if note.startswith(marks.COPIES)]
    seeds = {record.seed for record in records}
    if len(seeds) > 1:
        lines.append(f"These marks were made with {len(seeds)} seeds; with one --seed all students get the same inputs.")
    if any(LIMITS in record.isolation for record in records):
        lines.append("Graded without isolation: an answer could read this machine's files and the references. This is not for marks.")
    print(*lines, sep="\n", end="\n" * bool(lines), file=sys.stderr)
