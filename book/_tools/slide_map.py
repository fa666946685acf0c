"""The map from slides to sections: book/slides.tsv and book/slide-map.tsv in, book/slide-map.md out.

slides.tsv has one row a slide: deck, title, the teaching points it is about. Slides with nothing to teach are not listed;
words in brackets distinguish slides of one title. Two decks with the same slides share a list.

slide-map.tsv has one row a teaching point: id, chapter (its slug), decks, what is taught; then the section (an anchor of the chapter
or of its deeper page; `slug#anchor` of another chapter), the library's symbols and the practice ("demo: #section ...; exercise: id
...; question: words of it"). Several entries are separated by spaces; the words are those of one question of the chapter. Every point
is practiced by an exercise or a question. A row without a section is open: its chapter does not teach it yet.
"""
from __future__ import annotations

import csv
import importlib
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from book._tools import reading_time
from book._tools.chapters import ROOT, chapters

TABLE, SLIDES, PAGE = ROOT / "book" / "slide-map.tsv", ROOT / "book" / "slides.tsv", ROOT / "book" / "slide-map.md"
DECKS = {
    "A25": "Autoregressive models, F. Seyyedsalehi, course 22-808 Generative models, Sharif University of Technology, 2025",
    "A24": "the same lecture, 2024",
    "N": "Generative models for NLP, N. Tomeh, 2025",
    "S": "Sequence processing architectures, F. Le Bronnec, IASD LLMs course, 2025",
    "T": "Transformer language models, A. V. Ganesan, CSE 538, spring 2024",
}
LISTS = {"A25 A24": "Autoregressive models", "N": "Generative models for NLP", "S": "Sequence processing architectures",
         "T": "Transformer language models"}
CHAPTERS = {slug: c["title"] for slug, c in chapters().items()}
FRAME = {"where-it-breaks", "exercises", "at-full-size", "check-yourself", "summary", "sources"}               # of every chapter
ADDED = {"nade": {"prove-it"}, "counting-text": {"part-two-text"}, "chain-rule": {"part-one-pixels"},              # by the course
         "self-attention": {"one-story-since-nade"},
         "fvsbn": {"code-length", "arithmetic-coding", "the-order-of-the-pixels", "what-fvsbn-can-represent", "the-weights-of-a-trained-fvsbn"}}
PRACTICE = re.compile(r"(?!;)(demo:( [a-z-]*#[a-z0-9-]+)+)?((^|; )exercise:( [A-Za-z0-9_]+)+)?((^|; )question: [^;\t]+)?")
QUESTION = re.compile(r"<details><summary>(\d+)\. (.*?)</summary>", re.S)
INTRO = """\
# From slides to sections

The course mirrors five lecture decks. Each list follows one deck: a slide, the chapter and its sections that teach it, its \
exercises. The two decks of *Autoregressive models*, one lecture in two years, share a list. Slides with nothing to teach, such \
as outlines, are left out. Words in brackets are the course's own: they distinguish slides of one title, and name those without.

Below the lists, each point that the slides teach has its details: the library's symbols, the demonstrations, the \
exercises. The [teaching plan](teaching-plan.md) puts the slides into thirteen weeks.

| deck | lecture |
|---|---|"""


@dataclass(frozen=True)
class Slide:
    """A slide, or several in a row with one title and one subject."""

    deck: str
    title: str
    points: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """What the slides teach, and where the course has it. Without a section its chapter is still to come."""

    id: str
    chapter: str
    decks: str
    teaches: str
    section: str
    symbols: str
    practice: str

    @property
    def demonstrations(self) -> list[str]:
        """The sections that show it: "#anchor" of its chapter, or "slug#anchor"."""
        return re.findall(r"[a-z-]*#[a-z0-9-]+", self.practice)

    @property
    def exercises(self) -> list[str]:
        return [id for part in re.findall(r"exercise: ([A-Za-z0-9_ ]+)", self.practice) for id in part.split()]

    @property
    def question(self) -> str:
        words = re.search(r"question: ([^;]+)", self.practice)
        return " ".join(words[1].lower().split()) if words else ""


def slides() -> list[Slide]:
    with SLIDES.open(encoding="utf-8", newline="") as file:
        return [Slide(row["deck"], row["slide"], tuple(row["points"].split())) for row in csv.DictReader(file, delimiter="\t")]


def points() -> list[Point]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Point(**row) for row in csv.DictReader(file, delimiter="\t")]


# --- what the notebooks have -----------------------------------------------------------------------------------------

def notebook(chapter: str) -> Path:
    """The chapter's notebook."""
    return ROOT / "book" / chapters()[chapter]["notebook"]


def slug(heading: str) -> str:
    """The anchor that Sphinx gives a heading."""
    text = re.sub(r"\$[^$]*\$", "", heading)
    text = re.sub(r"[`*_]", "", text).strip().lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


def link(heading: str) -> str:
    """The anchor by which Markdown links to a heading, here as on GitHub: punctuation leaves no trace."""
    return re.sub(r"[^\w -]", "", re.sub(r"\$[^$]*\$", "", heading).strip().lower()).replace(" ", "-")


@cache
def prose(path: Path) -> str:
    return "\n".join(cell["source"] for cell in reading_time.cells(path) if cell["cell_type"] == "markdown")


@cache
def headings(path: Path) -> list[tuple[str, str]]:
    """Level (## or ###) and text of the headings of a notebook's sections."""
    return re.findall(r"^(##+) (.+)$", prose(path), flags=re.M)


@cache
def titles(path: Path) -> dict[str, str]:
    """The anchors of a notebook's sections, and their headings."""
    return {slug(heading): heading for _, heading in headings(path)}


def place(reference: str, chapter: str) -> tuple[str, str] | None:
    """The address below book/ and the heading of "anchor", "#anchor" or "slug#anchor"; None if there is no such section."""
    other, _, anchor = reference.rpartition("#")
    path = notebook(other or chapter)
    for page in (path, path.parent / "deeper" / path.name):
        if page.is_file() and anchor in titles(page):
            return f"{page.relative_to(ROOT / 'book').as_posix()}#{anchor}", titles(page)[anchor]
    return None


@cache
def exercises(chapter: str) -> dict[str, str]:
    """The exercises of a chapter and their titles, in order."""
    return {task.id: task.title for task in reading_time.tasks(ROOT / "exercises" / chapters()[chapter]["notebook"])}


@cache
def all_exercises() -> dict[str, tuple[str, str]]:
    """The chapter and the title of each exercise."""
    return {id: (chapter, title) for chapter in CHAPTERS for id, title in exercises(chapter).items()}


def asked(point: Point, path: Path) -> list[int]:
    """The numbers of the chapter's questions that have the words of the point; one, if the table is right."""
    return [int(number) for number, text in QUESTION.findall(prose(path))
            if point.question and point.question in " ".join(text.lower().split())]


# --- the page --------------------------------------------------------------------------------------------------------

def page(rows: list[Point], shown: list[Slide]) -> str:
    """The page as Markdown."""
    out = [INTRO, *(f"| {deck} | {lecture} |" for deck, lecture in DECKS.items())]
    point = {p.id: p for p in rows}
    for deck, name in LISTS.items():
        own = [slide for slide in shown if slide.deck == deck]
        out += ["", f"## {name} ({', '.join(deck.split())})", "",
                f'<details class="course-slides course-wide"><summary>{len(own)} slides</summary>', ""]
        for slide in own:
            out += [f"- **{escaped(slide.title)}**\\", f"  {where([point[id] for id in slide.points])}"]
        out += ["", "</details>"]
    out += ["", "## Each point: library, demonstrations, exercises", "", "By chapter."]
    for chapter, title in CHAPTERS.items():
        own = [p for p in rows if p.chapter == chapter]
        out += ["", f'<details class="course-points"><summary>{title}: {len(own)} '
                f'point{"s" * (len(own) != 1)}</summary>', "", *details(own), "", "</details>"]
    return "\n".join(out) + "\n"


def where(points: list[Point]) -> str:
    """The sections and the exercises of some points, each once, by chapter."""
    parts = []
    for chapter in dict.fromkeys(p.chapter for p in points):
        links = dict.fromkeys(section_link(p, p.section) for p in points if p.chapter == chapter and p.section)
        parts.append(f"Chapter {CHAPTERS[chapter]}: {', '.join(links) or '*open*'}")
    practice = dict.fromkeys(exercise_link(id) for p in points for id in p.exercises)
    return "; ".join(parts) + (f"\\\n  *Practice* {', '.join(practice)}" if practice else "")


def section_link(p: Point, reference: str) -> str:
    address, title = place(reference, p.chapter) or (reference, reference)
    return f"[{title}]({address})"


def exercise_link(id: str) -> str:
    chapter, title = all_exercises().get(id, (next(iter(CHAPTERS)), id))
    return f"[{title}](../exercises/{chapters()[chapter]['notebook']}#{slug(title)})"


def details(own: list[Point]) -> list[str]:
    """The table of a chapter's points."""
    out = ["| point | decks | section | library | practice |", "|---|---|---|---|---|"]
    for p in own:
        symbols = " ".join(f"`{s}`" for s in p.symbols.split())
        practice = [section_link(p, reference) for reference in p.demonstrations]
        practice += [f"exercise {exercise_link(id)}" for id in p.exercises]
        practice += [f"[question {number}]({notebook(p.chapter).name}#check-yourself)" for number in asked(p, notebook(p.chapter))]
        out.append(f"| **{p.id}** {escaped(p.teaches)} | {p.decks} | {section_link(p, p.section) if p.section else '*open*'} | {symbols} | "
                   f"{', '.join(practice)} |")
    return out


def escaped(text: str) -> str:
    """Text that stays within a cell of a table and is not read as mathematics."""
    return re.sub(r"([|$<*_])", r"\\\1", text)


def wanted() -> dict[Path, str]:
    return {PAGE: page(points(), slides())}


# --- what contradicts itself -----------------------------------------------------------------------------------------

def problems() -> list[str]:
    return slide_problems(slides(), points()) + point_problems(points())


def slide_problems(shown: list[Slide], rows: list[Point]) -> list[str]:
    """What the slides and the teaching points say differently of each other."""
    decks = {p.id: set(p.decks.split()) for p in rows if p.section}
    found = [f"slides.tsv has two rows {title!r} of the deck {deck!r}; distinguish them by words in brackets"
             for (deck, title), times in Counter((s.deck, s.title) for s in shown).items() if times > 1]
    for s in shown:
        if s.deck not in LISTS:
            found.append(f"slides.tsv: {s.title!r} is of the deck {s.deck!r}; expected one of {', '.join(map(repr, LISTS))}")
        if unknown := set(s.points) - {p.id for p in rows}:
            found.append(f"slides.tsv: {s.title!r} names {', '.join(sorted(unknown))}, not a teaching point")
    for id, own in decks.items():
        if own != (there := {deck for s in shown if id in s.points for deck in s.deck.split()}):
            found.append(f"{id}: its row names {' '.join(sorted(own))}, its slides are of {' '.join(sorted(there))}")
    return found


def point_problems(rows: list[Point]) -> list[str]:
    """Everything in the rows that points nowhere, and every section and exercise that no row claims."""
    found = []
    claimed = {id for p in rows for id in p.exercises}
    sections = {place(reference, p.chapter) for p in rows for reference in (p.section, *p.demonstrations)}
    for chapter in CHAPTERS:
        path = notebook(chapter)
        for page in (path, path.parent / "deeper" / path.name):
            if not page.is_file():
                continue
            name = page.relative_to(ROOT / "book").as_posix()
            found += [f"{name}: the anchor of {text!r} is #{slug(text)}, and Markdown links to #{link(text)}; change the punctuation"
                      for _, text in headings(page) if slug(text) != link(text)]
            groups: list[list[str]] = []
            for level, text in headings(page):                       # a section with those below it
                groups = [*groups, [slug(text)]] if level == "##" else [*groups[:-1], [*(groups[-1] if groups else ()), slug(text)]]
            found += [f"{name}: no row claims the section #{group[0]}" for group in groups
                      if not any((f"{name}#{anchor}", titles(page)[anchor]) in sections for anchor in group)
                      and not (FRAME | ADDED.get(chapter, set())) & set(group)]
        found += [f"exercises/{path.name}: no row claims the exercise {id}" for id in exercises(chapter) if id not in claimed]
    return found + [f"{p.id}: {fault}" for p in rows if p.section for fault in faults(p)]


def faults(p: Point) -> list[str]:
    """What is wrong with a row that is not open."""
    from course_lib.grading import EXERCISES

    path, numbers = notebook(p.chapter), asked(p, notebook(p.chapter))
    found = [f"{path.name} has no section {reference}" for reference in (p.section, *p.demonstrations) if not place(reference, p.chapter)]
    found += [f"course_lib has no {name}" for name in p.symbols.split() if not has_symbol(name)]
    if not p.practice or not PRACTICE.fullmatch(p.practice):
        found.append(f"practice is {p.practice!r}; expected 'demo: #section ...; exercise: id ...; question: words', or some of the three")
    if p.question and len(numbers) != 1:
        found.append(f"{len(numbers)} questions of {path.name} have the words that it names; expected 1")
    if not p.exercises and not numbers:
        found.append(f"neither an exercise nor a question of {path.name} practices it")
    found += [f"there is no exercise {id}" for id in p.exercises if id not in all_exercises()]
    return found + [f"the exercise {id} does not name this point" for id in p.exercises if id in EXERCISES and p.id not in EXERCISES[id].points]


def has_symbol(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(f"course_lib.{module}" if module else "course_lib"), attribute)
    except ModuleNotFoundError:
        return False
