"""The statements of one cell, and the names that each binds, changes and reads; what stands under if, for or with is one with that."""
import ast
import contextlib
import re
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from course_lib.grading.submissions.effects import DEFINITIONS, SHOWING, Effects, expressions, find_effects, root

PROMPT = re.compile(r"\s*In \[\d+\]: ")
# cell magics whose cell is not run, or not as Python, or not in the notebook's name space
OPAQUE = {"!", "bash", "cmd", "file", "html", "HTML", "javascript", "js", "latex", "markdown", "perl", "pypy", "python", "python2",
          "python3", "ruby", "script", "sh", "svg", "SVG", "sx", "system", "timeit", "writefile"}
CELL_MAGIC = re.compile(r"\s*%%(\w+).*\n?")
TIMED = re.compile(r"^((?:In \[\d+\]: |[ \t]*\.{3,}: |>>> |\.\.\. )?[ \t]*(?:\w[\w, ]*=[ \t]*)?)%(?:time|prun)[ \t]+(?:-\S+[ \t]+)*", re.M)      # they run their line
MAGICS = {"run_line_magic": "%", "magic": "%", "run_cell_magic": "%%", "system": "!", "getoutput": "!"}     # methods of get_ipython()
HELP = ("%pinfo", "%pinfo2", "%psearch")

BINDING = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign,
           *([ast.TypeAlias] if hasattr(ast, "TypeAlias") else []))
LOOPS = (ast.For, ast.AsyncFor, ast.While)
PERHAPS = (ast.If, ast.Try, ast.Match, *LOOPS, *([ast.TryStar] if hasattr(ast, "TryStar") else []))    # it may bind a name, or not
BLOCKS = (*PERHAPS, ast.With, ast.AsyncWith)
PARTS = ("body", "handlers", "cases", "orelse", "finalbody")         # of a statement, that hold statements
HIDDEN = ("course_lib.grading.", "course_lib.exercises.",            # an answer needs none of them, and the sandbox contains none
          "IPython.get_ipython.", "IPython.core.getipython.")        # the worker has a get_ipython of its own


@dataclass(frozen=True)
class Statement:
    """One statement: the names that it `binds` or changes, those that it reads `now`, and `later`, when its functions are called."""

    cell: int                       # from 1
    text: str
    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]
    imports: bool = False
    line: int = 0                   # of its cell
    effect: bool = False            # whether it is or contains a loop or a call for its effect


def parse_cell(source: str, number: int) -> tuple[list[tuple[Statement, Effects]], list[str]]:
    """The statements of one cell, with the effects of each, and the magics that are not run. Raises SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                  # of escapes in strings
        source, tree = parse_source(source)
        left_out = [magic[:40] for node in ast.walk(tree) if isinstance(node, ast.Call) and (magic := ipython_call(node)) not in (None, *HELP)]
        texts = own_lines(source, tree.body)
        return [parsed for node, text in zip(tree.body, texts, strict=True) if (parsed := parse_statement(node, text, number))], left_out


def parse_source(source: str) -> tuple[str, ast.Module]:
    """The source as Python, rewritten by IPython if it is not, and its tree. Raises SyntaxError and ValueError."""
    if not PROMPT.match(source):                         # which is Python too, an annotation of In[1]
        with contextlib.suppress(SyntaxError):
            return source, to_tree(source)
    if (magic := CELL_MAGIC.match(source)) and magic[1] not in OPAQUE:
        return parse_source("\n" + source[magic.end():])         # its lines keep their numbers
    if len(source) - len(source.rstrip()) > 1000:        # IPython tokenizes every blank line
        source = source.rstrip() + "\n"
    source = transformer().transform_cell(TIMED.sub(r"\1", source))
    return source, to_tree(source)


def transformer():
    """IPython's own, imported when a cell needs it."""
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager()


def to_tree(source: str) -> ast.Module:
    """The tree of a cell, await at its top level included. Raises SyntaxError and ValueError."""
    return compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def ipython_call(node: ast.expr) -> str | None:
    """The magic or the shell command, such as "%pip" or "!ls", of a call that IPython makes of it; None for other expressions."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAGICS
            and isinstance(node.func.value, ast.Call) and getattr(node.func.value.func, "id", "") == "get_ipython"):
        return None
    text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
    return MAGICS[node.func.attr] + (str(text).split() or [""])[0]


def own_lines(source: str, nodes: list[ast.stmt]) -> list[str]:
    """The lines of each of these statements, comments included; of one that shares a line none. In one pass: a line may be a thousand statements."""
    lines = re.split(r"\r\n|\r|\n", source)
    starts = [min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))]) for node in nodes]
    ends = [node.end_lineno for node in nodes]
    return ["\n".join(lines[start - 1:end]) if before < start and end < after else ""
            for start, end, before, after in zip(starts, ends, [0, *ends], [*starts[1:], len(lines) + 1], strict=False)]


def flatten(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, each followed by those in its blocks; what is in a function is its own."""
    for node in body:
        yield node
        if isinstance(node, BLOCKS):
            for part in PARTS:
                for inner in getattr(node, part, []):
                    yield from flatten(inner.body if isinstance(inner, ast.ExceptHandler | ast.match_case) else [inner])


def has_effect(node: ast.stmt) -> bool:
    """Whether a reader may expect the statement to have an effect: a loop, or a call of a function that does not only print."""
    if not isinstance(node, ast.Expr):
        return isinstance(node, LOOPS)
    return isinstance(node.value, ast.Call) and not ipython_call(node.value) and getattr(node.value.func, "id", "") not in SHOWING


def parse_statement(node: ast.stmt, own: str, cell: int) -> tuple[Statement, Effects] | None:
    """The statement, given with its own lines, with the names that it binds and reads, and what it may change; None if it does nothing for others."""
    if not isinstance(node, BINDING + BLOCKS + (ast.Expr, ast.Assert, ast.Delete)) or isinstance(node, ast.Expr) and (
            isinstance(node.value, ast.Constant) or ipython_call(node.value)):
        return None
    node = without_grader_imports(node)
    if node is None:
        return None
    text = source_text(node, own)
    top = symtable.symtable(text, "cell", "exec")
    inside = list(flatten([node]))
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    binds |= {part.target.id for inner in inside for part in expressions(inner) if isinstance(part, ast.NamedExpr)}       # in a comprehension too
    if isinstance(node, ast.Delete):                     # of a name: what needed it has it all the same
        binds = set()
    now, later = names_read(top)
    if any(isinstance(inner, ast.ImportFrom) and (inner.names[0].name == "*" or inner.module == "__future__") for inner in inside):
        binds.add("*")
    for inner in inside:
        targets = [*getattr(inner, "targets", []), *([inner.target] if hasattr(inner, "target") else [])]
        binds |= {name for target in targets for name in names_changed(target)}
    if isinstance(node, (ast.AugAssign, *PERHAPS)):
        now |= binds - {"*"}                             # the value before may be the value after
    if isinstance(node, ast.For | ast.AsyncFor):         # it sets its variables itself
        now -= {name for inner in inside if isinstance(inner, ast.For | ast.AsyncFor) for name in names_in(inner.target)} - names_in(node.iter)
    imports = all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in inside)
    effect = not isinstance(node, BINDING) and any(map(has_effect, inside))
    statement = Statement(cell, text, frozenset(binds), frozenset(now), frozenset(later), imports, getattr(node, "lineno", 0), effect)
    return statement, find_effects(inside)


def names_in(expression: ast.expr) -> set[str]:
    """All names in an expression."""
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def names_changed(target: ast.expr) -> set[str]:
    """The names that an assignment to this target changes: table[3] = 5 changes table, and globals()["f"] = g binds f."""
    if isinstance(target, ast.Tuple | ast.List):
        return {name for inner in target.elts for name in names_changed(inner)}
    if isinstance(target, ast.Starred):
        return names_changed(target.value)
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Call) and isinstance(target.slice, ast.Constant) \
            and getattr(target.value.func, "id", "") in ("globals", "locals", "vars"):
        return {target.slice.value} if isinstance(target.slice.value, str) else set()
    return {name} if isinstance(target, ast.Attribute | ast.Subscript) and (name := root(target)) else set()


def names_read(table: symtable.SymbolTable, later: bool = False) -> tuple[set[str], set[str]]:
    """The names that a scope reads from outside: at once, and when its functions are called."""
    at_once, at_call = set(), set()
    for symbol in table.get_symbols():
        if (symbol.is_referenced() or symbol.is_declared_global()) and (table.get_type() == "module" or symbol.is_global()):
            (at_call if later else at_once).add(symbol.get_name())
    for child in table.get_children():
        comprehension = child.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")
        inner = names_read(child, later or child.get_type() == "function" and not comprehension)
        at_once |= inner[0]
        at_call |= inner[1]
    return at_once, at_call


def source_text(node: ast.stmt, own: str) -> str:
    """The statement's own lines; as Python writes it where it shares a line or was changed."""
    with contextlib.suppress(SyntaxError):
        body = to_tree(own).body                         # a string over several lines may have lost its indentation
        if len(body) == 1 and ast.dump(body[0]) == ast.dump(node):
            return own
    return ast.unparse(node)


def without_grader_imports(node: ast.AST) -> ast.AST | None:
    """The statement without imports of what belongs to the grader, also in its blocks; None if nothing is left."""
    if isinstance(node, ast.ImportFrom):
        if node.level or is_hidden(node.module or ""):
            return None
        names = [alias for alias in node.names if not is_hidden(f"{node.module}.{alias.name}")]
        return node if names == node.names else ast.ImportFrom(node.module, names, 0) if names else None
    if isinstance(node, ast.Import):
        names = [alias for alias in node.names if not is_hidden(alias.name)]
        return node if names == node.names else ast.Import(names) if names else None
    if not isinstance(node, DEFINITIONS):
        for block in PARTS:
            inner = getattr(node, block, None)
            if inner and isinstance(inner, list):
                setattr(node, block, [left for part in inner if (left := without_grader_imports(part))] or [ast.Pass()])
    return node


def is_hidden(name: str) -> bool:
    """Whether a module is the grader's, or in it."""
    return f"{name}.".startswith(HIDDEN)
