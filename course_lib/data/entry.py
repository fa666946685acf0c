"""What is known of a data set and of each of its files. The table of them is `registry`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


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
    """One data set. `options` maps each keyword that load_data() takes to its allowed values, the default first."""

    name: str
    title: str
    shape: str
    protocol: str
    licence: str
    citation: str
    key: str  # of the citation in the book's bibliography
    files: tuple[File, ...] = ()
    packed: tuple[File, ...] = ()  # re-packed contents of `files`, read from COURSE_DATA only
    options: dict[str, tuple] = field(default_factory=dict)

    def file(self, name: str) -> File:
        """The file or packed file called `name`. Raises KeyError if there is none."""
        for file in (*self.packed, *self.files):
            if file.name == name:
                return file
        raise KeyError(f"{self.name} has no file {name}")
