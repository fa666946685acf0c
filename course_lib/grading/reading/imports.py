"""The import statements of a submission, without those of the grader."""
from __future__ import annotations

import ast

BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")      # of a statement, other statements
HIDDEN = ("course_lib.grading", "course_lib.exercises")        # an answer needs none of them, and the sandbox contains none


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
    return any(name == one or name.startswith(one + ".") for one in HIDDEN)
