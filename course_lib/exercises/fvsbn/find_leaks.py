"""The leak in a broken model."""
from __future__ import annotations

import itertools

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.hidden import conditionals_of, gate
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_leaks", chapter="03", place=3, title="Find the leak",
    contract="conditionals is a function: for x (B, n) of 0 and 1 it returns (B, n), the probabilities that a model "
             "gives to x_i = 1. Return a sorted list of the pairs (i, j), counted from 0, with j >= i, for which "
             "factor i depends on x_j: in some state, flipping x_j moves its probability by more than 0.001. For a sound "
             "model the list is empty, and no probability moves by more than rounding.",
    points=["fvsbn"], difficulty=4, minutes=35, kind="find")


@exercise.reference(
    few_states="You find the leaks that show everywhere and miss those that show in few states: they need certain values "
               "of the other variables. Flip x_j in every one of the 2^n states.",
    diagonal_forgotten="A factor that reads its own variable is not in your list. j = i is a leak too, the worst one.",
    earlier_too="Your list holds pairs with j < i. Those are parents, and are allowed.",
    exchanged="Your pairs are the wrong way round: the factor comes first, the variable that it reads second.",
    from_one="You count from 1. Positions count from 0 here, as in the tensors.",
    first_only="You stop at the first leak of a factor. List all of them.",
    strong_only="You miss weak leaks. A probability that moves by less than a hundredth has moved: rounding is below a "
                "millionth.",
    by_variable="Your list is not sorted: it goes variable by variable. The factor comes first in a pair, so that (0, 3) is "
                "before (1, 1).",
    unsorted="Your list is not sorted.",
)
def find_leaks_reference(conditionals, n, bugs=frozenset()):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))        # (2^n, n)
    if "few_states" in bugs:
        states = states[:1]
    before, found = conditionals(states), []
    for j in range(n):
        flipped = states.clone()
        flipped[:, j] = 1 - flipped[:, j]
        moved = (conditionals(flipped) - before).abs().amax(dim=0)              # (n,): who noticed
        moved = moved > (0.05 if "strong_only" in bugs else 1e-6)
        found += [(i, j) for i in range(n) if moved[i]]
    if "earlier_too" not in bugs:
        found = [(i, j) for i, j in found if i < j or i == j and "diagonal_forgotten" not in bugs]
    if "first_only" in bugs:
        found = [(i, j) for i, j in found if j == min(b for a, b in found if a == i)]
    if "exchanged" in bugs:
        found = [(j, i) for i, j in found]
    if "from_one" in bugs:
        found = [(i + 1, j + 1) for i, j in found]
    if "by_variable" in bugs:
        return sorted(found, key=lambda pair: (pair[1], pair[0]))
    return sorted(found, reverse="unsorted" in bugs)


def leak_cases(generator):
    """A sound model, and broken ones with a weak leak and with leaks that show in few states. The pairs do not come sorted
    to who goes through the variables that leak: (0, n - 1) is before the others."""
    found = [(conditionals_of(normal(generator, 4, 4).tril(-1), normal(generator, 4)), 4)]
    for n in (4, 5, 6):
        W = normal(generator, n, n).tril(-1)
        j = integer(generator, 2, n - 1)
        W[j - 1, j], W[1, n - 1], W[n - 1, n - 1] = 0.9, -0.7, 1.1              # two that look ahead, one at itself
        W[0, 0], W[0, n - 1], W[1, 1] = -0.8, 0.6, 0.9                           # and one that does both
        found.append((conditionals_of(W, normal(generator, n)), n))
    for n in (6, 7):
        W, c = normal(generator, n, n, scale=0.5).tril(-1), normal(generator, n, scale=0.3)    # no sigmoid is flat at the gates
        gates = [gate(generator, i, at) for i, at in
                 ((0, list(range(n))), (n - 2, [*range(n - 2), n - 1]), (n - 1, list(range(n))))]
        W[1], W[2] = 0.0, 0.0                   # the probabilities of these two stay near one half, where a leak shows best
        W[1, 1], W[2, n - 1] = (0.02 + 0.02 * torch.rand(2, generator=generator)).tolist()
        found.append((conditionals_of(W, c, gates), n))
    return found


exercise.compare("values", leak_cases, points=5)
exercise.hint(
    "You only have a function, and no weights to look at.",
    "Change one variable and see whose probability moves. If factor i moves when only x_j changed, factor i reads x_j.")
exercise.hint(
    "You find most leaks, but not all.",
    "A dependence can hide: x_3 may matter in a single state of the others, and it may be weak. With n variables there are "
    "2^n states. n is small here: flip x_j in every one of them, and take any move beyond rounding.")
exercise.hint(
    "Your list is too long.",
    "A factor may read what comes before it. Keep only the pairs with j >= i, the factor's own variable included, and "
    "sort them.")
