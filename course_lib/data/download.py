"""Find a verified file: in COURSE_DATA, in the cache, or by download.

The hash of a file is checked on every access. A download is written to its own folder, and renamed when it is complete and
verified.

pooch and requests are imported for a download only, because their import takes a third of a second.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from course_lib.data.registry import File

TIMEOUT = 30.0  # seconds without a byte before the next address is tried
STALE = 3600.0  # seconds without a write after which an abandoned download is removed


class DataError(RuntimeError):
    """A data file is damaged or could not be downloaded.

    >>> raise DataError("digits: the file is damaged")
    Traceback (most recent call last):
    course_lib.data.download.DataError: digits: the file is damaged
    """


@dataclass(frozen=True)
class Failure:
    """Why the download from the address `url` failed.

    kind  "unreachable", "refused" (HTTP error or certificate), "partial" (ended early) or "altered" (wrong hash)
    """

    url: str
    kind: str
    reason: str                                                      # as part of an error message
    arrived: int = 0                                                 # number of bytes received


class Bar:
    """A tqdm progress bar called `title`, with the interface that pooch requires.

    answered  True when the server has answered the request
    """

    def __init__(self, title: str):
        self.bar = tqdm(desc=title, unit="B", unit_scale=True, leave=False)
        self.answered = False
        self.update, self.reset, self.close = self.bar.update, self.bar.reset, self.bar.close

    @property
    def total(self) -> int | None:
        """The size of the download in bytes; None if the server did not state it."""
        return self.bar.total

    @total.setter
    def total(self, length: int):
        """Set the size in bytes, which pooch reads from the response header; 0 if the server does not state it."""
        self.answered, self.bar.total = True, length or None


def course_data() -> Path | None:
    """The folder that the environment variable COURSE_DATA names; None if it is not set.

    Raises ValueError if there is no such folder.
    """
    value = os.environ.get("COURSE_DATA", "")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise ValueError(f"COURSE_DATA is {value!r}; expected an existing folder. Unset the variable to use the cache")
    return folder


def cache() -> Path:
    """The folder for downloads: the environment variable COURSE_CACHE; if it is not set, the system's cache folder."""
    if value := os.environ.get("COURSE_CACHE", ""):
        return Path(value).expanduser()
    import pooch

    return Path(pooch.os_cache("course-lib"))


def local(name: str, file: File) -> Path | None:
    """The path of `file` in the folder that the environment variable COURSE_DATA names; None if it is not there.

    name  name of the data set, for messages

    Raises DataError if the hash of the file is wrong. Such a file is neither ignored nor replaced, because the user
    put it there.
    """
    folder = course_data()
    if folder is None or not (folder / file.path).is_file():
        return None
    got = digest(folder / file.path, file)
    if got != file.hash:
        raise DataError(
            f"{name}: {file.path} in COURSE_DATA has hash {got}, expected {file.hash}. "
            f"It was not used: replace it by the published file ({_size(file.size)}), or remove it."
        )
    return folder / file.path


def fetch(name: str, file: File) -> Path:
    """Return the path of a verified copy of `file`: in COURSE_DATA, in the cache, or downloaded, in this order.

    name  name of the data set, for messages

    Raises DataError if the file cannot be downloaded, or if its copy in COURSE_DATA has another hash.
    """
    path = local(name, file)
    if path is not None:
        return path
    cached = cache() / file.path
    if cached.is_file() and digest(cached, file) == file.hash:
        return cached
    return _download(name, file, cached)


def digest(path: Path, file: File) -> str:
    """The hash of the file at `path`, "sha256:..." or "md5:...", by the algorithm of `file.hash`."""
    import pooch

    kind = file.hash.split(":")[0]
    return f"{kind}:{pooch.file_hash(str(path), alg=kind)}"


def _download(name: str, file: File, cached: Path) -> Path:
    try:
        cache().mkdir(parents=True, exist_ok=True)
        _sweep(cache())
        part = TemporaryDirectory(prefix=".part-", dir=cache())
    except OSError as error:
        raise DataError(f"{name}: {cache()} cannot be written ({error}); name another cache in COURSE_CACHE") from None
    failures = []
    with part as folder:
        target = Path(folder) / file.name
        for url in file.urls:
            failure = _attempt(name, file, url, target)
            if failure is None:
                cached.parent.mkdir(parents=True, exist_ok=True)
                os.replace(target, cached)  # atomic for other processes
                return cached
            failures.append(failure)
    raise DataError(_message(name, file, failures))


def _attempt(name: str, file: File, url: str, target: Path) -> Failure | None:
    """Download `file` from `url` to `target` and verify it; return None on success, otherwise the failure.

    name  name of the data set, for the progress bar
    """
    import pooch
    import requests

    bar = Bar(f"{name}: {file.name}")
    # Uncompressed, so that the stated length is that of the file.
    get = pooch.HTTPDownloader(bar, chunk_size=1 << 16, timeout=TIMEOUT, headers={"Accept-Encoding": "identity"})
    try:
        get(url, str(target), None)
    except requests.HTTPError as error:
        return Failure(url, "refused", f"HTTP {error.response.status_code}")
    except requests.exceptions.SSLError:
        return Failure(url, "refused", "its certificate was not accepted")
    except requests.RequestException as error:
        arrived = target.stat().st_size  # pooch creates it before the request
        if bar.answered:
            return Failure(url, "partial", f"{_of(arrived, file)}, then the connection was lost", arrived)
        if isinstance(error, requests.Timeout):
            return Failure(url, "unreachable", f"no answer within {TIMEOUT:g} s")
        return Failure(url, "unreachable", "could not be reached")
    finally:
        bar.close()
    arrived, got = target.stat().st_size, digest(target, file)
    if got == file.hash:
        return None
    if file.size is not None and arrived < file.size:
        return Failure(url, "partial", f"{_of(arrived, file)}, then the end", arrived)
    return Failure(url, "altered", f"{_size(arrived)} with hash {got}, expected {file.hash}", arrived)


def _message(name: str, file: File, failures: list[Failure]) -> str:
    """The error message for a file that no address gave: what failed, and what to do."""
    if not file.urls:
        return f"{name}: {file.path} has no public address; put it in the folder that COURSE_DATA names."
    kinds = [failure.kind for failure in failures]
    count, put = len(failures), f"or put {file.path} in the folder that COURSE_DATA names"
    if set(kinds) == {"unreachable"}:
        return (
            f"{name}: none of the {count} addresses of {file.name} could be reached, so this machine seems to be "
            f"offline: connect it and try again, {put}."
        )
    if "partial" in kinds:
        most = max(failure.arrived for failure in failures if failure.kind == "partial")
        head = f"{_of(most, file)} arrived from {kinds.count('partial')} of {count} addresses."
    elif "altered" in kinds:
        head = f"{file.name} arrived from {kinds.count('altered')} of {count} addresses, and is not the file published."
    else:
        head = f"none of {count} addresses gave {file.name}."
    lines = [f"  {failure.url}: {failure.reason}" for failure in failures]
    return "\n".join([f"{name}: {head} Nothing was kept. Try again, {put}.", *lines])


def _size(count: int | None) -> str:
    """A number of bytes as text: 31000000 is "31 MB"."""
    if count is None:
        return "size unknown"
    for unit, scale in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= scale:
            return f"{count / scale:.0f} {unit}"
    return f"{count} bytes"


def _of(arrived: int, file: File) -> str:
    """The number of bytes `arrived` and the size of the file, such as "31 of 78 MB"; not rounded if these are equal."""
    if file.size is None:
        return _size(arrived)
    if _size(arrived) == _size(file.size):
        return f"{arrived:,} of {file.size:,} bytes"
    return f"{_size(arrived)} of {_size(file.size)}"


def _sweep(folder: Path) -> None:
    """Remove abandoned downloads in `folder`, to which nothing was written for an hour."""
    for part in folder.glob(".part-*"):
        with suppress(OSError):  # another process may remove it
            if time.time() - max(path.stat().st_mtime for path in (part, *part.iterdir())) > STALE:
                shutil.rmtree(part)
