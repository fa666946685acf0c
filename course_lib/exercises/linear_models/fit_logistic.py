"""A logistic regression for labels -1 and 1, by hand."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fit_logistic", chapter="linear-models", place=8, title="Logistic regression by hand",
    contract="x (B, n), approximately standardized; y (B,), labels -1 and 1; penalty >= 0.1, a number. p(y | x) = sigma(y (alpha_0 + x alpha)). "
             "The objective is the mean of -ln p(y_i | x_i) plus penalty / 2 times the sum of alpha_j^2, j >= 1; alpha_0 is not penalized. "
             "Return alpha, (n + 1,), that minimizes it, alpha_0 first, within 2e-3.",
    points=["logistic-regression"], difficulty=3, minutes=25, kind="train")


@exercise.step
def labels(y):
    return y


@exercise.step
def mean_loss(z, y):
    """-ln p(y | x), the mean over the rows."""
    return -F.logsigmoid(y * z).mean()


@exercise.step
def penalty_term(alpha, penalty):
    return penalty / 2 * (alpha[1:] ** 2).sum()


@exercise.step
def result(alpha):
    return alpha


@exercise.reference()
@exercise.step
def fit_logistic_reference(x, y, penalty):
    rows = torch.cat([torch.ones_like(x[:, :1]), x], dim=1).double()

    def objective(alpha):
        return mean_loss(rows @ alpha, labels(y).double()) + penalty_term(alpha, penalty)

    alpha = torch.zeros(rows.shape[1], dtype=torch.float64)
    for _ in range(30):                                                        # Newton's method
        slope = torch.autograd.functional.jacobian(objective, alpha)
        if slope.abs().max() < 1e-10:
            break
        alpha = alpha - torch.linalg.solve(torch.autograd.functional.hessian(objective, alpha), slope)
    return result(alpha).to(x.dtype)


@exercise.misconception(penalty_term, "You penalize alpha_0 too. The penalty applies to the weights of the inputs only.")
def bias_penalized(alpha, penalty):
    return penalty / 2 * (alpha ** 2).sum()


@exercise.misconception(penalty_term, "Your penalty lacks the factor 1/2: its gradient is penalty times alpha.")
def full_penalty(alpha, penalty):
    return penalty * (alpha[1:] ** 2).sum()


@exercise.misconception(penalty_term, "You leave out the penalty, so your parameters are too large.")
def no_penalty(alpha, penalty):
    return 1e-6 * (alpha[1:] ** 2).sum()


@exercise.misconception(mean_loss, "Your loss is the sum over the rows. The objective has the mean, so your penalty is too weak.")
def summed(z, y):
    return -F.logsigmoid(y * z).sum()


@exercise.misconception(labels, "You exchange the two labels: sigma(z) is the probability of 1, not that of -1.")
def exchanged(y):
    return -y


@exercise.misconception(result, "Your alpha_0 comes last. It should come first.")
def bias_last(alpha):
    return alpha.roll(-1)


@exercise.misconception(mean_loss, "You minimize the squared error of a linear prediction. The loss is minus the logarithm of sigma(y z).")
def squared(z, y):
    return ((y - z) ** 2).mean()


def data(generator):
    """Overlapping classes of different sizes, two or three inputs."""
    cases = []
    for n in (2, 3, 1):
        B = integer(generator, 16, 24)
        x = normal(generator, B, n)
        y = torch.where(2 * x[:, 0] + 1.2 + normal(generator, B) > 0, 1.0, -1.0)
        y[:3] = torch.tensor([1.0, -1.0, -1.0])
        cases.append((x, y, float(uniform(generator, 1, low=0.1, high=0.3))))
    return cases


exercise.compare("alpha", data, points=5, rtol=2e-3, atol=2e-3)
exercise.unchanged(data)
exercise.hint("You do not know the gradient.",
              "For labels -1 and 1 the derivative of -ln sigma(y z) with respect to z is -y sigma(-y z). Multiply it by the inputs, take the mean, "
              "and add penalty times alpha for the weights.")
exercise.hint("Your result is close, but not close enough.",
              "Iterate until the gradient is below 1e-5. A learning rate of 0.5 and 5,000 steps are sufficient here.")
exercise.hint("Your parameters are all too large or too small.",
              "Compare the two terms of the objective: the loss is a mean over the rows, and the penalty has the factor 1/2.")
