"""What is in the sets: the bundled digits always, the others where COURSE_DATA has them."""
from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import loadmat
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

from course_lib.data import load_data
from course_lib.data.readers import read_binary_text, read_idx
from course_lib.data.registry import REGISTRY

PARTS = ("train", "valid", "test")


def check_images(splits, sizes, columns, top, labels=True):
    """Shapes, dtype, values, labels: what every set of images promises."""
    for part, size in zip(PARTS, sizes, strict=True):
        x = getattr(splits, part)
        assert x.shape == (size, columns) and x.dtype == torch.uint8 and x.is_contiguous()
        assert x.min() == 0 and x.max() == top
        if labels:
            assert splits.labels[part].shape == (size,) and splits.labels[part].dtype == torch.int64
    assert splits.info["maximum"] == top and np.prod(splits.info["image_shape"]) == columns
    assert (splits.labels is not None) == labels


def spread(mass):
    """The variance of the position under this mass."""
    position, p = torch.arange(len(mass)), mass / mass.sum()
    return (p * (position - (p * position).sum()) ** 2).sum()


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("split", ["shuffled", "writers"])
def test_digits(split, grey):
    splits, source = load_data("digits", split=split, grey=grey), load_digits()
    check_images(splits, (1000, 350, 447), 64, 16 if grey else 1)
    images = source.data if grey else source.data >= 8
    # RandomState's stream is frozen, so this is the order on every machine and in every version of numpy.
    order = np.random.RandomState(0).permutation(1797) if split == "shuffled" else np.arange(1797)
    np.testing.assert_array_equal(torch.cat([getattr(splits, part) for part in PARTS]).numpy(), images[order])
    np.testing.assert_array_equal(torch.cat([splits.labels[part] for part in PARTS]), source.target[order])
    assert all(len(splits.labels[part].unique()) == 10 for part in PARTS)
    assert splits.info["image_shape"] == (8, 8) and (splits.info["split"], splits.info["grey"]) == (split, grey)


@pytest.mark.data
def test_mnist(course_data):
    splits = load_data("mnist")
    check_images(splits, (50000, 10000, 10000), 784, 255)
    assert splits.labels["train"][:5].tolist() == [5, 0, 4, 1, 9]    # the order that everyone knows
    assert splits.labels["test"][:5].tolist() == [7, 2, 1, 0, 4]
    whole = read_idx(course_data / "mnist" / "train-images-idx3-ubyte.gz")
    np.testing.assert_array_equal(splits.valid.view(-1, 28, 28).numpy(), whole[50000:])


@pytest.mark.data
@pytest.mark.parametrize("name, separator", [("binarized_mnist", " "), ("nltcs", ","), ("plants", ",")])
def test_binary_text_hashes(course_data, tmp_path, name, separator):
    splits = load_data(name)
    for part, file in zip(PARTS, REGISTRY[name].files, strict=True):
        x = getattr(splits, part).numpy()
        text = np.full((len(x), 2 * x.shape[1]), ord(separator), np.uint8)
        text[:, ::2] = x + ord("0")
        text[:, -1] = ord("\n")
        assert text.nbytes == file.size
        assert "sha256:" + hashlib.sha256(text).hexdigest() == file.hash, file.name
        if part == "test":
            (tmp_path / file.name).write_bytes(text.tobytes())
            np.testing.assert_array_equal(read_binary_text(tmp_path / file.name, x.shape[1], separator), x)


@pytest.mark.data
def test_caltech_silhouettes_own_split(course_data):
    splits = load_data("caltech101_silhouettes")
    check_images(splits, (4100, 2264, 2307), 784, 1)
    known = set(map(tuple, splits.train.tolist()))
    assert sum(tuple(x) in known for x in splits.test.tolist()) == 19              # chapter fvsbn states this number
    assert splits.info["comparable_with_papers"] is False and splits.info["split"] == "own"
    assert "not comparable with papers" in splits.info["protocol"]
    labels = torch.cat([splits.labels[part] for part in PARTS])
    assert labels.min() == 0 and labels.max() == 100 and len(splits.info["class_names"]) == 101
    # The same images and classes as the file, none lost or twice.
    file = loadmat(course_data / "caltech101_silhouettes" / "caltech101_silhouettes_28.mat")
    theirs = 1 - file["X"].reshape(-1, 28, 28).transpose(0, 2, 1).reshape(-1, 784)
    theirs = np.concatenate([theirs, file["Y"].ravel()[:, None] - 1], 1)
    ours = np.concatenate([torch.cat([getattr(splits, part) for part in PARTS]).numpy(), labels.numpy()[:, None]], 1)
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])
    # Upright and the object one: an aeroplane's mass spreads along the rows, and no object fills the frame's corners.
    planes = torch.cat([getattr(splits, part)[splits.labels[part] == 0] for part in PARTS]).view(-1, 28, 28).double()
    assert splits.info["class_names"][0] == "Airplanes Side 2"
    down, across = (spread(planes.sum((0, other))) for other in (2, 1))
    assert across > 1.5 * down
    assert splits.train.view(-1, 28, 28)[:, [0, 0, -1, -1], [0, -1, 0, -1]].float().mean() < 0.1


@pytest.mark.data
def test_cifar10_small(course_data):
    splits = load_data("cifar10_small")
    check_images(splits, (3000, 500, 500), 3072, 255, labels=False)
    assert splits.info["comparable_with_papers"] is False
    file = "cifar10_train_03000.png"
    line = np.asarray(Image.open(course_data / "cifar10_small" / file))[499]        # the last image of valid
    np.testing.assert_array_equal(splits.valid[-1].view(3, 1024).T.numpy(), line)
    first, same = (REGISTRY["cifar10_small"].file(name) for name in ("cifar10_batch_3.png", file))
    assert (first.hash, first.size) == (same.hash, same.size)         # the public file has another name


@pytest.mark.data
def test_tiny_shakespeare(course_data):
    splits = load_data("tiny_shakespeare")
    assert (len(splits.train), len(splits.valid), len(splits.test)) == (1003854, 55770, 55770)
    assert len(set(splits.train + splits.valid + splits.test)) == 65
    assert splits.train.startswith("First Citizen:\nBefore we proceed")


@pytest.mark.data
def test_names(course_data):
    splits = load_data("names")
    parts = [getattr(splits, part) for part in PARTS]
    assert [len(part) for part in parts] == [23595, 2949, 2950]
    lines = (course_data / "names" / "names.txt").read_text().split()
    together = [name for part in parts for name in part]
    assert len(lines) - len(together) == 2539
    assert len(set(together)) == len(together) and set(together) == set(lines)
    assert set("".join(together)) == set("abcdefghijklmnopqrstuvwxyz")


@pytest.mark.data
@pytest.mark.parametrize("name, rows, columns, gaussian", [
    ("red_wine", 1599, 11, -13.18), ("white_wine", 4898, 11, -13.20), ("parkinsons", 5875, 15, -10.85),
    ("ionosphere", 351, 32, -41.24), ("boston_housing", 506, 10, None)])
def test_tables_single_gaussian(course_data, name, rows, columns, gaussian):
    """Uria, Murray and Larochelle 2013, table 1, within a standard error: the columns and the scaling are theirs."""
    scores = []
    for fold in range(10):
        splits = load_data(name, fold=fold)
        parts = [getattr(splits, part) for part in PARTS]
        assert sum(map(len, parts)) == rows and parts[0].shape[1] == columns and parts[0].dtype == torch.float64
        x = torch.cat(parts[:2]).numpy()
        law = multivariate_normal(x.mean(0), np.cov(x.T, bias=True))
        scores.append(law.logpdf(parts[2].numpy()).mean())
    if gaussian is not None:
        assert abs(np.mean(scores) - gaussian) < np.std(scores, ddof=1) / np.sqrt(10)
    assert splits.info["comparable_with_papers"] is (gaussian is not None)


@pytest.mark.data
def test_multi30k(course_data):
    splits = load_data("multi30k")
    assert [len(getattr(splits, part)) for part in PARTS] == [29000, 1014, 1000]
    german, english = splits.train[0]
    assert german == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    assert english == "Two young, White males are outside near many bushes."
    back = load_data("multi30k", source="en", target="fr")
    assert [pair[0] for pair in back.test] == [pair[1] for pair in splits.test]
    assert "29,000 pairs" in repr(splits)
    with pytest.raises(ValueError, match="source and target are both 'en'"):
        load_data("multi30k", source="en", target="en")


@pytest.mark.data
@pytest.mark.parametrize("name, sizes, share, first", [
    ("sst2", [6920, 872, 1821], 0.52, "a stirring , funny and finally transporting re imagining of beauty and the beast and 1930s "
     "horror films"),
    ("cola", [8551, 527, 516], 0.70, "Our friends won't buy this analysis, let alone the next one we propose.")])
def test_labelled_sentences(course_data, name, sizes, share, first):
    splits = load_data(name)
    assert [len(getattr(splits, part)) for part in PARTS] == sizes
    assert [len(splits.labels[part]) for part in PARTS] == sizes
    assert splits.train[0] == first and splits.labels["train"][0] == 1
    assert splits.labels["train"].double().mean().item() == pytest.approx(share, abs=0.01)
    assert all(text and "\t" not in text for part in PARTS for text in getattr(splits, part))
    assert splits.info["comparable_with_papers"] is False and len(splits.info["class_names"]) == 2
