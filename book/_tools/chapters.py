"""The list of chapters, from course_lib/exercises/chapters.toml: the table in README.md.

The cards of the start page come from the same list (book/_ext/course_front.py). The launch badges of the README need the
address of the repository, which _config.yml holds; without one there are none.
"""
from __future__ import annotations

from pathlib import Path

from book._tools.setup_cell import repository
from course_lib.exercises import numbered

ROOT = Path(__file__).resolve().parents[2]
LIST, README = ROOT / "course_lib" / "exercises" / "chapters.toml", ROOT / "README.md"
COLAB, BINDER = "https://colab.research.google.com/github", "https://mybinder.org/v2/gh"


def chapters(path: Path = LIST) -> dict[str, dict]:
    """The rows of the table by their numbers, "01" first: a finished chapter's with its notebook, and the chapters that it needs
    and that help it by their numbers."""
    table, found = numbered(path.read_text("utf-8")), {}
    for slug, row in table.items():
        number = row["number"]
        others = {key: [table[other]["number"] for other in row[key]] for key in ("needs", "helps") if key in row}
        found[number] = row | others | ({"notebook": f"{number}-{slug}.ipynb"} if "builds" in row else {})
    return found


def for_readme(listed: dict[str, dict], home: dict) -> str:
    """The finished chapters, with launch badges if the repository has an address on GitHub."""
    url, branch = home.get("url") or "", home.get("branch") or "main"
    place = url.removeprefix("https://github.com/").strip("/") if url.startswith("https://github.com/") else ""
    out = ["| chapter | what you build | open |", "|---|---|---|"] if place else \
        ["| chapter | what you build |", "|---|---|"]
    for number, c in finished(listed):
        line = f"| {number} [{c['title']}](book/{c['notebook']}) | {c['builds']} |"
        if place:
            line += (f" [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
                     f"({COLAB}/{place}/blob/{branch}/book/{c['notebook']})"
                     f" [![Launch on Binder](https://mybinder.org/badge_logo.svg)]"
                     f"({BINDER}/{place}/{branch}?urlpath=lab/tree/book/{c['notebook']}) |")
        out.append(line)
    return "\n".join(out)


def finished(listed: dict[str, dict]) -> list[tuple[int, dict]]:
    return [(int(number), c) for number, c in sorted(listed.items()) if "notebook" in c]


def between(text: str, name: str, block: str) -> str:
    """The text with `block` between the marks of that name. Raises ValueError unless each mark is there once, in order."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed or begin in after or end in after:
        raise ValueError(f"the page needs the marks {begin} and {end} once each, in this order")
    return f"{before}{begin}\n{block}\n{end}{after}"


def wanted() -> dict[Path, str]:
    return {README: between(README.read_text("utf-8"), "chapters", for_readme(chapters(), repository(ROOT)))}
