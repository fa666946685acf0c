"""A class from its files to its reports: what the log knows, what the judges say, and what goes into every table."""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

import torch
from tqdm import tqdm

from course_lib.grading.classroom import asked, classroom, cluster, intake, outputs, rules
from course_lib.grading.classroom.intake import Submission, collect
from course_lib.grading.classroom.judges import grade_all
from course_lib.grading.classroom.marking import Terms, marks
from course_lib.grading.classroom.once import COPIES, by_student
from course_lib.grading.classroom.roster import Roster
from course_lib.grading.classroom.shards import part_of
from course_lib.grading.classroom.submission import Graded, printable
from course_lib.grading.classroom.tables import exercises_of, for_terminal
from course_lib.grading.classroom.when import Clock
from course_lib.grading.exercise.exercise import Exercise


def grade_class(args, workers: list, roster: Roster | None) -> int:
    """Grade what the command line names; returns the exit status."""
    torch.set_num_threads(1)
    wanted = asked.of_args(args)
    handed = collect(args.paths, roster)
    for path in handed.passed_over:
        print(f"Passed over, no notebook: {path}", file=sys.stderr)
    for item in handed.by_beginning:
        print(f"By the beginning of its name, {item.student}'s: {item.path}", file=sys.stderr)
    present = list(dict.fromkeys(item.student for item in handed.submissions))
    root = intake.common(args.paths)
    terms = terms_of(args, handed.submissions, [*present, *(roster.students if roster else [])], root)
    outputs.check(args)
    if args.require_isolation and not args.dask:
        workers[0].wait_ready()                          # refuses here, before anything is graded
    ledger = classroom.Ledger(args.out)
    if args.shard[1] > 1:
        ledger.note({"part": None})                      # until this run has come to its end
    seed = args.seed
    if seed is None:                                     # a run that goes on keeps the one it began with
        seed = next((record.seed for record in ledger.done.values()), int.from_bytes(os.urandom(4), "big"))
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
        judged = (cluster.grade_all(todo, seed, args.dask, wanted, args.require_isolation) if args.dask else
                  grade_all(todo, seed, workers[:max(1, len(todo))], exercises=wanted))
        try:
            for item, record in judged:
                if isinstance(record, str):
                    failed[item] = record
                else:
                    known[item] = record
                    ledger.add(record, item.path)
                bar.update()
        except KeyboardInterrupt:                        # what is done is written, and what is not is named
            stopped = True
    failed |= {item: "the run was stopped before it" for item in mine if item not in known and item not in failed}
    found = [(item, known.get(item) or failed[item]) for item in mine]
    none = [one for one in roster.students if one not in present] if roster else []
    files, absent = whole_class(found, classroom.share(none, args.shard), wanted, seed)
    records = by_student(files)
    for record in absent if not stopped else ():
        ledger.add(record, "")
    if args.shard[1] > 1 and not stopped:
        ledger.note(part_of(args.shard, root, handed.submissions, found, none, wanted, seed).line())
    ledger.close()
    outputs.write(args, records, marks(files, terms) if terms else None)
    print(for_terminal(records))
    strangers = sorted(set(present) - set(roster.students)) if roster else []
    if strangers:
        print(f"Not on the roster: {', '.join(strangers)}.", file=sys.stderr)
    tell(records, failed)
    about_isolation(records, workers)
    if stopped:
        raise KeyboardInterrupt
    return 1 if failed else 0


def whole_class(found: Sequence[tuple[Submission, Graded | str]], absent: Sequence[str],
                wanted: Sequence[Exercise] | None, seed: int) -> tuple[list[Graded], list[Graded]]:
    """One record for each file, in their order, of these with their records or with the reason why there is none,
    then of who handed in nothing; and the records of the latter alone."""
    usual = [one.id for one in wanted] if wanted else exercises_of([record for _, record in found
                                                                    if isinstance(record, Graded)])
    records = []
    for item, record in found:
        own = usual if wanted else [one.id for one in asked.of_name(item.path)] or usual
        if isinstance(record, str):
            records.append(classroom.not_graded(item, record, own, seed))
        else:                                            # the log may know it by another way to the same place
            records.append(replace(classroom.of_the_set(record, own), file=printable(item.path)))
    none = [classroom.absent(student, usual, seed) for student in absent]
    return [*records, *none], none


def terms_of(args, items: Sequence[Submission], students: Sequence[str], root: str) -> Terms | None:
    """What --rules and --marks say of these files, below what they have in common, and students; None if neither is
    given. Raises ValueError for what is not understood, so that it is known before anything is graded."""
    if not (args.rules or args.marks):
        return None
    found = rules.read_rules(args.rules) if args.rules else rules.Rules()
    exemptions = rules.read_marks(args.marks, students, found.zone) if args.marks else []
    clock = Clock(root, found.zone)
    return Terms(found, exemptions, {printable(item.path): clock.handed_in(item.path) for item in items if args.rules})


def tell(records: Sequence[Graded], failed: dict[Submission, str]) -> None:
    """Say what was not graded, and who handed in an exercise more than once."""
    for item, reason in failed.items():
        print(f"Not graded: {item.path}: {reason}", file=sys.stderr)
    for record in records:
        for note in record.notes:
            if note.startswith(COPIES):
                print(f"{record.student}: {note}", file=sys.stderr)


def about_isolation(records: Sequence[Graded], workers: Sequence = ()) -> None:
    """Say what the marks are worth."""
    weak = sorted({level for record in records for level in record.isolation.split("; ")} - {"bubblewrap", ""})
    if weak:
        why = next((worker.why for worker in workers if worker.why), "")
        print(f"Graded without isolation (level: {', '.join(weak)}){'; ' + why if why else ''}. This is for your own "
              "machine and your own code, not for marks.", file=sys.stderr)
    print(outputs.OPEN, file=sys.stderr)
