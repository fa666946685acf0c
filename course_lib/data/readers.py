"""Read the file formats of the data sets: idx, npz, png, binary text, tables, mat, plain text. Nothing is unpickled.

The argument `path` is the path of the file. Each reader raises DataError if the content does not have the format.
"""

from __future__ import annotations

import gzip
import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from course_lib.data.download import DataError

# Errors that the decoders raise for truncated or altered bytes.
DAMAGE = (
    AttributeError, EOFError, IndexError, KeyError, NotImplementedError, OSError, SyntaxError, TypeError, ValueError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)


def read_idx(path: Path) -> np.ndarray:
    """Read a gzipped idx file (bytes 0 0 8 d, the d sizes as big-endian int32, the values) to a uint8 array."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except DAMAGE as error:
        raise _error(path.name, f"is not a complete gzip file: {error}") from None
    if raw[:3] != b"\x00\x00\x08" or len(raw) < 4 or len(raw) < 4 + 4 * raw[3]:
        raise _error(path.name, f"starts with {raw[:4].hex(' ')}; expected 00 00 08, as in an idx file of bytes")
    start = 4 + 4 * raw[3]
    shape = tuple(np.frombuffer(raw, ">i4", count=raw[3], offset=4).tolist())
    if len(raw) - start != math.prod(shape):
        raise _error(path.name, f"has {len(raw) - start} values; expected the shape {shape}, which its header states")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape).copy()


def read_npz(path: Path, keys: tuple[str, ...]) -> list[np.ndarray]:
    """Read the arrays with the names `keys` of an npz file, in this order."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            missing = [key for key in keys if key not in arrays]
            if missing:
                raise _error(path.name, f"lacks {', '.join(missing)}; it has {', '.join(arrays)}")
            return [arrays[key] for key in keys]
    except DAMAGE as error:
        raise _error(path.name, f"is not a readable npz file of plain arrays: {error}") from None


def read_png(path: Path, height: int, width: int) -> np.ndarray:
    """Read a PNG file of 8-bit colors: uint8 (height, width, 3)."""
    from matplotlib.image import imread  # slow to import

    try:
        picture = imread(path, format="png")                         # float32, each level divided by 255
    except DAMAGE as error:
        raise _error(path.name, f"is not a complete png file: {error}") from None
    if picture.shape != (height, width, 3) or picture.dtype != np.float32:
        raise _error(path.name, f"is a picture of shape {picture.shape}; expected ({height}, {width}, 3)")
    return (255 * picture).round().astype(np.uint8)


def read_binary_text(path: Path, columns: int, separator: str) -> np.ndarray:
    """Read N lines of zeros and ones, as in .amat and .data files: uint8 (N, columns).

    columns    number of values in a line
    separator  the character between two values of a line
    """
    raw = np.frombuffer(path.read_bytes(), np.uint8)
    if raw.size == 0 or raw.size % (2 * columns):
        raise _error(path.name, f"has {raw.size} bytes; expected lines of {2 * columns} bytes for {columns} values")
    lines = raw.reshape(-1, 2 * columns)
    values, between = lines[:, ::2] - ord("0"), lines[:, 1::2]       # a byte below "0" wraps to a value above 1
    ends = np.full(columns, ord(separator), np.uint8)
    ends[-1] = ord("\n")
    if values.max() > 1 or (between != ends).any():
        line = ((values > 1) | (between != ends)).any(axis=1).argmax() + 1
        raise _error(path.name, f"has an invalid line {line}; expected {columns} zeros and ones separated by "
                     f"{separator!r}")
    return values


def read_table(path: Path, columns: Sequence[int], rows: int, separator: str | None = None,
               header: bool = False) -> np.ndarray:
    """Read the columns with indices `columns` of a numeric table: float64 (rows, len(columns)).

    separator  text between columns; None for white space
    rows       expected number of rows
    header     whether the first line has the names of the columns
    """
    try:
        values = np.loadtxt(path, delimiter=separator, skiprows=int(header), usecols=columns, ndmin=2)
    except DAMAGE as error:
        raise _error(path.name, f"is not a table of numbers with the columns {list(columns)}: {error}") from None
    if len(values) != rows:
        raise _error(path.name, f"has {len(values)} rows; expected {rows}")
    if not np.isfinite(values).all():
        raise _error(path.name, f"contains {values[~np.isfinite(values)][0]}; expected finite numbers")
    return values


def read_mat(path: Path, keys: tuple[str, ...]) -> list[np.ndarray]:
    """Read the arrays `keys` of a MATLAB file, in this order; verify it before, since altered bytes can crash SciPy."""
    from scipy.io import loadmat  # slow to import
    from scipy.io.matlab import MatReadError

    try:
        arrays = loadmat(path, variable_names=keys)
    except (MatReadError, *DAMAGE) as error:
        raise _error(path.name, f"is not a readable mat file: {error}") from None
    missing = [key for key in keys if key not in arrays]
    if missing:
        raise _error(path.name, f"lacks {', '.join(missing)}")
    return [arrays[key] for key in keys]


def read_text(path: Path, member: str | None = None) -> str:
    """Read UTF-8 text from a text file, a .gz file or the file `member` of a zip file; line ends become newlines."""
    try:
        if member is not None:
            with zipfile.ZipFile(path) as packed:
                raw = packed.read(member)
        else:
            raw = path.read_bytes() if path.suffix != ".gz" else gzip.decompress(path.read_bytes())
    except DAMAGE as error:
        raise _error(path.name, f"cannot be unpacked: {error}") from None
    try:
        return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8").read()
    except UnicodeDecodeError as error:
        raise _error(path.name, f"is not UTF-8 text: {error}") from None


def read_rows(text: str, name: str, columns: int) -> list[list[str]]:
    """Split a text into lines, each a list of `columns` fields separated by tabs; quotes have no special meaning.

    name  name of the file, for messages
    """
    lines = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    for number, line in enumerate(lines, 1):
        if len(line) != columns:
            raise _error(name, f"has {len(line)} fields in line {number}; expected {columns}")
    return lines


def _error(name: str, wrong: str) -> DataError:
    """Create the error that the file `name` is not as published; `wrong` is the predicate of the sentence."""
    return DataError(f"{name} {wrong}. Replace the file, or delete it and load the data set again")
