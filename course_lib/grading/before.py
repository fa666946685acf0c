"""What comes before an exercise: the chapters that its chapter needs, and the sections that teach its points.

Both stand in before.json, which `tools/teaching_plan.py` writes from book/chapters.toml and book/slide-map.tsv: the book itself
is not part of the package.
"""
from __future__ import annotations

import functools
import json
import re
from importlib.resources import files
from typing import Any, NamedTuple

from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.judge.hints import words_of

STORE = "before.json"
OF_FORM = {"comes", "count", "counts", "exchanged", "first", "list", "numbers"}       # of an answer's form: they say little
VAGUE = {"backward", "mean", "number", "pixelcnn", "read", "word"}                    # in headings, of one thing or another
ALIKE, WORDS = 0.5, 3                    # of the shorter sentence's words, how many the other has for the same mistake


class Section(NamedTuple):
    """A section of a chapter."""

    chapter: str
    notebook: str                        # "13-self-attention.ipynb"
    anchor: str
    heading: str

    @property
    def place(self) -> str:
        """Where it is, from the folder of the course."""
        return f"book/{self.notebook}#{self.anchor}"


@functools.cache
def chapters() -> dict[str, dict[str, Any]]:
    """Of each chapter ("13"): title, notebook, the chapters that it needs, and for each point its sections: {anchor:
    heading}."""
    return json.loads((files("course_lib.grading") / STORE).read_text("utf-8"))


@functools.cache
def needs(chapter: str) -> frozenset[str]:
    """Every chapter that comes before this one: those that it needs, and those that they need. Empty for an unknown one."""
    own = chapters().get(chapter, {}).get("needs", [])
    return frozenset(own).union(*map(needs, own))


def leads_to(easier: Exercise, harder: Exercise) -> bool:
    """Whether one exercise comes before another of its chapter: it practises a point of the other, and is easier."""
    return (easier.chapter == harder.chapter and easier.difficulty < harder.difficulty
            and not set(easier.points).isdisjoint(harder.points))


def same_mistake(name: str, one: Exercise, other: Exercise) -> bool:
    """Whether both exercises know the mistake: by this name, and in much the same words."""
    if not (name in one.misconceptions and name in other.misconceptions):
        return False
    a, b = (words_of(each.misconceptions[name]) - OF_FORM for each in (one, other))
    shared = len(a & b)
    return shared >= WORDS and shared >= ALIKE * min(len(a), len(b)) or a == b and bool(a)


@functools.cache
def sections() -> dict[str, list[Section]]:
    """Of each point, of whatever chapter, the sections that teach it."""
    return {point: [Section(number, own["notebook"], *each) for each in found.items()]
            for number, own in chapters().items() for point, found in own["sections"].items()}


def section(sentence: str, *exercises: Exercise) -> Section | None:
    """Where the book teaches what the exercises practise: of the sections of their points the one whose heading has most words of
    the sentence, whatever they end in; of several such, most words of the exercises' titles; else the first. None where no
    section is listed."""
    found = [each for one in exercises for point in one.points for each in sections().get(point, [])]
    titles = " ".join(one.title for one in exercises)
    return max(found, key=lambda each: [len(stems(each.heading) & stems(text)) for text in (sentence, titles)], default=None)


def hint_for(sentence: str, exercise: Exercise) -> int | None:
    """The number of the hint that speaks most like the sentence: of three words at least, one of them in its symptom. None if
    none does."""
    said = stems(sentence)
    shared = [len(stems(f"{one.symptom} {one.text}") & said) if stems(one.symptom) & said else 0 for one in exercise.hints]
    return shared.index(max(shared)) + 1 if max(shared, default=0) >= WORDS else None


def stems(text: str) -> set[str]:
    """The words of a text that tell something, each without its ending: "masks" and "masked" are one."""
    return {re.sub(r"(?<=\w{3})(s|ed|ing)$", "", word) for word in words_of(text)} - VAGUE
