"""The table of data sets, `registry.toml`: files, addresses, hashes, licences, citations, protocols.

Every file has a published or regenerated hash; one without cannot be entered, so it cannot be loaded.
"""

from __future__ import annotations

import difflib
import re
import sys
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class File:
    """One file: `path` below COURSE_DATA and below the cache, its size in bytes, hash and public addresses.

    hash is "sha256:..." or, where only that is published, "md5:...". No addresses: it is read from COURSE_DATA only.
    known_from says where the hash comes from when it is not simply the hash of the public download.
    Raises ValueError if the hash is missing or malformed.
    """

    path: str
    size: int | None
    hash: str
    urls: tuple[str, ...] = ()
    known_from: str = ""

    def __post_init__(self):
        if not re.fullmatch(r"sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", self.hash or ""):
            raise ValueError(
                f"{self.path} has hash {self.hash!r}; it needs sha256:... or md5:... in lower-case hexadecimal. "
                "A file that cannot be verified is not loaded."
            )

    @property
    def name(self) -> str:
        """The name of the file without its folder."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """One data set. `options` maps each keyword that load_data() takes to its allowed values, the default first.

    loader, arguments  the function of `loaders` that reads it, and what it is called with besides the options
    key                of the citation in the book's bibliography
    packed             re-packed contents of `files`, read from COURSE_DATA only
    """

    name: str
    title: str
    shape: str
    protocol: str
    licence: str
    citation: str
    key: str
    loader: str
    arguments: dict[str, Any] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    packed: tuple[File, ...] = ()
    options: dict[str, tuple] = field(default_factory=dict)

    def file(self, name: str) -> File:
        """The file or packed file called `name`. Raises KeyError if there is none."""
        for file in (*self.packed, *self.files):
            if file.name == name:
                return file
        raise KeyError(f"{self.name} has no file {name}")


def find(name: str) -> Entry:
    """The entry called `name`. Raises ValueError, with the nearest name, if there is none."""
    if name in REGISTRY:
        return REGISTRY[name]
    near = difflib.get_close_matches(name.lower(), REGISTRY, n=1, cutoff=0.0)[0]
    raise ValueError(f"name is {name!r}; the nearest data set is {near!r}. There are: {', '.join(REGISTRY)}")


def _read_entry(name: str, row: dict[str, Any], shared: dict[str, str]) -> Entry:
    """The entry of a row of the table."""
    folder, homes, known_from = (row.pop(key, default) for key, default in (("folder", ""), ("homes", []), ("known_from", "")))
    public = tuple(File(f"{folder}/{file['name']}", file.get("size"), file["hash"],
                        tuple(file.get("urls", [home + file["name"] for home in homes])),
                        file.get("known_from", known_from)) for file in row.pop("files", []))
    packed = tuple(File(**file) for file in row.pop("packed", []))
    options = {option: tuple(values) for option, values in row.pop("options", {}).items()}
    arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in row.pop("arguments", {}).items()}
    return Entry(name, protocol=row.pop("protocol").format(**shared), arguments=arguments, files=public, packed=packed,
                 options=options, **row)


def _read_registry() -> dict[str, Entry]:
    table = tomllib.loads(files(__package__).joinpath("registry.toml").read_text("utf-8"))
    shared = table.pop("shared")
    return {name: _read_entry(name, row, shared) for name, row in table.items()}


REGISTRY: dict[str, Entry] = _read_registry()
