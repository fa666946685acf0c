"""What the results of an exercise depend on: the text of its file, and of those of `course_lib.exercises` that it imports.

Where a name is imported from is left out: files move, and a check does not change by that.
"""
from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

EXERCISES = "course_lib.exercises."


@cache
def code(module: str) -> tuple[str, ...]:
    """The texts of the module of this name and of all modules of exercises that it imports, without the lines that
    import; in an order that does not depend on the names of files. Raises OSError where there is no text."""
    found: dict[str, str] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name], imported = parted(inspect.getsource(sys.modules[name]))
            todo += [one for one in imported if one.startswith(EXERCISES)]
    return tuple(sorted(found.values()))


def parted(text: str) -> tuple[str, list[str]]:
    """The text of a module without the import statements at its top level, and the modules that they name."""
    lines, imported = text.splitlines(), []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            imported += [part if part in sys.modules else node.module for part in parts]
        elif isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        else:
            continue
        lines[node.lineno - 1:node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(line for line in lines if line), imported
