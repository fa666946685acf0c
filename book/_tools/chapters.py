"""The list of chapters, from course_lib/exercises/chapters.toml: the table in README.md.

The cards of the start page come from the same list (book/_ext/course_front.py). The launch badges of the README need the
address of the repository, which _config.yml holds; without one there are none.
"""
from __future__ import annotations

from functools import cache
from pathlib import Path

from book._tools.setup_cell import repository
from course_lib.exercises import numbered

ROOT = Path(__file__).resolve().parents[2]
LIST, README = ROOT / "course_lib" / "exercises" / "chapters.toml", ROOT / "README.md"
COLAB, BINDER = "https://colab.research.google.com/github", "https://mybinder.org/v2/gh"


@cache
def chapters(path: Path = LIST) -> dict[str, dict]:
    """The rows of the table by their slugs, each with its number and the name of its notebook."""
    return {slug: row | {"slug": slug, "notebook": f"{row['number']}-{slug}.ipynb"}
            for slug, row in numbered(path.read_text("utf-8")).items()}


def for_readme(listed: dict[str, dict], home: dict) -> str:
    """The chapters, with launch badges of them and of their exercises if the repository has an address on GitHub."""
    url, branch = home.get("url") or "", home.get("branch") or "main"
    place = url.removeprefix("https://github.com/").strip("/") if url.startswith("https://github.com/") else ""
    out = ["| chapter | what you build | open | exercises |", "|---|---|---|---|"] if place else \
        ["| chapter | what you build |", "|---|---|"]
    for c in listed.values():
        line = f"| {int(c['number'])} [{c['title']}](book/{c['notebook']}) | {c['builds']} |"
        for folder in ("book", "exercises") if place else ():
            line += (f" [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
                     f"({COLAB}/{place}/blob/{branch}/{folder}/{c['notebook']})"
                     f" [![Launch on Binder](https://mybinder.org/badge_logo.svg)]"
                     f"({BINDER}/{place}/{branch}?urlpath=lab/tree/{folder}/{c['notebook']}) |")
        out.append(line)
    return "\n".join(out)


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
