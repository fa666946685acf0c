"""The conditionals of a joint distribution in a given order."""
from __future__ import annotations

from course_lib.exercises.draws import integer, joint
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "ordered_tables", chapter="chain-rule", place=4, title="The chain rule in any order",
    contract="joint, shape (2,) * n, holds p(x_0, ..., x_{n-1}); order lists the variables 0 ... n - 1. Return a list of n tables. Table k "
             "has shape (2,) * k and holds the probability that variable order[k] is 1, given order[0], ..., order[k - 1], one axis each, "
             "in this order.",
    points=["chain-rule", "ordering"], difficulty=3, minutes=20)


@exercise.step
def reordered(joint, order):
    """The joint with the axes in the given order."""
    return joint.permute(order)


@exercise.step
def marginal(p, k):
    """p of the first k + 1 variables: the later ones are summed out."""
    later = tuple(range(k + 1, p.ndim))
    return p.sum(dim=later) if later else p


@exercise.step
def conditional(p):
    return p[..., 1] / p.sum(dim=-1)


@exercise.reference()
@exercise.step
def ordered_tables_reference(joint, order):
    p = reordered(joint, order)
    return [conditional(marginal(p, k)) for k in range(len(order))]


@exercise.misconception(reordered, "You ignore the order: your tables are those of x_0, x_1, ... in their natural order.")
def natural(joint, order):
    return joint


@exercise.misconception(
    reordered,
    "You put axis k at position order[k]. Position k should hold axis order[k], which is the inverse permutation.")
def inverse(joint, order):
    return joint.permute(tuple(order.index(k) for k in range(len(order))))


@exercise.misconception(conditional, "Your entries are joint probabilities with x_i = 1. Divide each by the probability of its condition.")
def not_divided(p):
    return p[..., 1]


@exercise.misconception(conditional, "Your tables hold the probability of a 0. They should hold the probability of a 1.")
def of_zero(p):
    return p[..., 0] / p.sum(dim=-1)


@exercise.misconception(marginal, "You set the later variables to 0. Their values are unknown, so sum over them.")
def later_zero(p, k):
    return p[(...,) + (0,) * (p.ndim - k - 1)]


@exercise.misconception(
    ordered_tables_reference,
    "Your tables belong to their variables' places in the joint. Table k belongs to the variable that comes k-th in the order.")
def by_variable(joint, order):
    tables = ordered_tables_reference.original(joint, order)
    return [tables[order.index(i)] for i in range(len(order))]


@exercise.misconception(
    ordered_tables_reference,
    "The axes of your tables are sorted by the numbers of the variables. Axis j of a table belongs to the variable "
    "order[j].")
def sorted_axes(joint, order):
    tables = ordered_tables_reference.original(joint, order)
    return [table.permute(sorted(range(k), key=lambda j: order[j])) for k, table in enumerate(tables)]


def orders(generator):
    """Joints with orders that differ from their inverses, and the natural order once. The orders of four variables have
    a condition whose variables are not sorted."""
    three = [[1, 2, 0], [2, 0, 1]]
    four = [[2, 0, 3, 1], [3, 0, 1, 2], [1, 3, 0, 2]]
    return [(joint(generator, 3), three[integer(generator, 0, 1)]),
            (joint(generator, 4), four[integer(generator, 0, 2)]), (joint(generator, 2), [1, 0]),
            (joint(generator, 1), [0]), (joint(generator, 3), [0, 1, 2])]




exercise.compare("values", orders, points=4)
exercise.unchanged(orders)
exercise.hint(
    "You do not know where to begin.",
    "Bring the axes of the joint into the order with permute. Then the problem is that of the exercise before, for every k.")
exercise.hint(
    "The tables are right for some orders only.",
    "joint.permute(order) puts axis order[k] at position k. Compare with an order that is not its own inverse, such as [1, 2, 0].")
exercise.hint(
    "The first table has the wrong shape.",
    "Table 0 has no condition, so it is a single number of shape (). For the last table nothing is left to sum over, and sum(dim=()) "
    "would add everything.")
