"""Every run by its name. A command names a run; a run is a data set and the models that are measured on it.

Each module of this package may have a table RUNS; all of them are one here.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from benchmarks import reproduce
from benchmarks.reproduce.run import Run

RUNS: dict[str, Run] = {}
for module in pkgutil.iter_modules(reproduce.__path__):
    if module.name not in ("table", "__main__"):
        RUNS |= getattr(import_module(f"benchmarks.reproduce.{module.name}"), "RUNS", {})
