"""What a learner's work leaves behind: one file beside the notebook, `my-course.json`, with predictions and scores.

Nothing leaves the machine. Delete the file to forget it all; set COURSE_PROGRESS=off to keep nothing.
"""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from course_lib.files import write_atomically

FILE = "my-course.json"


def keeps() -> bool:
    """Whether anything is kept: not under COURSE_PROGRESS=off, and not while tests run this."""
    return os.environ.get("COURSE_PROGRESS", "").lower() != "off" and "PYTEST_CURRENT_TEST" not in os.environ


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
    if keeps():
        found = read(folder)
        found.setdefault(section, {})[name] = value
        write_atomically(Path(folder) / FILE, (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
