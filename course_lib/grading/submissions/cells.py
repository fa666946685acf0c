"""The statements of one cell, and the names that each of them binds and reads.

Each cell is parsed on its own, so that a broken one costs only itself. Nothing is run. What stands under if, try, with or
match is one statement with that: which branch it takes is for Python to say, when it is run.
"""
from __future__ import annotations

import ast
import contextlib
import re
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

OPAQUE = {"bash", "cd", "html", "javascript", "js", "latex", "markdown", "perl", "ruby", "script", "sh", "svg", "sx",
          "system", "writefile", "%writefile"}   # cell magics whose cell is no Python

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BINDING = (*FUNCTIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign,
           *([ast.TypeAlias] if hasattr(ast, "TypeAlias") else []))
PERHAPS = (ast.If, ast.Try, ast.Match, *([ast.TryStar] if hasattr(ast, "TryStar") else []))    # it may bind a name, or not
BLOCKS = (*PERHAPS, ast.With, ast.AsyncWith)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
PARTS = ("body", "handlers", "cases", "orelse", "finalbody")         # of a statement, that hold statements
HIDDEN = ("course_lib.grading.", "course_lib.exercises.")             # an answer needs none of them, and the sandbox contains none


@dataclass(frozen=True)
class Statement:
    """One statement that binds names. `now` are the names that it reads when it runs, `later` those that its functions read when they
    are called."""

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
        lines = Lines(source, tree.body)
        return ([statement for node in tree.body if binds_names(node) and (statement := parse_statement(node, lines, cell))],
                any(has_effect(node) for node in flatten(tree.body)))


class Lines:
    """The lines of a cell, and which of its statements have theirs to themselves. All of it in one pass: a cell may
    be one line of a thousand statements."""

    def __init__(self, source: str, nodes: list[ast.stmt]):
        self.lines = re.split(r"\r\n|\r|\n", source)
        self.indents = [len(line) - len(line.lstrip()) for line in self.lines]
        self.shared = {node.lineno for node in nodes if not self.first(node)}    # something stands before a statement

    def first(self, node: ast.stmt) -> bool:
        """Whether nothing stands before the statement on its line."""
        return node.col_offset == self.indents[node.lineno - 1]

    def of(self, node: ast.stmt) -> str | None:
        """The statement's own lines; None if it shares one."""
        if not self.first(node) or node.lineno in self.shared or node.end_lineno in self.shared:
            return None
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        return "\n".join(self.lines[first - 1:node.end_lineno])


def to_tree(source: str) -> ast.Module:
    """The tree of a cell, await at its top level included. Raises SyntaxError and ValueError."""
    return compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def without_cell_magic(source: str) -> str:
    """The cell without its first line if that is a cell magic (%%time); nothing if the rest is another language."""
    head, _, rest = source.lstrip("\n").partition("\n")
    if not head.startswith("%%"):
        return source
    kind = (head[2:].split() or [""])[0]
    return "" if kind in OPAQUE else "\n" + rest


MAGIC = re.compile(r"^(\s*)(?:[%!?].*|[\w.]+\s*\?{1,2}\s*)$")
ASSIGNED = re.compile(r"^(\s*[\w,][\w, ]*=\s*)[%!].*$")      # no two parts of it match the same blanks


def without_magics(source: str) -> str:
    """The cell with `pass` in the place of magics, shell commands and questions, line by line."""
    lines = []
    for line in source.split("\n"):
        if match := MAGIC.match(line):
            line = match[1] + "pass"
        elif match := ASSIGNED.match(line):
            line = match[1] + "None"
        lines.append(line)
    return "\n".join(lines)


def flatten(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, each followed by those in its blocks; what is in a function is its own."""
    for node in body:
        yield node
        if isinstance(node, BLOCKS + LOOPS):
            for part in PARTS:
                for inner in getattr(node, part, []):
                    yield from flatten(inner.body if isinstance(inner, ast.ExceptHandler | ast.match_case) else [inner])


def binds_names(node: ast.stmt) -> bool:
    """Whether the statement may bind names for those after it, and is no loop. A block does if something in it does."""
    if isinstance(node, BLOCKS):
        return any(isinstance(inner, BINDING) or walrus_names(inner) for inner in flatten([node]))
    return isinstance(node, BINDING) or isinstance(node, ast.Expr | ast.Assert) and bool(walrus_names(node))


def walrus_names(node: ast.stmt) -> set[str]:
    """The names that the statement itself, without those in its blocks, binds by :=, in a comprehension too."""
    names, todo = set(), [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    while todo:
        expression = todo.pop()
        if isinstance(expression, ast.NamedExpr):
            names.add(expression.target.id)
        if not isinstance(expression, ast.Lambda):       # there it is local
            todo += [child for child in ast.iter_child_nodes(expression) if not isinstance(child, ast.stmt)]
    return names


def has_effect(node: ast.stmt) -> bool:
    """Whether a reader may expect the statement to have an effect: a loop, or a call of a function that does not only print."""
    if not isinstance(node, ast.Expr):
        return isinstance(node, LOOPS)
    call = node.value
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") not in ("check", "hint", "solution", "print",
                                                                              "display", "assert_close")


def parse_statement(node: ast.stmt, lines: Lines, cell: int) -> Statement | None:
    """The statement with the names that it binds and reads; None if nothing is left of it."""
    node = without_grader_imports(node)
    if node is None:
        return None
    text = source_text(node, lines)
    top = symtable.symtable(text, "cell", "exec")
    inside = list(flatten([node]))
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    binds |= {name for inner in inside for name in walrus_names(inner)}
    now, later = names_read(top)
    if any(isinstance(inner, ast.ImportFrom) and inner.names[0].name == "*" for inner in inside):
        binds.add("*")
    for target in [target for inner in inside for target in assigned_targets(inner)]:
        while isinstance(target, ast.Attribute | ast.Subscript):
            target = target.value                        # table[3] = 5 and net.scale = 2 change what they name
        if isinstance(target, ast.Name):
            binds.add(target.id)
    if isinstance(node, (ast.AugAssign, *PERHAPS)):
        now |= binds - {"*"}                             # the value before may be the value after
    imports = all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in inside)
    return Statement(cell, text, frozenset(binds), frozenset(now), frozenset(later), imports)


def assigned_targets(node: ast.stmt) -> list[ast.expr]:
    """What an assignment assigns to; nothing for another statement."""
    return node.targets if isinstance(node, ast.Assign) else \
        [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


def names_read(table: symtable.SymbolTable, later: bool = False) -> tuple[set[str], set[str]]:
    """The names that a scope reads from outside: at once, and when its functions are called."""
    at_once, at_call = set(), set()
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            (at_call if later else at_once).add(symbol.get_name())
    for child in table.get_children():
        comprehension = child.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")
        inner = names_read(child, later or child.get_type() == "function" and not comprehension)
        at_once |= inner[0]
        at_call |= inner[1]
    return at_once, at_call


def source_text(node: ast.stmt, lines: Lines) -> str:
    """The statement's own lines, comments included; as Python writes it where it shares a line or was changed."""
    text = lines.of(node) if hasattr(node, "lineno") else None
    if text is not None:
        with contextlib.suppress(SyntaxError):
            body = to_tree(text).body                    # a string over several lines may have lost its indentation
            if len(body) == 1 and ast.dump(body[0]) == ast.dump(node):
                return text
    return ast.unparse(node)


def without_grader_imports(node: ast.AST) -> ast.AST | None:
    """The statement without imports of what belongs to the grader; None if nothing is left. Of an if, a try and the like,
    the imports in its blocks."""
    if isinstance(node, ast.ImportFrom):
        if node.level or is_hidden(node.module or ""):
            return None
        names = [alias for alias in node.names if not is_hidden(f"{node.module}.{alias.name}")]
        return node if names == node.names else ast.ImportFrom(node.module, names, 0) if names else None
    if isinstance(node, ast.Import):
        names = [alias for alias in node.names if not is_hidden(alias.name)]
        return node if names == node.names else ast.Import(names) if names else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for block in PARTS:
            inner = getattr(node, block, None)
            if inner and isinstance(inner, list):
                setattr(node, block, [left for part in inner if (left := without_grader_imports(part))] or [ast.Pass()])
    return node


def is_hidden(name: str) -> bool:
    """Whether a module is the grader's, or in it."""
    return f"{name}.".startswith(HIDDEN)
