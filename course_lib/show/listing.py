"""Show the source of a function, or of a class and some of its members."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, Sequence


class Source:
    """Python source that a notebook shows with syntax highlighting.

    name  qualified name of the class or function
    code  its source

    >>> from course_lib import show
    >>> from course_lib.density import Logistic
    >>> print(show.source(Logistic.forward).code)
    def forward(self, parents: Float[Tensor, "B m"]) -> Float[Tensor, "B"]:
        return self.bias + parents @ self.weight
    """

    def __init__(self, name: str, code: str):
        self.name, self.code = name, code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"

    def __repr__(self) -> str:
        return f"source of {self.name}"


def source(obj: Any, *members: str) -> Source:
    """Return the source of `obj`, a function or a class.

    members  names of methods of a class, which are shown with the head of the class; default: the whole class

    Examples (`>>>`) in docstrings are omitted. Raises ValueError if the class does not define a member.
    """
    code = textwrap.dedent(inspect.getsource(obj)).rstrip()
    return Source(obj.__qualname__, _without_examples(_excerpt(code, members) if members else code))


def _excerpt(code: str, members: Sequence[str]) -> str:
    """Return the source of a class with only its first line and the methods `members`, and "..." for omitted parts."""
    lines, node = code.split("\n"), ast.parse(code).body[0]
    methods = {child.name: child for child in node.body if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))}
    if missing := [m for m in members if m not in methods]:
        raise ValueError(f"members contains {missing[0]!r}; expected methods of {node.name}: {', '.join(methods)}")
    documented = ast.get_docstring(node) is not None
    last = node.body[0].end_lineno if documented else _first(node.body[0]) - 1        # of the lines that are shown
    parts = ["\n".join(lines[:_first(node.body[0]) - 1])]
    for child in (child for name, child in methods.items() if name in members):
        begin = _first(child) - 1
        while lines[begin - 1].lstrip().startswith("#"):             # a comment above belongs to the member
            begin -= 1
        skipped = any(line.strip() for line in lines[last:begin])
        parts.append(("    ...\n\n" if skipped else "") + "\n".join(lines[begin:child.end_lineno]))
        last = child.end_lineno
    return parts[0] + "\n" + "\n\n".join(parts[1:])


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def _without_examples(code: str) -> str:
    code = re.sub(r'("""[^\n]*)\n\n *>>> .*?"""', r'\1"""', code, flags=re.DOTALL)      # after a single line
    return re.sub(r'\n\n( *)>>> .*?"""', r'\n\1"""', code, flags=re.DOTALL)
