"""Whether a product of conditionals is a distribution: an order of its variables, or none."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.checks import Compare, Fault, shape_fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "factor_order", chapter="chain-rule", place=7, title="Is this product a distribution?",
    contract="parents is a list of n lists: factor i is p(x_i | x_j for j in parents[i]), with variables counted from 0. Return a list of all n "
             "variables in an order in which every factor depends only on variables before its own (any such order is right), or None if "
             "there is no such order.",
    points=["chain-rule", "cond-independence"], difficulty=3, minutes=25)


@exercise.step
def conditions(parents):
    """The variables on which each factor depends."""
    return [list(given) for given in parents]


@exercise.step
def ready(parents, order):
    """The variables that can come next: all their parents are in the order."""
    return [i for i in range(len(parents)) if i not in order and all(j in order for j in parents[i])]


@exercise.step
def sort(parents):
    order = []
    while len(order) < len(parents):
        following = ready(parents, order)
        if not following:
            return None
        order.append(following[0])
    return order


@exercise.reference()
@exercise.step
def factor_order_reference(parents):
    return sort(conditions(parents))


@exercise.misconception(
    sort,
    "You return an order for factors that form a longer cycle, such as p(x_0 | x_1) p(x_1 | x_2) p(x_2 | x_0), although no two variables are "
    "parents of each other. Testing pairs is not sufficient.")
def pairs_only(parents):
    pair = any(i in parents[j] for i in range(len(parents)) for j in parents[i])
    return None if pair else append_anyway(parents)


@exercise.misconception(
    sort,
    "You return None unless each variable comes after its parents in the natural order 0, 1, 2, ... The variables may be sampled in another "
    "order, so look for one.")
def natural_only(parents):
    return None if any(j >= i for i, given in enumerate(parents) for j in given) else list(range(len(parents)))


@exercise.misconception(
    sort,
    "You return an order for factors that form a cycle. Their product need not sum to one, so return None when no variable is left whose "
    "parents all come before it.")
def never_none(parents):
    return append_anyway(parents)


@exercise.misconception(
    sort,
    "You sort the variables by their number of parents. A variable with few parents can still depend on one that has more.")
def by_number(parents):
    return sort.original(parents) and sorted(range(len(parents)), key=lambda i: len(parents[i]))


@exercise.misconception(
    ready,
    "You append a variable as soon as one of its parents is in the order. Its factor depends on all of them, so all must come before it.")
def any_parent(parents, order):
    return [i for i in range(len(parents)) if i not in order and (not parents[i] or any(j in order for j in parents[i]))]


@exercise.misconception(
    conditions,
    "You return an order although a factor is conditioned on its own variable. A variable never comes before itself, so no order exists.")
def self_ignored(parents):
    return [[j for j in given if j != i] for i, given in enumerate(parents)]


@exercise.misconception(
    factor_order_reference,
    "Your order is reversed: each variable comes before its parents. parents[i] are the variables that factor i is conditioned on, so they "
    "come first.")
def reversed_order(parents):
    order = factor_order_reference.original(parents)
    return order and order[::-1]


@exercise.misconception(
    factor_order_reference,
    "Your order lacks the variables that have no parents and are no parents. Each is independent of the others, but its factor is part "
    "of the product.")
def connected_only(parents):
    order = factor_order_reference.original(parents)
    return order and [i for i in order if parents[i] or any(i in given for given in parents)]


def append_anyway(parents):
    """An order of all variables, found in the right way as long as there is one."""
    order = []
    while len(order) < len(parents):
        left = [i for i in range(len(parents)) if i not in order]
        order.append((ready(parents, order) or left)[0])
    return order


def fits(parents, order) -> bool:
    """Whether each variable comes after its parents in an order of all variables."""
    return all(order.index(j) < order.index(i) for i, given in enumerate(parents) for j in given)


def is_permutation(order, n: int) -> bool:
    """Whether a list contains each of 0 to n - 1 once; what follows its first n entries may be anything."""
    return len(order) == n and all(i in order for i in range(n))


class ValidOrder(Compare):
    """As Compare; each order that fits the factors is right."""

    def fault(self, record):
        parents, got = record.args[0], record.outcome.value
        if got is None and parents != [[]]:
            return None if record.expected is None else Fault("You return None for factors that have an order.")
        return shape_fault(got, list(range(len(parents)))) or self.value_fault(record)

    def value_fault(self, record):
        parents, got = record.args[0], list(record.outcome.value)
        if record.expected is None:
            return Fault("You return a list for factors that form a cycle; return None, because they have no order.")
        if not is_permutation(got, len(parents)):
            return Fault("Your order does not contain each of the variables 0 to n - 1 exactly once.")
        wrong = [(i, j) for i, given in enumerate(parents) for j in given if got.index(j) > got.index(i)]
        return Fault("In your order variable {} comes before variable {}, on which its factor is conditioned.".format(*wrong[0])) if wrong else None

    def alike(self, record, outcome):
        """Two orders need not be equal: both may fit, or both may fit when they are reversed."""
        def kind(order):
            return "fits" if fits(parents, order) else "reversed" if fits(parents, order[::-1]) else list(order)

        parents, pair = record.args[0], (record.outcome.value, outcome.value)
        if record.expected is None:                          # any list is the same mistake
            return outcome.kind == record.outcome.kind and (pair[0] is None) == (pair[1] is None)
        if any(shape_fault(order, record.expected) or not is_permutation(order, len(parents)) for order in pair):
            return super().alike(record, outcome)
        return kind(pair[0]) == kind(pair[1])


def renamed(generator, parents):
    """The same graph with the variables, and the parents of each, in a random order."""
    names = torch.randperm(len(parents), generator=generator).tolist()
    graph = [[] for _ in parents]
    for i, given in enumerate(parents):
        graph[names[i]] = [names[given[k]] for k in torch.randperm(len(given), generator=generator).tolist()]
    return graph


def factor_cases(generator):
    n = integer(generator, 4, 6)
    named = [[list(range(i)) for i in range(n)],                               # all earlier variables, in the natural order
             [list(range(i + 1, n)) for i in range(n)],                        # all later ones
             [[1], [0]], [[2], [0], [1]], [[0]], [[], [0, 1], [1]]]            # cycles
    graphs = [[[], [0], [0, 1], [2]], [[], [0], [1], [2], [3]], [[], [0], [], [0, 1], []],      # x_3 has fewer parents than x_2; a chain
              [[], [0, 2], [1, 3], [0], []], [[], [2, 0], [3], [1, 0], [3]], [[3], [0], [1], [2, 4], [], [4]],
              [[], [0], [1, 2], [2]]]                                          # cycles of 2, 3, 4 variables and of 1 among others
    return [([[]],), *((parents,) for parents in named), *((renamed(generator, parents),) for parents in graphs)]


exercise.checks.append(ValidOrder("orders", 4, factor_cases))
exercise.unchanged(factor_cases)
exercise.hint(
    "You do not know where to begin.",
    "Which variable can come first? One whose factor is conditioned on nothing. After it can come a variable whose parents are all in the order. "
    "Repeat until all variables are in the order.")
exercise.hint(
    "Your loop does not end, or it ends before all variables are in the order.",
    "If variables are left and each of them has a parent that is left too, none of them can come next. Then there is no order: return None.")
exercise.hint(
    "You find cycles of two variables and miss longer ones.",
    "Do not search for cycles. Build the order instead: if it can be completed there is no cycle, and otherwise there is one.")
