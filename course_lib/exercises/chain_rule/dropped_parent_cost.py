"""What a dropped parent costs."""
from __future__ import annotations

import math

from course_lib.exercises.draws import joint
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "dropped_parent_cost", chapter="chain-rule", place=3, title="The cost of a dropped parent",
    contract="joint, shape (2,) * n, as before; child and parent are variables, parent < child. Return by how many "
             "nats the expected log-likelihood falls when the table of child is no longer conditioned on parent, but "
             "still on the other variables before child.",
    points=["cond-independence"], difficulty=3, minutes=25, kind="measure")


@exercise.step
def up_to_child(joint, child):
    """P(x_0, ..., child): the later variables are summed out."""
    later = tuple(range(child + 1, joint.ndim))
    return joint.sum(dim=later) if later else joint                            # sum(dim=()) would add everything


@exercise.step
def without_parent(joint, child, parent):
    return joint.sum(dim=parent, keepdim=True)


def conditional(joint, child):
    return joint / joint.sum(dim=child, keepdim=True)


@exercise.step
def expectation(joint, values):
    return (joint * values).sum()


@exercise.step
def cost(joint, child, parent):
    reduced = without_parent(joint, child, parent)
    return expectation(joint, (conditional(joint, child) / conditional(reduced, child)).log())


@exercise.reference()
def dropped_parent_cost_reference(joint, child, parent):
    return cost(up_to_child(joint, child), child, parent)


@exercise.misconception(
    cost,
    "You compare the child with this parent alone. The other parents are still there, and may already carry the same information.")
def alone(joint, child, parent):
    others = tuple(j for j in range(joint.ndim) if j not in (child, parent))
    return cost.original(joint.sum(dim=others, keepdim=True) if others else joint, child, parent)


@exercise.misconception(without_parent, "You dropped every parent. Drop only the given one.")
def all_dropped(joint, child, parent):
    return joint.sum(dim=tuple(j for j in range(joint.ndim) if j != child), keepdim=True)


@exercise.misconception(
    without_parent,
    "You take the plain mean of the full table over the values of the parent. They are not equally probable: sum the "
    "parent out of the joint distribution before you divide.")
def plain_mean(joint, child, parent):
    return conditional(joint, child).mean(dim=parent, keepdim=True)


@exercise.misconception(cost, "Your value is in bits. Return nats.")
def in_bits(joint, child, parent):
    return cost.original(joint, child, parent) / math.log(2)


@exercise.misconception(
    cost,
    "Your cost is negative. A table with fewer parents never has a higher expected log-likelihood; return the decrease.")
def negated(joint, child, parent):
    return -cost.original(joint, child, parent)


@exercise.misconception(
    expectation,
    "You average over the states as if all were equally probable. Weight each by its probability in joint.")
def unweighted(joint, values):
    return values.mean()


@exercise.misconception(
    up_to_child,
    "Your tables are also conditioned on the variables after the child. In the chain rule a child is conditioned only on variables before it.")
def later_too(joint, child):
    return joint


def dropped_cases(generator):
    return [(joint(generator, n), child, parent) for n, child, parent in
            [(4, 2, 0), (4, 2, 1), (4, 3, 1), (3, 1, 0), (5, 3, 2)]]


exercise.compare("values", dropped_cases, points=4, atol=1e-7)
exercise.unchanged(dropped_cases)
exercise.hint(
    "You do not know which two models to compare.",
    "One has the full table of the child. The other has the best table that does not read the parent: the conditional "
    "of the same joint, with the parent summed out. All other factors are equal and cancel.")
exercise.hint(
    "Your cost comes out negative, or larger than log 2.",
    "The expectation is under the joint itself: sum p(x) times the difference of the two log-conditionals. It is never "
    "negative, and one bit of a child cannot cost more than log 2 nats.")
exercise.hint(
    "Your cost does not depend on the other parents.",
    "Sum out the later variables and the one parent, nothing else. keepdim=True keeps the axes aligned, so that the "
    "two tables divide entry by entry.")
