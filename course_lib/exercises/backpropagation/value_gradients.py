"""An autodiff of one's own."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "value_gradients", chapter="backpropagation", place=2, title="Write Value",
    contract="inputs (n,) are numbers; program (m, 3), whole numbers, has a row (operation, i, j) for each value that "
             "is computed: operation 0 is value i plus value j, 1 their product, 2 tanh of value i, 3 ReLU of value i "
             "(j is ignored by 2 and 3). Values are counted from 0: first the n inputs, then the rows. Return (1 + "
             "n,): the last value, then its derivative by each input (0 for an input that it does not depend on; the "
             "derivative of ReLU at 0 is 0).",
    points=["computational-graph"], difficulty=3, minutes=40)


@exercise.step
def tanh_slope(a):
    return 1 - math.tanh(a) ** 2


@exercise.step
def relu_slope(a):
    return 1.0 if a > 0 else 0.0


@exercise.step
def slopes(operation, i, j, a, b):
    """The numbers of the values a and b that a row reads, each with the derivative by it."""
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
    gradients, "Where a value is used twice, you keep only one of its contributions. They add up: +=, not =.")
def overwritten(read):
    grads = [0.0] * (len(read) - 1) + [1.0]
    for k in backward_order(read):
        for i, slope in read[k]:
            grads[i] = slope * grads[k]
    return grads


@exercise.misconception(
    backward_order,
    "A value that is reached by several paths passes on the gradient that it has at each visit, so that early contributions are "
    "counted again. Visit every value once, when its gradient is complete.")
def every_path(read):
    visited, stack = [], [len(read) - 1]
    while stack:
        visited.append(stack.pop())
        stack += [i for i, _ in reversed(read[visited[-1]])]
    return visited


@exercise.misconception(
    backward_order,
    "You go back breadth first: a value passes its gradient on as soon as it is reached, before all values that read it have "
    "contributed. Go through the values in reverse order of their computation.")
def breadth_first(read):
    reached = [len(read) - 1]
    for k in reached:
        for i, _ in read[k]:
            reached += [i] if i not in reached else []
    return reached


@exercise.misconception(
    slopes, "In a product the gradient of each factor is the other factor times the gradient. You multiply by its own value.")
def own_factor(operation, i, j, a, b):
    return [(i, a), (j, b)] if operation == 1 else slopes.original(operation, i, j, a, b)


@exercise.misconception(
    slopes, "In v + v and v * v the value v is read twice by one operation. You count only one of the two.")
def once_a_reader(operation, i, j, a, b):
    right = slopes.original(operation, i, j, a, b)
    return right[:1] if i == j else right


@exercise.misconception(tanh_slope, "The derivative of tanh is 1 - t^2, with t the value of tanh. You have 1 - t.")
def tanh_rule(a):
    return 1 - math.tanh(a)


@exercise.misconception(
    tanh_slope,
    "Your slope of tanh is 1 minus the square of its input. It is 1 - t^2, with t the output.")
def tanh_of_input(a):
    return 1 - a ** 2


@exercise.misconception(relu_slope, "Your ReLU passes a gradient on where it is off. Below 0 its derivative is 0.")
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
    "Go forward through the program and keep all values. Then make a list of gradients, all 0 but the last, which is "
    "1, and go through the rows from the last to the first: each row adds to the gradients of the values that it read.")
exercise.hint(
    "You want a class.",
    "class Value with data, grad = 0.0, parents, and a function that adds to the parents' grad. __add__ and __mul__ "
    "make a new Value. The program is then a loop that makes values, and backward a loop over them in reverse.")
exercise.hint(
    "One operation is right, shared values are not.",
    "Every value passes its gradient on exactly once, after all that read it, and every contribution is added to what "
    "is there.")
