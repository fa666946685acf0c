"""Columns and classes that have no solution, and bad input. Solutions beside scikit-learn's: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.basics import LogisticRegression, gradient_descent, normal_equation
from tests.support.random import normal


def test_rank_deficient_columns():
    X = normal(10, 3)
    X = torch.cat([X, X[:, :1] - X[:, 1:2]], dim=1)
    with pytest.raises(ValueError, match="X has 4 columns and rank 3"):
        normal_equation(X, normal(10))


def test_separable_classes_need_penalty():
    x, y = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]]).double(), torch.tensor([0, 0, 1, 1])
    with pytest.raises(RuntimeError, match="after 500 steps .* set a penalty if the classes are separable"):
        LogisticRegression(1).double().fit(x, y, max_steps=500)
    fitted = LogisticRegression(1, penalty=0.1).double().fit(x, y)
    assert fitted.weight > 0 and abs(fitted.bias.item()) < 1e-6


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: LogisticRegression(0), "n is 0; expected at least one input"),
    (lambda: LogisticRegression(2, penalty=-1), "penalty is -1; expected 0 or more"),
    (lambda: LogisticRegression(2)(torch.zeros(1, 3)), "x has 3 columns; expected 2, the number of inputs"),
    (lambda: LogisticRegression(2).loss(torch.zeros(2, 2), torch.tensor([0, 2])), "y contains 2; expected 0 and 1 only"),
    (lambda: LogisticRegression(2).fit(torch.zeros(0, 2), torch.zeros(0)), "x has no rows; expected at least one"),
    (lambda: gradient_descent(lambda b: b, torch.zeros(1), 0, 3), "lr is 0; expected a finite positive number"),
    (lambda: gradient_descent(lambda b: b, torch.zeros(1), 0.1, -1), "steps is -1; expected 0 or more"),
])
def test_bad_input(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()
