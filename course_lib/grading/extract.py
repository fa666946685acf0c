"""What a notebook defines, read without running any of it.

A function needs its own definition and, name by name, what that reads: imports, functions, classes, assignments.
Loops and calls at the top level of a cell are never part of it.
"""
from __future__ import annotations

import difflib
import json
import os
import re
import stat
from dataclasses import dataclass, field

from course_lib.grading.cells import Statement, statements

BYTES = 20_000_000          # of a notebook
CELLS = 5_000
CODE = 2_000_000            # characters of code in all cells
DEPTH = 60                  # of the JSON

class Unreadable(Exception):
    """The file holds no notebook that can be read; the text says what to do."""


@dataclass
class Notebook:
    """The statements of all code cells in order, what could not be parsed, and the text of the other cells."""

    exercises: list[str] = field(default_factory=list)            # the ids that its metadata names
    statements: list[Statement] = field(default_factory=list)
    broken: dict[int, tuple[str, str]] = field(default_factory=dict)     # cell -> (source, what is wrong with it)
    prose: dict[int, tuple[str, str]] = field(default_factory=dict)      # cell -> (source, its type)
    idle: list[int] = field(default_factory=list)                 # cells with loops or calls, which are not run

    @property
    def names(self) -> list[str]:
        """The functions, classes and values that it defines; names that are only imported are left out."""
        return list(dict.fromkeys(name for one in self.statements if not one.imports for name in sorted(one.binds)))

    def needed(self, name: str) -> list[Statement]:
        """The statements that `name` is made of, in order; empty if nothing defines it. The last definition wins."""
        if not any(name in one.binds for one in self.statements):
            return []
        chosen, seen, todo = set(), set(), [(name, len(self.statements))]
        chosen.update(i for i, one in enumerate(self.statements) if "*" in one.binds)
        while todo:
            wanted, before = todo.pop()
            if (wanted, before) in seen:
                continue
            seen.add((wanted, before))
            places = [i for i, one in enumerate(self.statements) if wanted in one.binds]
            place = max((i for i in places if i < before), default=places[-1] if places else None)
            if place is None:
                continue
            chosen.add(place)
            todo += [(read, place) for read in self.statements[place].now]
            todo += [(read, before) for read in self.statements[place].later]
        return [self.statements[i] for i in sorted(chosen)]

    def why_missing(self, name: str) -> tuple[str, str]:
        """The state ("missing" or "error") and what to tell somebody whose notebook does not define `name`."""
        definition = re.compile(rf"^\s*(async\s+)?(def|class)\s+{re.escape(name)}\b|^\s*{re.escape(name)}\s*=[^=]", re.M)
        for cell, (source, problem) in self.broken.items():
            if definition.search(source):
                return "error", f"Cell {cell}, which defines {name}, is no valid Python: {problem}."
        for cell, (source, kind) in self.prose.items():
            if definition.search(source):
                return "missing", (f"{name} stands in cell {cell}, which is a {kind} cell. Turn it into a code cell.")
        near = difflib.get_close_matches(name, self.names[:2000], n=1, cutoff=0.6)
        hint = f" There is a function {near[0]}: rename it if it is meant." if near else ""
        return "missing", f"No cell defines {name}.{hint}"


def read_bytes(path: str | os.PathLike) -> bytes:
    """The content of a submission. Raises Unreadable for what is no ordinary file of a reasonable size."""
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
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise Unreadable("This is no file. Hand in the notebook itself.")
    with os.fdopen(handle, "rb") as file:
        if found.st_size > BYTES:
            raise Unreadable(f"The file has {found.st_size / 1e6:.0f} MB; {BYTES / 1e6:.0f} MB are read at most. Clear "
                             "the outputs of all cells and save it again.")
        data = file.read(BYTES + 1)
    if not data.strip():
        raise Unreadable("The file is empty. Save the notebook and hand it in again.")
    if len(data) > BYTES:
        raise Unreadable("The file grew while it was read. Hand it in again.")
    return data


def parse(data: bytes) -> Notebook:
    """The notebook in `data`. Raises Unreadable if there is none."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("The file is not UTF-8 text. Save it again in Jupyter and hand in that file.") from None
    except (RecursionError, MemoryError):
        raise Unreadable("The file is nested too deeply for a notebook. Save it again in Jupyter.") from None
    except ValueError as problem:
        place = f" (line {problem.lineno})" if isinstance(problem, json.JSONDecodeError) else ""
        raise Unreadable(f"The file is no notebook, or a part of one: its JSON breaks off or is wrong{place}. Save it "
                         "again in Jupyter.") from None
    if depth(found) > DEPTH:
        raise Unreadable("The file is nested too deeply for a notebook. Save it again in Jupyter.")
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("The file is JSON, but no notebook of format 4: it has no list of cells. Save it again in "
                         "Jupyter.")
    if len(cells) > CELLS:
        raise Unreadable(f"The notebook has {len(cells)} cells; {CELLS} are read at most. Delete those that are not "
                         "needed.")
    notebook = Notebook(declared(found.get("metadata")))
    code = 0
    for number, cell in enumerate(cells, 1):
        source = cell.get("source", "") if isinstance(cell, dict) else None
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            notebook.broken[number] = ("", "it holds no text")
            continue
        code += len(source)
        if code > CODE:
            raise Unreadable(f"The cells hold more than {CODE / 1e6:.0f} million characters. Delete what is not needed.")
        if cell.get("cell_type", "code") != "code":
            notebook.prose[number] = (source, "text" if cell["cell_type"] == "markdown" else str(cell["cell_type"])[:20])
            continue
        try:
            found, idle = statements(source, number)
            notebook.statements += found
            notebook.idle += [number] * idle
        except SyntaxError as problem:
            notebook.broken[number] = (source, f"{problem.msg} (line {problem.lineno})")
        except (ValueError, RecursionError, MemoryError) as problem:
            notebook.broken[number] = (source, "it is too complex" if not isinstance(problem, ValueError) else str(problem))
    return notebook


def declared(metadata) -> list[str]:
    """The ids under metadata.course.exercises."""
    course = metadata.get("course") if isinstance(metadata, dict) else None
    ids = course.get("exercises") if isinstance(course, dict) else None
    return [one for one in ids[:200] if isinstance(one, str)] if isinstance(ids, list) else []


def depth(value) -> int:
    """How deep lists and dicts lie in one another; counted up to DEPTH + 1."""
    level, layer = 0, [value]
    while layer and level <= DEPTH:
        level += 1
        layer = [inner for outer in layer if isinstance(outer, dict | list)
                 for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return level
