"""Command line of scripts with several steps, figures that an interrupted run keeps, and the form of the records."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
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


class Kept:
    """Figures by name in a scratch file, each measured once."""

    def __init__(self, name: str):
        self.path: Path = store.RESULTS.parent / f"{name}.scratch.json"
        self.found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def __call__(self, key: str, measure: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = measure()
            self.path.write_text(json.dumps(self.found))
            print(key, self.found[key], flush=True)
        return self.found[key]

    def of_seeds(self, name: str, settings: Iterable[Any], measure: Callable[[Any, int], Any], seeds: int, worth: Callable[[Any], float]
                 ) -> tuple[Any, list[Any]]:
        """The setting of the largest worth with the first seed, and what is measured with it for each seed."""
        first = {setting: self(f"held: {name}, {setting}", lambda setting=setting: measure(setting, 0)) for setting in settings}
        best = max(first, key=lambda setting: worth(first[setting]))
        return best, [first[best], *(self(f"seed {seed}: {name}", lambda seed=seed: measure(best, seed)) for seed in range(1, seeds))]

    def done(self) -> None:
        self.path.unlink(missing_ok=True)
