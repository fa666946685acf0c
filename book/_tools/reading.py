"""How long a chapter and its exercises take, from the stored notebooks; nothing here needs torch.

A chapter's reading time is a rule, so that nobody estimates: 200 words of prose a minute, 6 seconds a line of code that the
page shows (folded cells and the set-up cell are not read), half a minute for a displayed equation and for a figure; rounded
up to 5 minutes. The time of an exercise is the one that its line under the heading gives.
"""
from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WORDS_A_MINUTE, SECONDS_A_LINE, MINUTES_AN_EQUATION, MINUTES_A_FIGURE, STEP = 200, 6, 0.5, 0.5, 5
UNREAD = {"setup", "hide-input", "hide-cell", "remove-input", "remove-cell"}
FENCED = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1", re.M | re.S)
EQUATION = re.compile(r"\$\$.+?\$\$", re.S)
FORMULA = re.compile(r"\$[^$\n]+\$")
COMMENT, TAG, TARGET = re.compile(r"<!--.*?-->", re.S), re.compile(r"</?\w[^>]*>"), re.compile(r"\]\([^)]*\)")
WIDGET = "application/vnd.jupyter.widget-view+json"
LINE = re.compile(r"\*Difficulty (?P<difficulty>\d) of 5, about (?P<minutes>\d+) minutes, \d+ points?\. (?P<kind>[^.]+)\.")


@dataclass(frozen=True)
class Amount:
    """What there is to read: words of prose, lines of code, displayed equations, figures."""

    words: int
    lines: int
    equations: int
    figures: int

    @property
    def minutes(self) -> int:
        exact = (self.words / WORDS_A_MINUTE + self.lines * SECONDS_A_LINE / 60
                 + self.equations * MINUTES_AN_EQUATION + self.figures * MINUTES_A_FIGURE)
        return STEP * math.ceil(exact / STEP)


@dataclass(frozen=True)
class Task:
    """An exercise as its notebook presents it."""

    id: str
    title: str
    kind: str
    difficulty: int
    minutes: int


def cells(path: Path) -> list[dict]:
    """The cells of a notebook, each with its source as one text. It is read again only if it has changed: many ask."""
    return _cells(path, path.stat().st_mtime_ns)


@cache
def _cells(path: Path, _: int) -> list[dict]:
    return [{**cell, "source": "".join(cell["source"])} for cell in json.loads(path.read_text("utf-8"))["cells"]]


def amount(path: Path) -> Amount:
    """What a reader of the page has before them. Answers that are folded in the text count; printed outputs do not."""
    words = lines = equations = figures = 0
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            text = COMMENT.sub("", cell["source"])
            lines += sum(written(match[2]) for match in FENCED.finditer(text))
            text = FENCED.sub("", text)
            equations += len(EQUATION.findall(text))
            text = FORMULA.sub(" x ", EQUATION.sub("", text))
            words += sum(any(sign.isalnum() for sign in word) for word in TARGET.sub("]", TAG.sub(" ", text)).split())
        elif cell["cell_type"] == "code":
            if not UNREAD & set(cell["metadata"].get("tags", [])):
                lines += written(cell["source"])
            figures += sum(is_figure(output.get("data", {})) for output in cell["outputs"])
    return Amount(words, lines, equations, figures)


def is_figure(data: dict) -> bool:
    """Does an output show a picture, a drawing, or a figure with controls?"""
    return (any(mime.startswith("image/") for mime in data) or WIDGET in data
            or "<img" in "".join(data.get("text/html", "")))


def written(code: str) -> int:
    """The lines that are not blank."""
    return sum(bool(line.strip()) for line in code.split("\n"))


def tasks(path: Path) -> list[Task]:
    """The exercises of a notebook in their order; none if there is no such file. Raises ValueError for one without its line."""
    found = []
    for cell in cells(path) if path.is_file() else []:
        course = cell["metadata"].get("course", {})
        if course.get("role") != "task":
            continue
        heading, line = re.search(r"^## (.+)$", cell["source"], flags=re.M), LINE.search(cell["source"])
        if not heading or not line:
            raise ValueError(f"{path.name}: the exercise {course.get('exercise')} has no heading, or not the line of its difficulty "
                             "and its minutes; run python -m course_lib.grading build")
        found.append(Task(course["exercise"], heading[1], line["kind"], int(line["difficulty"]), int(line["minutes"])))
    return found
