"""Read a file that was handed in, within bounds: no link is followed, and what parses it runs in a process with little memory and
time, since whoever wrote the file chose what the parser has to do."""
from __future__ import annotations

import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable

from course_lib.grading.protocol.process import prctl, size_now

BYTES = 60_000_000          # of a notebook, most of which may be outputs, which are not used
SECONDS = 30.0
MEMORY = 1_000_000_000      # bytes above what the process has when it begins
RESULT = 100_000_000        # bytes that it may return
OK, UNREADABLE = b"+", b"-"
LESS = "Delete what is not needed, clear the outputs of all cells and save it again."


class Unreadable(Exception):
    """The file is not a notebook that can be read; the text says what to do."""


def read_file(path: str | os.PathLike) -> bytes:
    """The content of an ordinary file of a reasonable size. Raises Unreadable for anything else."""
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise Unreadable("The file is a link. Hand in the notebook itself.")
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise Unreadable("There is no such file. Hand in the notebook under this name.") from None
    except OSError as problem:
        raise Unreadable(f"The file cannot be opened: {problem.strerror}. Hand it in again.") from None
    state = os.fstat(handle)
    if stat.S_ISDIR(state.st_mode):
        os.close(handle)
        names = ", ".join(sorted(name[:80] for name in os.listdir(path))[:5])
        raise Unreadable(f"This is not a file but a folder, and no notebook is in it{f', but {names}' * bool(names)}. Hand in the notebook itself.")
    if not stat.S_ISREG(state.st_mode):
        os.close(handle)
        raise Unreadable("This is not a file. Hand in the notebook itself.")
    with os.fdopen(handle, "rb") as file:
        if state.st_size > BYTES:
            raise Unreadable(f"The file has {state.st_size / 1e6:.0f} MB; {BYTES / 1e6:.0f} MB are read at most. Clear "
                             "the outputs of all cells and save it again.")
        data = file.read(BYTES + 1)
    return check_size(data, "The file grew while it was read. Hand it in again.")


def check_size(data: bytes, too_large: str) -> bytes:
    """The content, unless there is none or too much of it."""
    if not data.strip():
        raise Unreadable("The file is empty. Save the notebook and hand it in again.")
    if len(data) > BYTES:
        raise Unreadable(too_large)
    return data


def run_limited(work: Callable[[], bytes], seconds: float = SECONDS, memory: int = MEMORY) -> bytes:
    """What `work` gives, or the Unreadable that it raises, in a process of its own within these bounds; on Linux."""
    if sys.platform != "linux":
        return work()
    until = time.monotonic() + seconds
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            work_and_write(work, writing, seconds, memory)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        data = read_all(reading, until)
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if data is None:
        raise Unreadable(f"It took more than {seconds:g} seconds to read the file. {LESS}")
    if data[-1:] == UNREADABLE:
        raise Unreadable(data[:-1].decode())
    if data[-1:] != OK:                              # it stopped before it had an answer
        raise Unreadable(f"To read the file took more memory than there is for it. {LESS}")
    return data[:-1]


def read_all(pipe: int, until: float) -> bytes | None:
    """All that comes out of the pipe before it closes; None if it does not close in time."""
    data = bytearray()
    while select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 20)
        data += part
        if not part or len(data) > RESULT:
            return bytes(data) if not part else b""
    return None


def work_and_write(work: Callable[[], bytes], pipe: int, seconds: float, memory: int) -> None:
    """In the process of its own: write the result of `work`, or the reason why there is none; the last byte says which."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(1, signal.SIGKILL)                             # PR_SET_PDEATHSIG: it ends with the grader
    for name, value in (("RLIMIT_AS", size_now() + memory), ("RLIMIT_CPU", int(seconds) + 1), ("RLIMIT_CORE", 0)):
        resource.setrlimit(getattr(resource, name), (value, value))
    try:
        data = work() + OK
    except Unreadable as problem:
        data = str(problem).encode() + UNREADABLE
    with os.fdopen(pipe, "wb") as file:
        file.write(data)
