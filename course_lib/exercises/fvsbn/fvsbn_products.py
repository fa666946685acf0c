"""The conditionals of an FVSBN with products of pixels."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import bits, integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fvsbn_products", chapter="fvsbn", place=8, title="An FVSBN with products of pixels",
    contract="x (B, n) contains 0 and 1, as floats; W (n, n), P (n, n, n), c (n,). Of W only the entries [i, j] with "
             "j < i are used, of P only "
             "the entries [i, j, k] with j < k < i. Return sigmoid(c_i + sum_{j<i} W[i, j] x_j + sum_{j<k<i} P[i, j, k] x_j x_k), "
             "shape (B, n).",
    points=["fvsbn"], difficulty=3, minutes=15)


@exercise.step
def linear(x, W):
    return x @ W.tril(-1).T                                                    # (B, n)


@exercise.step
def used(n):
    """True at [i, j, k] where j < k < i, (n, n, n)."""
    i = torch.arange(n)
    return (i[:, None] < i) & (i < i[:, None, None])


@exercise.step
def quadratic(x, P):
    return torch.einsum("ijk,bj,bk->bi", P * used(len(P)), x, x)


@exercise.step
def total(x, W, P, c):
    return c + linear(x, W) + quadratic(x, P)


@exercise.step
def probability(logits):
    return logits.sigmoid()


@exercise.reference()
def fvsbn_products_reference(x, W, P, c):
    return probability(total(x, W, P, c))


@exercise.misconception(
    used, "Your conditionals use products with later pixels: P[i, j, k] may be used only where k < i, too.")
def later_products(n):
    i = torch.arange(n)
    return (i[:, None] < i) & (i[:, None] < i[:, None, None])


@exercise.misconception(
    used, "You use P[i, j, k] for j > k as well, so each product of two pixels occurs twice. Use only j < k.")
def both_orders(n):
    i = torch.arange(n)
    return (i[:, None] != i) & (i[:, None] < i[:, None, None]) & (i < i[:, None, None])


@exercise.misconception(
    used, "You use P[i, j, j]. The square of a binary pixel is the pixel itself, which W already contains; use only j < k.")
def squares(n):
    i = torch.arange(n)
    return (i[:, None] <= i) & (i < i[:, None, None])


@exercise.misconception(
    used, "Your products contain the pixel that is predicted: k = i. Use only j < k < i.")
def own_pixel(n):
    i = torch.arange(n)
    return (i[:, None] < i) & (i <= i[:, None, None])


@exercise.misconception(
    quadratic,
    "Your products use P[j, k, i], so you take the last axis of P as the predicted variable. It is the first: the "
    "weight of x_j x_k in the logit of x_i is P[i, j, k].")
def predicted_last(x, P):
    return quadratic.original(x, P.permute(2, 0, 1))


@exercise.misconception(linear, "Your linear term uses the diagonal of W, so a pixel helps to predict itself. Use only j < i.")
def sees_itself(x, W):
    return x @ W.tril(0).T


@exercise.misconception(linear, "Your linear term reads column i of W. The weights of variable i are in row i.")
def columns(x, W):
    return x @ W.tril(-1)


@exercise.misconception(total, "Your conditionals do not use P, so this is the FVSBN without products.")
def without_products(x, W, P, c):
    return c + linear(x, W)


@exercise.misconception(total, "Your conditionals do not use W. Add the linear term to the products.")
def without_linear(x, W, P, c):
    return c + quadratic(x, P)


@exercise.misconception(probability, "You return logits. Apply the sigmoid.")
def no_sigmoid(logits):
    return logits


def products_cases(generator):
    """Also one row, and models with one and two variables, which have no product. One row holds every product."""
    sizes = [uneven(generator, (5, 8), (3, 4)), [1, integer(generator, 4, 5)], [integer(generator, 2, 3), 1], [4, 2]]
    cases = [(bits(generator, B, n), normal(generator, n, n), normal(generator, n, n, n), normal(generator, n))
             for B, n in sizes]
    cases[0][0][0] = 1
    return cases


exercise.compare("values", products_cases, points=4)
exercise.unchanged(products_cases)
exercise.gradient("gradient", products_cases, wrt=(1, 2, 3), points=1)
exercise.hint(
    "You do not know how to sum over pairs.",
    "Write two loops over j < k first. Each adds P[:, j, k] * x[:, j, None] * x[:, k, None], shape (B, n), to the logits of the later "
    "variables. torch.einsum(\"ijk,bj,bk->bi\", ...) does the same in one call.")
exercise.hint(
    "The mask of P is unclear.",
    "With i = torch.arange(n), the tensor (i[:, None] < i) is True at [j, k] where j < k, and (i < i[:, None, None]) is True at "
    "[i, ., k] where k < i. Broadcasting combines them into (n, n, n).")
exercise.hint(
    "The values are right for some rows of x only.",
    "A wrong product is visible only where both of its pixels are 1. Compare on x with a single row of ones.")
