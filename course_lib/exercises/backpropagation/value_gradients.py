"""Reverse-mode automatic differentiation of a program on numbers."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "value_gradients", chapter="backpropagation", place=3, title="Backpropagation through a program",
    contract="inputs (n,) are values 0 ... n - 1. Row r of program (m, 3), integers, is (operation, i, j) and computes value n + r: operation 0 "
             "is value i plus value j, 1 their product, 2 tanh of value i, 3 ReLU of value i (2 and 3 ignore j). The rows are in any order, so "
             "i and j may belong to later rows; there are no cycles. result is the number of a computed value. Return (1 + n,): this value, "
             "then its derivative with respect to each input, which is 0 for an input on which it does not depend. The derivative of ReLU "
             "at 0 is 0. Automatic differentiation of torch is not allowed.",
    points=["computational-graph"], difficulty=3, minutes=40, forbid=("torch.autograd.grad", "torch.Tensor.backward"))


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


def sorted_values(rows, n, result):
    """The values that result needs, each after its operands."""
    order = []

    def visit(k):
        if k not in order:
            for operand in rows[k - n][1:2 + (rows[k - n][0] < 2)] if k >= n else ():
                visit(operand)
            order.append(k)

    visit(result)
    return order


@exercise.step
def backward_order(read, order):
    """Every value after all that read it; read[k] are the slopes of value k."""
    return order[::-1]


@exercise.step
def gradients(read, order):
    """The derivatives of the last value of the order with respect to all values."""
    grads = dict.fromkeys(order, 0.0) | {order[-1]: 1.0}
    for k in backward_order(read, order):
        for i, slope in read[k]:
            grads[i] += slope * grads[k]
    return grads


@exercise.reference()
def value_gradients_reference(inputs, program, result):
    n, rows = len(inputs), program.tolist()
    values, read, order = {}, {}, sorted_values(rows, n, result)
    for k in order:
        if k < n:
            values[k], read[k] = inputs[k].item(), []
        else:
            operation, i, j = rows[k - n]
            a, b = values[i], values.get(j, 0.0)
            values[k] = (a + b, a * b, math.tanh(a), max(0.0, a))[operation]
            read[k] = slopes(operation, i, j, a, b)
    grads = gradients(read, order)
    return torch.tensor([values[result], *(grads.get(k, 0.0) for k in range(n))])


@exercise.misconception(
    gradients, "If a value is used twice, you keep only one of its contributions. The contributions are summed: use += instead of =.")
def overwritten(read, order):
    grads = dict.fromkeys(order, 0.0) | {order[-1]: 1.0}
    for k in backward_order(read, order):
        for i, slope in read[k]:
            grads[i] = slope * grads[k]
    return grads


@exercise.misconception(
    backward_order,
    "You visit a value once for each path that reaches it, so early contributions are counted again. Visit each value once, when its "
    "gradient is complete.")
def every_path(read, order):
    visited, stack = [], [order[-1]]
    while stack:
        visited.append(stack.pop())
        stack += [i for i, _ in reversed(read[visited[-1]])]
    return visited


@exercise.misconception(
    backward_order,
    "You visit the values breadth first, so the gradient of a value is used before all values computed from it have contributed. Visit "
    "the values in reverse topological order.")
def breadth_first(read, order):
    reached = [order[-1]]
    for k in reached:
        for i, _ in read[k]:
            reached += [i] if i not in reached else []
    return reached


@exercise.misconception(
    backward_order,
    "You visit the values from the highest number to the lowest. The rows are not sorted, so a value can be visited before the values "
    "computed from it. Compute a topological order first.")
def by_number(read, order):
    return sorted(order, reverse=True)


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


def reordered(n, rows, order):
    """The arguments program and result, where row r of these sorted rows is moved to place order[r]."""
    place = [*range(n), *(n + k for k in order)]
    program = torch.zeros(len(rows), 3, dtype=torch.long)
    for k, (operation, i, j) in zip(order, rows):
        program[k] = torch.tensor([operation, place[i], place[j]])
    return program, place[-1]


def graph_cases(generator):
    """The rows backward, so that each precedes its operands; and in a random order."""
    cases = []
    signs = torch.tensor([1.0, -1.0, 1.0])
    for order in (range(len(SHARED) - 1, -1, -1), torch.randperm(len(SHARED), generator=generator).tolist()):
        cases.append((signs * uniform(generator, 3, low=0.4, high=1.4), *reordered(3, SHARED, order)))
    n = integer(generator, 4, 5)
    inputs = uniform(generator, n, low=-1.0, high=1.0)
    rows = [(2, 0, 0)]                                           # the last input is read by nobody
    for k in range(8):
        rows.append((integer(generator, 0, 3), integer(generator, 0, n - 2), n + k))
    rows += [(1, n + 8, n), (0, n + 9, n + 8)]
    cases.append((inputs, *reordered(n, rows, torch.randperm(len(rows), generator=generator).tolist())))
    return cases


def one_operation(generator):
    """On a positive and a negative number, and on 0."""
    a, b = uniform(generator, 1, low=0.4, high=1.4), uniform(generator, 1, low=-1.4, high=-0.4)
    pair = torch.cat([a, b])
    rows = ((0, 0, 1), (1, 0, 1), (2, 0, 0), (3, 0, 0), (3, 1, 0))
    return [(inputs, torch.tensor([row]), 2) for inputs, these in ((pair, rows), (pair * torch.tensor([0.0, 1.0]), rows[1:4]))
            for row in these]


exercise.compare("one operation", one_operation, points=2)
exercise.compare("shared values", graph_cases, points=4)
exercise.hint(
    "You do not know how to begin.",
    "Write a recursive function visit(k) that first visits the operands of value k, then computes it and appends k to a list, unless it is "
    "already there. After visit(result) the list is a topological order. Then go through it from the end, starting with the derivative 1 of "
    "the result. Each value adds to the derivatives of its operands.")
exercise.hint(
    "You want to write a class.",
    "class Value with data, grad = 0.0 and pairs of operands and local derivatives. Create the values recursively from result, and keep each "
    "in a dictionary under its number, so that it is created only once.")
exercise.hint(
    "Single operations are right, but shared values are not.",
    "The derivative of each value is used once, after all values computed from it have contributed, and each contribution is added.")
