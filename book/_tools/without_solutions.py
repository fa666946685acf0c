"""A copy of the course from which a site without solutions is built: no pages of them, and no link to one.

    python book/_tools/make_book.py build --without-solutions      writes the copy to _build/without-solutions, and the site
    below it
    """
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

LEFT_OUT = ("_build", "solutions", "tests", "benchmarks", "node_modules", "__pycache__", "*.egg-info", ".*")
STORE = "course_lib/exercises/solutions.json"               # what solution("name") prints


def copied(root: Path, to: Path) -> None:
    """Write the copy, in the place of an older one."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (to / STORE).unlink(missing_ok=True)
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    (to / "_toc.yml").write_text(yaml.safe_dump(without(toc), sort_keys=False, allow_unicode=True), "utf-8")
    for path in sorted((to / "exercises").glob("*.ipynb")):
        page = json.loads(path.read_text("utf-8"))
        page["cells"] = [cell for cell in page["cells"] if role(cell) != "solution-link"]
        path.write_text(json.dumps(page, indent=1, ensure_ascii=False) + "\n", "utf-8")


def without(part: Any) -> Any:
    """A part of the table of contents without pages of solutions, and without lists that are empty then."""
    if isinstance(part, list):
        kept = [one for one in part if not (isinstance(one, dict) and str(one.get("file")).startswith("solutions/"))]
        return [without(one) for one in kept]
    if isinstance(part, dict):
        kept = {name: without(value) for name, value in part.items()}
        return {name: value for name, value in kept.items() if value != []}
    return part


def role(cell: dict) -> str | None:
    """What a cell of an exercise notebook is for."""
    return (cell["metadata"].get("course") or {}).get("role")
