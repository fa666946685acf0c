"""The map from slides to sections: book/slides.tsv and book/slide-map.tsv in, book/slide-map.md out.

    python tools/slide_map.py            write the page
    python tools/slide_map.py --check    fail if the page is stale or a row points to something that is not there

In slide-map.tsv, one row a teaching point: id, chapter, decks, what is taught; then, once its chapter exists, the section (an
anchor), the library's symbols, the tests and the practice ("demo: #section ...; exercise: id ...; question: words of it").
Several entries are separated by spaces; the words are of one question of the chapter, and of no other.
Every point is practised by an exercise or a question. In slides.tsv, one row a slide: see tools/slides.py.
"""
from __future__ import annotations

import argparse
import ast
import csv
import importlib
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import reading  # noqa: E402
from tools import slides as listed_slides  # noqa: E402
from tools.chapters import chapters  # noqa: E402
from tools.slides import LISTS, Slide, slides  # noqa: E402

TABLE, PAGE = ROOT / "book" / "slide-map.tsv", ROOT / "book" / "slide-map.md"
DECKS = {
    "A25": "Autoregressive models, F. Seyyedsalehi, course 22-808 Generative models, Sharif University of Technology, 2025",
    "A24": "the same lecture, 2024",
    "N": "Generative models for NLP, N. Tomeh, 2025",
    "S": "Sequence processing architectures, F. Le Bronnec, IASD LLMs course, 2025",
    "T": "Transformer language models, A. V. Ganesan, CSE 538, spring 2024",
}
CHAPTERS = {number: c["title"] for number, c in chapters().items()}
FRAME = {"where-it-breaks", "exercises", "at-full-size", "check-yourself", "summary", "sources"}               # of every chapter
PRACTICE = re.compile(r"(?!;)(demo:( #[a-z0-9-]+)+)?((^|; )exercise:( [A-Za-z0-9_]+)+)?((^|; )question: [^;\t]+)?")
QUESTION = re.compile(r"<details><summary>(\d+)\. (.*?)</summary>", re.S)
ADDED = {"01": {"part-one-pixels", "part-two-text"}, "04": {"prove-it"},                           # by the course
         "03": {"half-a-page-of-tools", "the-data-digits-of-64-pixels", "prove-it"}}


@dataclass(frozen=True)
class Point:
    """One row: what the slides teach and where the course has it."""

    id: str
    chapter: str
    decks: str
    teaches: str
    section: str
    symbols: str
    tests: str
    practice: str

    @property
    def done(self) -> bool:
        return bool(self.section)


def points(table: Path = TABLE) -> list[Point]:
    with table.open(encoding="utf-8", newline="") as file:
        return [Point(**row) for row in csv.DictReader(file, delimiter="\t")]


def notebook(chapter: str) -> Path | None:
    """The chapter's notebook, if it exists."""
    return next(iter(sorted((ROOT / "book").glob(f"{chapter}-*.ipynb"))), None)


def slug(heading: str) -> str:
    """The anchor that Sphinx gives a heading."""
    text = re.sub(r"\$[^$]*\$", "", heading)
    text = re.sub(r"[`*_]", "", text).strip().lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


def link(heading: str) -> str:
    """The anchor by which Markdown links to a heading, here as on GitHub: punctuation leaves no trace."""
    return re.sub(r"[^\w -]", "", re.sub(r"\$[^$]*\$", "", heading).strip().lower()).replace(" ", "-")


def prose(path: Path) -> list[str]:
    """The text cells of a notebook."""
    return [cell["source"] for cell in reading.cells(path) if cell["cell_type"] == "markdown"]


def tree(path: Path) -> list[tuple[str, list[str]]]:
    """Anchors of a notebook's sections (##), each with those below it (###), in order."""
    out: list[tuple[str, list[str]]] = []
    for m in re.finditer(r"^(##|###) (.+)$", "\n".join(prose(path)), flags=re.M):
        if m[1] == "##":
            out.append((slug(m[2]), []))
        else:
            out[-1][1].append(slug(m[2]))
    return out


def headings(path: Path) -> list[str]:
    """The text of all sections of a notebook."""
    return [m for text in prose(path) for m in re.findall(r"^##+ (.+)$", text, flags=re.M)]


def sections(path: Path) -> list[str]:
    """Anchors of all sections of a notebook, in order."""
    return [anchor for head, below in tree(path) for anchor in (head, *below)]


def titles(path: Path) -> dict[str, str]:
    """The anchors of a notebook's sections, and their headings."""
    return {slug(heading): heading for heading in headings(path)}


def exercises(chapter: str) -> dict[str, str]:
    """The exercises in the chapter's exercise notebook and their titles, in order; none if there is not a notebook."""
    return {task.id: task.title for path in sorted((ROOT / "exercises").glob(f"{chapter}-*.ipynb"))
            for task in reading.tasks(path)}


def page(rows: list[Point], shown: list[Slide]) -> str:
    """The page as Markdown."""
    out = ["# From slides to sections", "",
           "The course mirrors five lecture decks. Each list follows one deck: a slide, the chapter and its sections "
           "that teach it, its exercises. What is still being written is marked *to come*. The two decks of *Autoregressive models*, "
           "one lecture in two years, share a list. Slides with nothing to teach, such as outlines, are left out. Words in brackets "
           "are the course's own: they tell apart slides of one title, and name those without.", "",
           "Below the lists, each point that the slides teach has its details: the library's symbols, the tests, the "
           "demonstrations. The [teaching plan](teaching-plan.md) puts the slides into thirteen weeks.", "",
           "| deck | lecture |", "|---|---|", *(f"| {k} | {v} |" for k, v in DECKS.items())]
    point = {p.id: p for p in rows}
    for deck, name in LISTS.items():
        own = [slide for slide in shown if slide.deck == deck]
        out += ["", f"## {name} ({', '.join(deck.split())})", "",
                f'<details class="course-slides course-wide"><summary>{count(own, point)}</summary>', ""]
        for slide in own:
            out += [f"- **{escaped(slide.title)}**\\", f"  {where([point[id] for id in slide.points])}"]
        out += ["", "</details>"]
    out += ["", "## Each point: library, tests, demonstrations", "", "By chapter."]
    for chapter, title in CHAPTERS.items():
        own = [p for p in rows if p.chapter == chapter]
        out += ["", f'<details class="course-points"><summary>{int(chapter)} {title}: {_plural(len(own), "point")}'
                f'{"" if notebook(chapter) else ", to come"}</summary>', "", *_points(own, notebook(chapter)), "", "</details>"]
    return "\n".join(out) + "\n"


def count(own: list[Slide], point: dict[str, Point]) -> str:
    """How many slides there are, and how many of them the book teaches wholly, in part, and not yet."""
    done = [[point[id].done for id in slide.points] for slide in own]
    whole, none = sum(map(all, done)), sum(not any(d) for d in done)
    parts = [f"{whole} in the book", f"{len(own) - whole - none} in part", f"{none} to come"]
    return f"{_plural(len(own), 'slide')}: " + ", ".join(part for part in parts if not part.startswith("0 "))


def where(points: list[Point]) -> str:
    """The sections and the exercises of some points, each once, by chapter; which chapters are to come."""
    parts = []
    for chapter in _once(p.chapter for p in points):
        links = _once(section(p) for p in points if p.chapter == chapter and p.done)
        parts.append(f"Chapter {int(chapter)}: {', '.join(links)}" if links else f"*to come:* {int(chapter)} {CHAPTERS[chapter]}")
    practice = _once(exercise(p, id) for p in points for id in exercises_of(p))
    return "; ".join(parts) + (f"\\\n  *Practise* {', '.join(practice)}" if practice else "")


def section(p: Point) -> str:
    """A link to the section that teaches a point."""
    path = notebook(p.chapter)
    return f"[{titles(path).get(p.section, p.section)}]({path.name}#{p.section})"


def exercise(p: Point, id: str) -> str:
    """A link to an exercise."""
    title = exercises(p.chapter).get(id, id)
    return f"[{title}](../exercises/{notebook(p.chapter).name}#{slug(title)})"


def _points(own: list[Point], path: Path | None) -> list[str]:
    """The details of a chapter's points: a table, or what is to come."""
    if path is None:
        return [f"- **{p.id}** ({p.decks}): {escaped(p.teaches)}" for p in own]
    out = ["| point | decks | section | library | tests | practice |", "|---|---|---|---|---|---|"]
    for p in own:
        symbols = " ".join(f"`{s}`" for s in p.symbols.split())
        tests = " ".join(f"`{t}`" for t in p.tests.split())
        practice = [f"[{titles(path).get(a, a)}]({path.name}#{a})" for a in demonstrations(p)]
        practice += [f"exercise {exercise(p, id)}" for id in exercises_of(p)]
        practice += [f"[question {number}]({path.name}#check-yourself)" for number in asked(p, path)]
        out.append(f"| **{p.id}** {escaped(p.teaches)} | {p.decks} | {section(p) if p.done else 'to come'} | {symbols} | "
                   f"{tests} | {', '.join(practice)} |")
    return out


def _once(found) -> list[str]:
    return list(dict.fromkeys(found))


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def problems(rows: list[Point], shown: list[Slide] | None = None) -> list[str]:
    """Everything in the tables that points nowhere, and every section that no row claims."""
    found = listed_slides.problems(slides() if shown is None else shown, rows)
    found += [f"{p.id} is listed twice" for p in rows if sum(q.id == p.id for q in rows) > 1]
    found += [f"{path.name}: {heading!r} is linked to as #{link(heading)} and has the anchor #{slug(heading)}; leave out the "
              "punctuation that differs" for path in filter(None, map(notebook, CHAPTERS)) for heading in headings(path)
              if link(heading) != slug(heading)]
    for p in rows:
        path = notebook(p.chapter)
        if path is None:
            if p.done:
                found.append(f"{p.id}: chapter {p.chapter} does not exist, yet a section is named")
            continue
        if not p.done:
            found.append(f"{p.id}: chapter {p.chapter} exists, and no section of it is named")
            continue
        if p.section not in sections(path):
            found.append(f"{p.id}: {path.name} has no section #{p.section}")
        found += [f"{p.id}: {name} is empty" for name in ("symbols", "tests", "practice") if not getattr(p, name)]
        found += [f"{p.id}: course_lib has no {s}" for s in p.symbols.split() if not _has_symbol(s)]
        found += [f"{p.id}: there is no test {t}" for t in p.tests.split() if not _has_test(t)]
        found += _practice_problems(p, path)
    for chapter in CHAPTERS:
        path = notebook(chapter)
        practised = {id for p in rows if p.chapter == chapter for id in exercises_of(p)}
        found += [f"exercises/{chapter}: no row claims the exercise {id}" for id in exercises(chapter)
                  if id not in practised]
        claimed = FRAME | ADDED.get(chapter, set())
        for p in rows:
            if p.chapter == chapter:
                claimed |= {p.section, *demonstrations(p)}
        for head, below in tree(path) if path else []:
            if not {head, *below} & claimed:
                found.append(f"{path.name}: no row claims the section #{head}")
    return found


def demonstrations(p: Point) -> list[str]:
    """Anchors of the sections in which the chapter shows a point."""
    return re.findall(r"#([a-z0-9-]+)", p.practice)


def exercises_of(p: Point) -> list[str]:
    """Ids of the exercises in which a point is practised."""
    return [id for part in re.findall(r"exercise: ([A-Za-z0-9_ ]+)", p.practice) for id in part.split()]


def asked(p: Point, path: Path) -> list[int]:
    """The numbers of the chapter's questions that have the words which the point names; one, if the table is right."""
    words = re.search(r"question: ([^;]+)", p.practice)
    if not words:
        return []
    return [number for number, text in questions(path) if plain(words[1]) in plain(text)]


def questions(path: Path) -> list[tuple[int, str]]:
    """The numbered questions that a chapter folds its answers under, each with its number."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return [(int(number), question) for number, question in QUESTION.findall(text)]


def plain(text: str) -> str:
    """A text for comparing: in one line, small letters."""
    return " ".join(text.lower().split())


def _has_symbol(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(f"course_lib.{module}" if module else "course_lib"), attribute)
    except ModuleNotFoundError:
        return False


def _has_test(node: str) -> bool:
    file, _, function = node.partition("::")
    path = ROOT / "tests" / file
    if not path.is_file():
        return False
    return function in _functions(path, path.stat().st_mtime_ns)


@cache
def _functions(path: Path, _: int) -> set[str]:
    """The functions that a file of tests defines; read again only if it has changed."""
    return {n.name for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)}


def _practice_problems(p: Point, path: Path) -> list[str]:
    if p.practice and not PRACTICE.fullmatch(p.practice):
        return [f"{p.id}: practice is {p.practice!r}; expected 'demo: #section ...; exercise: id ...; question: words', or some "
                "of the three"]
    found = [f"{p.id}: {path.name} has no section #{a} to demonstrate it" for a in demonstrations(p)
             if a not in sections(path)]
    numbers = asked(p, path)
    if "question: " in p.practice and len(numbers) != 1:
        found.append(f"{p.id}: {len(numbers)} questions of {path.name} have the words that it names; expected 1")
    if not exercises_of(p) and not numbers:
        found.append(f"{p.id}: neither an exercise nor a question of {path.name} practises it")
    from course_lib.grading import EXERCISES

    there = exercises(p.chapter)
    for id in exercises_of(p):
        if id not in there:
            found.append(f"{p.id}: exercises/{path.name} has no exercise {id}")
        elif p.id not in EXERCISES[id].points:
            found.append(f"{p.id}: the exercise {id} does not name this point")
    return found


def escaped(text: str) -> str:
    """Text that stays within a cell of a table and is not read as mathematics."""
    return re.sub(r"([|$<*_])", r"\\\1", text)


def main() -> int:
    parser = argparse.ArgumentParser(description="The map from slides to sections.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the page or a row is wrong")
    check = parser.parse_args().check
    rows, shown = points(), slides()
    text = page(rows, shown)
    if not check:
        PAGE.write_text(text, "utf-8")
        return 0
    found = problems(rows, shown)
    if not PAGE.is_file() or PAGE.read_text("utf-8") != text:
        found.append("book/slide-map.md is stale: run `python tools/slide_map.py`")
    print(*found, sep="\n") if found else print(f"{len(rows)} points on {len(shown)} slides, "
                                                 f"{sum(p.done for p in rows)} of them in the book")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
