"""Read a file that was handed in, in a folder or inside zip files, within bounds: no link is followed, nothing is unpacked to the disk, and
what parses it runs in a process with little memory and time. A path continues inside an archive, `class.zip/ada/hw.zip/hw.ipynb`."""
import io
import json
import os
import re
import select
import signal
import stat
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from course_lib.grading.protocol.process import prctl, size_now

BYTES = 60_000_000          # of a notebook, most of which may be outputs, which are not used
SECONDS = 30.0
ENTRIES = 20_000            # of an archive
INNER = 100_000_000         # bytes of an archive in an archive
MOST = 100                  # notebooks of one student
PARTS = 50                  # folders in one another, in an archive or on the disk
LENGTH = 255                # characters of a folder's name or a file's
TOO_LONG = "a name that is too long"
MEMORY = 1_000_000_000      # bytes above what the process has when it begins
RESULT = 100_000_000        # bytes that it may return
OK, UNREADABLE = b"+", b"-"
LESS = "Delete what is not needed, clear the outputs of all cells and save it again."


class Unreadable(Exception):
    """The file is not a notebook that can be read; the text says what to do."""


def read_file(path: str | os.PathLike) -> bytes:
    """The content of an ordinary file of a reasonable size. Raises Unreadable for anything else."""
    try:
        if stat.S_ISLNK(mode := os.lstat(path).st_mode):
            raise Unreadable("The file is a link. Hand in the notebook itself.")
        if stat.S_ISDIR(mode):
            names = ", ".join(sorted(name[:80] for name in os.listdir(path))[:5])
            raise Unreadable(f"This is not a file but a folder, and no notebook is in it{f', but {names}' * bool(names)}. Hand in the notebook itself.")
        if not stat.S_ISREG(mode):
            raise Unreadable("This is not a file. Hand in the notebook itself.")
        flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]   # if it was exchanged since
        with open(os.open(path, os.O_RDONLY | sum(flags)), "rb") as file:
            return check_size(file.read(BYTES + 1))
    except FileNotFoundError:
        raise Unreadable("There is no such file. Hand in the notebook under this name.") from None
    except OSError as problem:
        raise Unreadable(f"The file cannot be opened: {problem.strerror}. Hand it in again.") from None


def check_size(data: bytes) -> bytes:
    """Return `data`; raise Unreadable if it is empty or too long."""
    if len(data) > BYTES:
        raise Unreadable(f"The file has more than {BYTES / 1e6:.0f} MB. Clear the outputs of all cells and save it again.")
    if not data.strip():
        raise Unreadable("The file is empty. Save the notebook and hand it in again.")
    return data


def run_limited(work: Callable[[], bytes], seconds: float = SECONDS, memory: int = MEMORY) -> bytes:
    """What `work` gives, or the Unreadable that it raises, in a process of its own within these bounds; on Linux."""
    if sys.platform != "linux":
        return work()
    until = time.monotonic() + seconds
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            work_and_write(work, writing, seconds, memory)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        data = read_all(reading, until)
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if data is None:
        raise Unreadable(f"It took more than {seconds:g} seconds to read the file. {LESS}")
    if data[-1:] == UNREADABLE:
        raise Unreadable(data[:-1].decode())
    if data[-1:] != OK:                              # it stopped before it had an answer
        raise Unreadable(f"To read the file took more memory than there is for it. {LESS}")
    return data[:-1]


def read_all(pipe: int, until: float) -> bytes | None:
    """All that comes out of the pipe before it closes; None if it does not close in time."""
    data = bytearray()
    while select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 20)
        data += part
        if not part or len(data) > RESULT:
            return bytes(data) if not part else b""
    return None


def work_and_write(work: Callable[[], bytes], pipe: int, seconds: float, memory: int) -> None:
    """In the process of its own: write the result of `work`, or the reason why there is none; the last byte says which."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(1, signal.SIGKILL)                             # PR_SET_PDEATHSIG: it ends with the grader
    for name, value in (("RLIMIT_AS", size_now() + memory), ("RLIMIT_CPU", int(seconds) + 1), ("RLIMIT_CORE", 0)):
        resource.setrlimit(getattr(resource, name), (value, value))
    try:
        data = work() + OK
    except Unreadable as problem:
        data = str(problem).encode() + UNREADABLE
    with os.fdopen(pipe, "wb") as file:
        file.write(data)


def is_archive(name: str) -> bool:
    """Whether a file of this name is a zip file."""
    return name.lower().endswith(".zip")


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
    return check_size(run_limited(lambda: open_member(archive, inner)))


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
    with zipfile.ZipFile(file) as archive:
        files_inside = [entry for entry in archive.infolist() if not entry.is_dir() and not stat.S_ISLNK(entry.external_attr >> 16)]
        if len(files_inside) > ENTRIES:
            raise Unreadable(f"The archive holds more than {ENTRIES} files. Hand in the notebook itself.")
        entries = {normalize_name(decode_name(entry)): entry for entry in files_inside}
        if not inner:
            return list(entries)
        for depth in range(1, len(inner) + 1):           # the file itself, or an archive on the way to it
            entry, nested = entries.get("/".join(inner[:depth])), is_archive(inner[depth - 1])
            if entry is None or depth < len(inner) and not nested:
                continue
            if nested and not outermost:
                raise Unreadable("It is an archive in an archive in an archive. Hand in the notebook itself.")
            data = archive.open(entry).read((INNER if nested else BYTES) + 1)
            if nested and len(data) > INNER:
                raise Unreadable(f"An archive in an archive has more than {INNER / 1e6:.0f} MB. Hand in the notebook itself.")
            return follow(io.BytesIO(data), inner[depth:], outermost=False) if nested else data
    raise Unreadable("There is no notebook of this name in the archive. Hand in the notebook itself.")


def decode_name(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, which many programs write in UTF-8 without the flag that says so."""
    try:
        return entry.filename if entry.flag_bits & 0x800 else entry.filename.encode("cp437").decode()
    except UnicodeError:
        return entry.filename


def normalize_name(name: str) -> str:
    """A member's name with / between its parts, cut where it is too long. Raises Unreadable if it leads out of the archive."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or name[:1] in "/\\" or not parts or re.match(r"[A-Za-z]:[/\\]", name):
        raise Unreadable(f"A name in the archive leads out of it: {ascii(name[:LENGTH])}. Hand in the notebook itself.")
    if len(parts) > PARTS or max(map(len, parts)) > LENGTH:
        parts = [parts[0][:LENGTH], TOO_LONG]
    return "/".join(parts)
