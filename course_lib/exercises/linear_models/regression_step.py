"""The slide's regression in torch, repaired: its loss, and one step."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "regression_step", chapter="linear-models", place=4, title="A regression to repair",
    contract="x (B, D); y (B,); beta (D, 1); rate, a number. The model is yhat = x beta, linear, the loss the mean "
             "over the rows of (y - yhat)^2. Return (loss, new): the loss at beta, a tensor of shape (), and beta "
             "after one step of gradient descent, (D, 1). x is used as it is, with or without a column of ones. The caller's beta is left as it was.",
    points=["linear-regression", "computational-graph"], difficulty=2, minutes=20, kind="find")


@exercise.step
def predictions(x, beta):
    return x @ beta                                                            # (B, 1)


@exercise.step
def mean_squared_error(x, y, beta):
    return ((predictions(x, beta) - y[:, None]) ** 2).mean()


@exercise.step
def gradient(x, y, beta):
    beta = beta.detach().clone().requires_grad_()
    return torch.autograd.grad(mean_squared_error(x, y, beta), beta)[0]


@exercise.step
def moved(beta, slope, rate):
    return beta - rate * slope


@exercise.reference()
@exercise.step
def regression_step_reference(x, y, beta, rate):
    return mean_squared_error(x, y, beta), moved(beta, gradient(x, y, beta), rate)


@exercise.misconception(
    predictions,
    "Your predictions are never negative because the ReLU of the slide is still applied. A linear regression must be able to predict negative targets.")
def keeps_relu(x, beta):
    return (x @ beta).relu()


@exercise.misconception(
    mean_squared_error,
    "Your loss pairs every prediction with every target: x beta has shape (B, 1) and y (B,), and their difference is (B, B). Give "
    "both the same shape.")
def broadcast(x, y, beta):
    return ((predictions(x, beta) - y) ** 2).mean()


@exercise.misconception(
    mean_squared_error, "Your loss is the sum over the rows. This exercise, like nn.MSELoss, takes the mean.")
def summed(x, y, beta):
    return ((predictions(x, beta) - y[:, None]) ** 2).sum()


@exercise.misconception(
    mean_squared_error, "Your loss is the square root of the mean squared error. Return the mean squared error itself.")
def square_root(x, y, beta):
    return mean_squared_error.original(x, y, beta).sqrt()


@exercise.misconception(
    gradient, "Your step is half of what it should be: the derivative of a square has the factor 2.")
def halved(x, y, beta):
    return gradient.original(x, y, beta) / 2


@exercise.misconception(moved, "Your step increases the loss: the gradient is subtracted, not added.")
def uphill(beta, slope, rate):
    return beta + rate * slope


@exercise.misconception(
    moved, "Your beta is returned unchanged. A copy with requires_grad=True, loss.backward() and the step are missing.")
def not_moved(beta, slope, rate):
    return beta


@exercise.misconception(
    moved, "Your step writes into the caller's beta. Work on a copy: beta.detach().clone().requires_grad_().")
def written_over(beta, slope, rate):
    return beta.copy_(moved.original(beta, slope, rate)).clone()


@exercise.misconception(
    regression_step_reference,
    "Your loss is computed with beta after the step. Compute it with the beta that was given.")
def loss_after(x, y, beta, rate):
    new = moved(beta, gradient(x, y, beta), rate)
    return mean_squared_error(x, y, new), new


def step_cases(generator):
    cases = []
    for D in (2, 3, 1):
        B = integer(generator, 4, 8)
        cases.append((normal(generator, B, D), normal(generator, B) - 1.5, normal(generator, D, 1),
                      float(uniform(generator, 1, low=0.1, high=0.3))))
    return cases


exercise.compare("loss and step", step_cases, points=4)
exercise.unchanged(step_cases)
exercise.hint(
    "You cannot find a fault in the slide's code.",
    "Run it. torch.random.randn does not exist, X is not defined, nn.MSELoss is a class that has to be constructed before "
    "it is called, and beta does not require a gradient.")
exercise.hint(
    "Your loss is larger than expected.",
    "Print the shape of the difference. (B, 1) minus (B,) is (B, B). y[:, None] has the shape of x @ beta.")
exercise.hint(
    "There is no gradient.",
    "Only a leaf with requires_grad=True gets one. Make beta.detach().clone().requires_grad_(), call loss.backward(), "
    "read .grad, and return the new beta detached.")
