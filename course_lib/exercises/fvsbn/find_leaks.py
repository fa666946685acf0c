"""The leaks of a model that is given as a function."""
from __future__ import annotations

import itertools

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.hidden import conditionals_of, gate
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_leaks", chapter="fvsbn", place=3, title="Find the leak",
    contract="conditionals is a function: for x (B, n) of 0 and 1 it returns (B, n), the probabilities that a model "
             "assigns to x_i = 1. Return a sorted list of the pairs (i, j), counted from 0, with j >= i, for which "
             "factor i depends on x_j: in some state, flipping x_j changes its probability by more than 0.001. For a correct "
             "model the list is empty, and no probability changes by more than rounding.",
    points=["fvsbn"], difficulty=4, minutes=25, kind="find")


@exercise.step
def all_states(n):
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))         # (2^n, n)


@exercise.step
def over_states(moves):
    return moves.amax(dim=0)


def largest_moves(conditionals, states):
    """In row i and column j by how much flipping x_j moves the probability of x_i, at most, (n, n)."""
    columns = []
    for j in range(states.shape[1]):
        flipped = states.clone()
        flipped[:, j] = 1 - flipped[:, j]
        columns.append(over_states((conditionals(flipped) - conditionals(states)).abs()))
    return torch.stack(columns, dim=1)


@exercise.step
def dependent(moves):
    return moves > 1e-3


@exercise.step
def leaks(reads):
    """The pairs (i, j) with j >= i where factor i reads x_j."""
    return [(i, j) for i, j in reads.triu().nonzero().tolist()]


@exercise.reference()
def find_leaks_reference(conditionals, n):
    return leaks(dependent(largest_moves(conditionals, all_states(n))))


@exercise.misconception(
    all_states,
    "You find the leaks that occur in every state and miss those that occur only for certain values of the other variables. "
    "Flip x_j in each of the 2^n states.")
def few_states(n):
    return all_states.original(n)[:1]


@exercise.misconception(
    over_states,
    "You average the change over the states, which hides a dependence that occurs in few of them. Take the largest change.")
def averaged(moves):
    return moves.mean(dim=0)


@exercise.misconception(
    dependent,
    "You miss weak leaks. A change of the probability by less than a hundredth counts, too, if it is larger than "
    "0.001.")
def strong_only(moves):
    return moves > 0.05


@exercise.misconception(
    leaks, "Your list has no factor that depends on its own variable. A pair with j = i is a leak, too.")
def diagonal_forgotten(reads):
    return [(i, j) for i, j in reads.triu(1).nonzero().tolist()]


@exercise.misconception(leaks, "Your list contains pairs with j < i. These are parents, which are allowed.")
def earlier_too(reads):
    return [(i, j) for i, j in reads.nonzero().tolist()]


@exercise.misconception(
    leaks, "Your pairs are in the wrong order: the factor comes first, and the variable on which it depends second.")
def exchanged(reads):
    return sorted((j, i) for i, j in reads.triu().nonzero().tolist())


@exercise.misconception(leaks, "You count from 1. Positions count from 0 here, as in the tensors.")
def from_one(reads):
    return [(i + 1, j + 1) for i, j in reads.triu().nonzero().tolist()]


@exercise.misconception(leaks, "You list only the first leak of each factor. List all of them.")
def first_only(reads):
    return [(i, int(row.nonzero()[0])) for i, row in enumerate(reads.triu()) if row.any()]


@exercise.misconception(
    leaks,
    "Your list is sorted by variable. The factor comes first in a pair, so that (0, 3) is before (1, 1).")
def by_variable(reads):
    return [(i, j) for j, i in reads.triu().T.nonzero().tolist()]


def leak_cases(generator):
    """A sound model, and broken ones with a weak leak and with leaks that show in few states. The pairs do not come sorted
    to who goes through the variables that leak: (0, n - 1) is before the others."""
    cases = [(conditionals_of(normal(generator, 4, 4).tril(-1), normal(generator, 4)), 4)]
    for n in (4, 5, 6):
        W = normal(generator, n, n).tril(-1)
        j = integer(generator, 2, n - 1)
        W[j - 1, j], W[1, n - 1], W[n - 1, n - 1] = 0.9, -0.7, 1.1              # two that look ahead, one at itself
        W[0, 0], W[0, n - 1], W[1, 1] = -0.8, 0.6, 0.9                           # and one that does both
        cases.append((conditionals_of(W, normal(generator, n)), n))
    for n in (6, 7):
        W, c = normal(generator, n, n, scale=0.5).tril(-1), normal(generator, n, scale=0.3)    # no sigmoid is flat at the gates
        gates = [gate(generator, i, at) for i, at in
                 ((0, list(range(n))), (n - 2, [*range(n - 2), n - 1]), (n - 1, list(range(n))))]
        W[1:4] = 0.0                            # the probabilities of these three stay near one half, where a leak shows best
        gates.append(gate(generator, 3, list(range(n)), 0.06))                  # weak, and in one state alone
        W[1, 1], W[2, n - 1] = (0.02 + 0.02 * torch.rand(2, generator=generator)).tolist()
        cases.append((conditionals_of(W, c, gates), n))
    return cases


exercise.compare("values", leak_cases, points=5)
exercise.hint(
    "You only have a function, and no weights to look at.",
    "Change one variable and compare the probabilities. If that of factor i differs although only x_j changed, factor i depends on x_j.")
exercise.hint(
    "You find most leaks, but not all.",
    "A dependence on x_j may occur in a single state of the other variables, and it may be weak. With n variables there are "
    "2^n states, and n is small here. Flip x_j in each of them, and count every change that is larger than 0.001.")
exercise.hint(
    "Your list is too long.",
    "A factor may depend on earlier variables. Keep only the pairs with j >= i, including the factor's own variable, and "
    "sort them.")
