"""Notebooks in zip and tar files: read in place, within bounds, and nothing of an archive reaches another file."""
import gzip
import io
import os
import struct
import tarfile
import time
import zipfile
import zlib

import pytest

from course_lib.grading.classroom.collection import collect
from course_lib.grading.submissions import archives, files
from course_lib.grading.submissions.archives import members, read, without_suffix
from course_lib.grading.submissions.files import Unreadable


def zipped(path, **kwargs):
    names = kwargs.pop("names")
    with zipfile.ZipFile(path, "w", **kwargs) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    return path


def tarred(path, names, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, content in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


PACKS = {"x.zip": lambda path, names: zipped(path, names=names),
         "x.ZIP": lambda path, names: zipped(path, names=names, compression=zipfile.ZIP_DEFLATED),
         "x.tar": tarred, "x.tar.gz": lambda path, names: tarred(path, names, "w:gz"),
         "x.tgz": lambda path, names: tarred(path, names, "w:gz")}


@pytest.mark.parametrize("name", PACKS)
def test_read_member(tmp_path, name):
    path = PACKS[name](tmp_path / name, {"./a/b.ipynb": b"one", "c.ipynb": b"two"})
    before = sorted(tmp_path.iterdir())
    assert members(path) == ["a/b.ipynb", "c.ipynb"] and members(path / "a") == ["b.ipynb"]
    assert read(path / "a/b.ipynb") == b"one" and read(path / "c.ipynb") == b"two"
    assert sorted(tmp_path.iterdir()) == before
    assert without_suffix(name) == "x"


def test_read_nested_archive(tmp_path):
    one = zipped(tmp_path / "one.zip", names={"hw.ipynb": b"deep"})
    two = zipped(tmp_path / "two.zip", names={"one.zip": one.read_bytes()})
    three = zipped(tmp_path / "three.zip", names={"two.zip": two.read_bytes()})
    assert read(two / "one.zip/hw.ipynb") == b"deep" and members(two / "one.zip") == ["hw.ipynb"]
    with pytest.raises(Unreadable, match="an archive in an archive in an archive"):
        read(three / "two.zip/one.zip/hw.ipynb")


def test_read_tar_with_zip_at_end(tmp_path):
    inner = zipped(tmp_path / "i.zip", names={"hw.ipynb": b"x"}).read_bytes()
    assert members(tarred(tmp_path / "x.tar", {"a.ipynb": b"y", "i.zip": inner})) == ["a.ipynb", "i.zip"]


@pytest.mark.parametrize("name", ["../x.ipynb", "/x.ipynb", "a/../../x.ipynb", "..\\x.ipynb", "C:/x.ipynb", "a/.."])
@pytest.mark.parametrize("pack", ["x.zip", "x.tar"])
def test_archive_with_outside_name(tmp_path, name, pack):
    path = PACKS[pack](tmp_path / pack, {"hw.ipynb": b"x", name: b"y"})
    with pytest.raises(Unreadable, match="leads out of it") as raised:
        members(path)
    assert ascii(name) in str(raised.value)


@pytest.mark.parametrize("pack", ["x.zip", "x.tar"])
def test_archive_with_colon_in_name(tmp_path, pack):
    path = PACKS[pack](tmp_path / pack, {"ada/hw.ipynb": b"x", "A: final/hw.ipynb": b"y"})
    assert {item.student for item in collect([str(path)]).submissions} == {"ada", "A: final"}
    assert read(path / "A: final/hw.ipynb") == b"y"


@pytest.mark.parametrize("name", ["ada/" * 16_000 + "hw.ipynb", "ada/" + "x" * 60_000 + ".ipynb"])
def test_archive_name_is_bounded(tmp_path, name):
    """What follows from a name stays small, whatever its length; the student keeps a row."""
    path = tarred(tmp_path / "x.tar.gz", {name: b"x", "bo/hw.ipynb": b"y"}, "w:gz")
    began = time.monotonic()
    assert members(path) == [f"ada/{archives.TOO_LONG}", "bo/hw.ipynb"]
    assert {item.path.rpartition("x.tar.gz/")[2]: item.student for item in collect([str(path)]).submissions} == {
        "ada": "ada", "bo/hw.ipynb": "bo"}
    assert time.monotonic() - began < 2


def test_archive_links_are_skipped(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        link = tarfile.TarInfo("hw.ipynb")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    info = zipfile.ZipInfo("hw.ipynb")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    for name in ("x.tar", "x.zip"):
        assert members(tmp_path / name) == []
        with pytest.raises(Unreadable, match="no notebook of this name"):
            read(tmp_path / name / "hw.ipynb")


def test_archive_sizes_are_bounded(tmp_path, monkeypatch):
    path = zipped(tmp_path / "x.zip", names={f"{i}.ipynb": b"0" * 1000 for i in range(5)}, compression=zipfile.ZIP_DEFLATED)
    packed = tarred(tmp_path / "x.tgz", {f"{i}.ipynb": b"0" * 1000 for i in range(5)}, "w:gz")
    with monkeypatch.context() as patch:
        patch.setattr(files, "BYTES", 999)
        with pytest.raises(Unreadable, match="Clear the outputs"):
            read(path / "0.ipynb")
    for name, value in (("ENTRIES", 4), ("TOTAL", 4999)):
        with monkeypatch.context() as patch:
            patch.setattr(archives, name, value)
            for one in (path, packed):
                with pytest.raises(Unreadable, match="holds more than"):
                    members(one)
    assert len(members(path)) == len(members(packed)) == 5


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME])
def test_archive_bomb(tmp_path, monkeypatch, kind):
    """A small file that is long when it is unpacked: as a file in it, or as the name of one."""
    monkeypatch.setattr(archives, "TOTAL", 5_000_000)
    with gzip.open(tmp_path / "x.tar.gz", "wb") as file:
        header = tarfile.TarInfo("hw.ipynb")
        header.type, header.size = kind, 40_000_000
        file.write(header.tobuf() + b"x" * 40_000_000)
    assert os.path.getsize(tmp_path / "x.tar.gz") < 100_000
    with pytest.raises(Unreadable, match="holds more than"):
        members(tmp_path / "x.tar.gz")


def test_zip_with_false_size(tmp_path):
    path = zipped(tmp_path / "x.zip", names={"hw.ipynb": b"0" * 1_000_000}, compression=zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24:place + 28] = (10).to_bytes(4, "little")          # the size that the table states
    path.write_bytes(data)
    with pytest.raises(Unreadable):
        read(path / "hw.ipynb")


@pytest.mark.parametrize("name, data, words", [
    ("x.zip", b"PK\x03\x04" + b"x" * 99, "cannot be read"), ("x.zip", b"hello", "cannot be read"), ("x.tar", b"hello", "cannot be read"),
    ("x.tar.gz", b"\x1f\x8b" + b"x" * 99, "cannot be read"), ("x.tar.gz", b"\xfd7zXZ\x00" + b"x" * 99, "cannot be read"),
    ("x.tar.gz", gzip.compress(b"hello" * 500, mtime=0)[:-20], "cannot be read"), ("x.zip", b"", "cannot be read")])
def test_damaged_archive(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    for one in (tmp_path / name, tmp_path / name / "hw.ipynb"):
        with pytest.raises(Unreadable, match=words):
            read(one)
    with pytest.raises(Unreadable, match=words):
        members(tmp_path / name)


def test_damaged_entry(tmp_path):
    path = zipped(tmp_path / "x.zip", names={"hw.ipynb": bytes(range(256)) * 9}, compression=zipfile.ZIP_LZMA)
    data = bytearray(path.read_bytes())
    data[50:80] = b"\xff" * 30                             # of its LZMA stream
    path.write_bytes(data)
    with pytest.raises(Unreadable, match="damaged"):
        read(path / "hw.ipynb")


def test_archive_is_not_a_notebook(tmp_path, monkeypatch):
    path = zipped(tmp_path / "x.zip", names={"a.ipynb": b"x", "b.txt": b"x"})
    with pytest.raises(Unreadable, match="holds 1 notebooks; 0 are read at most"):
        monkeypatch.setattr(archives, "MOST", 0)
        read(path)
    with pytest.raises(Unreadable, match="holds no notebook"):
        read(zipped(tmp_path / "x.zip", names={"b.txt": b"x"}))


def test_locked_archive(tmp_path):
    path = zipped(tmp_path / "x.zip", names={"hw.ipynb": b"x" * 50})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1                          # "encrypted", as a program with a password sets it
    path.write_bytes(data)
    with pytest.raises(Unreadable, match="password"):
        read(path / "hw.ipynb")


def test_archive_that_is_a_link(tmp_path):
    os.symlink(zipped(tmp_path / "x.zip", names={"hw.ipynb": b"x"}), tmp_path / "y.zip")
    os.mkfifo(tmp_path / "z.zip")
    for name, words in (("y.zip", "a link"), ("z.zip", "not a file"), ("gone.zip", "no such file")):
        with pytest.raises(Unreadable, match=words):
            members(tmp_path / name)
        with pytest.raises(Unreadable):
            read(tmp_path / name / "hw.ipynb")


def relabeled(path, raw, extra=b""):
    """A zip with one file whose name is these bytes, without the flag that says UTF-8."""
    info = zipfile.ZipInfo("x" * len(raw))
    info.extra = extra
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, b"here")
    path.write_bytes(path.read_bytes().replace(b"x" * len(raw), raw))
    return path


@pytest.mark.parametrize("name", ["Jürgen Groß.ipynb", "हिन्दी.ipynb", "王伟.ipynb", "ไทย.ipynb"])
def test_zip_with_utf8_names_without_flag(tmp_path, name):
    path = relabeled(tmp_path / "x.zip", name.encode())
    assert members(path) == [name] and read(path / name) == b"here"


def test_zip_with_unicode_field(tmp_path):
    raw = b"J_rgen.ipynb"
    field = struct.pack("<BL", 1, zlib.crc32(raw)) + "Jürgen.ipynb".encode()
    extra = struct.pack("<HH", 1, 1) + b"x" + struct.pack("<HH", 0x7075, len(field)) + field
    path = relabeled(tmp_path / "x.zip", raw, extra)
    assert members(path) == ["Jürgen.ipynb"] and read(path / "Jürgen.ipynb") == b"here"
    stale = struct.pack("<HHBL", 0x7075, 7, 1, zlib.crc32(b"other")) + b"zz"
    assert members(relabeled(tmp_path / "y.zip", raw, stale)) == ["J_rgen.ipynb"]


def test_zip_with_names_of_an_old_code_page(tmp_path):
    assert members(relabeled(tmp_path / "x.zip", "J\u00fcrgen.ipynb".encode("cp437"))) == ["Jürgen.ipynb"]


@pytest.mark.parametrize("pack", [tarfile.open, zipfile.ZipFile])
def test_last_entry_of_a_name_counts(tmp_path, pack):
    path = tmp_path / ("x.zip" if pack is zipfile.ZipFile else "x.tar")
    with pack(path, "w") as archive:
        for content in (b"old", b"new"):
            if pack is zipfile.ZipFile:
                archive.writestr("./hw.ipynb" if content == b"new" else "hw.ipynb", content)
            else:
                info = tarfile.TarInfo("hw.ipynb")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    assert read(path / "hw.ipynb") == b"new"
