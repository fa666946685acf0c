"""Bounds of the judge's own work: what a learner's answer makes it compute or hold."""
from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager

AGAIN = 1.0                 # seconds of processor after which it is interrupted once more, if that was caught


class Overworked(BaseException):
    """The judge's seconds of processor are used up; not an Exception, so that no check takes it for a fault."""


def main_thread() -> bool:
    """Whether this system and this thread can be bounded: Linux, and the main one."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


@contextmanager
def within(seconds: float, memory: int):
    """The block gets these seconds of processor, waiting not counted, then Overworked is raised in it; and `memory`
    bytes of address space above what is in use, then a MemoryError, or torch's RuntimeError. On Linux."""
    if not main_thread():
        yield
        return
    import resource

    from course_lib.grading.sandbox.inside.confine import size_now

    def stop(*_):
        raise Overworked(f"more than {seconds:g} seconds of the grader's processor")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = size_now() + memory
    before = signal.signal(signal.SIGPROF, stop)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard))
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def not_counted():
    """In a bounded block: this part has a deadline of its own, and its processor time is not the block's."""
    if not main_thread():
        yield
        return
    left = signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *left)
