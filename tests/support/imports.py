"""The imports of a Python file, read from its source: nothing is executed."""
from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator, NamedTuple


class Import(NamedTuple):
    """`from module import names`, or `import module` without names."""

    line: int
    module: str                                                      # dotted, absolute
    names: tuple[str, ...]
    late: bool                                                       # inside a function: when it is called


def imports_of(path: Path, package: str = "") -> Iterator[Import]:
    """Every import of the file, those in functions and under TYPE_CHECKING too; `package` resolves relative ones."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    late = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, (), id(node) in late)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield Import(node.lineno, module, tuple(alias.name for alias in node.names), id(node) in late)


def python_files(folder: Path) -> list[Path]:
    """The Python files below a folder, in order; what git would not see is left out."""
    hidden = {"node_modules", "__pycache__", "_build", "build"}
    return sorted(path for path in folder.rglob("*.py")
                  if not any(part in hidden or part.startswith(".") for part in path.relative_to(folder).parts))
