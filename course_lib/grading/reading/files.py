"""The bytes of one file that somebody handed in, within bounds; no link is followed."""
from __future__ import annotations

import os
import stat

BYTES = 20_000_000          # of a notebook


class Unreadable(Exception):
    """The file holds no notebook that can be read; the text says what to do."""


def read_file(path: str | os.PathLike) -> bytes:
    """The content of an ordinary file of a reasonable size. Raises Unreadable for anything else."""
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise Unreadable("The file is a link. Hand in the notebook itself.")
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
                         | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise Unreadable("There is no such file. Hand in the notebook under this name.") from None
    except OSError as problem:
        raise Unreadable(f"The file cannot be opened: {problem.strerror}. Hand it in again.") from None
    found = os.fstat(handle)
    if stat.S_ISDIR(found.st_mode):
        os.close(handle)
        raise Unreadable("This is not a file but a folder, and no notebook is in it. Hand in the notebook itself.")
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise Unreadable("This is not a file. Hand in the notebook itself.")
    with os.fdopen(handle, "rb") as file:
        if found.st_size > BYTES:
            raise Unreadable(f"The file has {found.st_size / 1e6:.0f} MB; {BYTES / 1e6:.0f} MB are read at most. Clear "
                             "the outputs of all cells and save it again.")
        data = file.read(BYTES + 1)
    return sized(data, "The file grew while it was read. Hand it in again.")


def sized(data: bytes, too_large: str) -> bytes:
    """The content, unless there is none or too much of it."""
    if not data.strip():
        raise Unreadable("The file is empty. Save the notebook and hand it in again.")
    if len(data) > BYTES:
        raise Unreadable(too_large)
    return data
