"""The table of a class that was graded with a watch beside it: `benchmarks/classroom.py` writes the record."""
from __future__ import annotations

from typing import Any

TEXT = """\
Made-up submissions to exercises of chapter 13, {names}, judged by the command that
an instructor types, with `--jobs {jobs}` and `--require-isolation`: answers that are right, wrong, missing or broken, one
in a thousand without end, and files cut in half. What was to be right is, and nothing else. *Again* is the same command once more: the log knows every answer,
and nothing is judged.
Seconds of the processors hold better than those of the clock, which depend on what else the machine does: *at work* says how many
processors this had."""
MEMORY = """\
Resident memory, in MiB: the largest process of each kind, looked at twice a second; the median of the first tenth of the looks,
then that of the last, and in brackets the most. In a small class the start is a good part of the first tenth, and the last tenth
may hold a sandbox that is just ending. Pages that
processes share count in each. The command keeps a record of each student until it writes the tables; a judge and a sandbox keep
nothing."""
KINDS = {"command": "the command", "judge": "a judge", "sandbox": "a sandbox"}


def class_table(record: dict[str, Any]) -> list[str]:
    """Time and memory of each size of class, as lines of Markdown."""
    rows, names = record["classes"], [f"`{name}`" for name in record["exercises"]]
    said = TEXT.format(names=f"{', '.join(names[:-1])} and {names[-1]}", jobs=" or ".join(map(str, sorted({row["jobs"] for row in rows}))))
    out = [said, "", "| students | right | seconds of the processors | a student | by the clock | at work | again, processors | "
           "again, clock |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = (f"{row['students']:,}", f"{row['states']['right'] / row['answers']:.0%} of {row['answers']:,}",
                 f"{row['cpu_seconds']:.0f}", f"{row['cpu_seconds'] / row['students']:.2f}", f"{row['seconds']:.0f}",
                 f"{row['cpu_seconds'] / row['seconds']:.2f}", f"{row['again']['cpu_seconds']:.0f}",
                 f"{row['again']['seconds']:.0f}")
        out.append(f"| {' | '.join(cells)} |")
    out += ["", MEMORY, "", f"| students | {' | '.join(KINDS.values())} |", "|---|---|---|---|"]
    for row in rows:
        cells = (f"{size['first']:.0f} to {size['last']:.0f} ({size['most']:.0f})" if size else "none"     # one job judges itself
                 for size in map(row["mebibytes"].get, KINDS))
        out.append(f"| {row['students']:,} | {' | '.join(cells)} |")
    return out
