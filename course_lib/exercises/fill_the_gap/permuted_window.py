"""The weights of a window, put into another order."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "permuted_window", chapter="fill-the-gap", place=1, title="Weights of a window, permuted",
    contract="W (H, P * D) reads a window: the vectors of P places, D numbers each, side by side. order is a list, a permutation of "
             "0..P - 1: place k of a new window holds the vector that was at place order[k]. Return the matrix (H, P * D) that "
             "gives for every new window what W gives for the old one. W stays as it is.",
    points=["window-mlm"], difficulty=2, minutes=15)


@exercise.step
def moved(blocks, order):
    """The weights of each place, (H, P, D), in the new order."""
    return blocks[:, order]


@exercise.reference()
@exercise.step
def permuted_window_reference(W, order):
    return moved(W.reshape(len(W), len(order), -1), order).reshape(W.shape)


@exercise.misconception(
    moved,
    "You move block k to place order[k], which is the inverse permutation: place k of the new window holds what was at place order[k], so "
    "block k of your matrix is block order[k] of W.")
def inverse(blocks, order):
    return blocks[:, [order.index(k) for k in range(len(order))]]


@exercise.misconception(
    permuted_window_reference,
    "You take the numbers of a place as P apart. The vectors stand side by side: place k has the columns k * D to (k + 1) * D - 1.")
def interleaved(W, order):
    return W.reshape(len(W), -1, len(order))[:, :, order].reshape(W.shape)


@exercise.misconception(
    moved,
    "You put the numbers inside each block into another order too. The vectors move, their numbers stay.")
def within_vectors(blocks, order):
    return blocks[:, order].flip(2)


@exercise.misconception(
    moved,
    "You move the blocks one after the other within one matrix, so some are overwritten before they are read. Read from W, and write into "
    "another matrix.")
def written_over(blocks, order):
    new = blocks.clone()
    for k, place in enumerate(order):
        new[:, k] = new[:, place]
    return new


@exercise.misconception(permuted_window_reference, "You permute the hidden units, the rows. The places are in the columns.")
def rows(W, order):
    H, P = len(W), len(order)
    return W[[order[i % P] if order[i % P] < H else i for i in range(H)]]


@exercise.misconception(moved, "You reverse the window. The places move as order says.")
def turned(blocks, order):
    return blocks.flip(1)


def windows(generator):
    """Orders that are not their own inverse, and one that changes nothing; vectors of one number and of several, of as many as places."""
    cases = []
    for P, D in ((4, 3), (6, 2), (3, 5), (4, 4)):
        shift = integer(generator, 1, P - 1) if P == 3 else 1
        order = [(k + shift) % P for k in range(P)]
        if P > 3:
            order[2:] = [order[2 + i] for i in torch.randperm(P - 2, generator=generator).tolist()]
        if [order.index(k) for k in range(P)] == order:
            order = [(k + 1) % P for k in range(P)]
        cases.append((normal(generator, integer(generator, 4, 7), P * D), order))
    return [*cases, (normal(generator, 2, 4), [2, 0, 3, 1]), (normal(generator, 3, 6), [0, 1])]


exercise.compare("values", windows, points=3)
exercise.unchanged(windows)
exercise.hint(
    "You do not know where the places are in the matrix.",
    "W.reshape(H, P, D): the columns of place k are k * D to (k + 1) * D - 1.")
exercise.hint(
    "Your result is right for some orders only.",
    "Try [1, 2, 0]. A permutation and its inverse differ there; with two places exchanged they do not.")
