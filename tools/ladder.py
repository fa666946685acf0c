"""The ladder: the models of the course on one axis a data set, beside the papers'. benchmarks/ in, book/ladder.md out.

    python tools/ladder.py            draw the pictures and write the page
    python tools/ladder.py --check    fail if one is stale

Nothing is typed here: a new record in benchmarks/results/ is a new rung. Which sets have a ladder, and in which unit, says
`ladder` in benchmarks/papers.toml, where the papers' figures are too.
"""
from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.picture import Picture  # noqa: E402
from tools.results_page import check_sources, of_set, read  # noqa: E402

PAGE, DRAWINGS = ROOT / "book" / "ladder.md", ROOT / "book" / "drawings"
HIGHER = {"BLEU"}                                                    # units in which more is better
BITS = 1 / math.log(2)
INTO = {("nats", "nats"): 1.0, ("BLEU", "BLEU"): 1.0, ("bits per character", "bits a character"): 1.0,
        ("nats a character", "bits a character"): BITS}
ORDERS = re.compile(r", order \d+$")
HEAD = """\
# The ladder

How far models of the course climb, on one axis a data set, the best above. Not every data set has one. A disc is a model of this course, measured
on the test set by one command, its line one standard error to each side. An open diamond is what a paper, or an author's
page, reports. Every figure comes from a record or has the address of the text in which it was read: this page is generated
from both, and a new record of such a set is a new rung. Commands, seeds and settings are on the [results page](results.md)."""
WIDTH, LEFT, RIGHT = 360, 14, 346
NARROW = "\u00a0±\u00a0"                                             # a figure and its error stay in one line


class Rung(NamedTuple):
    """A model on the ladder: one figure, or one for each of several orders; errors are of figures measured here alone."""

    model: str
    values: tuple[float, ...]
    errors: tuple[float, ...]
    who: str                                                         # of a paper's figure: authors; else nothing
    source: dict[str, Any]                                           # and its entry

    @property
    def middle(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def figure(self) -> str:
        if len(self.values) > 1:
            return f"{min(self.values):.2f} to {max(self.values):.2f}"
        return f"{self.values[0]:.2f}" + (f" ± {self.errors[0]:.2f}" if self.errors else "")


def rungs(records: list[dict], papers: dict[str, Any], entry: dict[str, Any]) -> list[Rung]:
    """The models of a set, the best first. Raises ValueError for a unit that cannot be told in that of the ladder."""
    unit, found = entry["ladder"], []
    own = [record for record in of_set(records, entry["data"]) if record["name"] not in entry.get("besides", ())]
    names = [row["model"] for record in own for row in record["rows"]]
    for record in own:
        factor = converted(record["unit"], unit, record["name"])
        orders: dict[str, list[dict]] = {}
        for row in record["rows"]:
            if ORDERS.search(row["model"]):
                orders.setdefault(ORDERS.sub("", row["model"]), []).append(row)
                continue
            name = row["model"] if names.count(row["model"]) == 1 else f"{record['rows'][0]['class']}, {row['model']}"
            found.append(Rung(name, (row["test"]["mean"] * factor,), (row["test"]["standard_error"] * factor,), "", {}))
        found += [Rung(f"{name}, {len(rows)} orders", tuple(row["test"]["mean"] * factor for row in rows), (), "", {})
                  for name, rows in orders.items()]
    for figure in papers["figure"] + papers["beside"]:
        if figure["data"] == entry["data"] and "value" in figure:
            factor = converted(figure["unit"], unit, figure["model"]) if "unit" in figure else 1.0
            found.append(Rung(figure["model"], (figure["value"] * factor,), (), figure["authors"], figure))
    return sorted(found, key=lambda rung: -max(rung.values) if unit in HIGHER else min(rung.values))


def converted(unit: str, wanted: str, of: str) -> float:
    if (unit, wanted) not in INTO:
        raise ValueError(f"{of} is in {unit}, and its ladder in {wanted}; the ladder knows {', '.join(f'{a} as {b}' for a, b in INTO)}")
    return INTO[unit, wanted]


# --- the picture -----------------------------------------------------------------------------------------------------


def scale(all_rungs: list[Rung]) -> tuple[float, float, float]:
    """First and last mark of the axis, and the step between marks."""
    ends = [v + sign * e for r in all_rungs for v, e in zip(r.values, r.errors or (0.0,) * len(r.values)) for sign in (-1, 1)]
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if (max(ends) - min(ends)) / s <= 6)
    return step * math.floor(min(ends) / step), step * math.ceil(max(ends) / step), step


def picture(all_rungs: list[Rung], entry: dict[str, Any]) -> str:
    low, high, step = scale(all_rungs)
    heights = [52 if rung.who else 38 for rung in all_rungs]
    top = 44
    bottom = top + sum(heights)
    art = Picture(WIDTH, bottom + 44, f"The ladder of {entry['title']}", alternative(all_rungs, entry))

    def x(value: float) -> float:
        return LEFT + 6 + (value - low) / (high - low) * (RIGHT - LEFT - 12)

    art.dot(LEFT + 6, 20)
    art.text(LEFT + 18, 20, "measured here", 12, "soft", "start")
    art.ring(LEFT + 126, 20)
    art.text(LEFT + 140, 20, "reported by a paper or its author", 12, "soft", "start")
    for k in range(round((high - low) / step) + 1):
        value = low + k * step
        art.rule(x(value), top - 4, x(value), bottom + 4, "ink-tint", 1.5)
        art.text(x(value), bottom + 14, f"{value:g}", 12, "soft")
    better = f"{entry['ladder']}, better to the right →" if entry["ladder"] in HIGHER else f"← better    {entry['ladder']}"
    art.text(WIDTH / 2, bottom + 31, better, 12, "soft")
    y: float = top
    for rung, height in zip(all_rungs, heights):
        art.text(LEFT, y + 8, rung.model, 12.5, "ink", "start")
        if rung.who:
            art.text(LEFT, y + 22, rung.who, 12, "soft", "start")
        line = y + height - 13
        art.rule(LEFT, line, RIGHT, line, "ink-tint", 1)
        for value, error in zip(rung.values, rung.errors or (0.0,) * len(rung.values)):
            if error:
                art.rule(x(value - error), line, x(value + error), line, "data", 3)
            (art.ring if rung.who else art.dot)(x(value), line)
        error = max(rung.errors, default=0.0)                        # the figure stands beside its mark, where there is room
        at = max(x(max(rung.values)) + 12, x(max(rung.values) + error) + 6)
        room = at + 6.8 * len(rung.figure) < RIGHT
        before = min(x(min(rung.values)) - 12, x(min(rung.values) - error) - 6)
        art.text(at if room else before, line, rung.figure, 12, "learn" if rung.who else "data",
                 "start" if room else "end")
        y += height
    return art.svg()


def alternative(all_rungs: list[Rung], entry: dict[str, Any]) -> str:
    """The rungs in words; their figures are in the table."""
    ours = sum(not rung.who for rung in all_rungs)
    said = "; ".join(f"{rung.model} {rung.figure}{f' ({rung.who})' if rung.who else ''}" for rung in all_rungs)
    return (f"{len(all_rungs)} models in {entry['ladder']}, the best above: {ours} measured here, as discs, and "
            f"{len(all_rungs) - ours} of papers, as open diamonds. {said}.")


# --- the page --------------------------------------------------------------------------------------------------------


def address(entry: dict[str, Any]) -> Path:
    return DRAWINGS / f"ladder-{entry['data'].replace('_', '-')}.svg"


def table(all_rungs: list[Rung], unit: str) -> list[str]:
    out = [f"| model | {unit} | whose |", "|---|---|---|"]
    for rung in all_rungs:
        if not rung.who:
            out.append(f"| {rung.model} | {rung.figure.replace(' ± ', NARROW)} | measured here |")
            continue
        by = f", quoted by {rung.source['by']}" if rung.source["read"] == "quoted" else ""
        out.append(f"| {rung.model} | [{rung.figure}]({rung.source['source']} \"{rung.source['where']}\") | "
                   f"{{cite:t}}`{rung.source['key']}`{by} |")
    return out


def wanted(records: list[dict], papers: dict[str, Any]) -> dict[Path, str]:
    """The page and its pictures."""
    check_sources(papers)
    page, pages = [HEAD], {}
    for entry in papers["set"]:
        if "ladder" not in entry:
            continue
        all_rungs = rungs(records, papers, entry)
        if not all_rungs:
            continue
        pages[address(entry)] = picture(all_rungs, entry)
        page += ["", f"## {entry['title']}", "", entry["text"].strip(), "",
                 f":::{{image}} drawings/{address(entry).name}", ":class: course-drawing dark-light",
                 f":alt: {alternative(all_rungs, entry)}", ":::", "",
                 ":::{dropdown} The same as a table", *table(all_rungs, entry["ladder"]), ":::"]
        said: dict[str, list[str]] = {}
        for rung in all_rungs:
            if "differs" in rung.source:
                said.setdefault(f"{rung.who}: {rung.source['differs']}.", []).append(rung.figure)
        page += [line for note, figures in said.items()
                 for line in ("", f"Measured in another way: {' and '.join(sorted(figures))}, {note}")]
    pages[PAGE] = "\n".join(page) + "\n"
    return pages


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page or a picture is stale")
    check = parser.parse_args(arguments).check
    pages = wanted(*read())
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale += sorted(set(DRAWINGS.glob("ladder-*.svg")) - set(pages))           # of a set that has no ladder any more
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run python tools/ladder.py", file=sys.stderr)
        elif path in pages:
            path.write_text(pages[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
        else:
            path.unlink()
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
