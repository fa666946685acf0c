"""The parts that every chapter of the second edition has, and its limits of length."""
import re

import pytest

from book._tools import reading_time
from book._tools.chapters import ROOT, chapters

REWRITTEN = ["chain-rule", "linear-models", "backpropagation", "fvsbn", "counting-text"]
HEAD = ("**Objectives.**", "**Slides**", "**Prerequisites**", "**Time**")
SECTIONS = ("Common mistakes", "Check yourself", "Exercises", "Summary", "Sources")
WORDS, LINES, FOLDED, MINUTES, EXERCISES, DEEPER = 4000, 200, 80, 90, 4, 1500


def text_of(path):
    return "\n\n".join("".join(cell["source"]) for cell in reading_time.cells(path) if cell["cell_type"] == "markdown")


def section(text, title):
    """The text below a heading of the second level, up to the next one."""
    match = re.search(rf"(?ms)^## {re.escape(title)}[^\n]*\n(.*?)(?=^## |\Z)", text)
    return match[1] if match else ""


def folded_lines(path):
    return sum(reading_time.written("".join(cell["source"])) for cell in reading_time.cells(path) if cell["cell_type"] == "code"
               and "hide-input" in cell["metadata"].get("tags", []) and "setup" not in cell["metadata"].get("tags", []))


def faults(slug):
    """What a chapter lacks, one sentence each."""
    path = ROOT / "book" / chapters()[slug]["notebook"]
    text, amount = text_of(path), reading_time.amount(path)
    found = [f"the head lacks {part}" for part in HEAD if part not in reading_time.head(path)]
    found += [f"there is no section {title}" for title in SECTIONS if not re.search(rf"(?m)^## {title}", text)]
    questions = len(re.findall(r"<details><summary>\d", section(text, "Check yourself").split("\n### ")[0]))
    if not 4 <= questions <= 6:
        found.append(f"Check yourself has {questions} questions; expected 4 to 6")
    if not section(text, "Summary").lstrip().startswith("- "):
        found.append("the summary is not a list")
    if not re.search(r"\]\(https?://", section(text, "Sources")):
        found.append("no source has an address")
    for what, value, limit in (("words", amount.words, WORDS), ("visible lines of code", amount.lines, LINES),
                               ("folded lines of code", folded_lines(path), FOLDED), ("minutes", amount.minutes, MINUTES)):
        if value > limit:
            found.append(f"{value} {what}; expected at most {limit}")
    tasks = reading_time.tasks(ROOT / "exercises" / path.name)
    if len(tasks) < EXERCISES:
        found.append(f"{len(tasks)} exercises; expected at least {EXERCISES}")
    deeper = path.parent / "deeper" / path.name
    if deeper.exists() and reading_time.amount(deeper).words > DEEPER:
        found.append(f"the deeper page has {reading_time.amount(deeper).words} words; expected at most {DEEPER}")
    return found


@pytest.mark.parametrize("slug", REWRITTEN)
def test_chapter_is_complete(slug):
    assert faults(slug) == []
