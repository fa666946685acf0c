"""Who may read whom when the words are told in a given order."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "masks_of_order", chapter="denoising", place=4, title="The masks of an order",
    contract="order is a list, a permutation of 0..n - 1: the word at place order[0] is told first, that at order[1] next. Return "
             "(content, query), two bool tensors (n, n), entry [i, j] True where the word at place i may read the word at place j. A "
             "content reads every word told before it, and itself; a query reads every word told before it.",
    points=["xlnet"], difficulty=3, minutes=20)


@exercise.step
def turns(order):
    """When the word at each place is told, (n,)."""
    return torch.tensor(order).argsort()


@exercise.step
def masks(reader, told):
    """Of the turns of the words that read and of those that are read: (content, query), (n, n) each."""
    return told[None, :] <= reader[:, None], told[None, :] < reader[:, None]


@exercise.reference()
def masks_of_order_reference(order):
    turn = turns(order)
    return masks(turn, turn)


@exercise.misconception(
    turns,
    "You take order[i] for the turn of the word at place i. order[k] is the place of the word told k-th: the turn of place i "
    "is the k with order[k] == i.")
def inverse(order):
    return torch.tensor(order)


@exercise.misconception(
    turns,
    "Your masks are those from left to right, whatever the order is. The words stay at their places, but which words may be "
    "read follows the order.")
def left_to_right(order):
    return torch.arange(len(order))


@exercise.misconception(
    masks,
    "Your words read those that are told after them, or rows and columns are exchanged: row i says what the word at place i "
    "may read, and that is what was told before it.")
def transposed(reader, told):
    return tuple(mask.T for mask in masks.original(reader, told))


@exercise.misconception(
    masks,
    "The columns of your masks are in the order of the places, but the rows are not: row k is what the word told k-th may "
    "read. Put the rows in that order too.")
def columns_alone(reader, told):
    return masks.original(torch.arange(len(reader)), told)


@exercise.misconception(
    masks,
    "The rows of your masks are in the order of the places, but the columns are not: column k is the word told k-th. Put the "
    "columns in that order too.")
def rows_alone(reader, told):
    return masks.original(reader, torch.arange(len(told)))


@exercise.misconception(masks, "The two masks are exchanged: the mask of the contents comes first.")
def exchanged(reader, told):
    return masks.original(reader, told)[::-1]


@exercise.misconception(
    masks,
    "Your contents do not read themselves. The content of a word holds the word itself, so it may read it.")
def strict(reader, told):
    return (masks.original(reader, told)[1],) * 2


@exercise.misconception(masks, "Your queries read themselves. A query has to predict its word, so it would see its target.")
def loose(reader, told):
    return (masks.original(reader, told)[0],) * 2


def orders(generator):
    """Permutations that are not their own inverse; and a single word."""
    cases = []
    while len(cases) < 3:
        n = integer(generator, 4, 7)
        order = torch.randperm(n, generator=generator).tolist()
        if [order.index(k) for k in range(n)] != order:
            cases.append((order,))
    return [*cases, ([1, 2, 0],), ([0],)]


exercise.compare("values", orders, points=4)
exercise.unchanged(orders)
exercise.hint(
    "You do not know how to compare two words.",
    "Find the turn of each place first: turn[order[k]] = k. Then j is told before i where turn[j] < turn[i].")
exercise.hint(
    "Your masks are right for some orders only.",
    "Try [1, 2, 0]. The list and its inverse differ there. Word 1 is told first: its query reads nothing.")
