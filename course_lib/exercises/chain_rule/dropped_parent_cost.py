"""What a dropped parent costs."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import joint
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "dropped_parent_cost", chapter="01", place=3, title="Predict, then measure: the price of a parent",
    contract="joint, shape (2,) * n, as before; child and parent are variables, parent < child. Return the number of "
             "nats that the expected log-likelihood loses when the table of child may no longer read parent, but "
             "still reads the other variables before child.",
    points=["cond-independence"], difficulty=3, minutes=25, kind="measure")


@exercise.reference(
    alone="You compare the child with this parent alone. The other parents are still there, and may already say what "
          "this one says.",
    all_dropped="You dropped every parent. Only one is to go.",
    in_bits="Your value is in bits. Nats are asked for.",
    negated="Your cost is negative. A table that may read less never fits better: the cost is what is lost.",
    unweighted="You average over the states as if all were equally likely. Weight each by its probability in joint.",
    later_too="Your tables also read the variables after the child. The chain rule lets a child read what comes before "
              "it only.",
    one_state="You look at the states where the child is 1 only. The log-likelihood of a 0 changes as well.",
)
def dropped_parent_cost_reference(joint, child, parent, bugs=frozenset()):
    if "later_too" not in bugs and child + 1 < joint.ndim:
        joint = joint.sum(dim=tuple(range(child + 1, joint.ndim)))
    kept = tuple(range(joint.ndim))
    if "alone" in bugs:
        others = tuple(j for j in kept if j not in (child, parent))            # sum(dim=()) would add everything
        joint = joint.sum(dim=others, keepdim=True) if others else joint
    gone = tuple(j for j in kept if j != child) if "all_dropped" in bugs else (parent,)
    with_parent = joint / joint.sum(dim=child, keepdim=True)
    less = joint.sum(dim=gone, keepdim=True)
    without = less / less.sum(dim=child, keepdim=True)
    weight = torch.full_like(joint, 1 / joint.numel()) if "unweighted" in bugs else joint
    terms = weight * (with_parent / without).log()
    if "one_state" in bugs:
        terms = terms.select(child, 1)
    cost = terms.sum()
    return cost / math.log(2) if "in_bits" in bugs else -cost if "negated" in bugs else cost


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
