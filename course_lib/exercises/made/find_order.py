"""The order of a model that is a function."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal
from course_lib.exercises.fvsbn.find_leaks import largest_moves
from course_lib.exercises.hidden import conditionals_of, gate
from course_lib.exercises.made._shared import permutation
from course_lib.exercises.nade._shared import every_state
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_order", chapter="made", place=4, title="Find the order, or show that there is none",
    contract="conditionals is a function: for x (B, n) of 0 and 1 it returns (B, n), the probabilities that a model gives to "
             "x_i = 1; n is at most 7. A factor reads x_j if in some state flipping x_j moves its probability by more than 0.001. If the "
             "model is autoregressive in some order, exactly one order fits: return it as "
             "a list, order[k] the variable drawn k-th, counted from 0. If none fits, return an empty list.",
    points=["made", "made-orderings"], difficulty=4, minutes=35, kind="find")


@exercise.step
def all_states(n):
    return every_state(n)


@exercise.step
def dependent(moves):
    return moves > 1e-6


@exercise.step
def order_of(reads):
    """Each variable after all that it reads; an empty list if there is no such order."""
    order, left = [], list(range(len(reads)))
    while left:
        ready = [i for i in left if not reads[i, left].any()]
        if not ready:
            return []
        order.append(ready[0])
        left.remove(ready[0])
    return order


@exercise.reference()
def find_order_reference(conditionals, n):
    return order_of(dependent(largest_moves(conditionals, all_states(n))))


@exercise.misconception(
    all_states,
    "You find the connections that show in every state and miss those that show in few: they need certain values of the other "
    "variables. Flip x_j in each of the 2^n states.")
def few_states(n):
    return every_state(n)[:1]


@exercise.misconception(
    dependent,
    "You miss weak connections. A probability that moves by less than a hundredth depends on x_j, too: rounding is below a "
    "millionth.")
def strong_only(moves):
    return moves > 0.05


@exercise.misconception(
    order_of,
    "You return the position of each variable. order[k] is the variable that is sampled k-th: the inverse.")
def positions(reads):
    order = order_of.original(reads)
    return [order.index(i) for i in range(len(order))]


@exercise.misconception(order_of, "Your order is reversed: a variable is sampled after those that it reads.")
def backwards(reads):
    return order_of.original(reads)[::-1]


@exercise.misconception(order_of, "You count from 1. Variables count from 0 here, as in the tensors.")
def from_one(reads):
    return [i + 1 for i in order_of.original(reads)]


@exercise.misconception(
    order_of,
    "You sort by how many variables each factor reads. Connections may be missing, so that a late variable can read fewer than an "
    "early one.")
def counted(reads):
    return sorted(order_of.original(reads), key=lambda i: (int(reads[i].sum()), i))


@exercise.misconception(
    order_of, "You return an order for a model that has none: two of its factors depend on each other's variables.")
def never_empty(reads):
    order, left = [], list(range(len(reads)))
    while left:
        order.append(min(left, key=lambda i: int(reads[i, [j for j in left if j != i]].sum())))
        left.remove(order[-1])
    return order


@exercise.misconception(
    order_of,
    "You return an order for a model in which a factor reads its own variable. No order allows that.")
def itself_ignored(reads):
    return order_of.original(reads & ~torch.eye(len(reads), dtype=torch.bool))


@exercise.misconception(
    order_of,
    "You sort by how many variables each factor reads, and return an empty list if this is no order. Connections may be missing, so that a "
    "late variable can read fewer than an early one, and another order fits.")
def counted_and_checked(reads):
    order = counted(reads)
    return [] if any(reads[i, order[k:]].any() for k, i in enumerate(order)) else order


KINDS = ((4, "full"), (5, "sparse"), (5, "half"), (4, "itself"), (6, "late"), (6, "circle"), (7, "circle"), (7, "circle"),
         (7, "circle"), (7, "weak"))


def order_cases(generator):
    return [model(generator, n, kind) for n, kind in KINDS]


def model(generator, n: int, kind: str):
    """The conditionals of a model and its number of variables. In a random order, each factor reads the one before it.

    "full": it reads all before it. "sparse": the last one does not. "itself": one factor reads its own variable. The others
    hide something: in "half" a factor notices the one before it in half of the states; in "late" the last two notice those
    before them in few; in "circle" the last but one notices the last in few, so that no order fits; in "weak" no probability
    moves by much more than a hundredth.
    """
    order = permutation(generator, n).tolist()
    W, gates = torch.zeros(n, n), []
    for late in range(1, n):
        for early in range(late):
            if early == late - 1 or kind == "full" or late < n - 1 and kind in ("sparse", "circle"):
                size = 0.6 + float(torch.rand((), generator=generator))
                W[order[late], order[early]] = size if (late + early) % 2 else -size
    if kind == "itself":
        W[order[1], order[1]] = 0.9
    if kind == "half":
        W[order[2], order[1]] = 0.0
        gates.append((order[2], [order[1], order[0]], torch.ones(2), 1.5))
    if kind == "late":
        for late in (n - 2, n - 1):
            W[order[late]] = 0.0
            gates.append(gate(generator, order[late], order[:late]))
    if kind == "circle":
        gates.append(gate(generator, order[n - 2], [*order[:n - 2], order[n - 1]]))
    return conditionals_of(0.03 * W if kind == "weak" else W, normal(generator, n, scale=0.5), gates), n


exercise.compare("values", order_cases, points=5)
exercise.hint(
    "You only have a function, and no masks to look at.",
    "Flip one variable in every state and see which probabilities move. That gives a table: factor i reads x_j, or not.")
exercise.hint(
    "You have the table and do not know how to sort.",
    "A variable can be drawn as soon as everything that it reads has been drawn. Start with one that reads nothing, and "
    "repeat.")
exercise.hint(
    "At some point no variable is left that can be drawn.",
    "Then there is no order: some factors wait for each other, or one reads its own variable. Return an empty list.")
