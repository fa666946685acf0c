"""Notebooks in zip files: read in place, within bounds, and nothing of an archive reaches another file."""
import os
import zipfile

import pytest

from course_lib.grading.classroom.collection import collect
from course_lib.grading.submissions import files
from course_lib.grading.submissions.files import Unreadable, members, read


def zipped(path, **kwargs):
    names = kwargs.pop("names")
    with zipfile.ZipFile(path, "w", **kwargs) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_read_member(tmp_path, compression):
    path = zipped(tmp_path / "x.ZIP", names={"./a/b.ipynb": b"old", "c.ipynb": b"two"}, compression=compression)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a/b.ipynb", b"one")                # of one name the last counts
    assert members(path) == ["a/b.ipynb", "c.ipynb"] and members(path / "a") == ["b.ipynb"]
    assert read(path / "a/b.ipynb") == b"one" and read(path / "c.ipynb") == b"two"
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["../x.ipynb", "/x.ipynb", "a/../../x.ipynb", "..\\x.ipynb", "C:/x.ipynb", "a/.."])
def test_archive_with_outside_name(tmp_path, name):
    path = zipped(tmp_path / "x.zip", names={"hw.ipynb": b"x", name: b"y"})
    with pytest.raises(Unreadable, match="leads out of it") as raised:
        members(path)
    assert ascii(name) in str(raised.value)


@pytest.mark.parametrize("name", ["ada/" * 5_000 + "hw.ipynb", "ada/" + "x" * 60_000 + ".ipynb"])
def test_archive_name_is_bounded(tmp_path, name):
    """What follows from a name stays small, whatever its length; the student keeps a row."""
    path = zipped(tmp_path / "x.zip", names={name: b"x", "bo/hw.ipynb": b"y", "A: final/hw.ipynb": b"z"})
    assert members(path) == [f"ada/{files.TOO_LONG}", "bo/hw.ipynb", "A: final/hw.ipynb"]
    assert {item.student for item in collect([str(path)]).submissions} == {"ada", "bo", "A: final"}


def test_archive_links_are_skipped(tmp_path):
    info = zipfile.ZipInfo("hw.ipynb")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert members(tmp_path / "x.zip") == []
    with pytest.raises(Unreadable, match="no notebook of this name"):
        read(tmp_path / "x.zip" / "hw.ipynb")


def test_archive_sizes_are_bounded(tmp_path, monkeypatch):
    path = zipped(tmp_path / "x.zip", names={f"{i}.ipynb": b"0" * 1000 for i in range(5)}, compression=zipfile.ZIP_DEFLATED)
    with monkeypatch.context() as patch:
        patch.setattr(files, "BYTES", 999)
        with pytest.raises(Unreadable, match="Clear the outputs"):
            read(path / "0.ipynb")
    monkeypatch.setattr(files, "INNER", 99)
    with pytest.raises(Unreadable, match="has more than"):
        members(zipped(tmp_path / "y.zip", names={"x.zip": path.read_bytes()}) / "x.zip")
    monkeypatch.setattr(files, "ENTRIES", 4)
    with pytest.raises(Unreadable, match="holds more than"):
        members(path)


@pytest.mark.parametrize("data", [b"PK\x03\x04" + b"x" * 99, b"hello"])
def test_damaged_archive(tmp_path, data):
    (tmp_path / "x.zip").write_bytes(data)
    for unreadable in (lambda: read(tmp_path / "x.zip"), lambda: read(tmp_path / "x.zip/hw.ipynb"), lambda: members(tmp_path / "x.zip")):
        with pytest.raises(Unreadable, match="cannot be read"):
            unreadable()


def test_read_nested_archive(tmp_path):
    one = zipped(tmp_path / "one.zip", names={"hw.ipynb": b"deep"})
    two = zipped(tmp_path / "two.zip", names={"one.zip": one.read_bytes()})
    three = zipped(tmp_path / "three.zip", names={"two.zip": two.read_bytes()})
    assert read(two / "one.zip/hw.ipynb") == b"deep" and members(two / "one.zip") == ["hw.ipynb"]
    with pytest.raises(Unreadable, match="an archive in an archive in an archive"):
        read(three / "two.zip/one.zip/hw.ipynb")


def test_zip_with_false_size(tmp_path):
    path = zipped(tmp_path / "x.zip", names={"hw.ipynb": b"0" * 1_000_000}, compression=zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24:place + 28] = (10).to_bytes(4, "little")          # the size that the table states
    path.write_bytes(data)
    with pytest.raises(Unreadable):
        read(path / "hw.ipynb")


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
        monkeypatch.setattr(files, "MOST", 0)
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


def relabeled(path, raw):
    """A zip with one file whose name is these bytes, without the flag that says UTF-8."""
    info = zipfile.ZipInfo("x" * len(raw))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, b"here")
    path.write_bytes(path.read_bytes().replace(b"x" * len(raw), raw))
    return path


@pytest.mark.parametrize("name", ["Jürgen Groß.ipynb", "हिन्दी.ipynb", "王伟.ipynb", "ไทย.ipynb"])
def test_zip_with_utf8_names_without_flag(tmp_path, name):
    path = relabeled(tmp_path / "x.zip", name.encode())
    assert members(path) == [name] and read(path / name) == b"here"


def test_zip_with_names_of_an_old_code_page(tmp_path):
    assert members(relabeled(tmp_path / "x.zip", "J\u00fcrgen.ipynb".encode("cp437"))) == ["Jürgen.ipynb"]
