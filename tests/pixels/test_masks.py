"""Masks against their definition in loops, masked layers against torch's convolution, and what they refuse."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from course_lib.pixels import CausalConv2d, MaskedConv2d, kernel_mask
from course_lib.pixels.pixelrnn import skew, unskew
from tests.pixels import checks as check
from tests.support.random import normal


@pytest.mark.parametrize("kind", ["A", "B"])
@pytest.mark.parametrize("k, groups, above", [(1, 1, True), (3, 1, True), (3, 3, True), (5, 3, False), (7, 1, True)])
def test_masked_convolution_equals_torch(k, kind, groups, above):
    check.is_torchs_convolution(MaskedConv2d(6, 9, k, kind, groups, above))


def test_causal_convolution_equals_torch():
    layer, x = CausalConv2d(2, 3, 5).double(), normal(1, 2, 6, 7)
    weight = torch.zeros(3, 2, 5, 5, dtype=torch.float64)
    weight[:, :, :3] = layer.weight.detach()
    torch.testing.assert_close(layer(x), F.conv2d(x, weight, layer.bias, padding=2))


@pytest.mark.parametrize("H, W", [(1, 1), (1, 4), (4, 1), (3, 5), (5, 3)])
def test_skew_round_trip(H, W):
    x = normal(2, 3, H, W)
    s = skew(x)
    assert s.shape == (2, 3, H, H + W - 1)
    for r in range(H):
        for c in range(W):
            assert torch.equal(s[:, :, r, r + c], x[:, :, r, c])
    assert s.abs().sum() == pytest.approx(x.abs().sum().item()) and torch.equal(unskew(s), x)


@pytest.mark.parametrize("make, message", [
    (lambda: kernel_mask(4, "A"), "k is 4; expected an odd number"),
    (lambda: kernel_mask(3, "C"), "kind is 'C'; expected 'A' or 'B'"),
    (lambda: kernel_mask(3, "A", 4, 3, 3), "outputs is 4; expected a multiple of 3"),
    (lambda: MaskedConv2d(3, 3, 0, "A"), "k is 0; expected an odd number"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
