"""The teaching plan of thirteen weeks, book/teaching-plan.md, from the chapters, the slides and the exercises.

The weeks and what a chapter needs before it are in course_lib/exercises/chapters.toml; minutes come from book/_tools/reading.py.
"""
from __future__ import annotations

import re
from pathlib import Path

from book._tools import reading, slide_map
from book._tools.chapters import ROOT, chapters
from book._tools.slide_map import LISTS, Slide

PAGE, WEEKS = ROOT / "book" / "teaching-plan.md", range(1, 14)
NEEDED = re.compile(r"\*\*You need\*\*(?P<named>.*?)\*\*Time\*\* about (?P<minutes>\d+) minutes", re.S)
NAMED = re.compile(r"\((\d\d)-[a-z0-9-]+\.ipynb|[Cc]hapters? (\d+)")
INTRO = f"""\
# Teaching plan

Thirteen weeks through the five decks, in the order of the chapters. Each week has slides, chapters and exercises. What is
marked *to come* is still being written, and its minutes are not counted; a plus says that a chapter of the week is missing.
Change the weeks as you like: they stand in `course_lib/exercises/chapters.toml`, and `python book/_tools/generate.py` writes this page.

**Reading** is computed from the page of the chapter: {reading.WORDS_A_MINUTE} words a minute, {reading.SECONDS_A_LINE} \
seconds a line of code that the page
shows, half a minute for a displayed equation and for a figure, rounded up to {reading.STEP} minutes. **Worked through** is
the time that the chapter gives for itself, with its cells run and its questions answered. **Exercises** are the minutes
that stand at their headings. **In all** is the chapter worked through and its exercises. **Before** is what each chapter
says that you need; for a chapter to come, it is what is planned. The [map](slide-map.md) leads from each slide to its
sections."""


def wanted() -> dict[Path, str]:
    return {PAGE: page(chapters(), slide_map.points(), slide_map.slides())}


def page(listed: dict[str, dict], points: list[slide_map.Point], shown: list[Slide]) -> str:
    """The page as Markdown."""
    out = [INTRO, "", "| week | chapters | minutes in all | reading | worked through | exercises | before |",
           "|---|---|---|---|---|---|---|"]
    for week in WEEKS:
        own = of_week(listed, week)
        there = {number: c for number, c in own.items() if "notebook" in c}
        read, work, practise = (sum(f(c) for c in there.values()) for f in (reading_time, worked_through, exercise_time))
        before = sorted({need for c in own.values() for need in c["needs"]} - set(own))
        plus = "+" if len(there) < len(own) else ""
        figures = [f"{work + practise}{plus}", read, work, practise] if there else ["*to come*", "", "", ""]
        out.append(f"| [{week}](#{slide_map.slug(heading(own, week))}) | {'; '.join(name(listed, n) for n in own)} | "
                   f"{' | '.join(map(str, figures))} | {', '.join(str(int(n)) for n in before)} |")
    for week in WEEKS:
        out += ["", *section(listed, points, shown, week)]
    return "\n".join(out) + "\n"


def section(listed: dict[str, dict], points: list[slide_map.Point], shown: list[Slide], week: int) -> list[str]:
    """A week: its chapters, its exercises, its slides."""
    own = of_week(listed, week)
    out = [f"## {heading(own, week)}", ""]
    for number, c in own.items():
        before = ("Before it: " + ", ".join(name(listed, need, mark=False) for need in c["needs"]) + "." if c["needs"] else
                  "Nothing of the course comes before it.")
        if c.get("helps"):
            before += f" To compare with: {', '.join(name(listed, other, mark=False) for other in c['helps'])}."
        times = (f". Reading {reading_time(c)} min, worked through {worked_through(c)} min." if "notebook" in c else ", *to come*.")
        out.append(f"- **{name(listed, number, mark=False)}**{times} {before}")
        out += [f"  - [{task.title}](../exercises/{c['notebook']}#{slide_map.slug(task.title)}): {task.kind.lower()}, "
                f"difficulty {task.difficulty} of 5, {task.minutes} min" for task in (tasks(c) if "notebook" in c else [])]
    chapter = {p.id: p.chapter for p in points}
    of_deck = {deck: [s for s in shown if s.deck == deck and chapter[s.points[0]] in own] for deck in LISTS}
    number = sum(map(len, of_deck.values()))
    out += ["", f'<details class="course-slides course-wide"><summary>{number} slide{"s" * (number != 1)}</summary>', ""]
    out += [f"- *{LISTS[deck]}:* {'; '.join(slide_map.escaped(s.title) for s in these)}" for deck, these in of_deck.items() if these]
    return [*out, "", "</details>"]


def of_week(listed: dict[str, dict], week: int) -> dict[str, dict]:
    return {number: c for number, c in sorted(listed.items()) if c["week"] == week}


def heading(own: dict[str, dict], week: int) -> str:
    return f"Week {week}: {'; '.join(c['title'] for c in own.values())}"


def name(listed: dict[str, dict], number: str, mark: bool = True) -> str:
    """A chapter's number and title: a link, or the word that it is to come."""
    c = listed[number]
    text = f"{int(number)} {c['title']}"
    return f"[{text}]({c['notebook']})" if "notebook" in c else text + " (*to come*)" * mark


def reading_time(c: dict) -> int:
    return reading.amount(ROOT / "book" / c["notebook"]).minutes


def worked_through(c: dict) -> int:
    return c["minutes"]


def exercise_time(c: dict) -> int:
    return sum(task.minutes for task in tasks(c))


def tasks(c: dict) -> list[reading.Task]:
    return reading.tasks(ROOT / "exercises" / c["notebook"])


def problems(listed: dict[str, dict] | None = None) -> list[str]:
    """What is wrong with the weeks, and what the chapters say otherwise of themselves."""
    listed = chapters() if listed is None else listed
    found, last = [], 0
    for number, c in sorted(listed.items()):
        if c.get("week") not in WEEKS or c["week"] < last:
            found.append(f"chapter {number} is in week {c.get('week')}; expected {max(last, 1)} to {WEEKS[-1]}")
            continue
        last = c["week"]
        for need in [*c["needs"], *c.get("helps", [])]:
            if need not in listed or need >= number:
                found.append(f"chapter {number} needs {need}, which is no chapter before it")
        if "notebook" in c:
            found += said_otherwise(number, c)
    found += [f"week {week} has no chapter" for week in WEEKS if not of_week(listed, week) and not found]
    return found


def said_otherwise(number: str, c: dict) -> list[str]:
    """Does the head of a chapter name the chapters and the minutes of the list? And can it be read in that time?"""
    head = NEEDED.search(reading.cells(ROOT / "book" / c["notebook"])[0]["source"])
    if not head:
        return [f"{c['notebook']}: its first cell does not say **You need** ... **Time** about ... minutes"]
    found = []
    named = {f"{int(a or b):02}" for a, b in NAMED.findall(head["named"])}
    if named != {*c["needs"], *c.get("helps", [])}:
        found.append(f"{c['notebook']}: it says that you need {sorted(named)}; the list says needs {c['needs']}, "
                     f"helps {c.get('helps', [])}")
    if int(head["minutes"]) != c["minutes"]:
        found.append(f"{c['notebook']}: it says {head['minutes']} minutes; the list says {c['minutes']}")
    if reading_time(c) > c["minutes"]:
        found.append(f"{c['notebook']}: reading alone takes {reading_time(c)} minutes; the list gives {c['minutes']} in all")
    return found
