"""Several graders of a class, each a process with a worker and a pipe of its own, so one that is killed cannot stop the others: it is
replaced, and its submission is given to another once more."""
from __future__ import annotations

import multiprocessing
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.collection import Submission
from course_lib.grading.classroom.grading import Graded, grade_file
from course_lib.grading.protocol.process import prctl
from course_lib.grading.sandbox.sandbox import Limits, NoSandbox, Worker

TRIES = 2
OVER = "the notebooks of this student before it took more than {:g} seconds together"


@dataclass(frozen=True)
class Task:
    """What is the same for all submissions. ids: of the exercises."""

    seed: int
    ids: Sequence[str]
    limits: Limits = Limits()


def grade_all(items: Sequence[Submission], task: Task, workers: list[Worker]) -> Iterator[tuple[Submission, Graded | str]]:
    """Each submission with its record, or with the reason why it has none, in the order in which they finish. With one worker in this
    process, with more in as many others. A student whose submissions have taken `task.limits.student` seconds has none graded any more."""
    spent: Counter = Counter()                           # seconds, by student

    def spend(item: Submission, result: Graded | str) -> tuple[Submission, Graded | str]:
        spent[item.student] += result.seconds if isinstance(result, Graded) else 0
        return item, result

    for spare in workers[max(1, len(items)):]:
        spare.close()
    workers = workers[:max(1, len(items))]
    if len(workers) == 1:
        for item in items:
            over = spent[item.student] >= task.limits.student
            yield (item, OVER.format(task.limits.student)) if over else spend(item, grade_with(workers[0], item, task))
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    waiting, tries, busy = deque(items), Counter(), {}      # busy: the process and the submission of each pipe

    def start_grader(worker: Worker) -> None:
        own_end, other_end = context.Pipe()
        forked = worker if context.get_start_method() == "fork" else None
        others = [*busy, *(other.control for other in workers if other is not worker and other.control is not None)] if forked else []
        process = context.Process(target=run_grader, daemon=True, args=(other_end, [own_end, *others], forked, worker.level, worker.require, task))
        process.start()
        other_end.close()
        worker.detach_after_fork()                       # the grader has it now
        busy[own_end] = process, None

    for worker in workers:
        start_grader(worker)
    try:
        while busy:
            for pipe, (process, item) in list(busy.items()):
                while item is None and waiting and spent[waiting[0].student] >= task.limits.student:
                    yield waiting.popleft(), OVER.format(task.limits.student)
                if item is None and waiting:
                    item = waiting.popleft()
                    tries[item] += 1
                    busy[pipe] = process, item
                    pipe.send(item)
                elif item is None:
                    pipe.close()
                    process.join(10)
                    process.kill()
                    del busy[pipe]
            for pipe in wait(list(busy)) if busy else ():
                process, item = busy[pipe]
                try:
                    result = pipe.recv()
                except (EOFError, OSError):
                    process.join(10)
                    del busy[pipe]
                    if tries[item] < TRIES:
                        waiting.appendleft(item)
                    else:
                        yield item, f"the grader stopped (exit code {process.exitcode})"
                    start_grader(Worker(workers[0].require, workers[0].level))
                    continue
                busy[pipe] = process, None
                yield spend(item, result)
    finally:
        for process, _ in busy.values():
            process.kill()


def grade_with(worker: Worker, item: Submission, task: Task) -> Graded | str:
    """The record of one submission; a worker that has gone is started once more."""
    exercises = [EXERCISES[name] for name in task.ids]
    for _ in range(TRIES):
        try:
            return grade_file(item.path, worker, task.seed, item.student, task.limits, exercises=exercises)
        except NoSandbox as problem:
            reason = str(problem)
    return reason


def run_grader(pipe, others, worker: Worker | None, level: str, require: bool, task: Task) -> None:
    """A grader: receive submissions, send their records."""
    if sys.platform == "linux":
        prctl(1, signal.SIGKILL)                         # PR_SET_PDEATHSIG: it ends with the process that it works for
    if worker is not None:                               # forked: close what belongs to the parent
        for other in others:
            other.close()
    import torch

    torch.set_num_threads(1)
    with worker or Worker(require, level) as own_worker:
        while True:
            try:
                item = pipe.recv()
            except (EOFError, KeyboardInterrupt):
                return
            pipe.send(grade_with(own_worker, item, task))
