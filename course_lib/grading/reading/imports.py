"""The import statements of a submission: nothing of the grader's, and today's names for what was called otherwise."""
from __future__ import annotations

import ast

from course_lib.former import today

BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")      # of a statement, other statements
HIDDEN = "course_lib.grading"                    # an answer needs none of it, and the sandbox holds none


def allowed(node: ast.AST) -> ast.AST | None:
    """The statement without imports of what belongs to the grader; None if nothing is left. Of an if, a try and the like,
    the imports in its blocks."""
    if isinstance(node, ast.ImportFrom):
        if node.level or hidden(node.module or ""):
            return None
        names = [one for one in node.names if not hidden(f"{node.module}.{one.name}")]
        return node if names == node.names else ast.ImportFrom(node.module, names, 0) if names else None
    if isinstance(node, ast.Import):
        names = [one for one in node.names if not hidden(one.name)]
        return node if names == node.names else ast.Import(names) if names else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for block in BLOCKS:
            inner = getattr(node, block, None)
            if inner and isinstance(inner, list):
                setattr(node, block, [kept for one in inner if (kept := allowed(one))] or [ast.Pass()])
    return node


def hidden(name: str) -> bool:
    """Whether a module is the grader's, or in it."""
    return name == HIDDEN or name.startswith(HIDDEN + ".")


def modernized(node: ast.AST) -> list[ast.AST]:
    """The statement with each import in it, in its functions too, from where things lie `today`: a notebook that was
    written before a module moved is still read.

    One import may become several. `import a.b` alone stays as it is: the code after it says a.b again.
    """
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        places = [place(node.module, one.name) for one in node.names]
        if places == [(node.module, one.name) for one in node.names]:
            return [node]
        return [ast.ImportFrom(module, [ast.alias(name, one.asname or (one.name if one.name != name else None))], 0)
                for one, (module, name) in zip(node.names, places, strict=True)]
    if isinstance(node, ast.Import):
        names = [ast.alias(one.asname and today(one.name) or one.name, one.asname) for one in node.names]
        return [node] if [one.name for one in names] == [one.name for one in node.names] else [ast.Import(names)]
    for block in BLOCKS:
        inner = getattr(node, block, None)
        if isinstance(inner, list):
            setattr(node, block, [new for one in inner for new in modernized(one)])
    return [node]


def place(module: str, name: str) -> tuple[str, str]:
    """The module, and the name in it, that `from module import name` finds today."""
    moved = today(f"{module}.{name}")
    if moved and name != "*":
        module, _, name = moved.rpartition(".")
        return module, name
    return today(module) or module, name
