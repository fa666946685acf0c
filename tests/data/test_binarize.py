"""Grey levels to zeros and ones: the law, the generator, and the levels it refuses."""
from __future__ import annotations

import pytest
import torch

from course_lib.data import binarize, load_data


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_threshold():
    assert binarize(torch.tensor([0, 127, 128, 255], dtype=torch.uint8), "threshold").tolist() == [0, 0, 1, 1]
    assert binarize(torch.tensor([0.0, 0.499, 0.5, 1.0]), "threshold").tolist() == [0, 0, 1, 1]
    grey, binary = load_data("digits", grey=True), load_data("digits")
    for part in ("train", "valid", "test"):
        ours = binarize(getattr(grey, part), "threshold", maximum=16)
        assert ours.dtype == torch.uint8
        assert torch.equal(ours, getattr(binary, part))


def test_dynamic_probabilities():
    grey = torch.tensor([0, 16, 51, 128, 240, 255], dtype=torch.uint8)
    draws = binarize(grey.expand(100_000, 6), "dynamic", generator()).double().mean(0)
    assert draws[0] == 0 and draws[5] == 1                           # certain, not nearly so
    p = grey.double() / 255
    assert ((draws - p).abs() < 4.5 * (p * (1 - p) / 100_000).sqrt() + 1e-9).all()


def test_dynamic_generator():
    grey = torch.full((64, 64), 0.5)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    same = generator(7)
    first, second = binarize(grey, "dynamic", same), binarize(grey, "dynamic", same)
    assert not torch.equal(first, second)
    assert torch.equal(first, binarize(grey, "dynamic", generator(7)))
    assert torch.equal(state, torch.get_rng_state())
    assert first.shape == grey.shape and first.dtype == torch.uint8


@pytest.mark.parametrize("arguments, message", [
    ((torch.tensor([0.5]), "fixed"), "method is 'fixed'; expected one of 'threshold', 'dynamic'"),
    ((torch.tensor([0.5]), "dynamic"), "generator is None"),
    ((torch.tensor([0.2, 1.5]), "threshold"), r"x contains 1\.5; expected gray levels from 0 to maximum = 1"),
    ((torch.tensor([0.2, -0.1]), "threshold"), r"x contains -0\.1"),
    ((torch.tensor([0.2, float("nan")]), "threshold"), "x contains nan"),
    ((torch.tensor([3, 17]), "threshold", None, 16), "x contains 17; expected gray levels from 0 to maximum = 16"),
    ((torch.tensor([0.2]), "threshold", None, 0), "maximum is 0"),
])
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        binarize(*arguments)


@pytest.mark.gpu
def test_on_a_gpu():
    grey = torch.linspace(0, 1, 1000, device="cuda")
    drawn = binarize(grey, "dynamic", torch.Generator("cuda").manual_seed(0))
    assert drawn.device == grey.device and 0 < drawn.sum() < 1000
