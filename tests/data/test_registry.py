"""The table, and the small face of the package: load, available, describe, the command line."""
from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
import scipy.io
import torch

from course_lib.data import DataError, available, describe, load_data, loaders
from course_lib.data.__main__ import main
from course_lib.data.loaders import _permutation
from course_lib.data.registry import REGISTRY, File
from tests.support.png import png

NAMES = ["digits", "mnist", "binarized_mnist", "fashion_mnist", "caltech101_silhouettes", "cifar10_small",
         "nltcs", "plants", "tiny_shakespeare", "names", "red_wine", "white_wine", "parkinsons", "ionosphere", "boston_housing",
         "multi30k", "sst2", "cola"]


def test_entries_complete():
    assert available() == NAMES
    assert all(callable(getattr(loaders, entry.loader)) for entry in REGISTRY.values())
    paths = [file.path for entry in REGISTRY.values() for file in (*entry.files, *entry.packed)]
    assert len(set(paths)) == len(paths)
    for entry in REGISTRY.values():
        assert entry.licence and entry.citation and entry.key and entry.protocol and entry.shape
        assert all(file.urls for file in entry.files) and not any(file.urls for file in entry.packed)
        for file in entry.files:
            assert all(url.rsplit("/", 1)[-1].startswith(("http", file.name)) or entry.name == "tiny_shakespeare"
                       for url in file.urls)


@pytest.mark.parametrize("hash", [
    "", "sha256:", f"sha256:{'g' * 64}", f"sha256:{'A' * 64}", f"md5:{'0' * 31}", "0" * 64, f"sha256:{'0' * 64}\n"])
def test_file_unknown_hash(hash):
    with pytest.raises(ValueError, match="A file that cannot be verified is not loaded"):
        File("toy/a.bin", 1, hash, ("http://127.0.0.1/a.bin",))


@pytest.mark.parametrize("wrong, near", [
    ("binarised_mnist", "binarized_mnist"), ("MNIST", "mnist"), ("shakespeare", "tiny_shakespeare"), ("nlcts", "nltcs")
])
def test_load_data_unknown_name(wrong, near):
    for call in (load_data, describe):
        with pytest.raises(ValueError, match=f"name is '{wrong}'; did you mean '{near}'\\? Expected one of digits"):
            call(wrong)


@pytest.mark.parametrize("call, message", [
    (lambda: load_data("nltcs", grey=True), "nltcs was given the option 'grey'; expected one of: none"),
    (lambda: load_data("digits", gray=True), "digits was given the option 'gray'; expected one of: split, grey"),
    (lambda: load_data("digits", split="shuffle"), "^split is 'shuffle'; expected one of 'shuffled', 'writers' for digits$"),
    (lambda: load_data("digits", split=0), "^split is 0; expected one of 'shuffled', 'writers' for digits$"),
    (lambda: load_data("digits", grey="yes"), "grey is 'yes'; expected one of False, True for digits"),
    (lambda: load_data("caltech101_silhouettes", split="mine"), "split is 'mine'; .* one of 'own', 'official'"),
    (lambda: load_data("red_wine", fold=10), "fold is 10; expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 for red_wine"),
    (lambda: load_data("ionosphere", standardize="no"), "standardize is 'no'; expected one of True, False for ionosphere"),
])
def test_load_data_unknown_option(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_permutation_fixed():
    """The splits of digits, names and silhouettes hang on these numbers: a change in numpy must not move a row."""
    for count, digest in ((1797, "d1db653f"), (8671, "f7dbf25a"), (29494, "4b1f9c9f"), (1599, "174efb39")):
        order = _permutation(count)
        assert sorted(order) == list(range(count))
        assert hashlib.sha256(",".join(map(str, order)).encode()).hexdigest()[:8] == digest


# Sets built here, served under the names of the real ones.

@pytest.fixture
def replaced(monkeypatch):
    def replaced(name, **fields):
        monkeypatch.setitem(REGISTRY, name, dataclasses.replace(REGISTRY[name], **fields))

    return replaced


def rows(count: int, columns: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (count, columns)).astype(np.uint8)


@pytest.mark.parametrize("name, columns, separator, ending", [
    ("nltcs", 16, ",", "data"), ("plants", 69, ",", "data"), ("binarized_mnist", 784, " ", "amat")])
def test_load_data_binary_text(server, cache, row, replaced, name, columns, separator, ending):
    parts = {part: rows(count, columns, count) for part, count in (("train", 9), ("valid", 4), ("test", 5))}
    files = []
    for part, array in parts.items():
        text = "".join(separator.join(map(str, line)) + "\n" for line in array.tolist()).encode()
        files.append(row(f"{name}/{part}.{ending}", text, server.serve(part, text)))
        assert part in REGISTRY[name].files[len(files) - 1].name     # the table has them in this order
    replaced(name, files=tuple(files))
    splits = load_data(name)
    for part, array in parts.items():
        np.testing.assert_array_equal(getattr(splits, part).numpy(), array)
    assert splits.labels is None and splits.info["protocol"] == REGISTRY[name].protocol
    server.serve("valid", b"altered")
    (cache / name / f"valid.{ending}").unlink()
    with pytest.raises(DataError, match=f"^{name}: "):
        load_data(name)


def test_load_data_silhouettes_official(server, cache, tmp_path, replaced):
    """The file stores each image by columns, 0 for the object, and counts classes from 1."""
    sizes = {"train": 6, "val": 3, "test": 4}
    upright = {part: rows(count, 784, count).reshape(-1, 28, 28) for part, count in sizes.items()}
    arrays = {f"{part}_data": 1 - x.transpose(0, 2, 1).reshape(-1, 784) for part, x in upright.items()}
    arrays |= {f"{part}_labels": np.arange(1, len(x) + 1)[:, None] for part, x in upright.items()}
    scipy.io.savemat(tmp_path / "a.mat", {**arrays, "classnames": np.array([["Ant", "Bee"]], dtype=object)})
    body = (tmp_path / "a.mat").read_bytes()
    name = "caltech101_silhouettes_28_split1.mat"
    file = File(f"toy/{name}", None, "md5:" + hashlib.md5(body).hexdigest(), (server.serve(name, body),))
    replaced("caltech101_silhouettes", files=(REGISTRY["caltech101_silhouettes"].files[0], file))
    splits = load_data("caltech101_silhouettes", split="official")
    for part, key in (("train", "train"), ("valid", "val"), ("test", "test")):
        np.testing.assert_array_equal(getattr(splits, part).view(-1, 28, 28).numpy(), upright[key])
        assert splits.labels[part].tolist() == list(range(len(upright[key])))
    assert splits.info["comparable_with_papers"] is True and splits.info["class_names"] == ["Ant", "Bee"]
    assert server.asked == [name]


def test_load_data_cifar10_small(server, cache, row, replaced):
    """From the public files; the planes one after another, and a smaller pixel the mean of a square, rounded."""
    g = np.random.default_rng(2)
    drawn = [g.integers(0, 256, (5, 32, 32, 3)).astype(np.uint8) for _ in range(4)]
    drawn[0][0, :4, :4, 0] = np.array([[3, 4] * 2] * 4)              # mean 3.5: a level of 4
    bodies = [png(np.concatenate([x, np.zeros((995, 32, 32, 3), np.uint8)]).reshape(1000, 1024, 3)) for x in drawn]
    files = [row(f"cifar10_small/{k}.png", body, server.serve(str(k), body)) for k, body in enumerate(bodies)]
    replaced("cifar10_small", files=tuple(files))
    splits, small = load_data("cifar10_small"), load_data("cifar10_small", side=8)
    for part, at, images in (("train", 1000, drawn[1]), ("train", 2000, drawn[2]), ("valid", 0, drawn[3])):
        for k, image in enumerate(images):
            got = getattr(splits, part)[at + k]
            np.testing.assert_array_equal(got.view(3, 32, 32).numpy(), np.moveaxis(image, 2, 0))
            mean = image.astype(float).reshape(8, 4, 8, 4, 3).mean(axis=(1, 3))
            np.testing.assert_array_equal(getattr(small, part)[at + k].view(3, 8, 8).numpy(),
                                          np.moveaxis(np.floor(mean + 0.5), 2, 0))
    assert small.train[0, 0] == 4 and small.info["image_shape"] == (3, 8, 8) and small.labels is None
    assert [len(small.train), len(small.valid), len(small.test)] == [3000, 500, 500]
    with pytest.raises(ValueError, match="side is 4; expected one of 32, 16, 8 for cifar10_small"):
        load_data("cifar10_small", side=4)


def test_load_data_names(server, cache, row, replaced):
    lines = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    text = "\n".join(lines + lines[:40]).encode()
    replaced("names", files=(row("names/names.txt", text, server.serve("names", text)),))
    splits = load_data("names")
    assert [len(splits.train), len(splits.valid), len(splits.test)] == [80, 10, 10]
    assert sorted(splits.train + splits.valid + splits.test) == lines
    assert splits.train != sorted(splits.train)                      # a random cut, not an alphabetical one


def test_load_data_text(server, cache, row, replaced):
    text = "".join(chr(97 + i % 26) for i in range(207))
    replaced("tiny_shakespeare", files=(row("t/input.txt", text.encode(), server.serve("t", text.encode())),))
    splits = load_data("tiny_shakespeare")
    assert splits.train + splits.valid + splits.test == text
    assert [len(splits.train), len(splits.valid), len(splits.test)] == [186, 10, 11]


@pytest.mark.parametrize("name, kept, width, separator, header", [
    ("red_wine", range(11), 12, ";", True), ("parkinsons", (*range(3, 6), *range(7, 10), *range(12, 16), *range(17, 22)),
                                             22, ",", True),
    ("ionosphere", range(2, 34), 34, ",", False), ("boston_housing", (0, 1, 2, 4, 5, 6, 7, 10, 12, 13), 14, None, False)])
def test_load_data_tables(server, cache, row, replaced, name, kept, width, separator, header):
    """In ten folds each row tests once and validates once; the test fold is an outlier that train must not see."""
    replaced(name, arguments=REGISTRY[name].arguments | {"rows": 43})
    values = np.random.default_rng(1).normal(3, 2, (43, width)).round(3)
    values[_permutation(43)[:5]] += 1000                             # the rows of fold 0
    lines = [(separator or "  ").join(map(str, line)) + (",g" if name == "ionosphere" else "") for line in values]
    text = "\n".join([*(["a header, quoted"] if header else []), *lines, ""]).encode()
    replaced(name, files=(row(f"uci/{name}.csv", text, server.serve(name, text)),))
    tested, validated = [], []
    for fold in range(10):
        splits, raw = load_data(name, fold=fold), load_data(name, fold=fold, standardize=False)
        assert [len(raw.train) + len(raw.valid) + len(raw.test), raw.train.shape[1]] == [43, len(kept)]
        assert len(raw.test) in (4, 5) and raw.train.dtype == torch.float64
        mean, deviation = (torch.tensor(splits.info[key], dtype=torch.float64) for key in ("mean", "standard_deviation"))
        np.testing.assert_allclose(splits.train.mean(0), 0, atol=1e-12)
        np.testing.assert_allclose(splits.train.numpy().std(0), 1)
        for part in ("train", "valid", "test"):
            np.testing.assert_allclose(getattr(splits, part) * deviation + mean, getattr(raw, part), atol=1e-9)
        if fold == 0:
            assert (splits.test > 100).all()
        tested.append(raw.test), validated.append(raw.valid)
    for parts in (tested, validated):
        found = torch.cat(parts).numpy()
        np.testing.assert_array_equal(found[np.lexsort(found.T)], values[:, kept][np.lexsort(values[:, kept].T)])
    assert splits.info["comparable_with_papers"] is (name != "boston_housing") and splits.info["fold"] == 9


# The command line.

def test_command_line(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES
    assert main(["show", "nltcs"]) == 0
    assert capsys.readouterr().out == describe("nltcs") + "\n"
    assert main(["fetch", "digits"]) == 0
    assert capsys.readouterr().out == "digits: train (1000, 64) uint8, valid (350, 64) uint8, test (447, 64) uint8\n"


def test_command_line_errors(capsys, folder):
    assert main(["show", "digit"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("name is 'digit'; did you mean 'digits'?")
    (folder / "names").mkdir()
    (folder / "names" / "names.txt").write_text("ada\nbob\n")
    assert main(["fetch", "names"]) == 1
    assert capsys.readouterr().err.startswith("names: names/names.txt in COURSE_DATA has hash sha256:")
