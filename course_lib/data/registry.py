"""The registry of data sets, `registry.toml`: files, URLs, hashes, licenses, citations, protocols.

Every file has a published or computed hash.
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
    """A file of a data set.

    path        path relative to the folder COURSE_DATA, and to the cache
    size        number of bytes; None if unknown
    hash        "sha256:...", or "md5:..." if only an MD5 hash is published
    urls        public addresses, tried in this order; if there are none, the file is read from COURSE_DATA only
    known_from  source of the hash, if the hash was not computed from the public download

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
                f"{self.path} has hash {self.hash!r}; expected sha256:... or md5:... in lower-case hexadecimal. "
                "A file that cannot be verified is not loaded."
            )

    @property
    def name(self) -> str:
        """The file name without the folder."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """The description of a data set, from registry.toml.

    name                                       name for `load_data`
    title, shape, protocol, licence, citation  texts, which `describe` returns
    key                                        key of the citation in the bibliography of the book
    loader, arguments                          name of a function of `loaders`, and its arguments besides the options
    files                                      files that are downloaded
    packed                                     repacked contents of `files`, read from COURSE_DATA only
    options                                    {keyword of `load_data`: allowed values, the default first}
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
        """The file or packed file with this name. Raises KeyError if there is none."""
        for file in (*self.packed, *self.files):
            if file.name == name:
                return file
        raise KeyError(f"name is {name!r}; expected a file of the data set {self.name!r}, one of "
                       f"{', '.join(file.name for file in (*self.packed, *self.files))}")


def find(name: str) -> Entry:
    """The entry of the data set `name`. Raises ValueError, which suggests the most similar name, if there is none."""
    if name in REGISTRY:
        return REGISTRY[name]
    near = difflib.get_close_matches(name.lower(), REGISTRY, n=1, cutoff=0.0)[0]
    raise ValueError(f"name is {name!r}; did you mean {near!r}? Expected one of {', '.join(REGISTRY)}")


def _read_entry(name: str, row: dict[str, Any], shared: dict[str, str]) -> Entry:
    """Create the entry `name` from its table `row` in registry.toml; `shared` has texts that protocols insert."""
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
