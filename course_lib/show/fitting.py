"""Python code made to fit the width that a chapter shows: docstrings and comments flow anew, brackets are broken at a comma."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from typing import Iterator

WIDTH = 92
BEFORE = {"if", "else", "for", "and", "or", "+", "*", "/", "@", "&", "|"}      # a line may be broken before these
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def fitted(code: str) -> str:
    """The code with no line wider than 92 columns, where that can be had without a change of what runs."""
    if all(len(line) <= WIDTH for line in code.split("\n")):
        return code
    code = _docstrings(code)
    code = _comments(code)
    while (broken := _break(code)) is not None:
        code = broken
    return code


def _docstrings(code: str) -> str:
    """Docstrings with a line that is too wide flow anew, paragraph by paragraph."""
    lines = code.split("\n")
    strings = [node.body[0] for node in ast.walk(ast.parse(code))
               if isinstance(node, (*Function, ast.ClassDef)) and is_docstring(node.body[0])]
    for node in sorted(strings, key=lambda n: -n.lineno):
        span = slice(node.lineno - 1, node.end_lineno)
        if any(len(line) > WIDTH for line in lines[span]):
            lines[span] = _flow(lines[span])
    return "\n".join(lines)


def _flow(lines: list[str]) -> list[str]:
    """The paragraphs that hold a line that is too wide, filled anew; `name  text` keeps its hanging indent."""
    closing = []
    if len(lines) > 1 and lines[-1].strip() == '"""':
        lines, closing = lines[:-1], lines[-1:]
    out: list[str] = []
    for item in _items(lines):
        if max(map(len, item)) <= WIDTH:
            out += item
            continue
        first = re.match(r"(\s*)(\S+(?: \S+)* {2,})?", item[0])
        indent = len(first[1]) + len(first[2] or "")
        body = " ".join([item[0][indent:].strip(), *(line.strip() for line in item[1:])])
        out += textwrap.wrap(body, WIDTH, initial_indent=item[0][:indent], subsequent_indent=" " * indent,
                             break_long_words=False, break_on_hyphens=False)
    return out + closing


def _items(lines: list[str]) -> list[list[str]]:
    """Lines that flow together: a paragraph, or one `name  text` with what hangs below it."""
    items: list[list[str]] = []
    hang = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        column = re.match(r"\s*\S+(?: \S+)* {2,}(?=\S)", line)
        flows = items and items[-1][-1].strip() and line.strip() and not column and indent == hang
        if flows:
            items[-1].append(line)
        else:
            items.append([line])
            hang = column.end() if column else indent
    return items


def _comments(code: str) -> str:
    """Comments that reach too far move left together, else stand above their line; those alone on a line are wrapped."""
    lines = code.split("\n")
    found = {token.start[0] - 1: token.start[1] for token in tokens(code) if token.type == tokenize.COMMENT}
    beside = {row: col for row, col in found.items() if lines[row][:col].strip()}
    for run in _runs(sorted(beside)):
        if all(len(lines[row]) <= WIDTH for row in run):
            continue
        column = max(len(lines[row][:beside[row]].rstrip()) + 2 for row in run)
        for row in run:
            left, comment = lines[row][:beside[row]].rstrip(), lines[row][beside[row]:]
            near = next((at for at in (column, len(left) + 2) if at + len(comment) <= WIDTH), None)
            lines[row] = left.ljust(near) + comment if near else _above(left, comment)
    for row in found.keys() - beside.keys():
        if len(lines[row]) > WIDTH:
            lines[row] = "\n".join(_note(lines[row], len(lines[row]) - len(lines[row].lstrip())))
    return "\n".join(lines)


def _runs(rows: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][-1] + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _above(left: str, comment: str) -> str:
    return "\n".join([*_note(comment, len(left) - len(left.lstrip())), left])


def _note(comment: str, indent: int) -> list[str]:
    text = comment.strip().lstrip("#").strip()
    if text.startswith("---"):                                       # a rule across the page
        return [f"{' ' * indent}# {text}"[:WIDTH]]
    return textwrap.wrap(text, WIDTH, initial_indent=" " * indent + "# ", subsequent_indent=" " * indent + "# ",
                         break_long_words=False, break_on_hyphens=False)


def _break(code: str) -> str | None:
    """The first line that is too wide, broken within its brackets; None if there is none that can be broken."""
    lines = code.split("\n")
    for row, places in _places(code).items():
        line = lines[row]
        for at, indent in places:
            both = [line[:at].rstrip(), " " * indent + line[at:].lstrip()]
            if len(both[0]) <= WIDTH and both[1].strip() and len(both[1]) < len(line):
                lines[row:row + 1] = both
                return "\n".join(lines)
        if halves := _split_string(line):
            lines[row:row + 1] = halves
            return "\n".join(lines)
    return None


def _places(code: str) -> dict[int, list[tuple[int, int]]]:
    """Of each line that is too wide, where it may be broken and how far the rest is indented, the best place first.

    Behind a comma or before an operator, where the rest fits, in as few brackets as possible, as late as possible.
    """
    lines = code.split("\n")
    found: dict[int, list] = {row: [] for row, line in enumerate(lines) if len(line) > WIDTH}
    open_at: list[tuple[int, int]] = []                              # of each bracket: its row and the column behind it
    for token in tokens(code):
        row = token.start[0] - 1
        if token.type == tokenize.OP and token.string in "([{":
            open_at.append((row, token.end[1]))
        elif token.type == tokenize.OP and token.string in ")]}":
            open_at.pop()
        elif row in found and open_at and (token.string == "," or token.string in BEFORE):
            at = token.end[1] if token.string == "," else token.start[1]
            begun, column = open_at[-1]
            indent = column if begun == row else len(lines[row]) - len(lines[row].lstrip())
            if at > indent:
                too_wide = indent + len(lines[row]) - at > WIDTH
                found[row].append((too_wide, len(open_at), -at, indent))
    return {row: [(-at, indent) for *_, at, indent in sorted(places)] for row, places in found.items()}


def _split_string(line: str) -> list[str] | None:
    """A call whose last argument is a string that is too wide: the string in two halves, which Python joins."""
    match = re.match(r"""(.*\()(f?)("(?:[^"\\])*")(\)*)$""", line) or re.match(r"""(\s*)(f?)("(?:[^"\\])*")(\)*)$""", line)
    if not match:
        return None
    column = len(match[1])
    depth, space = 0, None
    for at in range(column + len(match[2]) + 1, WIDTH - 2):
        depth += (line[at] == "{") - (line[at] == "}")
        if line[at] == " " and depth == 0:
            space = at
    return space and [line[:space + 1] + '"', " " * column + match[2] + '"' + line[space + 1:]]


def is_docstring(node: ast.AST) -> bool:
    """Whether a statement is a string alone, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a piece of code, which may end in the middle of things."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(code).readline)
    except (tokenize.TokenError, IndentationError):
        return
