"""The files of the tests by the seconds that they take: the longest are begun first, so that no worker is left alone with one.

`pytest --store-seconds` writes what it measures into tests/seconds.tsv, which is read where several workers share the tests.
The order of a run in one process is left as it is.
"""
from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "tests" / "seconds.tsv"


def file_of(nodeid: str) -> str:
    """The file of a test, relative to the root: what `--dist loadfile` gives to one worker."""
    return nodeid.partition("::")[0]


def read(path: Path = TABLE) -> dict[str, float]:
    """Seconds by file; none if there is no table."""
    if not path.exists():
        return {}
    return {file: float(seconds) for file, seconds in (line.split("\t") for line in path.read_text("utf-8").splitlines()[1:])}


def write(found: dict[str, float], path: Path = TABLE, root: Path = ROOT) -> None:
    """The table with these files as they are now, and without those that are gone; the longest first."""
    rows = {file: seconds for file, seconds in {**read(path), **found}.items() if (root / file).exists()}
    lines = [f"{file}\t{seconds:.1f}" for file, seconds in sorted(rows.items(), key=lambda row: (-row[1], row[0]))]
    path.write_text("\n".join(["file\tseconds", *lines]) + "\n", "utf-8")


def longest_first(items: list, seconds: dict[str, float]) -> list:
    """The tests with the longest files first, those of a file in the order that they have. A file that is not in the table may be
    any length and goes before all that are; of several the one with the most tests."""
    counts = Counter(file_of(item.nodeid) for item in items)

    def place(item) -> tuple[float, int]:
        file = file_of(item.nodeid)
        return (-seconds[file], 0) if file in seconds else (-math.inf, -counts[file])

    return sorted(items, key=place)


class Stopwatch:
    """A plugin that adds up what the tests of each file take, set-up and all, and stores it at the end."""

    def __init__(self, path: Path = TABLE):
        self.path, self.found = path, Counter()

    def pytest_runtest_logreport(self, report):
        self.found[file_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self):
        write(dict(self.found), self.path)
