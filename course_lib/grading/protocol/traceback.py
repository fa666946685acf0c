"""Where an answer stopped: the learner's own line, read from the traceback of what it raised."""
import contextlib
import difflib
import dis
import linecache
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

COLUMNS = 76                    # of a line of code that is shown, without its indentation of four
LONGEST = 400                   # characters of the whole text
PACKAGE = str(Path(__file__).resolve().parents[2])                   # course_lib
STANDARD = sysconfig.get_path("stdlib")


def learner_line(problem: BaseException, fn: Callable) -> str:
    """The learner's line that `problem` came from, with its number, function and cell; "" if no line of theirs took part. Never raises."""
    with contextlib.suppress(Exception):        # an object that lies about what it is, or no memory left to look
        if frames := learner_frames(problem, fn):
            return describe_frame(*frames[-1])[:LONGEST]
    return ""


def learner_frames(problem: BaseException, fn: Callable) -> list[tuple[CodeType, int]]:
    """The code and line number of each of the learner's frames, the innermost last."""
    own_globals, frames = globals_of(fn), []
    for frame, line in traceback.walk_tb(problem.__traceback__):
        path = frame.f_code.co_filename
        of_library = path.startswith(("<", PACKAGE, STANDARD)) or "site-packages" in path or "dist-packages" in path      # "<": generated
        if frame.f_globals is own_globals or frame.f_globals.get("__name__") == "__main__" or not of_library:
            frames.append((frame.f_code, line))
    return frames


def explain_not_implemented(problem: BaseException, fn: Callable) -> str:
    """Why an answer that raised NotImplementedError is not merely the function that was handed out; "" if it is. Never raises."""
    if type(problem).__name__ == "StdinNotImplementedError":
        return "The function input() cannot be answered here; use the arguments instead."
    with contextlib.suppress(Exception):        # an object that lies about what it is
        if 'is missing the required "forward" function' in str(problem):
            *_, (innermost, _) = traceback.walk_tb(problem.__traceback__)
            methods = vars(type(innermost.f_locals["self"]))
            near = difflib.get_close_matches("forward", methods, n=1, cutoff=0.7)
            return "Your class has no method forward" + (f"; it has {near[0]}." if near else ".")
        frames = learner_frames(problem, fn)
        if frames and frames[-1][0].co_name != "__init__" and has_code_above(*frames[-1]):        # whose first lines may be given
            return "`raise NotImplementedError` is still there, below your code. Delete that line."
    return ""


def has_code_above(code: CodeType, line: int) -> bool:
    """Whether the function has code above this line, other than a call of super()."""
    line_of = {offset: number for start, end, number in code.co_lines() for offset in range(start, end, 2)}
    names: dict[int, set] = {}
    for instruction in dis.get_instructions(code):
        number = line_of.get(instruction.offset)
        if number is not None and code.co_firstlineno < number < line:
            names.setdefault(number, set()).add(instruction.argval if isinstance(instruction.argval, str) else "")
    return any("super" not in of_line for of_line in names.values())


def describe_frame(code: CodeType, number: int) -> str:
    """ "line 3 of attention (cell 4):" and the line: counted from the function's first line, as in a cell that holds nothing else."""
    name = "a function without a name" if code.co_name.startswith("<") else code.co_name
    cell, line = cell_name(code.co_filename), linecache.getline(code.co_filename, number).strip()
    line = line if len(line) <= COLUMNS else line[:COLUMNS - 3] + "..."
    return f"line {max(1, number - code.co_firstlineno + 1)} of {name}" + (f" ({cell})" if cell else "") + (f":\n    {line}" if line else "")


def globals_of(fn: Any) -> dict | None:
    """The globals of the function; of its class's call where it is an object."""
    while isinstance(fn, partial):
        fn = fn.func
    fn = getattr(fn, "__wrapped__", fn)
    for function in (fn, getattr(type(fn), "forward", None), getattr(type(fn), "__call__", None)):
        if isinstance(names := getattr(function, "__globals__", None), dict):
            return names
    return None


def cell_name(path: str) -> str:
    """ "cell 4" where the file is a cell: of a notebook that is graded, or of the one that is open in IPython."""
    if match := re.fullmatch(r"<cell (\d+)>", path):
        return f"cell {match[1]}"
    ipython = sys.modules.get("IPython")
    with contextlib.suppress(Exception):    # not IPython, another version of it, or no cell
        kind, name = ipython.get_ipython().compile.format_code_name(path)
        return f"{kind.lower()} {name}"
    return ""
