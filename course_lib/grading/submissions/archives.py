"""Notebooks inside zip and tar files, read where they are: nothing is unpacked to the disk.

A path continues inside an archive, `class.zip/ada/hw.zip/hw.ipynb`. Its author chose its names and sizes, so it is read in a process of its
own, within bounds, and a name that leads out of it makes it unreadable.
"""
from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from course_lib.grading.submissions import files
from course_lib.grading.submissions.files import Unreadable, check_size, read_file, run_limited

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")
ENTRIES = 20_000            # of an archive
TOTAL = 2_000_000_000       # bytes of all that is in it
INNER = 100_000_000         # bytes of an archive in an archive
MOST = 100                  # notebooks of one student
PARTS = 50                  # folders in one another, in an archive or on the disk
LENGTH = 255                # characters of a folder's name or a file's
TOO_LONG = "a name that is too long"


def is_archive(name: str) -> bool:
    """Whether a file of this name is a zip or tar file."""
    return name.lower().endswith(SUFFIXES)


def without_suffix(name: str) -> str:
    """The name of a file without its suffix: "hw" of "hw.tar.gz" and of "hw.ipynb"."""
    long = max((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), key=len, default="")
    return name[:-len(long)] if long else Path(name).stem


def split_path(path: str | os.PathLike) -> tuple[str, tuple[str, ...]] | None:
    """The archive on the disk that the path leads into, and the way on inside it; None for a path that leads into none."""
    whole = Path(os.path.abspath(path))
    for outer in [*reversed(whole.parents), whole]:
        if is_archive(outer.name) and outer.is_file() and not outer.is_symlink():
            return str(outer), whole.relative_to(outer).parts
    return None


def read(path: str | os.PathLike) -> bytes:
    """The content of the file at `path`, in a folder or in an archive. Raises Unreadable."""
    parts = split_path(path)
    if parts is None:
        return read_file(path)
    archive, inner = parts
    if not inner or is_archive(inner[-1]):
        count = sum(name.lower().endswith((".ipynb", ".py")) for name in members(path))      # or says what is wrong with it
        raise Unreadable(f"The archive holds {count} notebooks; {MOST} are read at most. Hand in the one that counts." if count
                         else "The archive holds no notebook. Hand in the notebook itself.")
    too_large = f"The file has more than {files.BYTES / 1e6:.0f} MB. Clear the outputs of all cells and save it again."
    return check_size(run_limited(lambda: open_member(archive, inner)), too_large)


def members(path: str | os.PathLike) -> list[str]:
    """The names of the files in the archive at `path`, or in a folder in one, from there. Raises Unreadable."""
    parts = split_path(path)
    if parts is None:
        read_file(path)                                  # says what it is instead
        raise Unreadable("This is not an archive. Hand in the notebook itself.")
    archive, inner = parts
    depth = max((i for i, name in enumerate(inner, 1) if is_archive(name)), default=0)
    names = json.loads(run_limited(lambda: json.dumps(open_member(archive, inner[:depth])).encode()))
    folder = "".join(name + "/" for name in inner[depth:])
    return [name[len(folder):] for name in names if name.startswith(folder)]


def open_member(archive: str, inner: Sequence[str]) -> bytes | list[str]:
    """What the way `inner` leads to: the content of a file, the names in an archive. Raises Unreadable."""
    try:
        with open(archive, "rb") as file:
            return follow(file, tuple(inner))
    except (Unreadable, MemoryError):
        raise
    except Exception as problem:                         # of a package that reads it: also IndexError, lzma.LZMAError
        locked = isinstance(problem, RuntimeError) and "password" in str(problem)
        raise Unreadable("The archive asks for a password. Hand in the notebook itself." if locked else
                         "The archive cannot be read: it is damaged, or of another kind than its name says. Hand in the "
                         "notebook itself.") from None


def follow(file, inner: tuple[str, ...], outermost: bool = True) -> bytes | list[str]:
    """As `open_member`, from an open archive. Of several entries of one name the last counts, as for programs that unpack."""
    names, member, data = [], "", b""
    for name, content in entries(file):
        names.append(name)
        parts = tuple(name.split("/"))
        if inner[:len(parts)] != parts or parts != inner and not is_archive(name):
            continue
        if is_archive(name) and not outermost:
            raise Unreadable("It is an archive in an archive in an archive. Hand in the notebook itself.")
        member, data = name, content((INNER if is_archive(name) else files.BYTES) + 1)
        if is_archive(name) and len(data) > INNER:
            raise Unreadable(f"An archive in an archive has more than {INNER / 1e6:.0f} MB. Hand in the notebook itself.")
    if is_archive(member):
        return follow(io.BytesIO(data), inner[len(member.split("/")):], outermost=False)
    if inner and not member:
        raise Unreadable("There is no notebook of this name in the archive. Hand in the notebook itself.")
    return data if inner else names


def entries(file) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """The files of an archive: the name of each, and what reads so many bytes of it. Links are passed over."""
    head = file.read(2)
    file.seek(0)
    count = total = 0
    for name, size, content in (zip_entries(file) if head == b"PK" else tar_entries(gzip.open(file) if head == b"\x1f\x8b" else file)):
        count, total = count + 1, total + size
        if count > ENTRIES or total > TOTAL:
            raise Unreadable(f"The archive holds more than {ENTRIES} files or {TOTAL / 1e9:.0f} GB. Hand in the notebook itself.")
        yield normalize_name(name), content


def zip_entries(file) -> Iterator[tuple[str, int, Callable[[int], bytes]]]:
    """The files of a zip file. Not more is read of one than the size that it states."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if not entry.is_dir() and not stat.S_ISLNK(entry.external_attr >> 16):
                yield decode_name(entry), entry.file_size, lambda limit, entry=entry: archive.open(entry).read(limit)


def decode_name(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, which many programs write in UTF-8 without the flag that says so, or beside it in a field of its own."""
    if entry.flag_bits & 0x800:                          # it is UTF-8
        return entry.filename
    try:
        raw, extra = entry.filename.encode("cp437"), entry.extra
    except UnicodeEncodeError:                           # a later Python has read the field
        return entry.filename
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == 0x7075 and extra[4:9] == struct.pack("<BL", 1, zlib.crc32(raw)):
            raw = extra[9:4 + size]
        extra = extra[4 + size:]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return entry.filename


def tar_entries(file) -> Iterator[tuple[str, int, Callable[[int], bytes]]]:
    """The files of a tar file, in one pass."""
    with tarfile.open(fileobj=LimitedStream(file), mode="r|") as archive:
        for entry in archive:
            if entry.isfile():
                yield entry.name, entry.size, lambda limit, entry=entry: archive.extractfile(entry).read(limit)


class LimitedStream:
    """A stream that stops after TOTAL bytes: a small file may be the compressed form of a very long one."""

    def __init__(self, file):
        self.file, self.left = file, TOTAL

    def read(self, size: int = -1) -> bytes:
        """As of any stream. Raises Unreadable past the end."""
        data = self.file.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise Unreadable(f"The archive holds more than {TOTAL / 1e9:.0f} GB. Hand in the notebook itself.")
        return data


def normalize_name(name: str) -> str:
    """A member's name with / between its parts; of one that is too long the first part, so that its student has a row.
    Raises Unreadable if it leads out of the archive."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or name[:1] in "/\\" or not parts or re.match(r"[A-Za-z]:[/\\]", name):
        raise Unreadable(f"A name in the archive leads out of it: {ascii(name[:LENGTH])}. Hand in the notebook itself.")
    if len(parts) > PARTS or max(map(len, parts)) > LENGTH:
        parts = [parts[0][:LENGTH], TOO_LONG]
    return "/".join(parts)
