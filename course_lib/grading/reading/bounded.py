"""What is read in a process of its own, which has little memory and little time: whoever wrote the file chose what the
parser has to do."""
from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable

from course_lib.grading.reading.cells import Statement
from course_lib.grading.reading.extract import Notebook, parse
from course_lib.grading.reading.files import Unreadable

SECONDS = 30.0
MEMORY = 1_000_000_000      # bytes above what the process has when it begins
ANSWER = 100_000_000        # bytes of what it found
WHOLE, UNREADABLE = b"+", b"-"
LESS = "Delete what is not needed, clear the outputs of all cells and save it again."


def read(data: bytes, name: str = "", seconds: float = SECONDS, memory: int = MEMORY) -> Notebook:
    """As `parse`, within these bounds. Raises Unreadable. On other systems than Linux there are none."""
    if sys.platform != "linux":
        return parse(data, name)
    return from_dict(json.loads(apart(lambda: json.dumps(to_dict(parse(data, name))).encode(), seconds, memory)))


def apart(work: Callable[[], bytes], seconds: float = SECONDS, memory: int = MEMORY) -> bytes:
    """What `work` gives, or the Unreadable that it raises, out of a process of its own within these bounds; on Linux."""
    if sys.platform != "linux":
        return work()
    until = time.monotonic() + seconds
    mine, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(mine)
            answer(work, theirs, seconds, memory)
        finally:
            os._exit(0)
    os.close(theirs)
    try:
        found = everything(mine, until)
    finally:
        os.close(mine)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if found is None:
        raise Unreadable(f"It took more than {seconds:g} seconds to read the file. {LESS}")
    if found[-1:] == UNREADABLE:
        raise Unreadable(found[:-1].decode())
    if found[-1:] != WHOLE:                              # it stopped before it had an answer
        raise Unreadable(f"To read the file took more memory than there is for it. {LESS}")
    return found[:-1]


def everything(pipe: int, until: float) -> bytes | None:
    """What comes out of the pipe before it closes; None if it does not in time."""
    parts, size = [], 0
    while True:
        if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
            return None
        part = os.read(pipe, 1 << 20)
        size += len(part)
        if not part:
            return b"".join(parts)
        if size > ANSWER:
            return b""
        parts.append(part)


def answer(work: Callable[[], bytes], pipe: int, seconds: float, memory: int) -> None:
    """In the process of its own: work, and write what came out, or why nothing did; the last byte says which."""
    import resource

    from course_lib.grading.sandbox.inside.confine import prctl, size_now

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(1, signal.SIGKILL)                             # PR_SET_PDEATHSIG: it ends with the judge
    for name, value in (("RLIMIT_AS", size_now() + memory), ("RLIMIT_CPU", int(seconds) + 1), ("RLIMIT_CORE", 0)):
        resource.setrlimit(getattr(resource, name), (value, value))
    try:
        found = work() + WHOLE
    except Unreadable as problem:
        found = str(problem).encode() + UNREADABLE
    with os.fdopen(pipe, "wb") as file:
        file.write(found)


def to_dict(notebook: Notebook) -> dict:
    """The notebook as JSON holds it."""
    return {**vars(notebook), "statements": [
        [one.cell, one.text, sorted(one.binds), sorted(one.now), sorted(one.later), one.imports]
        for one in notebook.statements]}


def from_dict(found: dict) -> Notebook:
    """The way back."""
    statements = [Statement(cell, text, frozenset(binds), frozenset(now), frozenset(later), imports)
                  for cell, text, binds, now, later, imports in found["statements"]]
    return Notebook(found["exercises"], statements, {int(cell): tuple(one) for cell, one in found["broken"].items()},
                    {int(cell): tuple(one) for cell, one in found["prose"].items()}, found["idle"])
