"""The autodiff against torch's: values, derivatives, higher derivatives, and what it refuses."""
from __future__ import annotations

import pytest
import torch

from course_lib.basics import SGD, Value, autodiff, gradients
from course_lib.basics.autodiff import ordered
from tests.basics import checks as check


@pytest.mark.parametrize("right", [check.every_operation_is_torchs, check.random_graphs_are_torchs,
                                   check.higher_derivatives_are_torchs, check.the_slides_example,
                                   check.twice_backward_is_twice_the_gradient], ids=lambda f: f.__name__)
def test_it_is_torchs(right):
    right(autodiff)


def test_a_long_chain_needs_no_recursion():
    x = Value(1.0)
    y = x
    for _ in range(5_000):
        y = y + x
    y.backward()
    assert x.grad == 5_001


def test_each_value_comes_after_its_parents():
    nodes, _ = check.random_graph(Value, seed=3)
    order = ordered(nodes[-1])
    place = {id(value): i for i, value in enumerate(order)}
    assert len(place) == len(order)
    assert all(place[id(parent)] < place[id(value)] for value in order for parent in value.parents)


def test_before_backward_there_is_no_gradient():
    x, apart = Value(2.0), Value(5.0)
    y = x * x
    assert x.grad is None and y.grad is None
    assert [d.data for d in gradients(y, [x, apart])] == [4.0, 0.0]
    assert x.grad is None
    y.backward()
    assert x.grad == 4.0 and apart.grad is None


def test_plus_equals_makes_a_new_value():
    x = Value(3.0)
    y = x
    y += 1
    (y * y).backward()
    assert (x.data, y.data, x.grad) == (3.0, 4.0, 8.0)


def test_a_network_of_values_takes_the_steps_of_torch():
    """Two inputs, three hidden units, one logit: six steps of gradient descent on four points."""
    numbers = torch.randn(13, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    points, targets = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)], [0.0, 1.0, 1.0, 0.0]

    def loss(w):
        total = 0.0
        for (a, b), target in zip(points, targets):
            h = [(w[3 * i] * a + w[3 * i + 1] * b + w[3 * i + 2]).tanh() for i in range(3)]
            z = w[9] * h[0] + w[10] * h[1] + w[11] * h[2] + w[12]
            total = total + (z.sigmoid() - target) ** 2
        return total

    mine, theirs = [Value(number) for number in numbers.tolist()], [t.clone().requires_grad_() for t in numbers]
    for parameters, optimizer in ((mine, SGD(mine, lr=0.5)), (theirs, torch.optim.SGD(theirs, lr=0.5))):
        for _ in range(6):
            optimizer.zero_grad()
            loss(parameters).backward()
            optimizer.step()
    for v, t in zip(mine, theirs):
        check.close(v.data, t.item(), "weight")


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: Value(0.0).log(), "log of 0; expected a positive number"),
    (lambda: Value(-1.0) ** 0.5, r"-1 \*\* 0.5 is not a real number"),
    (lambda: Value(0.0) ** -1, r"0 \*\* -1 is not a real number"),
    (lambda: 1 / Value(0.0), "1 / 0 is not a number"),
    (lambda: Value(2.0) / 0, "2 / 0 is not a number"),
])
def test_no_number_comes_of_it(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: Value(True), "data is True, a bool; expected a number"),
    (lambda: Value(2.0) ** Value(3.0), r"the exponent is a Value; expected a number\. For a \*\* b with two values"),
])
def test_what_is_no_number(wrong, sentence):
    with pytest.raises(TypeError, match=sentence):
        wrong()
