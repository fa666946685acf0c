"""What is said of a wrong value that no misconception explains; and that twins are told apart, or nothing is said."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.grading import EXERCISES, Exercise, evaluate
from course_lib.grading.checks import shape_fault
from course_lib.grading.diagnose import misconceptions
from course_lib.grading.evaluate import judge
from course_lib.grading.facts import fact
from course_lib.grading.local import Local

Y = torch.tensor([[0.3, -1.2, 0.7], [2.0, 0.1, -0.4], [0.6, 0.9, 1.7]])


def spoilt(place, value):
    y = Y.clone()
    y[place] = value
    return y


@pytest.mark.parametrize("got, expected, says", [
    (spoilt((1, 2), float("nan")), Y, "1 of 9 entries are NaN"), (spoilt((0, 0), float("inf")), Y, "1 of 9 entries are infinite"),
    (-Y, Y, "wrong sign"), (Y.T, Y, "transpose"), (Y.flip(0), Y, "reversed order along axis 0"),
    (Y.roll(1, 1), Y, "shifted by one place along axis 1"), (Y.exp(), Y, "exponentials"), (Y.exp().log() * 1.0, Y.exp(), "logarithms"),
    (Y * math.sqrt(2), Y, "1.414 times"), (Y + 0.5, Y, "off by the same +0.5"), (spoilt((1, 0), 9.0), Y, "index (1, 0), too large"),
    (spoilt((2, 1), -9.0), Y, "1 of 9 entries are wrong; the first is at index (2, 1), too small"),
    (Y > 0, Y <= 0, "opposite"), (torch.tensor(2.0 / math.log(2)), torch.tensor(2.0), "in bits"),
    (3.0, 2.0, "too large"), ([1, 2], [1, 2, 3], "2 parts where it should have 3"), ([1, 2], [1, 3], "Part 2"),
    ([Y, -Y], [Y, Y], "Part 2 of your result is the first that is wrong. Your values have the wrong sign"),
    ({"a": 1.0}, {"b": 1.0}, "'b' is missing"), ({"a": 1.0}, {"a": 2.0}, "at key 'a'"), ({"a": 1.0}, {}, "1 keys where it should have 0"),
], ids=str)
def test_fact(got, expected, says):
    assert says in fact(got, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("got, expected, says", [
    (None, Y, "returns None"), (Y[0], Y, "shape (3,); it should have shape (3, 3)"), (Y.long(), Y, "should be floats"),
    (Y.bool(), Y, "should be floats"), (Y, Y.bool(), "should be booleans"), ([Y], Y, "a list of 1"), (Y, torch.tensor(1.0), "one number"),
    ((Y,), (Y, Y), "1 things; it should return 2"), ((Y, Y[0]), (Y, Y), "In part 2 of the result"),
    ({}, [], "returns a dict of 0 keys; it should return a list."), (None, [1, 2], "it should return a list. Is"),
    ([], Y, "returns an empty list; it should return a tensor of float32, of shape (3, 3)."),
], ids=str)
def test_shape_fault(got, expected, says):
    fault = shape_fault(got, expected)
    assert fault.state == "wrong_shape" and says in fault.message


@pytest.mark.parametrize("got, expected", [(Y, Y.double()), (1.0, torch.tensor(1.0)), ([1], (1,)), ([1, 2], [1])], ids=str)
def test_shape_is_right(got, expected):
    assert shape_fault(got, expected) is None


# An exercise made for these tests: |x| + y, with twins that agree where no x is negative.

def made(*names):
    sentences = {name: f"This is the fault {name}." for name in names}
    exercise = Exercise("made", "00", "Made up", "x, y (4,)", [], 1, 1)

    @exercise.reference(**sentences)
    def reference(x, y, bugs=frozenset()):
        x = x if "no_abs" in bugs else x.relu() if "relu" in bugs else x.abs()
        y = -y if "minus" in bugs else y
        return x + y + (1 if "plus_one" in bugs else 0)

    def positive(generator):
        return [(torch.rand(4, generator=generator), torch.randn(4, generator=generator)) for _ in range(2)]

    def mixed(generator):
        return [(torch.randn(4, generator=generator), torch.randn(4, generator=generator)) for _ in range(2)]

    exercise.compare("positive", positive).compare("mixed", mixed)
    return exercise


def run(exercise, *bugs, seed=0):
    return judge(exercise, Local(lambda *args: exercise.solve(*args, bugs=bugs)).call, seed)


def test_one_twin_is_named():
    exercise = made("no_abs", "relu", "minus", "plus_one")
    assert run(exercise, "minus").misconception == "minus"
    assert run(exercise, "relu").misconception == "relu"
    assert run(exercise).state == "right"


def test_partial_points_are_kept():
    report = run(made("no_abs", "minus"), "no_abs")
    assert report.points == (3, 6) and [check.passed for check in report.checks] == [True, True, True, False]


def test_two_at_once_are_both_told_but_neither_is_the_name():
    report = run(made("no_abs", "relu", "minus", "plus_one"), "minus", "plus_one")
    assert report.misconception is None
    assert report.message == "This is the fault minus. And: This is the fault plus_one."


def test_twins_that_nothing_tells_apart_are_not_named():
    exercise = made("minus", "plus_one")
    exercise.misconceptions["minus_again"] = "The same under another name."
    solve = exercise.function
    exercise.function = lambda *args, bugs=frozenset(): solve(
        *args, bugs={"minus" if bug == "minus_again" else bug for bug in bugs})
    report = run(exercise, "minus")
    assert report.misconception is None and report.state == "wrong_value"


def test_twins_are_told_apart_on_fresh_inputs():
    """On the one failing record both twins agree; only new draws show which it is."""
    exercise = made("no_abs", "relu")
    turns = []

    def cases(generator):
        turns.append(generator)
        x = torch.tensor([-1.0, 2.0]) if len(turns) > 1 else torch.tensor([0.0, 2.0])
        return [(x, torch.ones(2))]

    check = exercise.checks[0]
    check.cases = cases
    call = Local(lambda x, y: x + y).call
    records = check.records(exercise, call, exercise.generator(0, "x"))
    records[0].expected = torch.tensor([5.0, 5.0])
    assert misconceptions(exercise, check, records, call, 0) == ("no_abs",)
    assert len(turns) > 1


def test_what_is_forbidden_is_found_however_it_is_imported():
    exercise = made("minus", "plus_one")
    exercise.forbid = ("torch.abs",)
    for source in ("def made(x, y):\n    return torch.abs(x) + y", "def made(x, y):\n    return x.abs() + y",
                   "from torch import abs\n\ndef made(x, y):\n    return abs(x) + y"):
        report = judge(exercise, Local(exercise.solve).call, 0, source)
        assert report.state == "error" and "uses torch.abs" in report.message and report.earned == 0
    assert judge(exercise, Local(exercise.solve).call, 0, "def made(x, y):\n    return x + y").state == "right"


def test_the_version_follows_the_checks():
    one, two = made("minus"), made("minus")
    assert one.version == two.version
    assert one.version != made("minus").compare("more", lambda generator: []).version
    assert len({exercise.version for exercise in EXERCISES.values()}) == len(EXERCISES)


def test_an_answer_from_a_notebook_cell_is_searched_too():
    exercise = EXERCISES["fvsbn_sample"]
    assert evaluate("fvsbn_sample", exercise.solve, 0).state == "right"
    with pytest.raises(ValueError, match="difficulty is 9"):
        Exercise("x", "01", "x", "x", [], 9, 1)
