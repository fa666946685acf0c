"""What a network refuses. Its values and gradients: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.basics import MLP


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: MLP([3]), r"widths is \[3\]; expected two or more sizes, from input to output"),
    (lambda: MLP([3, 1], "swish"), "activation is 'swish'; expected one of sigmoid, tanh, relu, identity"),
    (lambda: MLP([3, 1])(torch.zeros(2, 4)), "x has 4 columns; expected 3, the number of inputs"),
    (lambda: MLP([3, 2, 1]).collapsed(), "activation is 'tanh'; expected 'identity'"),
])
def test_bad_input(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()
