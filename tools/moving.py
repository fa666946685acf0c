"""The tables of book/moving-to-0.2.md, from course_lib/former.py.

    python tools/moving.py           write the tables between the marks of the page
    python tools/moving.py --check   fail if they are stale

What an error says of a former name, and what the page says, come from the same tables.
"""
from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import course_lib  # noqa: E402
from course_lib import former  # noqa: E402

PAGE = ROOT / "book" / "moving-to-0.2.md"
MARKS = re.compile(r"(<!-- (\w+):begin -->\n).*?(<!-- \2:end -->)", re.S)


def blocks() -> dict[str, str]:
    """Each table of the page by its name."""
    return {
        "modules": table(["before", "now"], ([code(a), code(b)] for a, b in former.MODULES.items())),
        "text": table(["name", "now in"], sorted([code(name), code(home)] for home, names in former.TEXT.items()
                                                 for name in names)),
        "moved": table(["before", "now"], ([code(name), code(former.today(name))] for name in former.MOVED)),
        "names": table(["before", "now"], [*([code(a), code(b)] for a, b in former.NAMES.items()),
                                           [code("course_lib.data.load"), code(former.today("course_lib.data.load"))]]),
        "arguments": table(["of", "before", "now"], arguments()),
        "weights": table(["before", "now"], ([code(a), code(b)] for a, b in former.WEIGHTS.items())),
    }


def arguments() -> list[list[str]]:
    """A row for each former argument of a function or class."""
    for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        if not {"grading", "__main__"} & set(module.name.split(".")):
            importlib.import_module(module.name)                     # `renamed` notes what it decorates
    return sorted({(code(name.rpartition(".")[2]), code(before), now if " " in now else code(now))     # once, though a
                   for name, pairs in former.ARGUMENTS.items() if name.startswith("course_lib.")      # module was loaded
                   for before, now in pairs.items()})                                                 # twice


def code(name: str) -> str:
    """A name as the page sets it."""
    return f"`{name}`"


def table(columns: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def filled(page: str) -> str:
    """The page with its tables as they should be. Raises ValueError if it lacks one, or has one more."""
    wanted = blocks()
    found = [match[2] for match in MARKS.finditer(page)]
    if sorted(found) != sorted(wanted):
        raise ValueError(f"{PAGE.name} has the tables {', '.join(found)}; expected {', '.join(wanted)}, once each")
    return MARKS.sub(lambda match: match[1] + wanted[match[2]] + match[3], page)


def main() -> int:
    """Write or check; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if the page is stale")
    page = PAGE.read_text("utf-8")
    wanted = filled(page)
    if parser.parse_args().check:
        print("as it should be" if page == wanted else f"{PAGE.name} is stale: run python tools/moving.py")
        return int(page != wanted)
    PAGE.write_text(wanted, "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
