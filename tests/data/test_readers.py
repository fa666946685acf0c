"""Each format read right, and refused with a sentence when its content does not fit."""
from __future__ import annotations

import gzip
import pickle

import numpy as np
import pytest
import scipy.io

from course_lib.data import DataError
from course_lib.data.readers import read_binary_text, read_idx, read_mat, read_npz, read_png, read_table, read_text
from tests.support.png import png


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def images():
    return np.random.default_rng(3).integers(0, 256, (5, 3, 4)).astype(np.uint8)


@pytest.fixture
def rows():
    return np.random.default_rng(4).integers(0, 2, (7, 5)).astype(np.uint8)


def test_idx(tmp_path, images):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(idx(images)))
    assert read_idx(path).dtype == np.uint8
    np.testing.assert_array_equal(read_idx(path), images)


@pytest.mark.parametrize("cut", [0, 1, 10, -9, -1])
def test_idx_truncated_as_gzip(tmp_path, images, cut):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(idx(images))[:cut])
    with pytest.raises(DataError, match=r"images\.gz (is not a complete gzip file|starts with)"):
        read_idx(path)


@pytest.mark.parametrize("raw, message", [
    (lambda x: idx(x)[:-1], r"has 59 values; expected the shape \(5, 3, 4\), which its header states"),
    (lambda x: idx(x) + b"\0", r"has 61 values; expected the shape \(5, 3, 4\), which its header states"),
    (lambda x: b"\0\0\x0d" + idx(x)[3:], "starts with 00 00 0d 03"),
    (lambda x: idx(x)[:9], "starts with 00 00 08 03"),
    (lambda x: b"\0\0\x08", "starts with 00 00 08"),
    (lambda x: b"", "starts with"),
])
def test_idx_that_does_not_fit_its_header(tmp_path, images, raw, message):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(raw(images)))
    with pytest.raises(DataError, match=message):
        read_idx(path)


def test_png(tmp_path):
    every = np.arange(3 * 256, dtype=np.uint16).astype(np.uint8).reshape(3, 256, 1).repeat(3, axis=2)
    every[..., 1] = every[..., 1] // 2
    (tmp_path / "a.png").write_bytes(png(every))
    assert read_png(tmp_path / "a.png", 3, 256).dtype == np.uint8
    np.testing.assert_array_equal(read_png(tmp_path / "a.png", 3, 256), every)


@pytest.mark.parametrize("raw, message", [
    (lambda x: png(x)[:-30], "a.png is not a complete png file"),
    (lambda x: png(x)[:5], "a.png is not a complete png file"),
    (lambda x: b"no picture", "a.png is not a complete png file"),
    (lambda x: png(x[:4]), r"a.png is a picture of shape \(4, 3, 3\); expected \(5, 3, 3\)"),
    (lambda x: png(x[..., 0]), r"a.png is a picture of shape \(5, 3\); expected \(5, 3, 3\)"),
])
def test_png_that_is_cut_or_another_picture(tmp_path, images, raw, message):
    (tmp_path / "a.png").write_bytes(raw(images[..., :3]))
    with pytest.raises(DataError, match=message):
        read_png(tmp_path / "a.png", 5, 3)


def test_binary_text(tmp_path, rows):
    path = tmp_path / "rows.amat"
    for separator in (" ", ","):
        path.write_bytes("".join(separator.join(map(str, row)) + "\n" for row in rows.tolist()).encode())
        np.testing.assert_array_equal(read_binary_text(path, 5, separator), rows)


@pytest.mark.parametrize("text, message", [
    (b"", "has 0 bytes; expected lines of 6 bytes for 3 values"),
    (b"0 1 1\n0 1", "has 9 bytes"),
    (b"0 1 2\n", "zeros and ones"),
    (b"0 1 /\n", "zeros and ones"),                                  # the byte below "0"
    (b"0,1,1\n", "separated by ' '"),
    (b"0 1 1 ", "zeros and ones"),                                   # no line end
    (b"0 1\n1 ", "zeros and ones"),                                  # a line too short, in a file of the right size
])
def test_binary_text_that_does_not_fit(tmp_path, text, message):
    path = tmp_path / "rows.amat"
    path.write_bytes(text)
    with pytest.raises(DataError, match=message):
        read_binary_text(path, 3, " ")


def test_npz(tmp_path, rows):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, test=rows[5:], train=rows[:5])
    train, test = read_npz(path, ("train", "test"))
    np.testing.assert_array_equal(np.concatenate([train, test]), rows)
    with pytest.raises(DataError, match=r"rows\.npz lacks valid; it has test, train"):
        read_npz(path, ("train", "valid", "test"))
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], b"?" + whole[1:], whole[:60] + bytes(20) + whole[80:]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"rows\.npz is not a readable npz file"):
            read_npz(path, ("train", "test"))


def test_nothing_is_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (tmp_path / "ran").write_text, ("pickle ran",)

    path = tmp_path / "rows.npz"
    np.savez(path, train=np.array([Bomb()], dtype=object))
    with pytest.raises(DataError, match="plain arrays"):
        read_npz(path, ("train",))
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DataError, match="plain arrays"):
        read_npz(path, ("train",))
    assert not (tmp_path / "ran").exists()


def test_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('"a";"b";"c"\n1;2.5;-3\n4;5e-3;6\n')
    np.testing.assert_array_equal(read_table(path, (2, 0), 2, ";", header=True), [[-3, 1], [6, 4]])
    path.write_text(" 1  2.5\n 3\t4 \n")
    assert read_table(path, (0, 1), 2).dtype == np.float64
    np.testing.assert_array_equal(read_table(path, (1,), 2), [[2.5], [4]])


@pytest.mark.parametrize("text, message", [
    ("", r"table\.csv has 0 rows; expected 2"),
    ("1,2,3\n", "has 1 rows; expected 2"),
    ("1,2,3\n4,5,6\n7,8,9\n", "has 3 rows; expected 2"),
    ("1,2,3\n4,5,nan\n", "contains nan; expected finite numbers"),
    ("1,2,3\n4,5\n", r"table\.csv is not a table of numbers with the columns \[0, 2\]"),
    ("1,2,3\n4,5,x\n", r"table\.csv is not a table of numbers"),
    ("1;2;3\n4;5;6\n", r"table\.csv is not a table of numbers"),
])
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_table_that_does_not_fit(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(path, (0, 2), 2, ",")


def test_mat(tmp_path, rows):
    path = tmp_path / "rows.mat"
    scipy.io.savemat(path, {"X": rows, "Y": np.arange(7)}, do_compression=True)
    x, y = read_mat(path, ("X", "Y"))
    np.testing.assert_array_equal(x, rows)
    np.testing.assert_array_equal(y.ravel(), np.arange(7))
    with pytest.raises(DataError, match=r"rows\.mat lacks Z"):
        read_mat(path, ("X", "Z"))
    whole = path.read_bytes()
    for cut in (0, 50, 128, 140, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"rows\.mat (is not a readable mat file|lacks X)"):
            read_mat(path, ("X", "Y"))


def test_text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("To be, or not — π\n".encode())
    assert read_text(path) == "To be, or not — π\n"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"text\.txt is not UTF-8"):
        read_text(path)
