"""The API pages: the library's docstrings as reStructuredText, and what autodoc needs to read the library without torch."""
from __future__ import annotations

import re


def one_target_or_none(app) -> None:
    """A short name in a signature that several modules define (State) is no link, rather than a link to any of them."""
    from sphinx.domains.python import PythonDomain

    find = PythonDomain.find_obj

    def find_one(self, *args, **kwargs):
        matches = find(self, *args, **kwargs)
        return matches if len(matches) < 2 else []

    PythonDomain.find_obj = find_one


INLINE = re.compile(r"(?<![\\`:\w])`(?!`)([^`]+)`(?![`_])|(?<![\\$\w])\$([^$\n]+)\$(?!\d)")
DISPLAY = re.compile(r"^([ \t]*)\$\$(.+?)\$\$[ \t]*$", re.M | re.S)
BULLET = re.compile(r"\s*(?:[-*]|\d+\.)\s")
WRAPPED = re.compile(r"(?<![\\$\w])\$([^$\n]+)\n[ \t]*([^$\s][^$\n]*)\$(?!\d)")      # a formula in the text, on two lines
NAME = r"[`\"']?\*{0,2}[A-Za-z_][\w.\[\]-]*[`\"']?"
ITEM = re.compile(rf"( *)({NAME}(?:(?:, | and | or ){NAME})*)  +(?=\S)")     # an argument, and what is said of it


def docstring_to_rst(app, what, name, obj, options, lines) -> None:
    """The library's docstrings are plain text with `code`, $maths$ and aligned lists; Sphinx reads reStructuredText."""
    if lines and lines[0].startswith("Alias for field number"):   # said of every field of a named tuple
        lines.clear()
        return

    def block(match):
        inside = " ".join(match[2].split())
        return f"\n.. math:: {inside}\n"

    result: list[str] = []
    text = WRAPPED.sub(r"$\1 \2$", DISPLAY.sub(block, "\n".join(lines)))
    for paragraph in paragraphs(text.split("\n")):
        if paragraph[0].lstrip().startswith((".. math::", ">>>")):     # a formula; an example, which ends at a blank line
            result += paragraph
        elif paragraph[0].startswith(" ") and not ITEM.match(paragraph[0]) and not BULLET.match(paragraph[0]):
            result += ["::", "", *paragraph]                       # code, or a formula in plain text
        else:
            result += listed(paragraph)
    lines[:] = result


def paragraphs(lines: list[str]):
    """Lines up to a blank one, then the blank ones, in turns."""
    part: list[str] = []
    for line in lines:
        if part and bool(line.strip()) != bool(part[-1].strip()):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def listed(lines: list[str]) -> list[str]:
    """A paragraph in reStructuredText; where it says `name  text` in columns, a list of definitions."""
    def role(match):
        return f"``{match[1]}``" if match[1] else f":math:`{match[2].strip()}`"

    margin = "" if ITEM.match(lines[0]) else " " * (len(lines[0]) - len(lines[0].lstrip()))
    result: list[str] = []
    plain: list[str] = []
    k = 0
    while k < len(lines):
        items, end = definitions(lines, k)
        if not items:
            plain.append(INLINE.sub(role, lines[k]))
            k += 1
            continue
        result += separated(plain) + [""] * bool(plain)
        plain = []
        for term, text in items:
            parts = re.split(r"(, | and | or )", term)
            names = "".join(part if j % 2 else f"``{part.strip('`')}``" for j, part in enumerate(parts))
            result += [margin + names,
                       *(f"{margin}    {INLINE.sub(role, line)}" for line in text)]
        result += [""] * (end < len(lines))
        k = end
    return result + separated(plain)


def definitions(lines: list[str], first: int) -> tuple[list[tuple[str, list[str]]], int]:
    """The items of the aligned list that begins at this line, and where it ends; none if none begins there."""
    items: list[tuple[str, list[str]]] = []
    start = ITEM.match(lines[first])
    column = start.end() if start else 0
    end = first
    while start and end < len(lines):
        line = lines[end]
        item = ITEM.match(line)
        if item and item.end() == column and len(item[1]) == len(start[1]):
            items.append((item[2], [line[column:]]))
        elif items and not line[:column].strip() and line[column:column + 1].strip():
            items[-1][1].append(line[column:])
        else:
            break
        end += 1
    return items, end


def separated(lines: list[str]) -> list[str]:
    """A blank line wherever the indentation changes, so that an indented block needs no ceremony."""
    result: list[str] = []
    for line in lines:
        before = result[-1] if result else ""
        if line.strip() and before.strip():
            deeper = len(line) - len(line.lstrip()) - (len(before) - len(before.lstrip()))
            opens = deeper > 0 and not BULLET.match(before)
            ends_list = deeper == 0 and BULLET.match(before) and not BULLET.match(line)
            if deeper < 0 or opens or ends_list:
                result.append("")
        result.append(line)
    return result


def stand_ins_join() -> None:
    """`Tensor | None` is evaluated where the library names a type; the name that stands in for Tensor must bear it."""
    from sphinx.ext.autodoc.mock import _MockObject

    _MockObject.__or__ = _MockObject.__ror__ = lambda self, other: self


def setup(app):
    stand_ins_join()
    app.connect("autodoc-process-docstring", docstring_to_rst, priority=400)
    app.connect("builder-inited", one_target_or_none)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
