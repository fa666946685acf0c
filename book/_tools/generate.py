"""Write what the book and the README compute from other files, or check that it is up to date.

    python book/_tools/generate.py                    write every generated page, table and drawing
    python book/_tools/generate.py --check            change nothing; report what is out of date, and what contradicts itself
    python book/_tools/generate.py results_page ...   only the generators named

A generator is a module of this folder with `wanted() -> {path: text}`, and perhaps `problems() -> [sentence]`.
"""
from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

GENERATORS = ("reading_time", "chapters", "formulas", "slide_map", "teaching_plan", "forbidden", "results_page", "records",
              "front_page", "thumbnails")


def outdated(name: str) -> dict[Path, str]:
    """The files of a generator that differ from what they should be, with the text they should have."""
    wanted = importlib.import_module(f"book._tools.{name}").wanted()
    return {path: text for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text}


def problems(name: str) -> list[str]:
    """What contradicts itself in the sources of a generator."""
    return getattr(importlib.import_module(f"book._tools.{name}"), "problems", list)()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(GENERATORS)} (all)")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(GENERATORS):
        parser.error(f"there is no generator {', '.join(sorted(unknown))}")
    faults = []
    for name in options.names or GENERATORS:
        faults += problems(name)
        for path, text in outdated(name).items():
            if options.check:
                faults.append(f"{path.relative_to(ROOT)} is out of date: run python book/_tools/generate.py {name}")
            else:
                path.write_text(text, "utf-8", newline="\n")
                print(f"wrote {path.relative_to(ROOT)}")
    print(*faults, sep="\n", end="\n" * bool(faults), file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
