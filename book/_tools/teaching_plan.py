"""The teaching plan of thirteen weeks, book/teaching-plan.md, from the chapters, the slides and the exercises.

The weeks and what a chapter needs before it are in course_lib/exercises/chapters.toml; minutes come from book/_tools/reading_time.py.
"""
from __future__ import annotations

import re
from pathlib import Path

from book._tools import reading_time, slide_map
from book._tools.chapters import ROOT, chapters
from book._tools.slide_map import LISTS, Slide

PAGE, WEEKS = ROOT / "book" / "teaching-plan.md", range(1, 14)
NEEDED = re.compile(r"\*\*(?:You need|Prerequisites)\*\*(?P<named>.*?)\*\*Time\*\*", re.S)
NAMED = re.compile(r"\(\d\d-([a-z0-9-]+)\.ipynb")
INTRO = f"""\
# Teaching plan

Thirteen weeks through the five decks, in the order of the chapters. Each week has slides, chapters and exercises. Change the weeks as
you like: they stand in `course_lib/exercises/chapters.toml`, and `python book/_tools/generate.py` writes this page.

The minutes of a **chapter** are computed from its page: one for {reading_time.WORDS_A_MINUTE} words and for {reading_time.LINES_A_MINUTE} \
lines of code that the page shows, {reading_time.AN_OUTPUT}
for each output or figure, {reading_time.A_QUESTION} for each question, and {reading_time.A_PROOF} for each proof or interactive figure. The minutes \
of **exercises** stand at their
headings. **Before** lists the chapters that those of the week need. The [map](slide-map.md) leads from each slide to its sections.
The [page on the grader](api/grading.md) works through one week of a class, and says what to change if marks depend on exercises whose solutions are public."""


def wanted() -> dict[Path, str]:
    return {PAGE: page(chapters(), slide_map.points(), slide_map.slides())}


def page(listed: dict[str, dict], points: list[slide_map.Point], shown: list[Slide]) -> str:
    """The page as Markdown."""
    out = [INTRO, "", "| week | chapters | minutes in all | chapters | exercises | before |", "|---|---|---|---|---|---|"]
    for week in WEEKS:
        own = of_week(listed, week)
        work, practice = (sum(f(c) for c in own.values()) for f in (chapter_time, exercise_time))
        before = [need for need in listed if need not in own and any(need in c["needs"] for c in own.values())]
        out.append(f"| [{week}](#{slide_map.slug(heading(own, week))}) | {'; '.join(name(listed, slug) for slug in own)} | "
                   f"{work + practice} | {work} | {practice} | {', '.join(listed[need]['title'] for need in before)} |")
    for week in WEEKS:
        out += ["", *section(listed, points, shown, week)]
    return "\n".join(out) + "\n"


def section(listed: dict[str, dict], points: list[slide_map.Point], shown: list[Slide], week: int) -> list[str]:
    """A week: its chapters, its exercises, its slides."""
    own = of_week(listed, week)
    out = [f"## {heading(own, week)}", ""]
    for slug, c in own.items():
        before = ("Before it: " + ", ".join(name(listed, need) for need in c["needs"]) + "." if c["needs"] else
                  "Nothing of the course comes before it.")
        if c.get("helps"):
            before += f" To compare with: {', '.join(name(listed, other) for other in c['helps'])}."
        out.append(f"- **{name(listed, slug)}**, {chapter_time(c)} min. {before}")
        out += [f"  - [{task.title}](../exercises/{c['notebook']}#{slide_map.slug(task.title)}): {task.kind.lower()}, "
                f"difficulty {task.difficulty} of 5, {task.minutes} min" for task in tasks(c)]
    chapter = {p.id: p.chapter for p in points}
    of_deck = {deck: [s for s in shown if s.deck == deck and chapter[s.points[0]] in own] for deck in LISTS}
    number = sum(map(len, of_deck.values()))
    out += ["", f'<details class="course-slides course-wide"><summary>{number} slide{"s" * (number != 1)}</summary>', ""]
    out += [f"- *{LISTS[deck]}:* {'; '.join(slide_map.escaped(s.title) for s in these)}" for deck, these in of_deck.items() if these]
    return [*out, "", "</details>"]


def of_week(listed: dict[str, dict], week: int) -> dict[str, dict]:
    return {slug: c for slug, c in listed.items() if c["week"] == week}


def heading(own: dict[str, dict], week: int) -> str:
    return f"Week {week}: {'; '.join(c['title'] for c in own.values())}"


def name(listed: dict[str, dict], slug: str) -> str:
    """A chapter's number and title, with a link."""
    c = listed[slug]
    return f"[{int(c['number'])} {c['title']}]({c['notebook']})"


def chapter_time(c: dict) -> int:
    return reading_time.amount(ROOT / "book" / c["notebook"]).minutes


def exercise_time(c: dict) -> int:
    return sum(task.minutes for task in tasks(c))


def tasks(c: dict) -> list[reading_time.Task]:
    return reading_time.tasks(ROOT / "exercises" / c["notebook"])


def problems(listed: dict[str, dict] | None = None) -> list[str]:
    """What is wrong with the weeks, and chapters whose heads name other prerequisites than the table."""
    listed = chapters() if listed is None else listed
    found, last, before = [], 0, []
    for slug, c in listed.items():
        if c.get("week") not in WEEKS or c["week"] < last:
            found.append(f"chapter {slug} is in week {c.get('week')}; expected {max(last, 1)} to {WEEKS[-1]}")
            continue
        last = c["week"]
        found += [f"chapter {slug} needs {need}, which is not a chapter before it" for need in [*c["needs"], *c.get("helps", [])]
                  if need not in before]
        before.append(slug)
        found += contradictions(c)
    return found + [f"week {week} has no chapter" for week in WEEKS if not of_week(listed, week) and not found]


def contradictions(c: dict) -> list[str]:
    """Where the head of a chapter names other chapters than the table says that it needs."""
    head = NEEDED.search(reading_time.head(ROOT / "book" / c["notebook"]))
    if not head:
        return [f"{c['notebook']}: its head does not say **Prerequisites** ... **Time**"]
    named, wanted = set(NAMED.findall(head["named"])), {*c["needs"], *c.get("helps", [])}
    return [f"{c['notebook']}: it says that you need {sorted(named)}; the table says {sorted(wanted)}"] if named != wanted else []
