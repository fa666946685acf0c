"""The weights of a window, put into another order."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "permuted_window", chapter="11", place=1, title="Weights of a window, permuted",
    contract="W (H, P * D) reads a window: the vectors of P places, D numbers each, side by side. order is a list, a permutation of "
             "0..P - 1: place k of a new window holds the vector that was at place order[k]. Return the matrix (H, P * D) that "
             "gives for every new window what W gives for the old one. W stays as it is.",
    points=["window-mlm"], difficulty=2, minutes=15)


@exercise.reference(
    inverse="You move block k to place order[k]. That undoes another permutation: place k of the new window holds what was at "
            "place order[k], so block k of your matrix is block order[k] of W.",
    interleaved="You take the numbers of a place as P apart. The vectors stand side by side: place k owns the columns k * D to "
                "(k + 1) * D - 1.",
    within_vectors="You put the numbers inside each block into another order too. The vectors move, their numbers stay.",
    written_over="You move the blocks one after the other within one matrix: some are written over before they are read. Read from "
                 "W, and write into another one.",
    rows="You permute the hidden units, the rows. The places are in the columns.",
    turned="You turn the window round. The places move as order says.",
    first_two="You exchange the first two places and leave the others. order says where each comes from.",
    mean="You give all places the mean of their weights. Then the order does not matter any more, and the result is another one.",
)
def permuted_window_reference(W, order, bugs=frozenset()):
    P = len(order)
    blocks = W.reshape(len(W), P, -1)                                          # (H, P, D)
    if "interleaved" in bugs:
        return W.reshape(len(W), -1, P)[:, :, order].reshape(W.shape)
    if "written_over" in bugs:
        new = blocks.clone()
        for k, place in enumerate(order):
            new[:, k] = new[:, place]
        return new.reshape(W.shape)
    if "rows" in bugs:
        return W[[order[i % P] if order[i % P] < len(W) else i for i in range(len(W))]]
    if "turned" in bugs:
        return blocks.flip(1).reshape(W.shape)
    if "first_two" in bugs:
        order = [1, 0, *range(2, P)]
    if "mean" in bugs:
        return blocks.mean(dim=1, keepdim=True).expand_as(blocks).reshape(W.shape)
    if "inverse" in bugs:
        order = [order.index(k) for k in range(P)]
    moved = blocks[:, order]
    return (moved.flip(2) if "within_vectors" in bugs else moved).reshape(W.shape)


def windows(generator):
    """Orders that are not their own inverse, and one that changes nothing; vectors of one number and of several."""
    found = []
    for P, D in ((4, 3), (6, 2), (3, 5)):
        shift = integer(generator, 1, P - 1) if P == 3 else 1
        order = [(k + shift) % P for k in range(P)]
        if P > 3:
            order[2:] = [order[2 + i] for i in torch.randperm(P - 2, generator=generator).tolist()]
        if [order.index(k) for k in range(P)] == order:
            order = [(k + 1) % P for k in range(P)]
        found.append((normal(generator, integer(generator, 4, 7), P * D), order))
    return [*found, (normal(generator, 2, 4), [2, 0, 3, 1]), (normal(generator, 3, 6), [0, 1])]


exercise.compare("values", windows, points=3)
exercise.unchanged(windows)
exercise.hint(
    "You do not know where the places are in the matrix.",
    "W.reshape(H, P, D): the columns of place k are k * D to (k + 1) * D - 1.")
exercise.hint(
    "Your result is right for some orders only.",
    "Try [1, 2, 0]. A permutation and its inverse differ there; with two places exchanged they do not.")
