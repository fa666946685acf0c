"""Reproduce results by name.

    python -m benchmarks.reproduce                    what there is, and what is recorded of it
    python -m benchmarks.reproduce NAME [NAME ...]
    python -m benchmarks.reproduce --all

`sheets` is a name too: it renews the few real images that ship with the package.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from benchmarks import store
from benchmarks.reproduce import record, sheets
from benchmarks.reproduce.table import RUNS
from course_lib import hub
from course_lib.data import DataError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every run, and the sheets")
    parser.add_argument("--device", help="where to train: a GPU if there is one")
    parser.add_argument("--threads", type=int, help="threads of the processor")
    parser.add_argument("--results", type=Path, default=store.RESULTS, help="folder for the records")
    parser.add_argument("--weights", type=Path, default=hub.WEIGHTS, help="folder for the trained weights")
    chosen = parser.parse_args(arguments)
    names = [*RUNS, "sheets"] if chosen.all else chosen.names
    unknown = [name for name in names if name not in RUNS and name != "sheets"]
    if unknown:
        parser.error(f"no run is called {', '.join(unknown)}; there are: {', '.join([*RUNS, 'sheets'])}")
    if not names:
        print(listing(chosen.results))
        return 0
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    for name in names:
        try:
            if name == "sheets":
                sheets.make()
            else:
                record.reproduce(RUNS[name], chosen.results, chosen.weights, device=chosen.device)
        except DataError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    print("Then: python book/_tools/generate.py results_page records")
    return 0


def listing(results: Path) -> str:
    """One line a row of every run: recorded, or not yet."""
    recorded, lines = store.read(results), []
    for run in RUNS.values():
        lines.append(f"{run.name}  ({run.data})")
        entries = {entry["model"]: entry for entry in recorded.get(run.name, {"rows": []})["rows"]}
        for row in run.rows:
            entry = entries.get(row.label)
            lines.append(f"    {row.label}: " + (record.summary(entry, run.unit) if entry else "not recorded yet"))
    return "\n".join([*lines, "sheets  (a few real images, shipped with the package)"])


if __name__ == "__main__":
    sys.exit(main())
