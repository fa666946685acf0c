"""The source of a class or a function, as a chapter shows it: without types, with shapes, at most 92 columns wide.

source        what a chapter calls
untyped       annotations leave, a comment with the shapes comes
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import tokenize
from typing import Any, Iterator, Sequence

from course_lib.show.fitting import WIDTH, Function, fitted, is_docstring, tokens

DTYPES = {"Float", "Int", "Integer", "Bool", "Shaped", "Num", "Inexact", "Real", "UInt", "Complex", "Key"}


class Source:
    """Python source that a notebook shows highlighted, through Markdown.

    >>> from course_lib import show
    >>> from course_lib.density import Logistic
    >>> print(show.source(Logistic.forward).code)
    def forward(self, parents):  # parents (B m) -> (B)
        return self.bias + parents @ self.weight
    """

    def __init__(self, name: str, code: str):
        self.name, self.code = name, code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"

    def __repr__(self) -> str:
        return f"source of {self.name}"


def source(obj: Any, *members: str, docstring: bool | None = None) -> Source:
    """The source of a function or a class as it runs; of a class, only these members if named.

    Annotations are left out: a comment says the shapes. So are the examples (`>>>`) that end a docstring, since a
    chapter runs its own. No line is wider than 92 columns.

    docstring  whether a class is shown with its docstring; by default with the whole class, and not with members

    Raises ValueError for a member that the class itself does not define, or if `docstring` is given for a function.
    """
    if docstring is not None and not inspect.isclass(obj):
        raise ValueError(f"docstring={docstring} is for a class; {obj.__name__} is none")
    code = untyped(_without_examples(textwrap.dedent(inspect.getsource(obj)).rstrip()))
    if members:
        code = _excerpt(code, members, obj.__name__, bool(docstring))
    elif docstring is False:
        code = _without_docstring(code)
    return Source(obj.__qualname__, fitted(code))


def _excerpt(code: str, members: Sequence[str], name: str, docstring: bool) -> str:
    """The head of a class, then the members asked for, "..." where something was left out."""
    lines = code.split("\n")
    node = ast.parse(code).body[0]
    found = {child.name: child for child in node.body if isinstance(child, Function)}
    missing = [m for m in members if m not in found]
    if missing:
        raise ValueError(f"members holds {missing[0]!r}; {name} defines {', '.join(found)}")
    head, last = _head(node)
    parts = ["\n".join(lines[:last if docstring else head])]
    for child in node.body:
        if not isinstance(child, Function) or child.name not in members:
            continue
        begin = min([child.lineno, *(d.lineno for d in child.decorator_list)]) - 1     # 0-based
        while lines[begin - 1].lstrip().startswith("#"):             # a comment above belongs to the member
            begin -= 1
        skipped = any(line.strip() for line in lines[last:begin])
        parts.append(("    ...\n\n" if skipped else "") + "\n".join(lines[begin:child.end_lineno]))
        last = child.end_lineno
    return "\n\n".join(parts) if docstring else parts[0] + "\n" + "\n\n".join(parts[1:])


def _head(node: ast.ClassDef) -> tuple[int, int]:
    """The last line of a class's head, and of its docstring."""
    first = node.body[0]
    head = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1
    return head, first.end_lineno if is_docstring(first) else head


def _without_docstring(code: str) -> str:
    lines = code.split("\n")
    head, last = _head(ast.parse(code).body[0])
    while last < len(lines) - 1 and not lines[last].strip():
        last += 1
    return "\n".join(lines[:head] + lines[last:])


def _without_examples(code: str) -> str:
    """Each docstring up to its first example, with its quotes where they would stand without one."""
    lines = code.split("\n")
    for node in sorted((n for n in ast.walk(ast.parse(code)) if is_docstring(n)), key=lambda n: -n.lineno):
        first, last = node.lineno - 1, node.end_lineno - 1
        begin = next((k for k in range(first, last) if lines[k].lstrip().startswith(">>>")), None)
        if begin is not None:
            kept = "\n".join(lines[first:begin]).rstrip().split("\n")
            quotes = '"""' if len(kept) == 1 else "\n" + " " * node.col_offset + '"""'
            lines[first:last + 1] = ("\n".join(kept) + quotes).split("\n")
    return "\n".join(lines)


# --- types leave, shapes come ----------------------------------------------------------------------------------------


def untyped(code: str) -> str:
    """The code without annotations, each signature with a comment of its shapes.

    The fields of a dataclass or a named tuple are made from their annotations: these stay, a tensor's as `Tensor`.
    """
    lines = code.split("\n")
    for node, parent in sorted(_pairs(ast.parse(code)), key=lambda pair: -pair[0].lineno):
        if isinstance(node, Function):
            _sign(lines, node)
        elif isinstance(node, ast.AnnAssign):
            _assign(lines, node, field=isinstance(parent, ast.ClassDef))
    return "\n".join(lines)


def _pairs(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, (*Function, ast.AnnAssign)):
                yield node, parent


def _sign(lines: list[str], node: ast.FunctionDef) -> None:
    """Replace a signature by one without annotations. What follows its colon stays."""
    first = node.lineno - 1
    indent = " " * node.col_offset
    end, comments = _colon(lines, first, node.col_offset)
    rest = lines[end[0]][end[1]:].strip()
    text = "\n".join(lines)
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    opening = f"{indent}{keyword} {node.name}("
    signature = _wrapped(opening, _parameters(text, node.args), "):")
    if rest and not rest.startswith("#"):                            # a body on the same line
        signature[-1] += " " + rest
    elif rest:
        comments.append(rest)
    if shapes := _shapes(node):
        comments.insert(0, "# " + shapes)
    if len(comments) == 1 and len(signature) == 1 and len(signature[0]) + 2 + len(comments[0]) <= WIDTH:
        signature[0] += "  " + comments.pop()
    lines[first:end[0] + 1] = signature + [f"{indent}    {comment}" for comment in comments]


def _colon(lines: list[str], first: int, column: int) -> tuple[tuple[int, int], list[str]]:
    """Where a signature ends, behind its colon, and the comments within it."""
    depth, comments = 0, []
    for token in tokens("\n".join([lines[first][column:], *lines[first + 1:]])):
        if token.type == tokenize.COMMENT:
            comments.append(token.string)
        elif token.string in "([{" and token.type == tokenize.OP:
            depth += 1
        elif token.string in ")]}" and token.type == tokenize.OP:
            depth -= 1
        elif token.string == ":" and token.type == tokenize.OP and depth == 0:
            row, col = token.end
            return (first + row - 1, col + (column if row == 1 else 0)), comments
    raise ValueError(f"no colon ends the signature {lines[first].strip()!r}")


def _parameters(text: str, args: ast.arguments) -> list[str]:
    """The parameters without annotations: names, defaults as they are written, stars and slash."""
    def one(arg, default=None):
        return arg.arg if default is None else f"{arg.arg}={ast.get_source_segment(text, default)}"

    places = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(places) - len(args.defaults)) + list(args.defaults)
    out = [one(arg, default) for arg, default in zip(places, defaults)]
    if args.posonlyargs:
        out.insert(len(args.posonlyargs), "/")
    if args.vararg:
        out.append("*" + args.vararg.arg)
    elif args.kwonlyargs:
        out.append("*")
    out += [one(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    return out + (["**" + args.kwarg.arg] if args.kwarg else [])


def _wrapped(opening: str, parts: list[str], closing: str) -> list[str]:
    """opening + "a, b, c" + closing, continued under the first part where a line would be too wide."""
    lines, indent = [opening], " " * len(opening)
    for k, part in enumerate(parts):
        part += ", " if k < len(parts) - 1 else closing
        if len((lines[-1] + part).rstrip()) > WIDTH and lines[-1].strip():
            lines.append(indent)
        lines[-1] += part
    if not parts:
        lines[-1] += closing
    return [line.rstrip() for line in lines]


def _shapes(node: ast.FunctionDef) -> str:
    """q (... T K), k (... S K) -> (... T S): the shapes that the annotations of a signature name."""
    a = node.args
    named = [(arg.arg, arg.annotation) for arg in (*a.posonlyargs, *a.args)]
    named += [("*" + a.vararg.arg, a.vararg.annotation)] if a.vararg else []
    named += [(arg.arg, arg.annotation) for arg in a.kwonlyargs]
    taken = [f"{name} {' or '.join(shapes)}" for name, kind in named if (shapes := _tensors(kind))]
    given = _tensors(node.returns)
    text = ", ".join(taken)
    return f"{text} -> {', '.join(given)}".lstrip() if given else text


def _tensors(annotation: ast.AST | None) -> list[str]:
    """The shapes in an annotation, in order: Float[Tensor, "B n"] | None gives ["(B n)"]."""
    if annotation is None:
        return []
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name) and annotation.value.id in DTYPES:
        return [f"({annotation.slice.elts[1].value})"]
    return list(dict.fromkeys(shape for child in ast.iter_child_nodes(annotation) for shape in _tensors(child)))


def _assign(lines: list[str], node: ast.AnnAssign, field: bool) -> None:
    """x: Kind = value becomes x = value; a field keeps its kind, a tensor's shape in a comment."""
    end = node.value or node.annotation
    text = "\n".join(lines)
    value = f" = {ast.get_source_segment(text, node.value)}" if node.value else ""
    target = ast.get_source_segment(text, node.target)
    comment = ""
    if field:
        shapes = _tensors(node.annotation)
        target += ": " + _plain(text, node.annotation)
        comment = f"  # {', '.join(shapes)}" if shapes else ""
    first, last = node.lineno - 1, end.end_lineno - 1
    before = lines[first][:node.col_offset]
    behind = lines[last].encode()[end.end_col_offset:].decode()
    if field or value:
        if comment and "#" in behind:                                # "# (B n); what was said there"
            behind, comment = "", comment + "; " + behind.split("#", 1)[1].strip()
        lines[first:last + 1] = (before + target + value + behind + comment).split("\n")
    else:
        del lines[first:last + 1]                                    # a name alone says a type and nothing else


def _plain(text: str, annotation: ast.AST) -> str:
    """An annotation as it is written, with Tensor for each tensor with a shape."""
    return re.sub(rf"\b({'|'.join(DTYPES)})\[Tensor, *(\"[^\"]*\"|'[^']*')\]", "Tensor",
                  ast.get_source_segment(text, annotation))
