"""What an unexplained answer depends on is found by calling it again."""
from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.grading import EXERCISES, Exercise, evaluate
from course_lib.grading.protocol.calls import Local
from course_lib.grading.verdict import grade


def mixed():
    """exp(x) W + c, of which row i belongs to row i of x; with a switch and an exponent."""
    exercise = Exercise("mixed", "00", "Made up", "x (3, 4), W (4, 4), c (4,)", [], 1, 1)

    @exercise.reference()
    def reference(x, W, c, double=False, power=1.5):
        return (x.exp() @ W + c) * (2 if double else 1) * power ** 2

    def cases(generator):
        return [(torch.randn(3, 4, generator=generator), torch.randn(4, 4, generator=generator),
                 torch.randn(4, generator=generator), True, 1.5)]

    return exercise.compare("values", cases)


def answer(x, W, c, double, power):
    return (x.exp() @ W + c) * (2 if double else 1) * power ** 2


@pytest.mark.parametrize("change, says", [
    (lambda x, W, c, *rest: answer(x, W, 0 * c, *rest), "Your result does not change when c does; the right one does."),
    (lambda x, W, c, double, power: answer(x, W, c, double, 1.2), "Your values are 0.64 times"),
    (lambda x, W, c, *rest: answer(x, W, c, *rest) + torch.randn(3, 4), "Two calls with the same arguments give different results"),
])
def test_ignored_argument_is_named(change, says):
    for seed in range(4):
        report = grade(mixed(), Local(change).call, seed)
        assert says in report.message, report


def test_argument_without_effect_on_one_row_is_not_ignored():
    """The softmax over the rows is constant where there is one row, which is the smallest case; elsewhere it depends on W."""
    exercise = Exercise("rows", "00", "Made up", "W (3, 3), V (3, 2), x (B, 3)", [], 1, 1)
    exercise.reference()(lambda W, V, x: (x @ W).softmax(-1) @ V)
    exercise.compare("values", lambda generator: [
        tuple([torch.randn(*shape, generator=generator) for shape in ((3, 3), (3, 2), (B, 3))]) for B in (1, 4)])
    for seed in range(4):
        report = grade(exercise, Local(lambda W, V, x: (x @ W).softmax(0) @ V).call, seed)
        assert report.state == "wrong_value" and "does not change" not in report.message, report


class Attention(nn.Module):
    """Right but for what `left_out` names."""

    left_out = ""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, memory=None, mask=None):
        D, memory = x.shape[-1], x if memory is None else memory
        q = x @ self.qkv.weight[:D].T + self.qkv.bias[:D]
        k, v = (memory @ self.qkv.weight[D:].T + self.qkv.bias[D:]).chunk(2, dim=-1)
        k = (memory + 0.1) @ self.qkv.weight[D:2 * D].T if self.left_out == "nothing" else k
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (q, k, v))
        mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        y = F.scaled_dot_product_attention(q, k.roll(1, 0) if self.left_out == "nothing" else k, v, mask)
        return F.linear(y.transpose(1, 2).flatten(2), self.out.weight, None if self.left_out == "out" else self.out.bias)


@pytest.mark.parametrize("left_out, says", [("out", "out.bias"), ("nothing", None)])
def test_ignored_parameter_is_named(left_out, says, monkeypatch):
    monkeypatch.setattr(EXERCISES["OwnMultiHeadAttention"], "forbid", ())
    found = evaluate("OwnMultiHeadAttention", type("Mine", (Attention,), {"left_out": left_out}), 0)
    assert found.state == "wrong_value"
    said = f"Your result does not change when {re.escape(says or '')}, a parameter of your class, does; the right one does\\."
    assert re.fullmatch(said, found.message) if says else "a parameter of your class" not in found.message, found.message
