"""An autodiff of one's own."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "value_gradients", chapter="02", place=4, title="Write Value",
    contract="inputs (n,) are numbers; program (m, 3), whole numbers, has a row (operation, i, j) for each value that "
             "is computed: operation 0 is value i plus value j, 1 their product, 2 tanh of value i, 3 ReLU of value i "
             "(j is ignored by 2 and 3). Values are counted from 0: first the n inputs, then the rows. Return (1 + "
             "n,): the last value, then its derivative by each input (0 for an input that it does not depend on; the "
             "derivative of ReLU at 0 is 0).",
    points=["computational-graph"], difficulty=3, minutes=40)


@exercise.reference(
    overwritten="Where a value is used twice, you keep only one of its contributions. They add up: +=, not =.",
    early="A value of yours passes its gradient on before all that read it have spoken. Go through the values in "
          "reverse order of their computation.",
    every_path="A value that is reached by several paths passes on what it has at each visit, so that early "
               "contributions are counted again. Visit every value once, when its gradient is complete.",
    own_factor="In a product each factor gets the other one times the gradient. You give it its own value.",
    breadth_first="You go back to the nearest values first, and one that is reached passes its gradient on at once: not all that read it "
                  "have spoken. Go through the values in reverse order of their computation.",
    tanh_rule="The derivative of tanh is 1 - t^2, with t the value of tanh. You have 1 - t.",
    tanh_of_input="Your slope of tanh is 1 minus the square of what went in. It is 1 - t^2, with t the value that came out.",
    relu_leaks="Your ReLU passes a gradient on where it is off. Below 0 it is flat.",
    own_value="You start with the last value where 1 belongs: the derivative of a result by itself is 1.",
    once_a_reader="In v + v and v * v the value v is read twice by one operation. You count only one of the two.",
    forward="Your derivatives are wrong by their sign: each is minus the right one.",
)
def value_gradients_reference(inputs, program, bugs=frozenset()):
    values, readers_parts = inputs.tolist(), []
    n = len(values)
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        if operation == 0:
            values.append(a + b)
            parts = [(i, 1.0), (j, 1.0)]
        elif operation == 1:
            values.append(a * b)
            parts = [(i, a), (j, b)] if "own_factor" in bugs else [(i, b), (j, a)]
        elif operation == 2:
            t = math.tanh(a)
            values.append(t)
            parts = [(i, 1 - t if "tanh_rule" in bugs else 1 - a * a if "tanh_of_input" in bugs else 1 - t * t)]
        else:
            values.append(max(0.0, a))
            parts = [(i, 1.0 if a > 0 or "relu_leaks" in bugs else 0.0)]
        if "once_a_reader" in bugs and operation < 2 and i == j:
            parts = parts[:1]
        readers_parts.append(parts)
    grads = [0.0] * len(values)
    grads[-1] = values[-1] if "own_value" in bugs else 1.0

    def pass_on(k):
        for i, part in readers_parts[k - n]:
            grads[i] = grads[k] * part if "overwritten" in bugs else grads[i] + grads[k] * part

    if "every_path" in bugs or "early" in bugs:
        seen, stack = set(), [len(values) - 1]
        while stack:
            k = stack.pop()
            if k >= n and not ("early" in bugs and k in seen):
                seen.add(k)
                pass_on(k)
                stack += [i for i, _ in reversed(readers_parts[k - n])]
    elif "breadth_first" in bugs:
        reached = [len(values) - 1]
        for k in reached:
            if k >= n:
                pass_on(k)
                for i, _ in readers_parts[k - n]:
                    reached += [i] if i not in reached else []
    else:
        for k in range(len(values) - 1, n - 1, -1):
            pass_on(k)
    sign = -1.0 if "forward" in bugs else 1.0
    return torch.tensor([values[-1], *(sign * g for g in grads[:n])])


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
    a, b = uniform(generator, 1, low=0.4, high=1.4), uniform(generator, 1, low=-1.4, high=-0.4)
    pair = torch.cat([a, b])
    return [(pair, torch.tensor([row])) for row in ((0, 0, 1), (1, 0, 1), (2, 0, 0), (3, 0, 0), (3, 1, 0))]


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
