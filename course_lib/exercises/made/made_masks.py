"""The masks of MADE."""
from __future__ import annotations

from course_lib.exercises.draws import uneven
from course_lib.exercises.made._shared import degrees, permutation
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "made_masks", chapter="made", place=1, title="The masks of MADE",
    contract="order (D,) is a permutation of 1..D: order[i] is the position of x_i, 1 if it is drawn first. hidden is a "
             "list of tensors (H,), the degrees of each hidden layer, in 1..D-1. Return a list of float masks (out, in), "
             "one for each layer of connections: 1 where m_out >= m_in, and into the output where order_out > m_in.",
    points=["made"], difficulty=2, minutes=20)


@exercise.step
def hidden_mask(above, below):
    return above[:, None] >= below


@exercise.step
def output_mask(order, below):
    return order[:, None] > below


@exercise.step
def masks(order, hidden):
    """Booleans (out, in), one for each layer of connections."""
    below = [order, *hidden]
    return [*map(hidden_mask, hidden, below), output_mask(order, below[-1])]


@exercise.reference()
@exercise.step
def made_masks_reference(order, hidden):
    return [mask.float() for mask in masks(order, hidden)]


@exercise.misconception(
    output_mask, "Each variable can reach its own output: into the output the inequality is strict.")
def output_not_strict(order, below):
    return order[:, None] >= below


@exercise.misconception(
    hidden_mask,
    "Connections between equal degrees are missing below the output. There a unit may read its own degree.")
def hidden_strict(above, below):
    return above[:, None] > below


@exercise.misconception(
    masks,
    "Your inputs and outputs have the degrees of the inverse permutation: order[i] is the position of x_i, not the variable that is "
    "sampled i-th.")
def inverse(order, hidden):
    return masks.original(order.argsort() + 1, hidden)


@exercise.misconception(
    masks, "Your inputs and outputs have the degrees 0..D-1. Positions count from 1 here, at both ends.")
def no_degree_one(order, hidden):
    return masks.original(order - 1, hidden)


@exercise.misconception(
    masks, "Your units read those of higher degrees. They may read those of the same and of lower degrees.")
def higher_degrees(order, hidden):
    below = [order, *hidden]
    return [*(above[:, None] <= lower for above, lower in zip(hidden, below)), order[:, None] < below[-1]]


@exercise.misconception(
    made_masks_reference,
    "Your masks have the shape (in, out). A row belongs to a unit of the layer above: (out, in).")
def transposed(order, hidden):
    return [mask.T.contiguous() for mask in made_masks_reference.original(order, hidden)]


@exercise.misconception(
    made_masks_reference, "The mask into the output is missing: with L hidden layers there are L + 1 masks.")
def no_output(order, hidden):
    return made_masks_reference.original(order, hidden)[:-1]


@exercise.misconception(
    made_masks_reference,
    "Your masks have the right entries and the wrong type. Floats are asked for, because masks are multiplied by the weights.")
def not_floats(order, hidden):
    return masks(order, hidden)


def mask_cases(generator):
    cases = []
    for depth in (1, 2, 3):
        D, *widths = uneven(generator, (4, 6), *[(3, 9)] * depth)
        cases.append((permutation(generator, D) + 1, [degrees(generator, D, H) for H in widths]))
    return [*cases, (permutation(generator, 5) + 1, [degrees(generator, 5, 5), degrees(generator, 5, 5)])]      # square masks


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
