"""One conditional from a joint table."""
from __future__ import annotations

from course_lib.exercises.draws import integer, joint
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "conditional_table", chapter="chain-rule", place=2, title="A conditional probability table from a joint distribution",
    contract="joint, shape (2,) * n, holds p(x_0, ..., x_{n-1}), axis k for the variable k (from 0). Return the table of "
             "P(x_i = 1 given x_<i), shape (2,) * i: one entry for each state of the variables before i.",
    points=["cpt-table", "chain-rule"], difficulty=2, minutes=15)


@exercise.step
def parents_and_child(joint, i):
    """P(x_0, ..., x_i): the later variables are summed out."""
    later = tuple(range(i + 1, joint.ndim))
    return joint.sum(dim=later) if later else joint


@exercise.step
def shares(zero, one):
    """The share of x_i = 1 in each state of the parents."""
    return one / (zero + one)


@exercise.reference()
@exercise.step
def conditional_table_reference(joint, i):
    both = parents_and_child(joint, i)
    return shares(both[..., 0], both[..., 1])


@exercise.misconception(shares, "Your entries are P(x_i = 1 and x_<i). To condition on x_<i, divide by P(x_<i).")
def not_divided(zero, one):
    return one


@exercise.misconception(shares, "Your table holds the probability of a 0. Return the probability of a 1.")
def of_zero(zero, one):
    return zero / (zero + one)


@exercise.misconception(
    shares,
    "You divide by P(x_i = 1), which gives the probability of the parents given the child. Divide by the probability of"
    " the parents.")
def wrong_way_round(zero, one):
    return one / one.sum()


@exercise.misconception(parents_and_child, "You set the later variables to 0. Their values are unknown, so sum over them.")
def later_fixed(joint, i):
    return joint[(...,) + (0,) * (joint.ndim - i - 1)]


@exercise.misconception(
    parents_and_child,
    "You condition on the later variables too and take the plain mean over their values. Sum them out of the joint "
    "distribution before you divide.")
def later_averaged(joint, i):
    later, table = tuple(range(i + 1, joint.ndim)), joint / joint.sum(dim=i, keepdim=True)
    return table.mean(dim=later) if later else table


@exercise.misconception(
    shares,
    "Every entry of your table is the marginal P(x_i = 1). Each entry must be conditioned on its state of x_<i.")
def parents_ignored(zero, one):
    return (one.sum() / (zero.sum() + one.sum())).expand_as(one)


@exercise.misconception(
    conditional_table_reference,
    "The axes of your table are in reversed order: axis k belongs to the variable k.")
def axes_reversed(joint, i):
    result = conditional_table_reference.original(joint, i)
    return result.permute(tuple(reversed(range(result.ndim))))


@exercise.misconception(shares, "Your entries are P(x_i = 1) over P(x_i = 0), the odds. Divide by the sum of the two.")
def odds(zero, one):
    return one / zero


def table_cases(generator):
    sizes = [(1, 0), (4, 2), (3, 1), (integer(generator, 3, 5), 0), (5, 4), (3, 2)]
    return [(joint(generator, n), i) for n, i in sizes]


exercise.compare("values", table_cases, points=4)
exercise.unchanged(table_cases)
exercise.hint(
    "You do not know what to do with the variables after i.",
    "Nobody has seen them: sum them out. What is left is a table over x_0, ..., x_i.")
exercise.hint(
    "For one state of the parents, your entry and its complement do not add up to 1.",
    "The last axis of that table holds the two values of x_i. Divide the entry for 1 by the sum of both.")
exercise.hint(
    "The last variable, or the first, raises an error.",
    "The last has nothing after it to sum over, and sum(dim=()) adds everything: treat it apart. The first has no "
    "parents, and its table is one number, shape ().")
