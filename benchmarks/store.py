"""Records of measurements, one JSON file each in results/, written by the commands only."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import torch

import course_lib
from course_lib.files import write_atomically

RESULTS = Path(__file__).parent / "results"


def write(record: dict[str, Any], folder: Path | None = None) -> Path:
    """Store `record` as folder/NAME.json atomically; the folder is RESULTS by default."""
    path = (folder or RESULTS) / f"{record['name']}.json"
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())
    return path


def read(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """All records in `folder`, RESULTS by default, by name."""
    records = (json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder or RESULTS).glob("*.json")))
    return {record["name"]: record for record in records}


def environment(device: torch.device) -> dict[str, Any]:
    """Hardware and versions that a figure may depend on, without names of machines or people.

    A CPU is described by its widest vector instructions, since ratios of times differ between AVX2 and AVX512.
    """
    if device.type == "cuda":
        where = {"device": torch.cuda.get_device_name(device)}
    else:
        where = {"device": f"{_usable_cores()}-core {device.type.upper()}", "instructions": torch.backends.cpu.get_cpu_capability()}
    return {**where, "threads": torch.get_num_threads(), "torch": torch.__version__,
            "course_lib": course_lib.__version__, "commit": _commit()}


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _commit() -> str | None:
    """Commit that is checked out; None outside a git checkout."""
    run = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=Path(__file__).parent, capture_output=True,
                         text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else None
