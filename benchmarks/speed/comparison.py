"""Comparisons: contenders that do the same work, and the two whose times are compared."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType


@dataclass(frozen=True)
class Comparison:
    """Contenders by name, and the two whose ratio of times, that of `slow` over that of `fast`, is recorded.

    parts  for a contender that does a fraction of its work, the number of such parts, by which its seconds are
           multiplied
    """

    title: str
    text: str
    contenders: dict[str, Callable[[], object]]
    fast: str
    slow: str
    parts: Mapping[str, int] = field(default_factory=dict)


def peer(name: str) -> ModuleType:
    """Import a peer. Raises ModuleNotFoundError, with advice, if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name.partition('.')[0]} is not installed; it is one of the peers in requirements-bench.txt: "
                                  "make bench") from error


class NoPeer(LookupError):
    """The folder PEERS does not hold a peer that is in no package index."""


def peer_from_source(repository: str, file: str) -> ModuleType:
    """Import a file of a repository in the folder PEERS. Raises NoPeer if it is not there."""
    path = in_peers(repository, file)
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peer_package(repository: str, name: str) -> ModuleType:
    """Import a module of a package in such a repository, by its full name. Raises NoPeer if it is not there.

    The `__init__` files of its packages are not run, because they import other dependencies.
    """
    path = in_peers(repository, name.replace(".", "/") + ".py")
    packages = name.split(".")[:-1]
    for k in range(1, len(packages) + 1):
        package = ModuleType(".".join(packages[:k]))
        package.__path__ = [str(path.parents[len(packages) - k])]
        sys.modules.setdefault(package.__name__, package)
    return importlib.import_module(name)


def in_peers(repository: str, file: str) -> Path:
    """Path of a file of a repository in PEERS. Raises NoPeer, with advice, if it is not there."""
    folder = os.environ.get("PEERS")
    path = Path(folder or "", repository, file)
    if not folder or not path.is_file():
        raise NoPeer(f"PEERS is {folder!r}; expected a folder that holds {repository}/{file} (see benchmarks/speed/from_source.py)")
    return path
