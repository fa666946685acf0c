"""What the masks leave: the parents of each output."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.made._shared import degrees, permutation
from course_lib.exercises.made.made_masks import made_masks_reference
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "made_parents", chapter="made", place=2, title="Predict, then check: who reads whom",
    contract="masks is a list of masks (out, in) of 0 and 1, from the input on; the first has D columns, the last D rows. "
             "Return a list of D lists: for each output, the inputs from which a path of connections leads to it, sorted, "
             "counted from 0. The masks need not be MADE's.",
    points=["made"], difficulty=2, minutes=15, kind="measure")


@exercise.step
def paths_between(masks):
    """The number of paths from each input to each output, (outputs, D)."""
    paths = masks[0].double()
    for mask in masks[1:]:
        paths = mask.double() @ paths
    return paths


@exercise.step
def listed(paths):
    return [[j for j, count in enumerate(row) if count > 0] for row in paths.tolist()]


@exercise.reference()
def made_parents_reference(masks):
    return listed(paths_between(masks))


@exercise.misconception(
    paths_between,
    "Your lists go the other way: entry i should hold the inputs that reach output i, not the outputs that input i "
    "reaches.")
def children(masks):
    return paths_between.original(masks).T


@exercise.misconception(
    paths_between,
    "Your lists hold units of the last hidden layer. Follow the paths down to the inputs.")
def last_layer(masks):
    return masks[-1].double()


@exercise.misconception(
    listed,
    "An input that is reached by several paths stands several times in your lists. Once is enough.")
def repeated(paths):
    return [[j for j, count in enumerate(row) for _ in range(int(count))] for row in paths.tolist()]


@exercise.misconception(listed, "You count from 1. Inputs count from 0 here, as in the tensors.")
def from_one(paths):
    return [[j + 1 for j in row] for row in listed.original(paths)]


@exercise.misconception(
    paths_between,
    "An input that reaches its own output is missing. In a sound MADE that never happens, but these masks may be "
    "broken: report what is there.")
def not_itself(masks):
    return paths_between.original(masks).fill_diagonal_(0)


@exercise.misconception(
    paths_between,
    "Your lists hold smaller numbers than the output's own only. Which inputs come before is a matter of the order,"
    " and the masks decide.")
def natural_only(masks):
    return paths_between.original(masks).tril(-1)


@exercise.misconception(listed, "You list inputs with exactly one path. One path is enough, and more do no harm.")
def single_path(paths):
    return [[j for j, count in enumerate(row) if count == 1] for row in paths.tolist()]


@exercise.misconception(
    paths_between,
    "At each layer you keep only the units with exactly one path, and lose those with several. One path is enough, and more do no harm.")
def single_path_at_each_layer(masks):
    paths = masks[0].double()
    for mask in masks[1:]:
        paths = (mask.double() @ paths == 1).double()
    return paths


def parents_cases(generator):
    cases = []
    for depth, broken in ((1, False), (2, False), (2, True)):
        D, *widths = uneven(generator, (4, 5), *[(6, 9)] * depth)
        masks = made_masks_reference(permutation(generator, D) + 1, [degrees(generator, D, H) for H in widths])
        if broken:
            keep = torch.rand(masks[1].shape, generator=generator) < 0.5          # random instead of by degree
            masks[1] = keep.float()
            masks[-1][integer(generator, 0, D - 1)] = 1.0
        cases.append((masks,))
    cases.append(([bits(generator, 4, 4)],))                                      # no hidden layer
    D = integer(generator, 4, 6)                                                  # one path to each output, and one only
    cases.append(([torch.eye(D)[permutation(generator, D)], torch.eye(D)[torch.randperm(D, generator=generator)]],))
    return cases


exercise.compare("values", parents_cases, points=4)
exercise.unchanged(parents_cases)
exercise.hint(
    "You follow paths one by one and lose track.",
    "Matrix products count paths: entry (i, j) of last @ ... @ first is the number of ways from input j to output i.")
exercise.hint(
    "The shapes do not fit.",
    "Masks are (out, in), so the last one stands on the left: masks[1] @ masks[0], then masks[2] @ that.")
exercise.hint(
    "Your lists hold the same number again and again.",
    "A count above 1 means several paths. Ask whether it is above 0.")
