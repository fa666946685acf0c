"""Measured results that chapters set beside the papers': a copy of the records that ships with the package.

The records are in benchmarks/results/, written by `python -m benchmarks.reproduce`, and what papers report is in
benchmarks/papers.toml. Neither is installed with the package, so `python book/_tools/generate.py records` copies what chapters show.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "records.json"


def read(name: str) -> dict[str, Any]:
    """One record: its `unit`, its `note`, the `command` that made it, `rows` and `papers`.

    Each of `rows` has the model, its parameters and its test figure (`mean`, `standard_error`, `over`), or in a record
    of speed, `speed-...`, the contender as the model and its `seconds`; each of
    `papers` the model, the value, the authors, the address of the text in which the value was read (`source`) and, if
    that is not the authors' own, whose text it is (`by`). Raises ValueError for a record that is not there.
    """
    records = json.loads(FILE.read_text(encoding="utf-8"))
    if name not in records:
        raise ValueError(f"name is {name!r}; the records are {', '.join(records)}")
    return records[name]
