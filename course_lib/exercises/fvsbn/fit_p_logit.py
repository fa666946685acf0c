"""The logistic conditional fitted to data by maximum likelihood."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fit_p_logit", chapter="fvsbn", place=4, title="A logistic conditional fitted to data",
    contract="parents (N, m) and child (N,) contain 0 and 1, as floats. Return (m + 1,): alpha_0, ..., alpha_m of the p_logit that "
             "maximizes the mean log-likelihood of child given parents, each to within 0.02. No regularization. m may be 0. Your function "
             "has 20 seconds on one core.",
    points=["neural-conditional", "fvsbn"], difficulty=2, minutes=20, kind="train", deadline=20.0)


@exercise.step
def inputs(parents):
    """The parents after a constant 1, (N, m + 1)."""
    return torch.cat([torch.ones(len(parents), 1), parents], dim=1).double()


@exercise.step
def error(probability, child):
    return child.double() - probability                                        # gradient by the logit


@exercise.step
def penalty(alpha):
    """Weight of alpha^2 / 2 in the objective, per parameter."""
    return torch.zeros_like(alpha)


@exercise.step
def maximum(x, child):
    """By Newton's method from 0."""
    alpha = torch.zeros(x.shape[1], dtype=x.dtype)
    for _ in range(30):
        p = torch.sigmoid(x @ alpha)
        gradient = x.T @ error(p, child) / len(x) - penalty(alpha) * alpha
        hessian = (x * (p * (1 - p))[:, None]).T @ x / len(x) + penalty(alpha).diag()
        alpha = alpha + torch.linalg.solve(hessian, gradient)
    return alpha


@exercise.reference()
@exercise.step
def fit_p_logit_reference(parents, child):
    return maximum(inputs(parents), child).float()


@exercise.misconception(
    fit_p_logit_reference,
    "Your alpha_0 is 0: the constant is not trained. Without it the probability is 1/2 wherever all parents are 0.")
def no_constant(parents, child):
    if parents.shape[1] == 0:
        return torch.zeros(1)
    return torch.cat([torch.zeros(1), maximum(parents.double(), child).float()])


@exercise.misconception(fit_p_logit_reference, "Your constant is the last entry. The order is alpha_0, alpha_1, ..., alpha_m.")
def constant_last(parents, child):
    return fit_p_logit_reference.original(parents, child).roll(-1)


@exercise.misconception(
    fit_p_logit_reference, "Your parameters have the wrong sign: they predict the probability of a 0.")
def of_zero(parents, child):
    return fit_p_logit_reference.original(parents, 1 - child)


SHRUNK = ("Your parameters are closer to zero than those of the maximum: you use weight decay or another penalty. None "
          "is asked for.")


@exercise.misconception(penalty, SHRUNK)
def penalized(alpha):
    return torch.full_like(alpha, 0.1)


@exercise.misconception(penalty, SHRUNK)
def penalized_weakly(alpha):
    """0.01 times the sum of the squares is added to the loss."""
    return torch.full_like(alpha, 0.02)


@exercise.misconception(
    maximum, "You return the solution of least squares. The mean log-likelihood of a logistic regression has another maximum.")
def least_squares(x, child):
    return torch.linalg.lstsq(x, child.double()[:, None]).solution[:, 0]


@exercise.misconception(
    fit_p_logit_reference, "Your parameters are those before training, all zero.")
def untrained(parents, child):
    return torch.zeros(parents.shape[1] + 1)


def logit_cases(generator):
    """Parents that are all inked in some rows, and a child that the parents do not determine; also no parents."""
    cases = []
    for m in (integer(generator, 2, 3), 4, 1):
        N = integer(generator, 300, 400)
        parents = (torch.rand(N, m, generator=generator) < 0.5).float()
        sign = 1 - 2 * (torch.arange(m + 1) % 2).float()
        alpha = sign * (0.7 + 0.6 * torch.rand(m + 1, generator=generator))    # none near 0, none large
        if integer(generator, 0, 1):
            alpha = -alpha
        logits = alpha[0] + parents @ alpha[1:]
        cases.append((parents, (torch.rand(N, generator=generator) < logits.sigmoid()).float()))
    p = 0.2 + 0.1 * torch.rand(1, generator=generator)
    return [*cases, (torch.zeros(300, 0), (torch.rand(300, generator=generator) < p).float())]


exercise.compare("parameters at the maximum", logit_cases, points=5, rtol=0.0, atol=0.02)
exercise.unchanged(logit_cases)
exercise.hint(
    "You do not know how to begin.",
    "Create alpha = torch.zeros(m + 1, requires_grad=True). The logits are alpha[0] + parents @ alpha[1:], and the loss is "
    "F.binary_cross_entropy_with_logits(logits, child).")
exercise.hint(
    "Your parameters are close to the expected ones but not close enough.",
    "Take more steps. The problem has few parameters, so several hundred steps of Adam on all rows, with a rate of 0.1 that is reduced at "
    "the end, take less than a second. torch.optim.LBFGS converges in a few iterations.")
exercise.hint(
    "The case without parents fails.",
    "With m = 0, parents has shape (N, 0), and parents @ alpha[1:] is a vector of N zeros. The maximum is the logit of the relative "
    "frequency of 1.")
