"""What is said of a wrong value that no misconception explains; and that twins are told apart, or nothing is said."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.grading import EXERCISES, Exercise
from course_lib.grading.checks import shape_fault
from course_lib.grading.diagnosis import find_misconceptions
from course_lib.grading.facts import describe_difference
from course_lib.grading.protocol.calls import Local
from course_lib.grading.verdict import grade

Y = torch.tensor([[0.3, -1.2, 0.7], [2.0, 0.1, -0.4], [0.6, 0.9, 1.7]])


def spoilt(place, value):
    y = Y.clone()
    y[place] = value
    return y


@pytest.mark.parametrize("got, expected, says", [
    (spoilt((1, 2), float("nan")), Y, "1 of 9 entries are NaN"), (spoilt((0, 0), float("inf")), Y, "1 of 9 entries are infinite"),
    (-Y, Y, "wrong sign"), (Y.T, Y, "transpose"), (Y.flip(0), Y, "reversed order along axis 0"),
    (Y.roll(1, 1), Y, "shifted by one place along axis 1"), (Y * math.sqrt(2), Y, "1.414 times"), (Y + 0.5, Y, "off by the same +0.5"),
    (spoilt((1, 0), 9.0), Y, "index (1, 0), too large"),
    (spoilt((2, 1), -9.0), Y, "1 of 9 entries are wrong; the first is at index (2, 1), too small"), (Y > 0, Y <= 0, "opposite"),
    (torch.tensor(2.0 / math.log(2)), torch.tensor(2.0), "in bits"), (3.1, 2.0, "too large"), (-2.0, 2.0, "wrong sign"),
    (0.3, 0.7, "1 minus"), (torch.tensor(2.0 * math.log(2)), torch.tensor(2.0), "in nats; it should be in bits"),
    (math.exp(1.3), 1.3, "the exponential of"), (0.0, 2.0, "is 0"), (2.01, 2.0, "near, and too large by 0.005"),
    (float("nan"), 2.0, "Your value is NaN"),
    (torch.tensor(1e300, dtype=torch.float64), torch.tensor(1e-9, dtype=torch.float64), "Your value is too large"),
    ([1, 1, 2], [1, 2], "more than once"), ([], [3], "is empty; it should hold 1 entry"), ([3], [], "holds 1 entry; it should be empty"),
    ([2, 0, 1], [1, 0, 2], "in reversed order"), ([4, 1, 0, 2], [2, 1, 0, 4], "another order"),
    ([2, 0], [2, 0, 1], "2 entries where it should have 3; what both have is right"),
    (["a", "b"], ["a", "c"], "1 of the 2 entries of your list is"), ("x", "y", "You answer 'x'"), (True, False, "the opposite"),
    (([3, 2], 1.0), ([2, 3], 1.0), "Result[0] is not right. Your list is in reversed order"),
    ((1.0, 4.0), (1.0, 3.1), "Result[0] is right; result[1] is not"),
    ([Y, -Y], [Y, Y], "Result[0] is right; result[1] is not right. Your values have the wrong sign"),
    ({"a": 1.0}, {"b": 1.0}, "'b' is missing"), ({"a": 1.0}, {"a": 2.0}, "at key 'a'"), ({"a": 1.0}, {}, "1 key where it should have 0"),
    (Y * 3, Y, "3 times, the size of axis 0 (a sum"), (Y * 0.5, Y, "0.5 times"), (Y / math.log(10), Y, "base 10"),
    (Y * 0, Y, "All your values are 0"), (Y * 0 + 1, Y, "All your values are equal"), (Y + torch.eye(3), Y, "only on the diagonal"),
    (Y + torch.ones(3, 3).triu(1) * Y, Y, "only above the diagonal"),
    (Y * torch.tensor([1.0, 1.0, 1.3]), Y, "only at index 2 (the last) of axis 1"),
], ids=str)
def test_describe_difference(got, expected, says):
    assert says in describe_difference(got, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("got, expected", [(Y + 0.1 * torch.tensor([1.0, -2, 3]), Y), ([1, 2, 5], [1, 2, 4]), (3.1, 2.0), ((Y + 1, 2), (Y, 2))])
def test_describe_difference_holds_no_expected_value(got, expected):
    text = describe_difference(got, expected, 1e-4, 1e-5)
    assert not any(f"{value:.4g}" in text for value in (2.0, -1.2, 0.7, 0.6, 1.7, 0.9) if value != 2.0), text


@pytest.mark.parametrize("got, expected, says", [
    (None, Y, "returns None"), (Y[0], Y, "shape (3,); it should have shape (3, 3)"), (Y.long(), Y, "should be floats"),
    (Y.bool(), Y, "should be floats"), (Y, Y.bool(), "should be booleans"), ([Y], Y, "a list of 1"), (Y, torch.tensor(1.0), "one number"),
    ((Y,), (Y, Y), "1 things; it should return 2"), ((Y, Y[0]), (Y, Y), "As result[1], your function"),
    ({}, [], "returns a dict of 0 keys; it should return a list."), (None, [1, 2], "it should return a list. Is"),
    ([], Y, "returns an empty list; it should return a tensor of float32, of shape (3, 3)."),
], ids=str)
def test_shape_fault(got, expected, says):
    fault = shape_fault(got, expected)
    assert fault.state == "wrong_shape" and says in fault.message


@pytest.mark.parametrize("got, expected", [(Y, Y.double()), (1.0, torch.tensor(1.0)), ([1], (1,)), ([1, 2], [1])], ids=str)
def test_shape_fault_of_right_shape(got, expected):
    assert shape_fault(got, expected) is None


# An exercise made for these tests: |x| + y, with twins that agree where no x is negative.

def made(*names):
    sentences = {name: f"This is the fault {name}." for name in names}
    exercise = Exercise("made", "00", "Made up", "x, y (4,)", [], 1, 1)

    @exercise.step
    def magnitude(x):
        return x.abs()

    @exercise.step
    def second(y):
        return y

    @exercise.step
    def total(x, y):
        return x + y

    @exercise.reference()
    def reference(x, y):
        return total(magnitude(x), second(y))

    changes = {"no_abs": (magnitude, lambda x: x), "relu": (magnitude, lambda x: x.relu()), "minus": (second, lambda y: -y),
               "minus_again": (second, lambda y: 0 - y), "plus_one": (total, lambda x, y: x + y + 1)}
    for name, sentence in sentences.items():
        step, change = changes[name]
        exercise.misconception(step, sentence, name)(change)

    def positive(generator):
        return [(torch.rand(4, generator=generator), torch.randn(4, generator=generator)) for _ in range(2)]

    def mixed(generator):
        return [(torch.randn(4, generator=generator), torch.randn(4, generator=generator)) for _ in range(2)]

    exercise.compare("positive", positive).compare("mixed", mixed)
    return exercise


def run(exercise, *bugs, seed=0):
    return grade(exercise, Local(lambda *args: exercise.solve(*args, bugs=bugs)).call, seed)


def test_misconception_is_named():
    exercise = made("no_abs", "relu", "minus", "plus_one")
    assert run(exercise, "minus").misconception == "minus"
    assert run(exercise, "relu").misconception == "relu"
    assert run(exercise).state == "right"


def test_partial_points():
    report = run(made("no_abs", "minus"), "no_abs")
    assert (report.earned, report.possible) == (3, 6) and [check.passed for check in report.checks] == [True, True, True, False]


def test_equal_misconceptions_are_not_named():
    exercise = made("minus", "minus_again", "plus_one")
    report = run(exercise, "minus")
    assert report.misconception is None and report.state == "wrong_value"


def test_fresh_inputs_decide_between_misconceptions():
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
    assert find_misconceptions(exercise, check, records, call, 0) == ("no_abs",)
    assert len(turns) > 1


def test_version_follows_checks():
    one, two = made("minus"), made("minus")
    assert one.version == two.version
    assert one.version != made("minus").compare("more", lambda generator: []).version
    assert len({exercise.version for exercise in EXERCISES.values()}) == len(EXERCISES)
