"""Measured results that chapters set beside the papers': a copy of the records that ships with the package.

The records are in benchmarks/results/, written by `python -m benchmarks.reproduce`, and what papers report is in
benchmarks/papers.toml. Neither is installed with the package, so `python tools/records.py` copies what chapters show.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "records.json"


def read(name: str) -> dict[str, Any]:
    """One record: its `unit`, its `note`, the `command` that made it, `rows` and `papers`.

    Each of `rows` has the model, its parameters and its test figure (`mean`, `standard_error`, `over`); each of
    `papers` the model, the value, the authors and whether the value was `checked` in the paper. Raises ValueError for
    a record that is not there.
    """
    records = json.loads(FILE.read_text(encoding="utf-8"))
    if name not in records:
        raise ValueError(f"name is {name!r}; the records are {', '.join(records)}")
    return records[name]
