"""Heads switched off: their part of the output is gone, nothing else, and it is back afterwards."""
from __future__ import annotations

import copy

import pytest
import torch

from course_lib.transformer import BERT, GPT, BERTConfig, GPTConfig, MultiHeadAttention
from course_lib.transformer.heads import silenced, switched_off


def gpt() -> GPT:
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=9, window=7, layers=2, heads=3, d_model=12)).double().eval()
    model.randomize(torch.Generator().manual_seed(1))
    return model


def without(model: GPT, layer: int, heads: set[int]) -> GPT:
    """A copy whose W^O has zeros where these heads are read."""
    copy = gpt()
    copy.load_state_dict(model.state_dict())
    K = 12 // 3
    with torch.no_grad():
        for h in heads:
            copy.blocks[layer].attention.out.weight[:, h * K:(h + 1) * K] = 0
    return copy


@pytest.mark.parametrize("layer, heads", [(0, {0}), (0, {1, 2}), (1, {2}), (1, {0, 1, 2})])
def test_switched_off_equals_zero_columns(layer, heads):
    model, tokens = gpt(), torch.randint(9, (2, 7), generator=torch.Generator().manual_seed(2))
    before, expected = model(tokens), without(model, layer, heads)
    with switched_off(model, [(layer, h) for h in heads]):
        torch.testing.assert_close(model(tokens), expected(tokens), rtol=0, atol=1e-12)
        for ours, theirs in zip(model.attention_weights(tokens), expected.attention_weights(tokens), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        assert (model(tokens) - before).abs().max() > 1e-3
    assert torch.equal(model(tokens), before)


def test_switched_off_undone_after_error():
    torch.manual_seed(0)
    model = BERT(BERTConfig(vocab_size=9, window=7, layers=1, heads=2, d_model=8)).eval()
    tokens = torch.randint(9, (1, 7))
    before = model(tokens)
    with pytest.raises(RuntimeError), switched_off(model, [(0, 1)]):
        assert not torch.equal(model(tokens).tokens, before.tokens)
        raise RuntimeError
    assert torch.equal(model(tokens).tokens, before.tokens)


@pytest.mark.parametrize("pair", [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_switched_off_refuses_heads(pair):
    model = gpt()
    sentence = rf"heads contains \({pair[0]}, {pair[1]}\); expected layers 0 to 1 and heads 0 to 2 of this model"
    with pytest.raises(ValueError, match=sentence):
        with switched_off(model, [(0, 0), pair]):
            pass
    assert not any(block.attention.out._forward_pre_hooks for block in model.blocks)


def test_silenced_layer():
    """A layer alone, self-attention and cross-attention: the same as zeros in the columns of W^O."""
    torch.manual_seed(0)
    layer, x, memory = MultiHeadAttention(12, 3).double(), torch.randn(2, 5, 12).double(), torch.randn(2, 4, 12).double()
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.out.weight[:, 4:8] = 0
    before = layer(x), layer(x, memory)
    with silenced(layer, [1, 1]):
        torch.testing.assert_close(layer(x), other(x), rtol=0, atol=1e-12)
        torch.testing.assert_close(layer(x, memory), other(x, memory), rtol=0, atol=1e-12)
    assert torch.equal(layer(x), before[0]) and torch.equal(layer(x, memory), before[1])
    with silenced(layer, []):
        assert torch.equal(layer(x), before[0])
    with pytest.raises(ValueError, match=r"heads contains \[0, 3\]; expected indices of the layer's heads, 0 to 2"), silenced(layer, [3, 0]):
        pass
