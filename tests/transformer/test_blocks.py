"""Blocks against torch's layers, and against the six equations."""
from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.transformer import DecoderBlock, FeedForward, LayerNorm, Residual, TransformerBlock, blocks, layer_norm
from course_lib.transformer.blocks import slide_weights
from tests.support.random import normal, redrawn
from tests.support.tensors import gradients, same
from tests.transformer import checks as check


def test_layer_norm_is_torchs():
    check.is_torchs_layer_norm(layer_norm)
    with pytest.raises(AssertionError):                              # a sample's variance differs, most in small widths
        check.is_torchs_layer_norm(lambda x, g, b, eps: g * (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps)
                                   ** 0.5 + b)


def test_the_module_is_the_function():
    norm, x = redrawn(LayerNorm(6, eps=0.1)), normal(4, 3, 6, grad=True)
    want = layer_norm(x, norm.gamma, norm.beta, 0.1)
    same(norm(x), want)
    for a, b in zip(gradients(norm(x), [x, norm.gamma, norm.beta]), gradients(want, [x, norm.gamma, norm.beta])):
        same(a, b)


def test_rows_far_from_zero_and_constant_rows():
    x = torch.tensor([[1e4, 1e4 + 1, 1e4 + 2, 1e4 + 3], [5, 5, 5, 5]], dtype=torch.float64)
    got = layer_norm(x, torch.ones(4).double(), torch.zeros(4).double())
    same(got, nn.LayerNorm(4).double()(x), 1e-8)
    assert got[1].tolist() == [0, 0, 0, 0]


def test_feed_forward_is_position_wise():
    net, x = redrawn(FeedForward(6, 11)), normal(2, 5, 6)
    same(net(x)[:, 3], net(x[:, 3]))
    same(net(x), torch.relu(x @ net.widen.weight.T + net.widen.bias) @ net.narrow.weight.T + net.narrow.bias)


def test_the_norm_stands_where_it_says():
    check.stands_where_it_says(Residual)


def test_encoder_block_is_torchs_layer():
    check.is_torchs_encoder_layer(blocks)


def test_decoder_block_is_torchs_layer():
    check.is_torchs_decoder_layer(blocks)


def test_the_six_equations():
    check.is_the_six_equations(blocks)


def test_the_slides_composition_of_layers_differs():
    """Where the second residual adds the block's input, the result is another one."""
    block, x = redrawn(TransformerBlock(12, 3, 20)), normal(1, 4, 12)
    u = block.residual1(x, block.attention)
    same(block(x), block.residual2.norm(u + block.feed_forward(u)))
    assert (block(x) - block.residual2.norm(x + block.feed_forward(u))).abs().max() > 0.1


@pytest.mark.parametrize("norm", ["post", "pre", "inner"])
def test_skip_connections_let_gradients_through(norm):
    """Twenty-four feed-forward layers at their first weights: without the skip next to nothing comes back."""
    torch.manual_seed(0)
    layers = [(Residual(12, norm).double(), FeedForward(12, 20).double()) for _ in range(24)]
    x = normal(1, 5, 12, grad=True)
    y = z = x
    for residual, f in layers:
        y, z = residual(y, f), f(z)
    assert gradients(y, [x])[0].norm() > 0.3 and gradients(z, [x])[0].norm() < 1e-6


def test_dropout_in_training_alone():
    block = redrawn(TransformerBlock(12, 3, 20, dropout=0.3))
    x = normal(2, 4, 12)
    same(block(x), block(x))
    block.train()
    assert (block(x) - block(x)).abs().max() > 0.1


def test_a_decoder_continues_from_its_cache():
    from course_lib.transformer import KVCache
    block, x, m = redrawn(DecoderBlock(12, 3, 20)), normal(2, 6, 12), normal(2, 4, 12, seed=1)
    cache, memory = KVCache(), block.cross_attention.keys_values(m)
    with torch.no_grad():
        parts = [block(part, memory, cache=cache) for part in x.split([2, 1, 3], dim=1)]
    same(torch.cat(parts, dim=1), block(x, m))


@pytest.mark.parametrize("make, message", [
    (lambda: Residual(4, "both"), 'norm is \'both\'; expected "post", "pre" or "inner"'),
    (lambda: FeedForward(4, 8, "swish"), "activation is 'swish'; there are relu, gelu, gelu_tanh"),
    (lambda: slide_weights(TransformerBlock(12, 3, 20)), "the block has biases"),
    (lambda: TransformerBlock(12, 5, 20), "d_model is 12, which 5 heads do not divide"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
