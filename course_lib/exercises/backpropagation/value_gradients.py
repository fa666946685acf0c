"""Reverse-mode automatic differentiation of a program on numbers."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "value_gradients", chapter="backpropagation", place=2, title="Write Value",
    contract="inputs (n,) are the first n values. program (m, 3), integers, has a row (operation, i, j) for each further value: operation 0 "
             "is value i plus value j, 1 their product, 2 tanh of value i, 3 ReLU of value i (2 and 3 ignore j). Values are counted from 0. "
             "Return (1 + n,): the last value, then its derivative with respect to each input, which is 0 for an input on which it does not "
             "depend. The derivative of ReLU at 0 is 0.",
    points=["computational-graph"], difficulty=3, minutes=40)


@exercise.step
def tanh_slope(a):
    return 1 - math.tanh(a) ** 2


@exercise.step
def relu_slope(a):
    return 1.0 if a > 0 else 0.0


@exercise.step
def slopes(operation, i, j, a, b):
    """The indices of the operands a and b of a row, each with the local derivative."""
    if operation == 0:
        return [(i, 1.0), (j, 1.0)]
    if operation == 1:
        return [(i, b), (j, a)]
    return [(i, tanh_slope(a) if operation == 2 else relu_slope(a))]


@exercise.step
def backward_order(read):
    """Every value after all that read it; read[k] are the slopes of value k."""
    return reversed(range(len(read)))


@exercise.step
def gradients(read):
    """The derivatives of the last value by all values."""
    grads = [0.0] * (len(read) - 1) + [1.0]
    for k in backward_order(read):
        for i, slope in read[k]:
            grads[i] += slope * grads[k]
    return grads


@exercise.reference()
def value_gradients_reference(inputs, program):
    values, read = inputs.tolist(), [[] for _ in inputs]
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        values.append((a + b, a * b, math.tanh(a), max(0.0, a))[operation])
        read.append(slopes(operation, i, j, a, b))
    return torch.tensor([values[-1], *gradients(read)[:len(inputs)]])


@exercise.misconception(
    gradients, "If a value is used twice, you keep only one of its contributions. The contributions are summed: use += instead of =.")
def overwritten(read):
    grads = [0.0] * (len(read) - 1) + [1.0]
    for k in backward_order(read):
        for i, slope in read[k]:
            grads[i] = slope * grads[k]
    return grads


@exercise.misconception(
    backward_order,
    "You visit a value once for each path that reaches it, so early contributions are counted again. Visit each value once, when its "
    "gradient is complete.")
def every_path(read):
    visited, stack = [], [len(read) - 1]
    while stack:
        visited.append(stack.pop())
        stack += [i for i, _ in reversed(read[visited[-1]])]
    return visited


@exercise.misconception(
    backward_order,
    "You visit the values breadth first, so the gradient of a value is used before all values computed from it have contributed. Visit "
    "the values in reverse order of their computation.")
def breadth_first(read):
    reached = [len(read) - 1]
    for k in reached:
        for i, _ in read[k]:
            reached += [i] if i not in reached else []
    return reached


@exercise.misconception(
    slopes, "In a product each factor receives the gradient times the other factor. You multiply by the factor's own value.")
def own_factor(operation, i, j, a, b):
    return [(i, a), (j, b)] if operation == 1 else slopes.original(operation, i, j, a, b)


@exercise.misconception(
    slopes, "In v + v and v * v the value v is used twice by one operation. You count only one of its two contributions.")
def once_a_reader(operation, i, j, a, b):
    right = slopes.original(operation, i, j, a, b)
    return right[:1] if i == j else right


@exercise.misconception(tanh_slope, "The derivative of tanh is 1 - t^2, with t the value of tanh. You have 1 - t.")
def tanh_rule(a):
    return 1 - math.tanh(a)


@exercise.misconception(
    tanh_slope,
    "Your derivative of tanh is 1 minus the square of its input. It is 1 - t^2, where t is the output.")
def tanh_of_input(a):
    return 1 - a ** 2


@exercise.misconception(relu_slope, "Your ReLU passes a gradient where its input is negative. There the derivative is 0.")
def relu_leaks(a):
    return 1.0


# On three inputs a > 0, b < 0, c > 0, counted 0, 1, 2. Every rule, a value read twice by one row, values read by two
# rows at different distances, a ReLU that is off and one that is on.
SHARED = [
    (1, 0, 1),     # 3 = a b
    (0, 3, 2),     # 4 = a b + c
    (1, 4, 0),     # 5 = (a b + c) a
    (2, 5, 5),     # 6 = tanh of it
    (1, 4, 4),     # 7 = (a b + c)^2
    (3, 3, 0),     # 8 = ReLU(a b) = 0
    (3, 0, 1),     # 9 = ReLU(a) = a
    (0, 6, 7),     # 10
    (1, 10, 9),    # 11
    (0, 11, 8),    # 12
    (0, 3, 12),    # 13
    (1, 13, 10),   # 14
]


def graph_cases(generator):
    cases = []
    for _ in range(2):
        signs = torch.tensor([1.0, -1.0, 1.0])
        cases.append((signs * uniform(generator, 3, low=0.4, high=1.4), torch.tensor(SHARED)))
    n = integer(generator, 4, 5)
    inputs = uniform(generator, n, low=-1.0, high=1.0)
    rows = [(2, 0, 0)]                                           # the last input is read by nobody
    for k in range(8):
        rows.append((integer(generator, 0, 3), integer(generator, 0, n - 2), n + k))
    cases.append((inputs, torch.tensor([*rows, (1, n + 8, n), (0, n + 9, n + 8)])))
    return cases


def one_operation(generator):
    """On a positive and a negative number, and on 0."""
    a, b = uniform(generator, 1, low=0.4, high=1.4), uniform(generator, 1, low=-1.4, high=-0.4)
    pair = torch.cat([a, b])
    rows = ((0, 0, 1), (1, 0, 1), (2, 0, 0), (3, 0, 0), (3, 1, 0))
    return [(inputs, torch.tensor([row])) for inputs, these in ((pair, rows), (pair * torch.tensor([0.0, 1.0]), rows[1:4]))
            for row in these]


exercise.compare("one operation", one_operation, points=2)
exercise.compare("shared values", graph_cases, points=4)
exercise.hint(
    "You do not know how to begin.",
    "Compute all values in the order of the program and keep them. Then make a list of gradients, 0 except for the last, which is 1, and go "
    "through the rows from the last to the first. Each row adds to the gradients of its operands.")
exercise.hint(
    "You want to write a class.",
    "class Value with data, grad = 0.0 and pairs of parents and local derivatives. __add__ and __mul__ return a new Value. The program is a "
    "loop that creates values, and the backward pass is a loop over them in reverse.")
exercise.hint(
    "Single operations are right, but shared values are not.",
    "The gradient of each value is used once, after all values computed from it have contributed, and each contribution is added.")
