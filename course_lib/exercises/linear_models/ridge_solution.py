"""The normal equation with weight decay."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "ridge_solution", chapter="linear-models", place=5, title="The normal equation with weight decay",
    contract="X (B, D), its first column is all ones; y (B,); decay > 0, a number. The objective is the mean over the rows of (y - X beta)^2 "
             "plus decay / 2 times the sum of beta_j^2, j >= 1; beta_0 is not penalized. Return beta, (D,), that minimizes it. D may be larger "
             "than B.",
    points=["linear-regression"], difficulty=3, minutes=15)


@exercise.step
def penalized(D, dtype):
    """1 where beta_j is penalized, (D,)."""
    return (torch.arange(D) > 0).to(dtype)


@exercise.step
def of_penalty(decay, B):
    """What the penalty adds to the diagonal of X'X."""
    return decay * B / 2


@exercise.step
def right_side(X, y):
    return X.T @ y


@exercise.reference()
@exercise.step
def ridge_solution_reference(X, y, decay):
    diagonal = of_penalty(decay, len(X)) * penalized(X.shape[1], X.dtype)
    return torch.linalg.solve(X.T @ X + torch.diag(diagonal), right_side(X, y))


@exercise.misconception(penalized, "You penalize beta_0 too. The penalty applies from beta_1 on.")
def all_penalized(D, dtype):
    return torch.ones(D, dtype=dtype)


@exercise.misconception(of_penalty, "Your penalty does not depend on the number of rows. The loss is a mean, so X'X is divided by B.")
def without_rows(decay, B):
    return decay / 2


@exercise.misconception(of_penalty, "Your penalty is twice as large. The gradient of the loss has the factor 2, and that of the penalty has none.")
def doubled(decay, B):
    return decay * B


@exercise.misconception(of_penalty, "You add decay to the diagonal of X'X. Set the gradient of the whole objective to zero, with its factors 2 / B and decay.")
def decay_alone(decay, B):
    return decay


@exercise.misconception(of_penalty, "You leave out the penalty, or make it so small that it has no effect.")
def no_penalty(decay, B):
    return 1e-3


def data(generator):
    """More rows than columns, and fewer."""
    cases = []
    for B, D in ((integer(generator, 7, 9), 3), (integer(generator, 5, 6), 2), (4, 6)):
        X = torch.cat([torch.ones(B, 1), normal(generator, B, D - 1)], dim=1)
        cases.append((X, 2 + normal(generator, B), float(uniform(generator, 1, low=0.5, high=1.5))))
    return cases


exercise.compare("beta", data, points=4, rtol=1e-3, atol=1e-4)
exercise.unchanged(data)
exercise.hint("You do not know where to begin.",
              "Write the gradient of the objective: (2.2) plus decay times beta, where beta_0 is replaced by 0. Set it to zero and collect the terms with beta.")
exercise.hint("Your result differs by a constant factor in the penalty.",
              "Multiply the whole equation by B / 2. Then X'X stands alone, and the penalty has the factor decay B / 2.")
