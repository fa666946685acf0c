"""Write files atomically: under another name, flushed to disk, then renamed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def write_atomically(path: Path | str, data: bytes, previous: Path | None = None) -> None:
    """Write `data` to `path` so that at any moment a reader finds the old file or the new file, never a part of it.

    previous  path under which the old file is kept; None: the old file is replaced

    The bytes are written to `path` with `.part` appended and flushed to disk, and the file is renamed, which is atomic.
    If the process is killed between the two renames of a call with `previous`, there is no file `path`, and the file
    `previous` is complete.
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
    """The SHA-256 digest of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _flush_folder(folder: Path) -> None:
    """Flush the entries of `folder` to disk, because POSIX delays a rename; no effect on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:                                                  # some network file systems refuse
        pass
    finally:
        os.close(handle)
