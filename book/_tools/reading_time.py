"""How long a chapter and its exercises take, computed from the stored notebooks; nothing here needs torch.

    minutes = words / 110 + visible lines of code / 5 + 0.6 for each output or figure
              + 2.5 for each question + 6 for each proof or interactive figure

The constants were fitted once, to ten readings of the first five chapters of the second edition, and stay.

Words are those of the text, without code, formulas, tables and headings; the set-up cell and folded cells are not read. The time of
an exercise is the one that its line under the heading gives. As a generator, this module writes the minutes into the head of
each chapter.
"""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat

from book._tools import nb
from book._tools.chapters import ROOT, chapters

WORDS_A_MINUTE, LINES_A_MINUTE, AN_OUTPUT, A_QUESTION, A_PROOF = 110, 5, 0.6, 2.5, 6
UNREAD = {"setup", "hide-input", "hide-cell", "remove-input", "remove-cell"}
FENCED = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1", re.M | re.S)
HEADING = re.compile(r"^#{1,6} (.*)$", re.M)
WIDGET = "application/vnd.jupyter.widget-view+json"
LINE = re.compile(r"\*Difficulty (?P<difficulty>\d) of 5, about (?P<minutes>\d+) minutes, \d+ points?\. (?P<kind>[^.]+)\.")
HEAD_CELLS = 5
HEAD = re.compile(r"(\*\*Time\*\*\s+about\s+)\d+(\s+minutes)")


@dataclass(frozen=True)
class Amount:
    """What a reader of a chapter has before them."""

    words: int
    lines: int                  # of code that is not folded
    outputs: int                # printed outputs, tables and figures
    questions: int              # of "Check yourself", and predictions
    proofs: int                 # and interactive figures

    @property
    def minutes(self) -> int:
        return round(self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE + AN_OUTPUT * self.outputs
                     + A_QUESTION * self.questions + A_PROOF * self.proofs)


@dataclass(frozen=True)
class Task:
    """An exercise as its notebook presents it."""

    id: str
    title: str
    kind: str
    difficulty: int
    minutes: int


def cells(path: Path) -> list[dict]:
    """The cells of a notebook, each with its source as one text. The file is read again only if it has changed."""
    return _cells(path, path.stat().st_mtime_ns)


@cache
def _cells(path: Path, _: int) -> list[dict]:
    return [{**cell, "source": "".join(cell["source"])} for cell in json.loads(path.read_text("utf-8"))["cells"]]


def head(path: Path) -> str:
    """The text of a chapter's head: title, objectives, slides, prerequisites, time. A figure may come before its second cell."""
    return "\n\n".join(cell["source"] for cell in cells(path)[:HEAD_CELLS] if cell["cell_type"] == "markdown")


def prose(text: str) -> str:
    """A Markdown cell without code, formulas, addresses, tables, headings and marks."""
    text = re.sub(r"<!--.*?-->|```.*?```", " ", text, flags=re.S)
    text = re.sub(r"\$\$.*?\$\$", " X. ", text, flags=re.S)
    text = re.sub(r"`[^`]*`", " X ", re.sub(r"\$[^$]*\$", " X ", text))
    text = re.sub(r"(?m)^(#+ .*|\|.*)$", "", re.sub(r"\]\([^)]*\)", "]", text))
    return re.sub(r"[*_\[\]]|</?\w+[^>]*>", "", text)


def amount(path: Path) -> Amount:
    """What there is to read, to answer and to prove in a notebook."""
    words = lines = outputs = questions = proofs = 0
    section = ""
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            text = cell["source"]
            words += len(re.findall(r"[A-Za-z']+", prose(text)))
            lines += sum(written(match[2]) for match in FENCED.finditer(text))
            questions += text.count("**Predict.**")
            for part in re.split(r"(?m)(?=^#{1,6} )", FENCED.sub("", text)):
                section = HEADING.match(part)[1].lower() if HEADING.match(part) else section
                folded = len(re.findall(r"<details><summary>\d+\.", part))
                questions += folded * section.startswith("check yourself")
                proofs += folded * section.startswith(("on paper", "proofs"))
        else:
            tags = set(cell["metadata"].get("tags", []))
            lines += written(cell["source"]) * (not tags & UNREAD)
            widgets = sum(WIDGET in output.get("data", {}) for output in cell["outputs"])
            proofs += widgets
            outputs += (bool(cell["outputs"]) - bool(widgets)) * ("setup" not in tags)
    return Amount(words, lines, outputs, questions, proofs)


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


def wanted() -> dict[Path, str]:
    """Each chapter's notebook, with its minutes in the head."""
    texts = {}
    for row in chapters().values():
        path = ROOT / "book" / row["notebook"]
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells[:HEAD_CELLS]:
            cell.source = HEAD.sub(rf"\g<1>{amount(path).minutes}\g<2>", cell.source)
        texts[path] = nb.dumps(nb.normalize(notebook, path.stem))
    return texts


def problems() -> list[str]:
    return [f"{row['notebook']}: its head does not say **Time** about ... minutes" for row in chapters().values()
            if not HEAD.search(head(ROOT / "book" / row["notebook"]))]
