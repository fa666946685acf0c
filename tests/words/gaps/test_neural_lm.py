"""The neural language model of 2003: the equation, the contract, what it must refuse."""
from __future__ import annotations

import math
import re

import pytest
import torch

from course_lib.contract import check_all
from course_lib.words import NeuralLM
from tests.words.gaps import checks as check


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("n", [2, 3])
def test_contract(n, direct):
    check_all(NeuralLM(n, 3, 2, 3, direct=direct, bos_id=0), length=4)


def test_contract_with_prompt():
    check_all(NeuralLM(3, 3, 2, 3), length=3, context=torch.tensor([[2, 1]]))


def test_loss_equals_log_prob():
    model, rows = NeuralLM(3, 5, 2, 4, bos_id=0).double(), check.TEXT
    mean, words = model.loss(rows)
    assert words == rows.numel()
    assert math.isclose(float(mean.detach()) * words, -float(model.log_prob(rows).sum().detach()))
    real = torch.ones_like(rows, dtype=torch.bool)
    real[1, 2:] = False
    mean, words = model.loss((rows, real))
    want = -float(model.log_prob(rows[:1]).detach()) - float(model.log_prob(rows[1:, :2]).detach())
    assert words == 7 and math.isclose(float(mean.detach()) * 7, want)


@pytest.mark.parametrize("arguments, message", [
    ((1, 5, 2, 3), "n is 1; expected at least 2"),
    ((3, 1, 2, 3), "vocab_size is 1; expected at least 2"),
    ((3, 5, 0, 3), "width is 0; expected at least 1"),
    ((3, 5, 2, 0), "hidden is 0; expected at least 1"),
    ((3, 5, 2, 3, False, 5), "bos_id is 5; expected 0 to 4, the ids of this vocabulary"),
])
def test_bad_sizes(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        NeuralLM(*arguments)


def test_bad_input():
    model = NeuralLM(3, 5, 2, 3, bos_id=0)
    with pytest.raises(ValueError, match=r"x has shape \(2, 0\); expected at least one symbol in each"):
        model.log_prob(torch.zeros(2, 0, dtype=torch.long))
    with pytest.raises(ValueError, match="x contains 5"):
        model.log_prob(torch.tensor([[1, 5]]))
    with pytest.raises(ValueError, match=r"context is None; without a bos_id"):
        NeuralLM(3, 5, 2, 3).log_prob(torch.tensor([[1, 2]]))
    with pytest.raises(ValueError, match="context has 1 symbols; expected at least 2"):
        NeuralLM(3, 5, 2, 3).log_prob(torch.tensor([[1, 2]]), torch.tensor([[1]]))
