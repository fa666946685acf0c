"""A misconception replaces one step of a reference; two of different steps act together."""
from __future__ import annotations

import pytest

from course_lib.grading import Exercise


@pytest.fixture
def exercise():
    one = Exercise("mean_of_squares", chapter="chain-rule", title="", contract="", points=[], difficulty=1, minutes=1)

    @one.step
    def square(x):
        return x * x

    @one.step
    def mean(values):
        return sum(values) / len(values)

    @one.reference()
    def mean_of_squares(values):
        return mean([square(x) for x in values])

    @one.misconception(square, "You double where the square is asked for.")
    def doubled(x):
        return 2 * x

    @one.misconception(square, "You take the magnitude.")
    def magnitude(x):
        return abs(x)

    @one.misconception(mean, "You divide by one less than the number of values.")
    def one_less(values):
        return mean.original(values) * len(values) / (len(values) - 1)

    return one


@pytest.mark.parametrize("bugs, value", [((), 14 / 3), (("doubled",), 4), (("magnitude",), 2), (("one_less",), 7),
                                         (("doubled", "one_less"), 6)])
def test_solve_with_misconceptions(exercise, bugs, value):
    assert exercise.solve([1, 2, 3], bugs=bugs) == pytest.approx(value)


def test_solve_refuses_two_of_one_step(exercise):
    with pytest.raises(ValueError, match="two of them replace the same step"):
        exercise.solve([1, 2], bugs=["doubled", "magnitude"])
    with pytest.raises(KeyError, match="tripled"):
        exercise.solve([1, 2], bugs=["tripled"])
    assert exercise.solve([1, 2]) == 2.5                     # what was replaced is as before
