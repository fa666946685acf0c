"""What a learner's work leaves behind: one file beside the notebook, `my-course.json`, with predictions, scores and points.

Nothing leaves the machine. Delete the file to forget it all; set COURSE_PROGRESS=off to keep nothing.
"""
from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

from course_lib.files import write_atomically

FILE = "my-course.json"
WAIT = 10                                # seconds for another notebook to write its line


def keeps() -> bool:
    """Whether anything is kept: not under COURSE_PROGRESS=off, and not while tests run this."""
    return os.environ.get("COURSE_PROGRESS", "").lower() != "off" and not {"PYTEST_CURRENT_TEST", "PYTEST_VERSION"} & {*os.environ}


def read(folder: Path | str = ".") -> dict[str, Any]:
    """What is kept in this folder; an empty dict if nothing is. Raises ValueError, with the file's name, for a file that
    cannot be read: it is never written over."""
    path = Path(folder) / FILE
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): mend it, or move it away, and run this again") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds a {type(found).__name__}; expected an object: move it away, and run this again")
    return found


def keep(section: str, name: str, value: Any, folder: Path | str = ".") -> None:
    """Keep `value` under section and name, if anything is kept. The file is the old one or the new one, never a part."""
    change(section, name, lambda _: value, folder)


def change(section: str, name: str, new: Callable[[Any], Any], folder: Path | str = ".") -> None:
    """Keep new(old) where `old` is kept, None if nothing was. Of two notebooks that do so at once, one waits for the other.

    Raises ValueError for a file that cannot be read, OSError for one that cannot be written.
    """
    if not keeps():
        return
    path = Path(folder) / FILE
    with FileLock(f"{path}.lock", timeout=WAIT):
        found = read(folder)
        part = found.setdefault(section, {})
        if not isinstance(part, dict):
            raise ValueError(f"{section} in {path} is a {type(part).__name__}; expected an object: move the file away, and run this again")
        part[name] = new(part.get(name))
        write_atomically(path, (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
