"""What answers are compared with is computed once in the tests of the bank: never for other arguments, and no verdict changes."""
from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from course_lib.grading import EXERCISES, Exercise, evaluate
from tests.grading.answers import WRONG
from tests.support.once import Other, compared_with_once, content, drawn_once, kept

X = torch.arange(6.0).reshape(2, 3)
ALIKE = [None, 0, 0.0, False, "0", 1, True, "", (), [], {}, [0], (0,), [0.0], {"a": 0}, {"a": 1}, {"b": 0}, {0: "a"}, -0.0, float("nan"),
         frozenset({"a"}), frozenset({"a", "b"}), X, X.T, X.T.contiguous(), X.double(), X.long(), X + 1e-6, X[None], X > 0, X.repeat(9, 9),
         X.repeat(9, 9) + 1e-6, [X], torch.Generator().manual_seed(1), torch.Generator().manual_seed(2), random.Random(1),
         random.Random(2)]


def test_other_content_is_never_the_same():
    assert len({content(value) for value in ALIKE}) == len(ALIKE)


def test_the_same_content_is():
    generator = torch.Generator().manual_seed(1)
    again = torch.Generator().manual_seed(1)
    for one, two in ((X, X.clone()), ([X, {"a": 1.5}], [X + 0, {"a": 3 / 2}]), (generator, again), (float("nan"), float("nan"))):
        assert content(one) == content(two)
    torch.rand(1, generator=again)
    assert content(generator) != content(again)


@pytest.mark.parametrize("value", [len, lambda x: x, torch.nn.Linear(1, 1), X.clone().requires_grad_(), object(), 1j, X.to(torch.complex64)],
                         ids=lambda value: type(value).__name__)
def test_what_has_no_content_is_asked_anew(value):
    with pytest.raises(Other):
        content([1, (value,)])
    calls = []
    function = kept(lambda *args: calls.append(args) or len(calls), lambda *args: args)
    assert [function(value), function(value), function(X), function(X.clone()), function(X + 1)] == [1, 2, 3, 3, 4]


def test_cases_are_drawn_once_for_a_generator_and_anew_where_one_was_changed():
    times = []

    def cases(generator):
        times.append(1)
        return [(torch.rand(3, generator=generator), 2)]

    exercise = Exercise("x", "01", "x", "x", [], 1, 1).compare("values", cases)
    [check], draw = exercise.checks, drawn_once(lambda check, exercise, generator: check.cases(generator))
    for seed, count in ((0, 1), (0, 1), (1, 2), (0, 2)):
        generator, plain = (torch.Generator().manual_seed(seed) for _ in range(2))
        [(x, two)] = draw(check, exercise, generator)
        assert len(times) == count and two == 2 and torch.equal(x, torch.rand(3, generator=plain))
        assert torch.equal(torch.rand(2, generator=generator), torch.rand(2, generator=plain))       # and it goes on from there
    x += 1
    [(y, _)] = draw(check, exercise, torch.Generator().manual_seed(0))
    assert len(times) == 3 and torch.equal(y, torch.rand(3, generator=torch.Generator().manual_seed(0)))
    exercise.checks[0] = other = replace(check, cases=lambda generator: cases(generator) + [(len,)])
    for count in (4, 5):
        assert draw(other, exercise, torch.Generator().manual_seed(0))[1] == (len,) and len(times) == count


@pytest.mark.parametrize("id", ["OwnTrigram", "nade_loglik", "fvsbn_sample"])
def test_the_verdicts_are_those_without_it(id):
    """The twins and the wrong answers of an exercise of each kind: a class, one with gradients, one that draws."""
    def reports():
        return [evaluate(id, answer, 3) for answer in answers]

    exercise, solve = EXERCISES[id], EXERCISES[id].solve
    answers = [lambda *args, name=name: solve(*args, bugs=[name]) for name in list(exercise.misconceptions)[:2]]
    answers += [answer for name, answer in WRONG.items() if name.split(":")[0] == id][:1]
    plainly = reports()
    with compared_with_once():
        assert reports() == plainly
    assert len({report.misconception for report in plainly}) > 1
