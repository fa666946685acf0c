"""What an answer does with its arguments is found by experiments, and said when nothing simpler is to be seen."""
from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.grading import EXERCISES, Exercise, evaluate
from course_lib.grading.exercise.checks import Record
from course_lib.grading.exercise.facts import NAMELESS, of_numbers
from course_lib.grading.judge.dependence import depends_on, part_of
from course_lib.grading.judge.judge import judge
from course_lib.grading.sandbox.inside.local import Local
from tests.grading.answers import WRONG


def mixed():
    """exp(x) W + c, of which row i belongs to row i of x; with a switch and an exponent."""
    exercise = Exercise("mixed", "00", "Made up", "x (3, 4), W (4, 4), c (4,)", [], 1, 1)

    @exercise.reference()
    def reference(x, W, c, double=False, power=1.5, bugs=frozenset()):
        return (x.exp() @ W + c) * (2 if double else 1) * power ** 2

    def cases(generator):
        return [(torch.randn(3, 4, generator=generator), torch.randn(4, 4, generator=generator),
                 torch.randn(4, generator=generator), True, 1.5)]

    return exercise.compare("values", cases)


def answer(x, W, c, double, power):
    return (x.exp() @ W + c) * (2 if double else 1) * power ** 2


@pytest.mark.parametrize("change, says", [
    (lambda x, W, c, *rest: answer(x, W, 0 * c, *rest), "Your result does not depend on c."),
    (lambda x, W, c, double, power: answer(x, W, c, double, 1.2), "Your values are 0.64 times"),
    (lambda x, W, c, *rest: answer(x, W.T, c, *rest), "for W.mT in the place of W: its rows and columns are exchanged"),
    (lambda x, W, c, *rest: answer(-x, W, c, *rest), "for -x in the place of x: a sign"),
    (lambda x, W, c, *rest: answer(x, W.flip(-1), c, *rest), "for W.flip(-1) in the place of W: it is read from the end"),
    (lambda x, W, c, *rest: answer(x, W, c, *rest) + x.sum(0), "changes with x[0, :]; the right one does not."),
    (lambda x, W, c, *rest: answer(x * torch.tensor([1, 1, 1, 0]), W, c, *rest), "does not depend on x[:, 3]."),
    (lambda x, W, c, *rest: answer(x * torch.tensor([1, 1, 1, 1.4]), W, c, *rest), "What x[:, 3] does to your result is not what"),
    (lambda x, W, c, *rest: answer(x, W, c, *rest) + torch.randn(3, 4), "Two calls with the same arguments give different results"),
])
def test_what_an_answer_does_with_its_arguments(change, says):
    for seed in range(4):
        report = judge(mixed(), Local(change).call, seed)
        assert says in report.message, report


def test_zeros_for_ones_and_true_for_false():
    exercise = Exercise("bits", "00", "Made up", "x (5,), p (5,), keep (5,)", [], 1, 1)

    @exercise.reference()
    def reference(x, p, keep, bugs=frozenset()):
        return (torch.where(x == 1, p, 1 - p).log() * keep).sum()

    def cases(generator):
        p = 0.1 + 0.8 * torch.rand(5, generator=generator)
        return [(torch.tensor([1.0, 0, 1, 1, 0]), p, torch.tensor([True, False, True, True, True])) for _ in range(2)]

    exercise.compare("values", cases)
    for other, says in ((lambda x, p, keep: exercise.solve(1 - x, p, keep), "for 1 - x in the place of x: 0 and 1 are"),
                        (lambda x, p, keep: exercise.solve(x, p, ~keep), "for ~keep in the place of keep: True and False")):
        assert says in judge(exercise, Local(other).call, 0).message


def two(q, k, scale, bugs=frozenset()):
    return q.exp().sum(), (k @ q * scale).tanh()


@pytest.mark.parametrize("answer, says", [
    (lambda q, k, s: (two(q, k, s)[0], two(q, k / len(q) ** 0.5, s)[1]), "Result[0] is right. Your result[1] is what q / len(q) ** 0.5"),
    (lambda q, k, s: two(q, k, 1 / s), "Result[0] is right. Your result[1] is what 1 / scale in the place of scale should give."),
    (lambda q, k, s: two(q, k - k.mean(0), s), "Your result[1] is what k - k.mean(0) in the place of k should give."),
    (lambda q, k, s: two(q.tanh(), k, s), "Your result[0] is what q.tanh() in the place of q should give."),
    (lambda q, k, s: (two(q * s, k, s)[0], 2 * two(q, k, s)[1]), "Your result[0] changes with scale; the right one does not, in this case."),
])
def test_of_several_results_the_first_wrong_one_is_looked_at_and_arguments_are_treated(answer, says):
    exercise = Exercise("two", "00", "Made up", "q (n,), k (6, n), scale", [], 1, 1)
    exercise.reference()(two)
    exercise.compare("values", lambda generator: [
        (torch.randn(n, generator=generator), torch.randn(6, n, generator=generator), scale) for n, scale in ((4, 0.7), (7, 1.2))])
    for seed in range(3):
        report = judge(exercise, Local(answer).call, seed)
        assert says in report.message, report


def test_what_should_have_been_done_to_an_argument_first_is_told():
    exercise = Exercise("sharpened", "00", "Made up", "q (n,), k (6, n)", [], 1, 1)
    exercise.reference()(lambda q, k, bugs=frozenset(): (k.softmax(1) @ q).tanh() + q.sum())
    exercise.compare("values", lambda generator: [
        (torch.randn(n, generator=generator), torch.randn(6, n, generator=generator)) for n in (4, 7)])
    report = judge(exercise, Local(lambda q, k: (k @ q).tanh() + q.sum()).call, 0)
    assert "Your result is right for k.softmax(1) in the place of k." in report.message, report


def test_what_is_right_with_arguments_exchanged_in_one_case_alone_is_not_told():
    exercise = Exercise("apart", "00", "Made up", "a (n,), b (n,)", [], 1, 1)
    exercise.reference()(lambda a, b, bugs=frozenset(): a.exp() - b)
    exercise.compare("values", lambda generator: [tuple(torch.randn(2, n, generator=generator)) for n in (40, 30)])
    everywhere = judge(exercise, Local(lambda a, b: b.exp() - a).call, 0)
    assert "Your result is right if a and b are exchanged." in everywhere.message, everywhere
    once = judge(exercise, Local(lambda a, b: b.exp() - a if len(a) == 40 else b.exp() - 3 * a).call, 0)
    assert "exchanged" not in once.message, once


def test_what_a_treated_argument_gives_by_chance_is_not_told():
    """Results of 0 and 1 alone agree with many; and one case alone proves nothing where another refutes it."""
    exercise = Exercise("choice", "00", "Made up", "x (5,)", [], 1, 1)

    @exercise.reference()
    def reference(x, bugs=frozenset()):
        return (x > 0.5).float()

    exercise.compare("values", lambda generator: [(torch.randn(5, generator=generator) * 2,) for _ in range(2)])
    assert "in the place of" not in judge(exercise, Local(lambda x: (x > 1).float()).call, 0).message
    summed = Exercise("summed", "00", "Made up", "x (n,)", [], 1, 1)
    summed.reference()(lambda x, bugs=frozenset(): x.exp() + x)
    summed.compare("values", lambda generator: [(torch.randn(n, generator=generator),) for n in (4, 3)])
    halved = judge(summed, Local(lambda x: summed.solve(x / 2 if len(x) == 4 else x / 3)).call, 0)
    assert "in the place of" not in halved.message, halved


def test_a_closed_unit_or_a_sure_softmax_is_not_taken_for_no_dependence():
    """At this x the unit is closed for the small change, and opens for the other one."""
    exercise = Exercise("closed", "00", "Made up", "x (3,)", [], 1, 1)

    @exercise.reference()
    def reference(x, bugs=frozenset()):
        return x.exp() + 0.3 * x

    x = torch.tensor([-2.0, -1.0, 3.0])
    answer = Local(lambda x: x.relu().exp() + 0.1)
    check = exercise.compare("values", lambda generator: [(x,)]).checks[0]
    [record] = check.records(exercise, answer.call, torch.Generator())
    assert isinstance(record, Record)
    assert "not depend" not in (depends_on(exercise, answer.call, check, [record]) or "")


def test_several_cases_tell_a_factor_or_a_size():
    sizes = [{"len(x)": 3.0, "V": 9.0}, {"len(x)": 5.0, "V": 9.0}, {"len(x)": 8.0, "V": 9.0}]
    right = [1.1, -2.3, 0.7]
    for values, says in (([r * n["len(x)"] for r, n in zip(right, sizes, strict=True)], "times len(x), in every case"),
                         ([r * (n["len(x)"] - 1) / n["len(x)"] for r, n in zip(right, sizes, strict=True)],
                          "times (len(x) - 1) / len(x), in"),
                         ([r / n["len(x)"] ** 0.5 for r, n in zip(right, sizes, strict=True)], "times 1 / the root of len(x)"),
                         ([r * 1.7 for r in right], "1.7 times what it should be, in every case"),
                         ([r + 0.25 for r in right], "off by the same +0.25 in every case"),
                         ([r * f for r, f in zip(right, (1.011, 1.002, 1.013), strict=True)], "a little too large")):
        assert says in of_numbers(values, right, sizes)
    assert of_numbers([1.0, 2.0, 3.0], right, sizes) is None and of_numbers([float("nan")] * 3, right, sizes) is None


@pytest.mark.slow
def test_of_wrong_values_that_nobody_foresaw_five_in_six_are_told_more_than_a_side():
    messages = {}
    for name, fn in WRONG.items():
        if EXERCISES[name.split(":")[0]].trains:
            continue
        report = evaluate(name.split(":")[0], fn, 0)
        if report.state == "wrong_value" and not report.misconception:
            messages[name] = report.message
    nameless = {name: message for name, message in messages.items() if NAMELESS.search(message)}
    assert len(messages) > 80 and len(nameless) <= len(messages) / 6, nameless


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


@pytest.mark.parametrize("left_out, says", [("bias of q", r"qkv\.bias\[0:\d+\]"), ("feature", r"qkv\.weight\[:, 0\]"),
                                            ("out", r"out\.bias"), ("nothing", None)])
def test_the_parameter_that_a_class_leaves_out_is_named(left_out, says, monkeypatch):
    monkeypatch.setattr(EXERCISES["OwnMultiHeadAttention"], "forbid", ())
    found = evaluate("OwnMultiHeadAttention", type("Mine", (Attention,), {"left_out": left_out}), 0)
    assert found.state == "wrong_value"
    said = f"Your result does not depend on {says}, a parameter of your class\\."
    assert re.fullmatch(said, found.message) if says else "a parameter of your class" not in found.message, found.message


def test_parts_are_named_by_their_rows_or_columns():
    def named(still, lost=None):
        return part_of("W", still if lost is None else lost, still)

    rows, column = torch.zeros(6, 4, dtype=torch.bool), torch.zeros(6, 4, dtype=torch.bool)
    rows[2:4], column[:, 3] = True, True
    assert named(rows) == "W[2:4]" and named(rows.T) == "W[:, 2:4]" and named(rows & column) == "W[2:4, 3]"
    assert named(column, column & rows) == "W[:, 3]"                            # elsewhere the right one moves too little
    assert named(~rows) == "16 of the 24 entries of W, [0, 0] the first"
    assert named(rows | ~rows) == "W" and part_of("b", torch.arange(3) == 1, torch.arange(3) == 1) == "b[1]"
