"""The autodiff: long graphs, what has no gradient, and what it refuses. Its values and derivatives: checks.py."""
from __future__ import annotations

import pytest

from course_lib.basics import Value, gradients


def test_backward_long_chain():
    x = Value(1.0)
    y = x
    for _ in range(5_000):
        y = y + x
    y.backward()
    assert x.grad == 5_001


def test_no_gradient_before_backward():
    x, apart = Value(2.0), Value(5.0)
    y = x * x
    assert x.grad is None and y.grad is None
    assert [d.data for d in gradients(y, [x, apart])] == [4.0, 0.0]
    assert x.grad is None
    y.backward()
    assert x.grad == 4.0 and apart.grad is None


def test_plus_equals_new_value():
    x = Value(3.0)
    y = x
    y += 1
    (y * y).backward()
    assert (x.data, y.data, x.grad) == (3.0, 4.0, 8.0)


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: Value(0.0).log(), "log of 0 is not a real number; expected a positive"),
    (lambda: Value(-1.0) ** 0.5, r"\(-1\) \*\* 0.5 is not a real number; expected a positive base or an integer"),
    (lambda: Value(0.0) ** -1, r"\(0\) \*\* -1 is not a real number"),
    (lambda: 1 / Value(0.0), "1 / 0 is not a number"),
])
def test_undefined_result(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: Value(True), "data is True, a bool; expected a number"),
    (lambda: Value(2.0) ** Value(3.0), r"exponent is a Value; expected a number\. For a \*\* b with two values"),
])
def test_wrong_types(wrong, sentence):
    with pytest.raises(TypeError, match=sentence):
        wrong()
