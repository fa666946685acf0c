"""Grade the submissions of a class, in this process or in several; if one is killed, its students are graded again, each alone."""
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.util import Finalize

import torch

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.collection import Submission
from course_lib.grading.classroom.grading import Graded, grade_file
from course_lib.grading.protocol.process import prctl
from course_lib.grading.sandbox.sandbox import LIMITS, Limits, NoSandbox, Unisolated, Worker
from course_lib.grading.submissions.files import MOST

TRIES = 2
OVER = "the notebooks of this student before it took more than {:g} seconds together"
Results = Iterator[tuple[Submission, Graded | str]]       # a record, or the reason why there is none

_worker = None                          # of a process of the pool


@dataclass(frozen=True)
class Task:
    """What is the same for all submissions. ids: of the exercises."""

    seed: int
    ids: Sequence[str]
    limits: Limits = Limits()


def grade_all(items: Sequence[Submission], task: Task, worker: Worker, jobs: int = 1) -> Results:
    """Each submission with its record, or with the reason why it has none, in the order in which they finish."""
    students: dict[str, list[Submission]] = {}
    for item in items:
        students.setdefault(item.student, []).append(item)
    left = list(students.values())
    if min(jobs, len(left)) < 2:
        for own in left:
            yield from grade_student(own, task, worker)
        return
    worker.close()
    with process_pool(min(jobs, len(left)), worker) as pool:
        running = {pool.submit(grade_in_pool, own, task): own for own in left}
        for future in as_completed(running):
            with suppress(BrokenProcessPool):
                yield from future.result()
                left.remove(running[future])
    for own in left:
        with process_pool(1, worker) as pool:
            try:
                yield from pool.submit(grade_in_pool, own, task).result()
            except BrokenProcessPool:
                yield from ((item, "the grader stopped") for item in own)


@contextmanager
def process_pool(count: int, worker: Worker) -> Iterator[ProcessPoolExecutor]:
    """A pool of graders with workers of this level; what they still do when the block is left early is stopped."""
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), start_worker, (worker.level,))
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def start_worker(level: str) -> None:
    """The first call in a process of the pool."""
    global _worker
    prctl(1, signal.SIGKILL)                             # PR_SET_PDEATHSIG: it ends with the process that it works for
    signal.signal(signal.SIGINT, signal.SIG_IGN)         # which stops it
    torch.set_num_threads(1)
    _worker = Unisolated() if level == LIMITS else Worker(level)
    Finalize(None, _worker.close, exitpriority=1)


def grade_in_pool(items: Sequence[Submission], task: Task) -> list[tuple[Submission, Graded | str]]:
    """As `grade_student`, with the worker of this process."""
    return list(grade_student(items, task, _worker))


def grade_student(items: Sequence[Submission], task: Task, worker: Worker) -> Results:
    """The results of one student's submissions; beyond MOST, or when they have taken `task.limits.student` seconds, none is graded any more."""
    spent = 0.0
    for number, item in enumerate(items):
        result: Graded | str = f"{MOST} notebooks of this student are graded in one run" if number >= MOST else OVER.format(task.limits.student)
        if number < MOST and spent < task.limits.student:
            result = grade_with(worker, item, task)
            spent += result.seconds if isinstance(result, Graded) else 0
        yield item, result


def grade_with(worker: Worker, item: Submission, task: Task) -> Graded | str:
    """The record of one submission; a worker that has gone is started once more."""
    exercises = [EXERCISES[name] for name in task.ids]
    for _ in range(TRIES):
        try:
            return grade_file(item.path, worker, task.seed, item.student, task.limits, exercises=exercises)
        except NoSandbox as problem:
            reason = str(problem)
    return reason
