"""Where an answer stopped: the learner's own line, read from the traceback of what it raised."""
from __future__ import annotations

import contextlib
import linecache
import re
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

COLUMNS = 76                    # of a line of code that is shown, below its four of indentation
LONGEST = 400                   # characters of the whole text
PACKAGE = str(Path(__file__).resolve().parents[3])                   # course_lib
STANDARD = sysconfig.get_path("stdlib")


def where(problem: BaseException, fn: Callable) -> str:
    """The line of the learner's that `problem` came from, with its number, function and cell, and the line of `fn`
    that called it if that is another function; "" if no line of theirs took part. Never raises."""
    try:
        frames = own(problem, fn)
        return described(frames)[:LONGEST] if frames else ""
    except Exception:           # an object that lies about what it is, or no memory left to look
        return ""


def described(frames: list[tuple[CodeType, int]]) -> str:
    """The innermost of these frames in words, with its line, and the one that called it."""
    text = place(frames, len(frames) - 1)
    outer = next(i for i, (code, _) in enumerate(frames) if i == len(frames) - 1 or named(code))
    if home(frames, outer) is not home(frames, len(frames) - 1):
        text += f",\ncalled from {place(frames, outer)}"
    code, number = frames[-1]
    line = linecache.getline(code.co_filename, number).strip()
    line = line if len(line) <= COLUMNS else line[:COLUMNS - 3] + "..."
    return f"{text}:\n    {line}" if line else text


def own(problem: BaseException, fn: Callable) -> list[tuple[CodeType, int]]:
    """The code and line number of each of the learner's frames, the innermost last."""
    theirs, found, trace = namespace(fn), [], problem.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        names = frame.f_globals
        if names is theirs or names.get("__name__") == "__main__" or not library(frame.f_code.co_filename):
            found.append((frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return found


def namespace(fn: Any) -> dict | None:
    """The globals of the function; of its class's call where it is an object."""
    while isinstance(fn, partial):
        fn = fn.func
    fn = getattr(fn, "__wrapped__", fn)
    for one in (fn, getattr(type(fn), "forward", None), getattr(type(fn), "__call__", None)):
        if isinstance(names := getattr(one, "__globals__", None), dict):
            return names
    return None


def library(file: str) -> bool:
    """Whether a file is no learner's: Python's, an installed package's, this package's, or generated."""
    return file.startswith(("<", PACKAGE, STANDARD)) or "site-packages" in file or "dist-packages" in file


def named(code: CodeType) -> bool:
    """Whether the code is a function with a name: no lambda, no comprehension."""
    return not code.co_name.startswith("<")


def home(frames: list[tuple[CodeType, int]], i: int) -> CodeType:
    """The named function that frame i belongs to: its own, or the one whose lambda or comprehension it is."""
    code = frames[i][0]
    return next((outer for outer, _ in reversed(frames[:i + 1])
                 if named(outer) and outer.co_filename == code.co_filename), code)


def place(frames: list[tuple[CodeType, int]], i: int) -> str:
    """ "line 3 of attention (cell 4)": counted from the function's first line, as in a cell that holds nothing else."""
    code, number = home(frames, i), frames[i][1]
    name = code.co_name if named(code) else "a function without a name"
    inside = f"line {max(1, number - code.co_firstlineno + 1)} of {name}"
    return inside + (f" ({cell})" if (cell := cell_of(frames[i][0].co_filename)) else "")


def cell_of(file: str) -> str:
    """ "cell 4" where the file is a cell: of a notebook that is judged, or of the one that is open in IPython."""
    if found := re.fullmatch(r"<cell (\d+)>", file):
        return f"cell {found[1]}"
    python = sys.modules.get("IPython")
    with contextlib.suppress(Exception):    # not IPython, another version of it, or no cell
        kind, name = python.get_ipython().compile.format_code_name(file)
        return f"{kind.lower()} {name}"
    return ""
