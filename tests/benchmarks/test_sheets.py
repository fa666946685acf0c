"""The few real images that ship: those of the test set, whole, with their source named."""
from __future__ import annotations

import pytest
import torch

from benchmarks.reproduce import sheets as make
from course_lib import data
from course_lib.data import sheets


@pytest.mark.parametrize("name", make.SETS)
def test_a_sheet_holds_sixteen_different_binary_images(name):
    x = sheets.sheet(name)
    assert x.shape == (16, 784) and x.dtype == torch.uint8
    assert set(x.unique().tolist()) == {0, 1}
    assert len({tuple(row) for row in x.tolist()}) == 16
    readme = (sheets.SHEETS / "README.md").read_text(encoding="utf-8")
    assert f"`{name}.npz`" in readme


@pytest.mark.parametrize("name", make.GREY)
def test_a_grey_sheet_holds_sixteen_different_images_of_sixteen_levels(name):
    x = sheets.sheet(name)
    assert x.shape == (16, 196) and x.dtype == torch.uint8 and (x.min(), x.max()) == (0, 15)
    assert len({tuple(row) for row in x.tolist()}) == 16
    assert f"`{name}.npz`" in (sheets.SHEETS / "README.md").read_text(encoding="utf-8")
    assert (sheets.SHEETS / f"{name}.npz").stat().st_size < 4000


def test_an_unknown_sheet_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="name is 'digits'; there is a sheet of: binarized_mnist, caltech101_silhouettes, "
                                         "fashion_mnist, mnist"):
        sheets.sheet("digits")


@pytest.mark.data
def test_the_sheets_are_what_the_command_makes_from_the_test_sets(tmp_path, capsys):
    make.make(tmp_path)
    for name in (*make.SETS, *make.GREY):
        assert (tmp_path / f"{name}.npz").read_bytes() == (sheets.SHEETS / f"{name}.npz").read_bytes()
        if name in make.SETS:
            test = {tuple(row) for row in data.load_data(name).test.tolist()}
            assert all(tuple(row) in test for row in sheets.sheet(name).tolist())
