"""A script in cells, as Jupytext, VS Code and Spyder write notebooks: a line `# %%` begins a cell, `# %% [markdown]` one of text."""
from __future__ import annotations

import re

from course_lib.grading.reading.files import Unreadable

MARK = re.compile(r"^#[ \t]?%%(?!%)([^\n]*)$", re.M)
TEXT = re.compile(r"\[(markdown|md|raw)\]")


def is_percent(data: bytes) -> bool:
    """Whether a line of the script begins a cell."""
    return MARK.search(data.decode("utf-8", "replace").replace("\r\n", "\n")) is not None


def cells(data: bytes) -> list[dict]:
    """The cells of the script as those of a notebook; all of it is one if no line begins one. Raises Unreadable."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Unreadable("The file is not UTF-8 text. Save it as UTF-8 and hand in that file.") from None
    marks = list(MARK.finditer(text))
    parts = [("code", text[:marks[0].start()] if marks else text)]
    for mark, after in zip(marks, [*marks[1:], None], strict=False):
        kind = TEXT.search(mark[1])
        parts.append((("raw" if kind[1] == "raw" else "markdown") if kind else "code",
                      text[mark.end():after.start() if after else len(text)]))
    if not parts[0][1].strip() and marks:
        del parts[0]                                     # nothing before the first line of that kind
    return [{"cell_type": kind, "source": source.strip("\n")} for kind, source in parts]
