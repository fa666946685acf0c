"""Files that are either whole or absent: written beside their place, flushed to disk, then moved into it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def write_atomically(path: Path | str, data: bytes, previous: Path | None = None) -> None:
    """Write `data` to `path` so that a reader, at any moment, finds the old file or the new one, never a part.

    The bytes go to `path` with `.part` appended, are forced to disk, and the file is renamed, which the operating
    system does at once or not at all. With `previous`, the old file is kept under that name. Should the process be
    killed between the two renames, `path` is absent and `previous` is whole.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)                                 # of a process that was killed, or a link, which is not followed
        with open(part, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if previous is not None and path.exists():
            os.replace(path, previous)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def sha256(data: bytes) -> str:
    """The digest that names these bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _flush_folder(folder: Path) -> None:
    """A rename is itself a change to the folder, which POSIX systems hold back too; Windows cannot open one."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:                                                  # some network file systems refuse
        pass
    finally:
        os.close(handle)
