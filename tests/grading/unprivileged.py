"""An ordinary user for a test that runs as root: no right of root's, and nothing of the machine's to write to."""
from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import course_lib

NOBODY = 65534
CODE = Path(course_lib.__file__).parent.parent


def as_nobody(needed: Sequence[str | Path] = (sys.prefix, sys.base_prefix, CODE)) -> list[str]:
    """From root: what stands before a command to run it as an ordinary user, without a right of root's. Folders of
    root's that what is needed lies in are made passable, in a view of the file system that only this command has."""
    view, covered = [shutil.which("bwrap"), "--dev-bind", "/", "/"], set()
    for place in dict.fromkeys(Path(each).resolve() for each in needed):
        closed = [parent for parent in place.parents if not parent.stat().st_mode & 1]
        if not closed:
            continue
        if closed[-1] not in covered:                    # once: it would hide what was put there before
            view += ["--perms", "0755", "--tmpfs", str(closed[-1])]
            covered.add(closed[-1])
        for parent in reversed(place.relative_to(closed[-1]).parents[:-1]):
            view += ["--perms", "0755", "--dir", str(closed[-1] / parent)]
        view += ["--ro-bind", str(place), str(place)]
    drop = (f"import os, sys; os.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3); "
            "os.execv(sys.argv[1], sys.argv[1:])")
    return [*view, "--", sys.executable, "-c", drop]


def give(folder: Path) -> Path:
    """The folder, now the ordinary user's with all that lies in it."""
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    return folder
