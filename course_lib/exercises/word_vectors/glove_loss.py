"""The loss of GloVe."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "glove_loss", chapter="word-vectors", place=3, title="The loss of GloVe",
    contract="counts (V, V), floats from 0 on, says how often word j stood near word i; w (V, D) and w_tilde (V, D) are vectors, b (V,) "
             "and b_tilde (V,) biases, maximum > 0 is x_max. Return the sum over all pairs with counts above 0 of f(counts_ij) "
             "(w_i . w_tilde_j + b_i + b_tilde_j - ln counts_ij)^2, f(x) = min(1, (x / maximum)^0.75): a tensor of shape (). "
             "A table of zeros gives 0, and a way back to all four.",
    points=["glove"], difficulty=2, minutes=20)


@exercise.step
def logarithm(counts):
    return torch.where(counts > 0, counts, 1.0).log()


@exercise.step
def weight(counts, maximum):
    """f of the paper: 0 for pairs that never occur, at most 1."""
    return (counts / maximum).clamp(max=1) ** 0.75


@exercise.step
def biases(b, b_tilde):
    return b[:, None] + b_tilde[None, :]


@exercise.step
def summed(f, off, seen):
    return (f * off ** 2).sum()


@exercise.reference()
def glove_loss_reference(counts, w, w_tilde, b, b_tilde, maximum):
    off = w @ w_tilde.T + biases(b, b_tilde) - logarithm(counts)               # (V, V)
    return summed(weight(counts, maximum), off, counts > 0)


@exercise.misconception(
    logarithm,
    "You take ln(1 + x). The vectors are fitted to ln x; pairs with x = 0 are not in the sum.")
def log_of_one_more(counts):
    return (1 + counts).log()


@exercise.misconception(weight, "All your pairs weigh the same: f is missing.")
def unweighted(counts, maximum):
    return (counts > 0).to(counts)


@exercise.misconception(weight, "Your f goes on above 1. A pair that was seen more often than maximum weighs 1.")
def not_capped(counts, maximum):
    return (counts / maximum) ** 0.75


@exercise.misconception(weight, "Your f is x / maximum, at most 1. Its power 0.75 is missing.")
def linear(counts, maximum):
    return (counts / maximum).clamp(max=1)


@exercise.misconception(
    weight,
    "Your f is min(1, x / maximum) with the maximum under the power alone, or the count: the power is of x / "
    "maximum.")
def power_outside(counts, maximum):
    return (counts / maximum ** 0.75).clamp(max=1)


@exercise.misconception(summed, "You add the sizes of the differences. They are squared.")
def not_squared(f, off, seen):
    return (f * off.abs()).sum()


@exercise.misconception(summed, "You square the weight too. f stands outside the square.")
def root_weight(f, off, seen):
    return ((f * off) ** 2).sum()


@exercise.misconception(biases, "Your biases are missing: b of the row's word, b_tilde of the column's.")
def no_biases(b, b_tilde):
    return 0


@exercise.misconception(
    biases,
    "Your b goes with the columns and your b_tilde with the rows. b_i belongs to the row, as w_i does.")
def biases_swapped(b, b_tilde):
    return b[None, :] + b_tilde[:, None]


@exercise.misconception(summed, "You return the mean over the pairs. Their sum is asked for.")
def mean(f, off, seen):
    return summed.original(f, off, seen) / seen.sum().clamp(min=1)


def tables(generator):
    """Counts that are not symmetric: none, below the maximum, at it and above."""
    found = []
    for _ in range(3):
        V, D = uneven(generator, (4, 6), (2, 7))
        maximum = float(integer(generator, 5, 9))
        counts = torch.randint(1, 20, (V, V), generator=generator).float()
        counts[torch.rand(V, V, generator=generator) < 0.3] = 0
        counts[0, :4] = torch.tensor([0.0, 1.0, maximum, 3 * maximum])
        counts[1, 0] = 0.5                                                     # by distance: not whole
        found.append((counts, normal(generator, V, D), normal(generator, V, D), normal(generator, V), normal(generator, V), maximum))
    return found


def empty(generator):
    """Nobody met anybody."""
    return [(torch.zeros_like(counts), *rest) for counts, *rest in tables(generator)[:1]]


exercise.compare("values", tables, points=2)
exercise.compare("a table of zeros", empty, points=1)
exercise.gradient("gradient", lambda g: tables(g) + empty(g), wrt=(1, 2, 3, 4), points=2)
exercise.unchanged(tables)
exercise.hint(
    "You do not know how to have all pairs at once.",
    "w @ w_tilde.T is (V, V); b[:, None] + b_tilde adds one bias along the rows and the other along the columns.")
exercise.hint(
    "The loss is NaN.",
    "ln 0. Put a 1 where the counts are 0 before the logarithm (torch.where), and give these pairs the weight 0; or take the rows "
    "and columns of the pairs that were seen, counts.nonzero(as_tuple=True).")
exercise.hint(
    "The value is a little too large.",
    "Look at pairs above maximum: their weight is 1. clamp(max=1) does it.")
