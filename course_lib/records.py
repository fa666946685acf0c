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
    """Load the record `name`: a dict with the keys `unit`, `note`, `command`, `rows` and `papers`.

    unit, note, command  unit of the values, a remark, and the command that measured the values
    rows    our results, a list of dicts: `model`, number of `parameters`, and `test`, a dict of `mean`,
            `standard_error` and `over`, the number of test items or seeds. In a record of speed, `speed-...`, `model`
            is the implementation, and `seconds` is its time
    papers  results of papers, a list of dicts: `model`, `value`, `authors`, `source`, the URL of the text that reports
            the value, and `by`, the author of this text if it is not by `authors`

    Raises ValueError for an unknown record.
    """
    records = json.loads(FILE.read_text(encoding="utf-8"))
    if name not in records:
        raise ValueError(f"name is {name!r}; expected one of {', '.join(records)}")
    return records[name]
