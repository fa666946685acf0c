"""Command line of scripts with several steps, and the form of their records."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks import store


def run(module: str, doc: str, steps: dict[str, Callable[[], None]], arguments: Sequence[str] | None = None) -> None:
    """`python -m MODULE STEP [STEP ...]`, on one thread."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", choices=steps)
    torch.set_num_threads(1)
    for step in parser.parse_args(arguments).steps:
        steps[step]()


def record(module: str, kind: str, name: str, unit: str, rows: list[dict[str, Any]], note: str, data: dict[str, Any]) -> None:
    """Store the measurements of a step, whose name is the last part of the record's."""
    store.write({"name": name, "kind": kind, "command": f"python -m {module} {name.split('-')[-1]}", "unit": unit, "seed": 0,
                 "note": note, "data": data, "rows": rows, "environment": store.environment(torch.device("cpu"))})
