"""What a comparison is: contenders that do the same work, and the two whose times are compared."""

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
    """Contenders by name, and the two whose ratio of times is recorded: how many times as long `slow` takes as `fast`.

    parts  of a contender that does only a part of its work, how many such parts the whole has: its seconds are
           multiplied by it
    """

    title: str
    text: str
    contenders: dict[str, Callable[[], object]]
    fast: str
    slow: str
    parts: Mapping[str, int] = field(default_factory=dict)


def peer(name: str) -> ModuleType:
    """A package that is compared with. Raises ModuleNotFoundError, with what to do, where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name.partition('.')[0]} is not installed; it is one of the peers in requirements-bench.txt: "
                                  "make bench") from error


class NoPeer(LookupError):
    """A peer that is in no package index is not at hand."""


def peer_from_source(repository: str, file: str) -> ModuleType:
    """A file of a repository that lies in the folder PEERS. Raises NoPeer where there is none."""
    path = in_peers(repository, file)
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peer_package(repository: str, name: str) -> ModuleType:
    """A module of a package in such a repository, by its full name. Raises NoPeer where there is none.

    The `__init__` files of the packages above it are not run: they import what this module does not need.
    """
    path = in_peers(repository, name.replace(".", "/") + ".py")
    packages = name.split(".")[:-1]
    for k in range(1, len(packages) + 1):
        package = ModuleType(".".join(packages[:k]))
        package.__path__ = [str(path.parents[len(packages) - k])]
        sys.modules.setdefault(package.__name__, package)
    return importlib.import_module(name)


def in_peers(repository: str, file: str) -> Path:
    """Where a file of a repository lies. Raises NoPeer, with what to do, where there is none."""
    folder = os.environ.get("PEERS")
    path = Path(folder or "", repository, file)
    if not folder or not path.is_file():
        raise NoPeer(f"PEERS is {folder!r}; expected a folder that holds {repository}/{file} (see benchmarks/speed/from_source.py)")
    return path
