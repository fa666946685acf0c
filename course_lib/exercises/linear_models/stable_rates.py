"""The learning rates of gradient descent on a linear regression, and its condition number."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "stable_rates", chapter="linear-models", place=9, title="The largest stable learning rate",
    contract="X (B, D), linearly independent columns. The loss is the mean over the rows of (y - X beta)^2. Return a tensor of shape (3,): "
             "2 / lambda_max, the learning rate below which gradient descent converges from every initial point; the learning rate that makes the "
             "largest factor |1 - a lambda| smallest; and the condition number lambda_max / lambda_min of the Hessian.",
    points=["linear-regression"], difficulty=2, minutes=10)


@exercise.step
def hessian(X):
    return 2 / len(X) * X.T @ X


@exercise.step
def limit(low, high):
    return 2 / high


@exercise.step
def best(low, high):
    return 2 / (low + high)


@exercise.step
def condition(low, high):
    return high / low


@exercise.reference()
@exercise.step
def stable_rates_reference(X):
    eigenvalues = torch.linalg.eigvalsh(hessian(X.double()))
    low, high = eigenvalues[0], eigenvalues[-1]
    return torch.stack([limit(low, high), best(low, high), condition(low, high)]).to(X.dtype)


@exercise.misconception(hessian, "Your Hessian lacks the factor 2, so your learning rates are twice as large. The loss is the mean of the squares, not half of it.")
def half(X):
    return X.T @ X / len(X)


@exercise.misconception(hessian, "Your Hessian is a sum over the rows. The loss is a mean, so X'X is divided by B.")
def summed(X):
    return 2 * X.T @ X


@exercise.misconception(limit, "Your first value is 1 / lambda_max, half of the limit: |1 - a lambda| < 1 holds up to a = 2 / lambda.")
def one_over(low, high):
    return 1 / high


@exercise.misconception(limit, "Your first value is 2 / lambda_min. The largest eigenvalue gives the limit, because every component has to converge.")
def smallest(low, high):
    return 2 / low


@exercise.misconception(best, "Your second value is 1 / lambda_max. It makes the factor of the largest eigenvalue 0, but not the largest of all factors smallest.")
def zero_factor(low, high):
    return 1 / high


@exercise.misconception(best, "Your second value is half of the best learning rate: solve 1 - a lambda_min = a lambda_max - 1 for a.")
def half_best(low, high):
    return 1 / (low + high)


@exercise.misconception(condition, "Your third value is the square root of the condition number. It is the condition number of X, but the Hessian contains X'X.")
def of_X(low, high):
    return (high / low) ** 0.5


@exercise.misconception(condition, "Your third value is below 1: divide the largest eigenvalue by the smallest one.")
def inverse(low, high):
    return low / high


def data(generator):
    """Columns with and without a column of ones, and a single column."""
    cases = []
    for B, D in ((integer(generator, 7, 9), 2), (integer(generator, 10, 12), 3)):
        columns = normal(generator, B, D)
        cases.append((torch.cat([torch.ones(B, 1), 0.5 + 1.5 * columns], dim=1),))
    cases.append((0.6 * normal(generator, 8, 2),))
    cases.append((1 + normal(generator, 5, 1),))
    return cases


exercise.compare("learning rates and condition number", data, points=4, rtol=2e-3, atol=1e-5)
exercise.unchanged(data)
exercise.hint("You do not know the Hessian.", "It is the H of (2.5), a matrix of shape (D, D). `torch.linalg.eigvalsh` gives the eigenvalues of a symmetric matrix in ascending order.")
exercise.hint("Your second value is wrong.", "At the best learning rate the smallest and the largest eigenvalue have the same factor: 1 - a lambda_min = a lambda_max - 1.")
