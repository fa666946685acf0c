"""The table of ready-made functions that an exercise leaves out, in book/what-is-judged.md, from the exercises."""
from __future__ import annotations

from pathlib import Path

from book._tools.chapters import ROOT, between

PAGE = ROOT / "book" / "what-is-judged.md"


def wanted() -> dict[Path, str]:
    from course_lib.grading import EXERCISES

    rows = [f"| `{one.id}` | {', '.join(f'`{name}`' for name in one.forbid)} |" for one in EXERCISES.values() if one.forbid]
    block = "\n".join(["| exercise | everything but |", "|---|---|", *rows])
    return {PAGE: between(PAGE.read_text("utf-8"), "forbidden", block)}
