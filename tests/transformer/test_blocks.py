"""A decoder block with a cache, and bad input. Values and gradients beside torch's layers: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.transformer import DecoderBlock, FeedForward, Residual, TransformerBlock
from course_lib.transformer.blocks import slide_weights
from tests.support.random import normal, redrawn
from tests.support.tensors import same


def test_decoder_block_cache():
    from course_lib.transformer import KVCache
    block, x, m = redrawn(DecoderBlock(12, 3, 20)), normal(2, 6, 12), normal(2, 4, 12, seed=1)
    cache, memory = KVCache(), block.cross_attention.keys_values(m)
    with torch.no_grad():
        parts = [block(part, memory, cache=cache) for part in x.split([2, 1, 3], dim=1)]
    same(torch.cat(parts, dim=1), block(x, m))


@pytest.mark.parametrize("make, message", [
    (lambda: Residual(4, "both"), 'norm is \'both\'; expected "post", "pre" or "inner"'),
    (lambda: FeedForward(4, 8, "swish"), "activation is 'swish'; expected one of relu, gelu, gelu_tanh"),
    (lambda: slide_weights(TransformerBlock(12, 3, 20)), "block has bias=True"),
    (lambda: TransformerBlock(12, 5, 20), "d_model is 12; expected a multiple of heads, 5"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
