"""GPT: the contract, its start, prompts, and what it refuses. Views and generation: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.contract import check_all
from course_lib.transformer import GPT, GPTConfig, left_pad
from tests.support.random import redrawn
from tests.support.tensors import same
from tests.support.types import untyped
from tests.transformer.checks import small


@pytest.mark.parametrize("options", [{"bos_id": 2}, {"bos_id": None, "tied": False}, {"bos_id": 0, "heads": 1}])
def test_contract(options):
    model = small(vocab_size=3, **options)
    context = None if options["bos_id"] is not None else torch.tensor([[0, 2, 1], [1, 1, 0]])
    line = str(check_all(model, length=4, context=context))
    assert "causal, normalized (sum of p over 81 states = 1.000000), both views agree" in line


def test_prompt_replaces_bos():
    model, x = small(bos_id=3), torch.tensor([[1, 2, 4]])
    same(model.log_prob(x), model.log_prob(x, torch.tensor([[3]])))
    same(model.log_prob(x), model.log_prob(x, torch.zeros(1, 0).long()))
    assert (model.log_prob(x) - model.log_prob(x, torch.tensor([[5]]))).abs() > 1e-3


def test_initialization_of_gpt2():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=500, window=64, layers=4, heads=4, d_model=128))
    assert abs(model.tokens.weight.std() - 0.02) < 1e-3
    assert abs(model.blocks[0].attention.qkv.weight.std() - 0.02) < 1e-3
    assert abs(model.blocks[0].feed_forward.narrow.weight.std() - 0.02 / 8 ** 0.5) < 1e-3
    assert (model.blocks[1].attention.qkv.bias == 0).all() and (model.norm.gamma == 1).all()
    loss = model.loss(torch.randint(500, (8, 65)))[0]
    assert abs(loss - torch.tensor(500.0).log()) < 0.1


def test_left_pad():
    tokens, mask = left_pad([[1, 2, 3], torch.tensor([4])])
    assert tokens.tolist() == [[1, 2, 3], [0, 0, 4]] and mask.tolist() == [[1, 1, 1], [0, 0, 1]]


GPT7 = redrawn(GPT(GPTConfig(7, window=5, layers=1, heads=1, d_model=4)))
WITH_BOS = redrawn(GPT(GPTConfig(7, window=5, layers=1, heads=1, d_model=4, bos_id=0)))


@pytest.mark.parametrize("make, message", [
    (lambda: GPT7(torch.tensor([[1, 7]])), r"tokens contains 7 at \[0, 1\]; a categorical variable with 7 values"),
    (lambda: GPT7(torch.tensor([[1, -1]])), "tokens contains -1"),
    (lambda: GPT7(torch.zeros(1, 6).long()), "tokens has 6 tokens per row; expected at most 5, the window"),
    (lambda: GPT7(torch.zeros(3).long()), r"tokens has shape \(3,\); expected \(B, T\)"),
    (lambda: GPT7(torch.zeros(2, 3).long(), torch.ones(2, 3)), "mask has shape .* dtype torch.float32; expected"),
    (lambda: GPT7(torch.zeros(2, 3).long(), torch.ones(2, 2).bool()), r"mask has shape \(2, 2\)"),
    (lambda: GPT7.start(2), "context is None or empty; expected a prompt .*, because this GPT has no bos_id"),
    (lambda: GPT7.start(1, torch.zeros(1, 6).long()), "context has 6 tokens per row; expected at most 5, the window"),
    (lambda: GPT7.start(2, torch.zeros(1, 3).long()), r"context has shape \(1, 3\); expected \(B, P\) with B = 2"),
    (lambda: GPT7.start(2, left_pad([[1, 2], []])), "the mask of context has an empty row"),
    (lambda: GPT7.start(1, torch.tensor([[1, 9]])), "context contains 9"),
    (lambda: WITH_BOS.log_prob(torch.zeros(1, 6).long()), "x has 6 tokens after a prompt of 1, an input of 6; expected 1 to 5"),
    (lambda: WITH_BOS.log_prob(torch.tensor([[8]])), "x contains 8"),
    (lambda: WITH_BOS.loss(torch.tensor([[1]])), r"tokens has shape \(1, 1\); expected \(B, T\) with T at least 2"),
    (lambda: GPT(GPTConfig(7, heads=5, d_model=12)), "d_model is 12; expected a multiple of heads, 5"),
    (lambda: GPTConfig(1), "vocab_size is 1; expected at least 2"),
    (lambda: GPTConfig(7, layers=0), "layers is 0; expected at least 1"),
    (lambda: GPTConfig(7, bos_id=7), "bos_id is 7; expected 0 to 6"),
    (lambda: GPT(GPTConfig(7, d_model=12, activation="swish")), "activation is 'swish'"),
    (lambda: left_pad([]), "sequences is empty"),
])
def test_bad_input(make, message):
    with untyped(), pytest.raises(ValueError, match=message):
        make()
