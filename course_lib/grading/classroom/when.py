"""When a file was handed in: the first of three places that says so, none of which its student writes.

1. Its name, where the learning platform wrote `_attempt_2026-11-20-23-58-00` into it: of a file that lies on the
   outside.
2. The zip or tar file that holds the class: the time of the entry. Of a student's own archive the time of the archive
   counts, not of what is in it.
3. The time of the file itself.

The third is lost when files are copied or unpacked by a program that does not keep times; each mark names its source.
"""
from __future__ import annotations

import contextlib
import os
import re
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from pathlib import Path

from course_lib.grading.reading import archives

ATTEMPT = re.compile(r"_attempt_(\d{4})-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)(?!\d)")
ZONELESS = "has no offset, and class.toml names no zone: write zone = \"Europe/Berlin\""


@dataclass(frozen=True)
class Handed:
    """A point in time, and where it was found."""

    at: datetime
    source: str


class Clock:
    """Tells when files were handed in, in a zone where a place says none. `root` is what all paths have in common."""

    def __init__(self, root: str, zone: tzinfo | None = None):
        self.root, self.zone = os.path.abspath(root), zone
        self.archives: dict[str, dict[str, datetime]] = {}

    def handed_in(self, path: str) -> Handed:
        """When the file at this path was handed in. Raises ValueError where that needs a zone and there is none,
        OSError where the file has gone."""
        whole = os.path.abspath(path)
        names = Path(os.path.relpath(whole, self.root)).parts if whole != self.root else (Path(whole).name,)
        if len(names) == 1 and (found := ATTEMPT.search(names[0])):
            return Handed(self.local(found.groups(), path), "its name")
        outer, inner = archives.parted(self.root) or (None, ())
        if outer is not None and archives.is_archive(self.root):
            return Handed(self.entry(outer, [*inner, *names], path), f"the entry in {Path(outer).name}")
        own, _ = archives.parted(whole) or (whole, ())
        return Handed(datetime.fromtimestamp(os.stat(own).st_mtime, timezone.utc), "the date of the file")

    def local(self, parts: Sequence[str | int], what: str) -> datetime:
        """The time of these numbers, in the zone."""
        if self.zone is None:
            raise ValueError(f"the time of {what} {ZONELESS}")
        try:
            return datetime(*map(int, parts), tzinfo=self.zone)
        except ValueError:
            raise ValueError(f"the time in the name {what} is none: {'-'.join(map(str, parts))}") from None

    def entry(self, archive: str, names: Sequence[str], what: str) -> datetime:
        """The time of the first file on the way `names` into an archive: of a file in it, or of an archive in it."""
        if archive not in self.archives:
            self.archives[archive] = times(archive)
        known = self.archives[archive]
        for end in range(1, len(names) + 1):
            found = known.get("/".join(names[:end]))
            if found is not None:
                return found if found.tzinfo else self.local(found.timetuple()[:6], what)
        raise ValueError(f"{archive} holds no {'/'.join(names)}")


def times(archive: str) -> dict[str, datetime]:
    """The files of an archive with their times, those of a zip file without a zone; none of what cannot be read."""
    found: dict[str, datetime] = {}
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as inside:
                for one in inside.infolist()[:archives.ENTRIES]:
                    if not one.is_dir():
                        with contextlib.suppress(ValueError):        # without a date, or a proper name: it alone is left out
                            found[archives.proper(one.filename)] = datetime(*one.date_time)
        else:
            with tarfile.open(archive) as inside:
                for number, one in enumerate(inside):
                    if number >= archives.ENTRIES:
                        break
                    if one.isfile():
                        found[archives.proper(one.name)] = datetime.fromtimestamp(one.mtime, timezone.utc)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, tarfile.TarError):
        pass                                             # what is asked for and is not there is said
    return found
