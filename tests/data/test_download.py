"""A file arrives whole and right, or not at all; and the message says what happened, in real figures."""
from __future__ import annotations

import hashlib
import os
import socket
import time

import pytest

from course_lib.data import DataError, download
from course_lib.data.download import fetch
from course_lib.data.registry import File

BODY = bytes(range(256)) * 4096                  # 1,048,576 bytes, more than one chunk; half of it is 524,288
SHORT = 2.0                                      # seconds: a busy machine must not be taken for a stalled server
OTHER = BODY[:-1] + b"?"                         # as long, one byte altered


def everything_in(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def closed_address() -> str:
    """An address on this machine that nothing listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/a.bin"


def test_fetch_caches(server, cache, row):
    file = row("toy/a.bin", BODY, server.serve("a.bin", BODY))
    path = fetch("toy", file)
    assert path == cache / "toy" / "a.bin"
    assert path.read_bytes() == BODY
    assert fetch("toy", file) == path
    assert server.asked == ["a.bin"]
    assert everything_in(cache) == ["toy", "toy/a.bin"]


def test_fetch_identity_encoding(server, cache, row):
    """Compressed on the way, the length that the server states would not be the file's, nor a .gz file's hash."""
    fetch("toy", row("toy/a.bin", BODY, server.serve("a.bin", BODY)))
    assert server.encodings == ["identity"]


@pytest.mark.parametrize("how", ["cut", "short", "stall"])
def test_fetch_partial(server, cache, row, monkeypatch, how):
    if how == "stall":
        monkeypatch.setattr(download, "TIMEOUT", SHORT)
    file = row("toy/a.bin", BODY, server.serve("1", BODY, how), server.serve("2", BODY[: len(BODY) // 2], how))
    with pytest.raises(DataError) as error:
        fetch("toy", file)
    assert str(error.value).splitlines()[0] == (
        "toy: 524 kB of 1 MB arrived from 2 of 2 addresses. Nothing was kept. "
        "Try again, or put toy/a.bin in the folder that COURSE_DATA names.")
    assert "262 kB of 1 MB" in str(error.value).splitlines()[2]
    assert server.asked == ["1", "2"]
    assert everything_in(cache) == []


def test_fetch_altered(server, cache, row):
    file, other = row("toy/a.bin", BODY, server.serve("a.bin", OTHER)), row("toy/a.bin", OTHER)
    with pytest.raises(DataError) as error:
        fetch("toy", file)
    message = str(error.value)
    assert message.startswith("toy: a.bin arrived from 1 of 1 addresses, and is not the file published. Nothing was ")
    assert file.hash in message and other.hash in message
    assert everything_in(cache) == []


def test_fetch_status(server, cache, row):
    with pytest.raises(DataError) as error:
        fetch("toy", row("toy/a.bin", BODY, server.url("gone"), server.serve("broken", b"", 500)))
    lines = str(error.value).splitlines()
    assert lines[0].startswith("toy: none of 2 addresses gave a.bin. Nothing was kept. Try again, or put toy/a.bin")
    assert lines[1:] == [f"  {server.url('gone')}: HTTP 404", f"  {server.url('broken')}: HTTP 500"]
    assert everything_in(cache) == []


@pytest.mark.parametrize("how", ["cut", "short", "stall", "silent", 404, "altered", "closed"])
def test_fetch_second_address(server, cache, row, monkeypatch, how):
    if how in ("stall", "silent"):
        monkeypatch.setattr(download, "TIMEOUT", SHORT)
    first = closed_address() if how == "closed" else server.serve("1", OTHER, "whole" if how == "altered" else how)
    path = fetch("toy", row("toy/a.bin", BODY, first, server.serve("2", BODY)))
    assert path.read_bytes() == BODY
    assert everything_in(cache) == ["toy", "toy/a.bin"]


def test_fetch_offline(cache, row):
    with pytest.raises(DataError) as error:
        fetch("toy", row("toy/a.bin", BODY, closed_address(), closed_address()))
    assert str(error.value) == (
        "toy: none of the 2 addresses of a.bin could be reached, so this machine seems to be offline: connect it and "
        "try again, or put toy/a.bin in the folder that COURSE_DATA names.")
    assert everything_in(cache) == []


def test_fetch_damaged_cache(server, cache, row):
    file = row("toy/a.bin", BODY, server.serve("a.bin", BODY))
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "a.bin").write_bytes(BODY[:1000])
    assert fetch("toy", file).read_bytes() == BODY
    (cache / "toy" / "a.bin").write_bytes(OTHER)
    assert fetch("toy", file).read_bytes() == BODY
    assert server.asked == ["a.bin", "a.bin"]


def test_fetch_interrupted(server, cache, row, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "digest", interrupted)             # the bytes are on disk, the name is not given yet
    with pytest.raises(KeyboardInterrupt):
        fetch("toy", row("toy/a.bin", BODY, server.serve("a.bin", BODY)))
    assert everything_in(cache) == []


def test_fetch_sweeps_stale_parts(server, cache, row):
    for name, age in ((".part-old", 2 * download.STALE), (".part-new", 0)):
        (cache / name).mkdir(parents=True)
        (cache / name / "a.bin").write_bytes(BODY[:1000])
        for path in (cache / name / "a.bin", cache / name):
            os.utime(path, (time.time() - age,) * 2)
    fetch("toy", row("toy/a.bin", BODY, server.serve("a.bin", BODY)))
    assert everything_in(cache) == [".part-new", ".part-new/a.bin", "toy", "toy/a.bin"]


def test_fetch_course_data_first(server, cache, folder, row):
    file = row("toy/a.bin", BODY, server.serve("a.bin", BODY))
    cached = fetch("toy", file)                                      # COURSE_DATA lacks it: cache and download serve
    assert cached == cache / "toy" / "a.bin"
    (folder / "toy").mkdir()
    (folder / "toy" / "a.bin").write_bytes(BODY)
    assert fetch("toy", file) == folder / "toy" / "a.bin"
    assert server.asked == ["a.bin"]


@pytest.mark.parametrize("damaged", [OTHER, BODY[:1000], b""])
def test_fetch_damaged_course_data(server, cache, folder, row, damaged):
    file = row("toy/a.bin", BODY, server.serve("a.bin", BODY))
    fetch("toy", file)                                               # a good copy in the cache must not hide it
    (folder / "toy").mkdir()
    (folder / "toy" / "a.bin").write_bytes(damaged)
    with pytest.raises(DataError) as error:
        fetch("toy", file)
    message = str(error.value)
    assert message.startswith("toy: toy/a.bin in COURSE_DATA has hash sha256:")
    assert row("toy/a.bin", damaged).hash in message and file.hash in message
    assert (folder / "toy" / "a.bin").read_bytes() == damaged
    assert server.asked == ["a.bin"]


def test_fetch_course_data_no_folder(cache, row, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(cache / "nowhere"))
    with pytest.raises(ValueError, match="COURSE_DATA is"):
        fetch("toy", row("toy/a.bin", BODY))


def test_fetch_without_address(cache, row):
    with pytest.raises(DataError, match=r"toy: toy/a\.bin has no public address; put it in the folder"):
        fetch("toy", row("toy/a.bin", BODY))


def test_fetch_unwritable_cache(server, cache, row):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="cannot be written.*name another cache in COURSE_CACHE"):
        fetch("toy", row("toy/a.bin", BODY, server.serve("a.bin", BODY)))


def test_fetch_md5(server, cache):
    file = File("toy/a.bin", None, "md5:" + hashlib.md5(BODY).hexdigest(), (server.serve("a.bin", BODY),))
    assert fetch("toy", file).read_bytes() == BODY
    server.serve("a.bin", OTHER)
    (cache / "toy" / "a.bin").unlink()
    with pytest.raises(DataError, match="is not the file published"):
        fetch("toy", file)
    assert everything_in(cache) == ["toy"]
