"""Measured results, which the chapters compare with those of the papers.

Our results are in benchmarks/results/, written by `python -m benchmarks.reproduce`, and the papers' results in
benchmarks/papers.toml. These files are not installed with the package. `python book/_tools/generate.py records`
therefore copies the results that chapters show into records.json, beside this module.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "records.json"


def read(name: str) -> dict[str, Any]:
    """Load the stored results `name`: `unit`, `note`, the `command` that measured them, `rows` and `papers`.

    rows    the model, its parameters and its test result (`mean`, `standard_error`, and `over`, the number of test
            items or seeds over which they are computed); in a record of speed, `speed-...`, the implementation as
            the model and its `seconds`
    papers  the model, the value, the authors, the URL of the text that reports the value (`source`) and, if that is
            not the authors' text, its author (`by`)

    Raises ValueError for an unknown record.
    """
    records = json.loads(FILE.read_text(encoding="utf-8"))
    if name not in records:
        raise ValueError(f"name is {name!r}; expected one of {', '.join(records)}")
    return records[name]
