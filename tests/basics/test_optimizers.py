"""The optimizers on numbers and tensors, and what they refuse. Their steps beside torch's: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.basics import SGD, Adam, AdamW, Momentum, Value
from tests.basics import checks as check

ONE = [torch.zeros(1)]


@pytest.mark.parametrize("rule", [SGD, Momentum, Adam, AdamW])
def test_values_and_tensors_same_steps(rule):
    number, tensor = Value(2.0), torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
    ours, theirs = rule([number], lr=0.1), rule([tensor], lr=0.1)
    for _ in range(30):
        for optimizer, v in ((ours, number), (theirs, tensor)):
            optimizer.zero_grad()
            ((v - 0.5) ** 4 + v * v).backward()
            optimizer.step()
    check.close(number.data, tensor.item(), rule.__name__)


def test_skips_parameters_without_gradient():
    used, unused = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = AdamW([used, unused], lr=0.1, weight_decay=0.5)
    used.sum().backward()
    optimizer.step()
    assert (used < 1).all() and (unused == 1).all()


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: SGD([], lr=0.1), "parameters is empty; expected at least one"),
    (lambda: SGD(ONE, lr=0), "lr is 0; expected a finite positive number"),
    (lambda: SGD(ONE, lr=float("nan")), "lr is nan; expected a finite positive number"),
    (lambda: Momentum(ONE, lr=0.1, mu=1), "mu is 1; expected at least 0 and less than 1"),
    (lambda: Adam(ONE, betas=(0.9, 1.5)), r"betas\[1\] is 1.5; expected at least 0 and less than 1"),
    (lambda: Adam(ONE, eps=0), "eps is 0; expected a finite positive number"),
    (lambda: AdamW(ONE, weight_decay=-1), "weight_decay is -1; expected 0 or more"),
])
def test_bad_input(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()
