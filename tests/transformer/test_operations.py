"""What attention and a recurrent network cost: multiplications and additions, counted as they happen."""
from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.transformer import MultiHeadAttention, attention_weights


def operations(call) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def recurrent(n: int, d: int) -> None:
    cell, h = nn.RNNCell(d, d), torch.zeros(1, d)
    for x in torch.randn(n, 1, d):
        h = cell(x, h)


@pytest.mark.parametrize("n, d", [(8, 24), (16, 24), (48, 24), (16, 12)])
def test_attention_grows_with_the_square_of_the_length_and_a_recurrent_network_with_that_of_the_width(n, d):
    x = torch.randn(1, n, d)
    assert operations(lambda: attention_weights(x, x) @ x) == 4 * n * n * d          # 2 for q k', 2 for the mean of values
    assert operations(lambda: recurrent(n, d)) == 4 * n * d * d                      # 2 for the input, 2 for the state


def test_the_projections_of_attention_are_linear_in_the_length():
    n, d = 10, 12
    layer, x = MultiHeadAttention(d, heads=3), torch.randn(1, n, d)
    projections = operations(lambda: layer.out(layer.qkv(x)[..., :d]))
    assert projections == 2 * n * d * 4 * d
