"""The statements of one cell, and the names that each of them binds and reads.

Each cell is parsed on its own, so that a broken one costs only itself. Nothing is run.
"""
from __future__ import annotations

import ast
import re
import symtable
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

HIDDEN = "course_lib.grading"                    # an answer needs none of it, and the sandbox holds none
OPAQUE = {"bash", "cd", "html", "javascript", "js", "latex", "markdown", "perl", "ruby", "script", "sh", "svg", "sx",
          "system", "writefile", "%writefile"}   # cell magics whose cell is no Python

BINDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign,
           ast.AugAssign)


@dataclass(frozen=True)
class Statement:
    """One statement that binds names. `now` are the names it reads when it runs, `later` those that the functions in
    it read when they are called."""

    cell: int                       # from 1
    text: str
    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]
    imports: bool = False


def statements(source: str, cell: int) -> tuple[list[Statement], bool]:
    """The statements of one cell that bind names, and whether there are loops or calls beside them. Raises
    SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                  # of escapes in strings
        source = without_cell_magic(source)
        try:
            tree = to_tree(source)
        except SyntaxError:
            source = without_magics(source)
            tree = to_tree(source)
        lines = source.splitlines()
        nodes = list(flat(tree.body))
        return ([one for node in nodes if isinstance(node, BINDING) and (one := statement(node, lines, cell))],
                any(works(node) for node in nodes))


def to_tree(source: str) -> ast.Module:
    return compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def without_cell_magic(source: str) -> str:
    """The cell without its first line if that is a cell magic (%%time); nothing if the rest is another language."""
    head, _, rest = source.lstrip("\n").partition("\n")
    if not head.startswith("%%"):
        return source
    kind = (head[2:].split() or [""])[0]
    return "" if kind in OPAQUE else "\n" + rest


MAGIC = re.compile(r"^(\s*)(?:[%!?].*|[\w.]+\s*\?{1,2}\s*)$")
ASSIGNED = re.compile(r"^(\s*[\w, ]+=\s*)[%!].*$")


def without_magics(source: str) -> str:
    """The cell with `pass` in the place of magics, shell commands and questions, line by line."""
    lines = []
    for line in source.split("\n"):
        if found := MAGIC.match(line):
            line = found[1] + "pass"
        elif found := ASSIGNED.match(line):
            line = found[1] + "None"
        lines.append(line)
    return "\n".join(lines)


def flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with those inside if, try and with in their place."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, part, []):
                    yield from flat(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])
        else:
            yield node


def works(node: ast.stmt) -> bool:
    """Whether a reader may expect the statement to do something here: a loop, or a call other than to look."""
    if not isinstance(node, ast.Expr):
        return isinstance(node, ast.For | ast.While | ast.AsyncFor)
    call = node.value
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") not in ("check", "hint", "solution", "print",
                                                                              "display", "assert_close")


def statement(node: ast.stmt, lines: list[str], cell: int) -> Statement | None:
    imports = isinstance(node, ast.Import | ast.ImportFrom)
    if imports:
        node = allowed(node)
        if node is None:
            return None
    text = text_of(node, lines)
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return Statement(cell, text, frozenset("*"), frozenset(), frozenset(), True)
    top = symtable.symtable(text, "cell", "exec")
    binds = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    now, later = reads(top)
    for target in targets(node):                         # table[3] = 5 and net.scale = 2 change what they name
        while isinstance(target, ast.Attribute | ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            binds.add(target.id)
    if isinstance(node, ast.AugAssign):
        now |= binds
    return Statement(cell, text, frozenset(binds), frozenset(now), frozenset(later), imports)


def targets(node: ast.stmt) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else \
        [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


def reads(table: symtable.SymbolTable, later: bool = False) -> tuple[set[str], set[str]]:
    """The names that a scope reads from outside: at once, and when its functions are called."""
    at_once, at_call = set(), set()
    for one in table.get_symbols():
        if one.is_referenced() and (table.get_type() == "module" or one.is_global()):
            (at_call if later else at_once).add(one.get_name())
    for child in table.get_children():
        comprehension = child.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")
        inner = reads(child, later or child.get_type() == "function" and not comprehension)
        at_once |= inner[0]
        at_call |= inner[1]
    return at_once, at_call


def allowed(node: ast.Import | ast.ImportFrom) -> ast.stmt | None:
    """The import without what belongs to the grader."""
    def hidden(name: str) -> bool:
        return name == HIDDEN or name.startswith(HIDDEN + ".")

    if isinstance(node, ast.ImportFrom):
        if node.level or hidden(node.module or ""):
            return None
        names = [one for one in node.names if not hidden(f"{node.module}.{one.name}")]
        return node if names == node.names else ast.ImportFrom(node.module, names, 0) if names else None
    names = [one for one in node.names if not hidden(one.name)]
    return node if names == node.names else ast.Import(names) if names else None


def text_of(node: ast.stmt, lines: list[str]) -> str:
    """The statement's own lines, comments included, without the indentation of a block around it."""
    if not hasattr(node, "lineno"):
        return ast.unparse(node)
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    text = textwrap.dedent("\n".join(lines[first - 1:node.end_lineno]))
    try:
        body = to_tree(text).body                        # several statements may share a line
    except SyntaxError:
        body = []
    if len(body) == 1 and ast.dump(body[0]) == ast.dump(node):
        return text
    return ast.unparse(node)
