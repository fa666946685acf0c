"""What an unexplained answer depends on is found by calling it again."""
from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.grading import EXERCISES, Exercise, evaluate
from course_lib.grading.diagnosis import describe_ignored_argument
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
    (lambda x, W, c, *rest: answer(x * torch.tensor([1, 1, 1, 0]), W, c, *rest), "Your result does not change when x[:, 3] does; the right one does."),
    (lambda x, W, c, *rest: answer(x, W, c, *rest) + torch.randn(3, 4), "Two calls with the same arguments give different results"),
])
def test_ignored_argument_is_named(change, says):
    for seed in range(4):
        report = grade(mixed(), Local(change).call, seed)
        assert says in report.message, report


def test_ignored_argument_of_first_wrong_part():
    exercise = Exercise("two", "00", "Made up", "q (n,), k (6, n), scale", [], 1, 1)
    exercise.reference()(lambda q, k, scale: (q.exp().sum(), (k @ q * scale).tanh()))
    exercise.compare("values", lambda generator: [
        (torch.randn(n, generator=generator), torch.randn(6, n, generator=generator), scale) for n, scale in ((4, 0.7), (7, 1.2))])
    report = grade(exercise, Local(lambda q, k, s: (q.exp().sum(), (k @ q).tanh() + k.sum(1))).call, 0)
    assert report.message == "Result[0] is right. Your result[1] does not change when scale does; the right one does.", report


def test_argument_without_effect_on_one_row_is_not_ignored():
    """The softmax over the rows is constant where there is one row, which is the smallest case; elsewhere it depends on W."""
    exercise = Exercise("rows", "00", "Made up", "W (3, 3), V (3, 2), x (B, 3)", [], 1, 1)
    exercise.reference()(lambda W, V, x: (x @ W).softmax(-1) @ V)
    exercise.compare("values", lambda generator: [
        tuple([torch.randn(*shape, generator=generator) for shape in ((3, 3), (3, 2), (B, 3))]) for B in (1, 4)])
    for seed in range(4):
        report = grade(exercise, Local(lambda W, V, x: (x @ W).softmax(0) @ V).call, seed)
        assert report.state == "wrong_value" and "not depend" not in report.message, report


def test_part_is_not_explained_by_a_misconception_that_another_check_refutes():
    """A path that is empty for another reason: the first check has shown that paths end."""
    report = evaluate("generate_beam", product_of_probabilities, 3)
    assert report.earned == 6 and "ever ends" not in report.message, report


def product_of_probabilities(next_probs, history, k, max_len):
    """Right for short sentences; the product of hundreds of probabilities is 0."""
    live, best, best_p = [(list(history), 1.0)], [], 0.0
    for _ in range(max_len):
        grown = sorted(((path + [w], p * q) for path, p in live for w, q in next_probs(path).items()), key=lambda pair: -pair[1])[:k]
        live = [(path, p) for path, p in grown if path[-1] != "</s>"]
        for path, p in grown:
            if path[-1] == "</s>" and p > best_p:
                best, best_p = path, p
    return best, math.log(best_p) if best_p else -math.inf


def test_closed_unit_is_not_ignored_argument():
    """At this x the unit is closed for the small change, and opens for the other one."""
    exercise = Exercise("closed", "00", "Made up", "x (3,)", [], 1, 1)

    @exercise.reference()
    def reference(x):
        return x.exp() + 0.3 * x

    x = torch.tensor([-2.0, -1.0, 3.0])
    call = Local(lambda x: x.relu().exp() + 0.1).call
    check = exercise.compare("values", lambda generator: [(x,)]).checks[0]
    [record] = check.records(exercise, call, torch.Generator())
    assert "not depend" not in (describe_ignored_argument(exercise, call, check, record, [record]) or "")


class Attention(nn.Module):
    """Right but for what `left_out` names."""

    left_out = ""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, memory=None, mask=None):
        x = x * (torch.arange(x.shape[-1]) > 0) if self.left_out == "feature" else x
        D, memory = x.shape[-1], x if memory is None else memory
        weight, bias = self.qkv.weight, self.qkv.bias
        q = x @ weight[:D].T + (0 if self.left_out == "bias of q" else bias[:D])
        k, v = (memory @ weight[D:].T + bias[D:]).chunk(2, dim=-1)
        k = (memory + 0.1) @ weight[D:2 * D].T if self.left_out == "nothing" else k
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (q, k, v))
        mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        y = F.scaled_dot_product_attention(q, k.roll(1, 0) if self.left_out == "nothing" else k, v, mask)
        return F.linear(y.transpose(1, 2).flatten(2), self.out.weight, None if self.left_out == "out" else self.out.bias)


@pytest.mark.parametrize("left_out, says", [("bias of q", "qkv.bias[0]"), ("out", "out.bias"), ("nothing", None)])
def test_ignored_parameter_is_named(left_out, says, monkeypatch):
    monkeypatch.setattr(EXERCISES["OwnMultiHeadAttention"], "forbid", ())
    found = evaluate("OwnMultiHeadAttention", type("Mine", (Attention,), {"left_out": left_out}), 0)
    assert found.state == "wrong_value"
    said = f"Your result does not change when {re.escape(says or '')}, a parameter of your class, does; the right one does\\."
    assert re.fullmatch(said, found.message) if says else "a parameter of your class" not in found.message, found.message
