"""Loaders of data sets: read the files and split them into train, valid and test."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from einops import rearrange, reduce
from torch import Tensor

from course_lib.data.download import DataError, fetch, local
from course_lib.data.readers import (
    read_binary_text,
    read_idx,
    read_mat,
    read_npz,
    read_png,
    read_rows,
    read_table,
    read_text,
)
from course_lib.data.registry import Entry

PARTS = ("train", "valid", "test")


@dataclass(frozen=True, repr=False)
class Splits:
    """A data set with the parts train, valid and test.

    name                name of the data set
    train, valid, test  images as uint8 tensors (N, n), flattened row by row; tables as float64 tensors (N, columns);
                        a text as a str; sentences and names as a list of str; translations as a list of (source,
                        target), both str
    labels              {"train", "valid" or "test": class of each item, (N,), int64}; None without classes
    info                dict of protocol, licence, citation, key (of the citation in the book's bibliography), the
                        options of `load_data`, and comparable_with_papers, whether papers use the same split and
                        preprocessing. For images also image_shape and maximum (the largest level), with labels often
                        class_names, for tables columns (indices), mean and standard_deviation (on train, unscaled)

    >>> from course_lib.data import load_data
    >>> digits = load_data("digits")
    >>> digits.train.shape, digits.valid.shape, digits.test.shape
    (torch.Size([1000, 64]), torch.Size([350, 64]), torch.Size([447, 64]))
    """

    name: str
    train: Tensor | str | list
    valid: Tensor | str | list
    test: Tensor | str | list
    labels: dict[str, Tensor] | None = None
    info: dict[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{part} {_describe(getattr(self, part))}" for part in PARTS)


def _describe(part: Tensor | str | list) -> str:
    if isinstance(part, Tensor):
        return f"{tuple(part.shape)} {str(part.dtype).removeprefix('torch.')}"
    return f"{len(part):,} characters" if isinstance(part, str) else f"{len(part):,} {'strings' if isinstance(part[0], str) else 'pairs'}"


def read(entry: Entry, **options) -> Splits:
    """Load the data set of a registry entry, with a value in `options` for each key of `entry.options`."""
    load = globals()[entry.loader]
    splits = load(entry, **entry.arguments, **options)
    facts = {"comparable_with_papers": True, **splits.info, **options}
    for name in ("protocol", "licence", "citation", "key"):
        facts[name] = getattr(entry, name)
    return Splits(splits.name, splits.train, splits.valid, splits.test, splits.labels, facts)


def load_digits(entry: Entry, split: str, grey: bool) -> Splits:
    """The 8 x 8 digits of scikit-learn: 1,000 for training, 350 for validation, 447 for testing.

    split  "shuffled", or "writers" to keep the order of the file, where adjacent images are most likely of one writer
    grey   keep the gray levels, 0 to 16, instead of binarizing them: 1 for 8 or more
    """
    from sklearn.datasets import load_digits  # slow to import

    digits = load_digits()
    x = torch.from_numpy(digits.data.astype(np.uint8))               # (1797, 64), 0 to 16
    y = torch.from_numpy(digits.target.astype(np.int64))
    if not grey:
        x = (x >= 8).to(torch.uint8)
    if split == "shuffled":                                          # "writers": in the order of the file
        order = _permutation(len(x))
        x, y = x[order], y[order]
    info = {"image_shape": (8, 8), "maximum": 16 if grey else 1, "comparable_with_papers": False}
    return _labelled(entry, x.split([1000, 350, 447]), y.split([1000, 350, 447]), info)


def load_idx_images(entry: Entry) -> Splits:
    """MNIST or Fashion-MNIST from idx files: 50,000 images for training, 10,000 for validation, 10,000 for testing."""
    x, y = {}, {}
    for part in ("train", "t10k"):
        images = read_idx(fetch(entry.name, entry.file(f"{part}-images-idx3-ubyte.gz")))
        labels = read_idx(fetch(entry.name, entry.file(f"{part}-labels-idx1-ubyte.gz")))
        x[part] = torch.from_numpy(images).flatten(1)                # (N, 28, 28) -> (N, 784)
        y[part] = torch.from_numpy(labels.astype(np.int64))
    (x_train, x_valid), (y_train, y_valid) = x["train"].split([50000, 10000]), y["train"].split([50000, 10000])
    info = {"image_shape": (28, 28), "maximum": 255}
    return _labelled(entry, (x_train, x_valid, x["t10k"]), (y_train, y_valid, y["t10k"]), info)


def load_binary_text(entry: Entry, columns: int, separator: str, **info) -> Splits:
    """A binary data set, from an npz file in COURSE_DATA, or from text files with a row of zeros and ones per line.

    columns, separator  number of values in a line, and the character between them
    info                `info` of the result
    """
    (packed,) = entry.packed
    path = local(entry.name, packed)
    if path is not None:
        arrays = read_npz(path, PARTS)
    else:
        arrays = [read_binary_text(fetch(entry.name, file), columns, separator) for file in entry.files]
    return Splits(entry.name, *map(torch.from_numpy, arrays), info=info)


def load_caltech(entry: Entry, split: str) -> Splits:
    """Caltech 101 Silhouettes, 28 x 28, from a MATLAB file.

    split  "official", or "own" for a random split into parts of the sizes of the official split
    """
    info = {"image_shape": (28, 28), "maximum": 1, "comparable_with_papers": split == "official"}
    if split == "official":
        path = fetch(entry.name, entry.file("caltech101_silhouettes_28_split1.mat"))
        keys = ("train_data", "val_data", "test_data", "train_labels", "val_labels", "test_labels", "classnames")
        *arrays, names = read_mat(path, keys)
        x, y = arrays[:3], arrays[3:]
    else:
        path = fetch(entry.name, entry.file("caltech101_silhouettes_28.mat"))
        images, labels, names = read_mat(path, ("X", "Y", "classnames"))
        cuts = (4100, 4100 + 2264)                                   # the sizes of the published split
        order = _permutation(len(images))
        x, y = np.split(images[order], cuts), np.split(labels.ravel()[order], cuts)
    # Images are stored column by column, with 0 for the object.
    x = [rearrange(torch.from_numpy(1 - a.astype(np.uint8)), "N (column row) -> N (row column)", row=28) for a in x]
    y = [torch.from_numpy(a.ravel().astype(np.int64) - 1) for a in y]
    return _labelled(entry, x, y, info | {"class_names": [str(name.item()) for name in names.ravel()]})


def load_cifar10_small(entry: Entry, side: int) -> Splits:
    """4,000 images of CIFAR-10, reduced to `side` x `side` pixels by averaging; a row of a file is an image."""
    files = [local(entry.name, ours) or fetch(entry.name, file) for ours, file in zip(entry.packed, entry.files)]
    x = np.concatenate([read_png(path, 1000, 1024) for path in files])
    x = rearrange(torch.from_numpy(x), "N (h w) C -> N C h w", h=32)
    if side < 32:
        means = reduce(x.double(), "N C (h a) (w b) -> N C h w", "mean", h=side, w=side)
        x = (means + 0.5).floor().to(torch.uint8)                    # the nearest level, halves upwards
    info = {"image_shape": (3, side, side), "maximum": 255, "comparable_with_papers": False}
    return Splits(entry.name, *x.flatten(1).split([3000, 500, 500]), info=info)


def load_tiny_shakespeare(entry: Entry) -> Splits:
    """Tiny Shakespeare, split into consecutive parts of 90, 5 and 5 % of the characters."""
    text = read_text(fetch(entry.name, entry.files[0]))
    first = int(0.9 * len(text))
    second = first + (len(text) - first) // 2
    return Splits(entry.name, text[:first], text[first:second], text[second:])


def load_names(entry: Entry) -> Splits:
    """Distinct first names in a fixed random order, split into parts of 80, 10 and 10 %."""
    distinct = sorted(set(read_text(fetch(entry.name, entry.files[0])).split()))
    names = [distinct[i] for i in _permutation(len(distinct))]
    first, second = int(0.8 * len(names)), int(0.9 * len(names))
    info = {"comparable_with_papers": False}                         # there is no standard split
    return Splits(entry.name, names[:first], names[first:second], names[second:], info=info)


def load_multi30k(entry: Entry, source: str, target: str) -> Splits:
    """Multi30k: pairs of a sentence in the language `source` and its translation to the language `target`."""
    if source == target:
        raise ValueError(f"source and target are both {source!r}; expected two languages")
    parts = []
    for part in ("train", "val", "test_2016_flickr"):
        sides = [read_text(fetch(entry.name, entry.file(f"{part}.{language}.gz"))).removesuffix("\n").split("\n")
                 for language in (source, target)]
        if len(sides[0]) != len(sides[1]):
            raise DataError(f"{entry.name}: {part} has {len(sides[0])} lines of {source} and {len(sides[1])} of {target}; "
                            "expected one translation per line. Delete the files to download them again")
        parts.append(list(zip(*sides)))
    return Splits(entry.name, *parts)


def load_sst2(entry: Entry) -> Splits:
    """SST-2: sentences of film reviews with the label 0, negative, or 1, positive."""
    rows = [read_rows(read_text(fetch(entry.name, file)), file.name, 2) for file in entry.files]
    return _sentences(entry, [[(text, label) for text, label in part] for part in rows], ["negative", "positive"])


def load_cola(entry: Entry) -> Splits:
    """CoLA: sentences with the label 0, grammatically unacceptable, or 1, acceptable; tested out of domain."""
    path = fetch(entry.name, entry.files[0])
    rows = [read_rows(read_text(path, f"cola_public/raw/{part}.tsv"), part, 4)
            for part in ("in_domain_train", "in_domain_dev", "out_of_domain_dev")]
    return _sentences(entry, [[(text, label) for _, label, _, text in part] for part in rows],
                      ["unacceptable", "acceptable"])


def _sentences(entry: Entry, parts: list[list[tuple[str, str]]], class_names: list[str]) -> Splits:
    """Build the splits from (sentence, label) lists of train, valid and test. DataError unless labels are 0 or 1."""
    for rows in parts:
        if odd := {label for _, label in rows} - {"0", "1"}:
            raise DataError(f"{entry.name}: a label is {min(odd)!r}; expected '0' or '1'. Delete the files to download "
                            "them again")
    labels = {part: torch.tensor([int(label) for _, label in rows]) for part, rows in zip(PARTS, parts)}
    return Splits(entry.name, *([text for text, _ in rows] for rows in parts), labels=labels,
                  info={"class_names": class_names, "comparable_with_papers": False})


def load_folds(entry: Entry, fold: int, standardize: bool, rows: int, columns: tuple[int, ...], **form) -> Splits:
    """A numeric table in ten folds: test on fold `fold`, validate on the next fold, train on the other eight folds.

    standardize    scale columns to mean 0 and standard deviation 1 on the training rows
    rows, columns  number of rows, and indices, from 0, of the columns that are read
    form           `separator` and `header` of `read_table`
    """
    x = read_table(fetch(entry.name, entry.files[0]), columns, rows, **form)
    folds = np.array_split(_permutation(rows), 10)
    held = (fold, (fold + 1) % 10)
    train = np.concatenate([rest for k, rest in enumerate(folds) if k not in held])
    mean, deviation = x[train].mean(axis=0), x[train].std(axis=0)    # of the training rows only
    if standardize:
        x = (x - mean) / deviation
    info = {"mean": mean.tolist(), "standard_deviation": deviation.tolist(), "columns": list(columns),
            "comparable_with_papers": entry.name != "boston_housing"}
    return Splits(entry.name, *(torch.from_numpy(x[part]) for part in (train, folds[held[1]], folds[fold])), info=info)


def _labelled(entry: Entry, x, y, info: dict) -> Splits:
    for part, images, labels in zip(PARTS, x, y, strict=True):
        if len(images) != len(labels):
            raise DataError(f"{entry.name}: {part} has {len(images)} images and {len(labels)} labels; expected equal "
                            "numbers. Delete the files to download them again")
    return Splits(entry.name, *x, labels=dict(zip(PARTS, y)), info=info)


def _permutation(count: int) -> list[int]:
    """A fixed permutation of 0 to count - 1; the stream of RandomState is the same in all versions of NumPy."""
    return np.random.RandomState(0).permutation(count).tolist()
