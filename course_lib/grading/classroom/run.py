"""A class from its files to its reports: what the log knows, what the judges say, and what goes into every table."""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import torch
from tqdm import tqdm

from course_lib.grading.classroom import asked, cluster, outputs
from course_lib.grading.classroom.classroom import Ledger, whole_class
from course_lib.grading.classroom.intake import Submission, collect
from course_lib.grading.classroom.judges import Task, grade_all
from course_lib.grading.classroom.marks import apply_marks, read_marks
from course_lib.grading.classroom.once import COPIES, by_student
from course_lib.grading.classroom.roster import Roster
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.classroom.tables import for_terminal


def grade_class(args, workers: list, roster: Roster) -> int:
    """Grade what the command line names; returns the exit status."""
    torch.set_num_threads(1)
    wanted = asked.of_args(args)
    handed = collect(args.paths, roster)
    for path in handed.passed_over:
        print(f"Passed over, no notebook: {path}", file=sys.stderr)
    for item in handed.by_beginning:
        print(f"By the beginning of its name, {item.student}'s: {item.path}", file=sys.stderr)
    present = list(dict.fromkeys(item.student for item in handed.submissions))
    entries = read_marks(args.marks, {*present, *roster.students}) if args.marks else None
    before = outputs.check(args, roster)
    if args.require_isolation and not args.dask:
        workers[0].wait_ready()                          # refuses here, before anything is graded
    ledger = Ledger(args.out)
    seed = args.seed
    if seed is None:                                     # a run that continues keeps the one it began with
        seed = ledger.seed if ledger.seed is not None else int.from_bytes(os.urandom(4), "big")

    first, count = args.shard                            # all files of a student are in one shard: they count together
    here = set(present[first - 1::count])
    mine = [item for item in handed.submissions if item.student in here]
    known = {item: record for item in mine
             if (record := ledger.find(item, wanted, args.require_isolation)) is not None}
    todo = [item for item in mine if item not in known]
    task = Task(seed, [one.id for one in wanted] if wanted else None)
    judged = cluster.grade_all(todo, task, args.dask, args.require_isolation) if args.dask else grade_all(todo, task, workers)
    failed: dict[Submission, str] = {}
    stopped = False
    with tqdm(total=len(mine), initial=len(known), unit="notebook", desc="grading") as bar:
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

    none = [student for student in roster.students if student not in present][first - 1::count]
    files, absent = whole_class([(item, known.get(item) or failed[item]) for item in mine], none, wanted, seed)
    for record in absent if not stopped else ():
        ledger.add(record, "")
    ledger.close()
    records = by_student([*files, *absent])
    outputs.write(args, records, roster, apply_marks(records, entries) if entries is not None else {}, before)
    print(for_terminal(records))
    tell(records, failed, sorted({*present} - {*roster.students}) if roster else [], workers)
    if stopped:
        raise KeyboardInterrupt
    return 1 if failed else 0


def tell(records: Sequence[Graded], failed: dict[Submission, str], strangers: Sequence[str], workers: Sequence) -> None:
    """Say what is not on the roster, was not graded, was handed in twice, and what the marks are worth."""
    lines = [f"Not on the roster: {', '.join(strangers)}."] if strangers else []
    lines += [f"Not graded: {item.path}: {reason}" for item, reason in failed.items()]
    lines += [f"{record.student}: {note}" for record in records for note in record.notes if note.startswith(COPIES)]
    seeds = {record.seed for record in records}
    if len(seeds) > 1:
        lines.append(f"These marks were made with {len(seeds)} seeds; with one --seed all students get the same inputs.")
    weak = sorted({level for record in records for level in record.isolation.split("; ")} - {"bubblewrap", ""})
    if weak:
        why = next((f"; {worker.why}" for worker in workers if worker.why), "")
        lines.append(f"Graded without isolation (level: {', '.join(weak)}){why}. This is for your own machine and your own "
                     "code, not for marks.")
    print("\n".join([*lines, outputs.OPEN]), file=sys.stderr)
