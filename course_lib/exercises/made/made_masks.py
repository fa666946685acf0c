"""The masks of MADE."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven
from course_lib.exercises.made._shared import degrees, permutation
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "made_masks", chapter="06", place=1, title="The masks of MADE",
    contract="order (D,) is a permutation of 1..D: order[i] is the position of x_i, 1 if it is drawn first. hidden is a "
             "list of tensors (H,), the degrees of each hidden layer, in 1..D-1. Return a list of float masks (out, in), "
             "one for each layer of connections: 1 where m_out >= m_in, and into the output where order_out > m_in.",
    points=["made"], difficulty=2, minutes=20)


@exercise.reference(
    output_not_strict="Each variable can reach its own output: into the output the inequality is strict.",
    hidden_strict="Connections between equal degrees are missing below the output. There a unit may read its own degree.",
    input_strict="A unit of degree m does not read the variable at position m. It may depend on the first m variables.",
    inverse="Your inputs and outputs have the degrees of the inverse permutation: order[i] is the position of x_i, not the "
            "variable that is drawn i-th.",
    natural_input="Your inputs have the degrees 1..D whatever the order is.",
    natural_output="Your outputs have the degrees 1..D whatever the order is.",
    reversed="Your units read those of higher degrees. They may read the same and lower ones.",
    transposed="Your masks have the shape (in, out). A row belongs to a unit of the layer above: (out, in).",
    no_output="The mask into the output is missing: with L hidden layers there are L + 1 masks.",
    from_zero="Your inputs have the degrees 0..D-1. Positions count from 1 here, so that the first variable has degree 1.",
    no_degree_one="Your inputs and outputs have the degrees 0..D-1. Positions count from 1 here, at both ends.",
    not_floats="Your masks have the right entries and the wrong type. Floats are asked for, to be multiplied by the weights.",
)
def made_masks_reference(order, hidden, bugs=frozenset()):
    if "inverse" in bugs:
        order = order.argsort() + 1
    if "no_degree_one" in bugs:
        order = order - 1
    natural = torch.arange(1, len(order) + 1)
    at_input = natural if "natural_input" in bugs else order - 1 if "from_zero" in bugs else order
    at_output = natural if "natural_output" in bugs else order
    below, masks = [at_input, *hidden], []
    for depth, above in enumerate(hidden):
        strict = "hidden_strict" in bugs or "input_strict" in bugs and depth == 0
        masks.append(above[:, None] > below[depth] if strict else above[:, None] >= below[depth])
    last = at_output[:, None]
    masks.append(last >= below[-1] if "output_not_strict" in bugs else last > below[-1])
    if "reversed" in bugs:
        masks = [above[:, None] <= lower for above, lower in zip(hidden, below)] + [last < below[-1]]
    if "no_output" in bugs:
        masks = masks[:-1]
    if "not_floats" in bugs:
        return masks
    return [(mask.T if "transposed" in bugs else mask).float().contiguous() for mask in masks]


def mask_cases(generator):
    found = []
    for depth in (1, 2, 3):
        D, *widths = uneven(generator, (4, 6), *[(3, 9)] * depth)
        found.append((permutation(generator, D) + 1, [degrees(generator, D, H) for H in widths]))
    return found


exercise.compare("values", mask_cases, points=5)
exercise.unchanged(mask_cases)
exercise.hint(
    "You do not see where the order comes in.",
    "It gives the degrees of both ends: the input x_i and the output for x_i have degree order[i]. The hidden layers "
    "bring theirs along.")
exercise.hint(
    "You are writing two loops for each mask.",
    "above[:, None] >= below compares every unit of one layer with every unit of the next: shape (out, in).")
exercise.hint(
    "The first variable's output is connected to something.",
    "Its degree is 1, and no hidden unit has a smaller one. With a strict inequality into the output its row is empty.")
