"""A network as a Module, with its training loop."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.draws import normal, uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_module", chapter="backpropagation", place=5, title="A Module and its training loop",
    contract="x (B, 2) and y (B,), 0 or 1: points of a disk and of a ring around it, 400 in all, with noise of standard "
             "deviation 0.15 in the radius of the ring. new_x (M, 2): further points. Write an "
             "nn.Module with nn.Linear layers, train it on x and y with an optimizer of torch.optim, and return its logits for new_x, "
             "shape (M,). At least 95 % of the new points must be classified correctly, a positive logit counting as 1. Only the accuracy "
             "is tested, so another nonlinear classifier counts as right too. The function has 20 seconds on one core.",
    points=["mlp", "nonlinearity"], difficulty=2, minutes=25, kind="train", deadline=20.0)

SCORE = 0.95


class Network(nn.Module):
    """A hidden layer of 16 units and one logit."""

    def __init__(self, activation=torch.tanh):
        super().__init__()
        self.hidden, self.output, self.activation = nn.Linear(2, 16), nn.Linear(16, 1), activation

    def forward(self, x):
        return self.output(self.activation(self.hidden(x)))[:, 0]


@exercise.step
def network():
    torch.manual_seed(0)
    return Network()


@exercise.step
def trained(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(400):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x), y.to(x.dtype)).backward()
        optimizer.step()
    return model


@exercise.step
def predicted(model, x, new_x):
    with torch.no_grad():
        return model(new_x)


@exercise.reference()
def train_module_reference(x, y, new_x):
    return predicted(trained(network(), x, y), x, new_x)


@exercise.misconception(
    network,
    "Your logits are a linear function of the points, so the decision boundary is a straight line. Apply an activation function between "
    "the layers.")
def linear():
    torch.manual_seed(0)
    return Network(activation=lambda a: a)


@exercise.misconception(
    network,
    "Your logits are the same for all points. This happens if all weights are zero at the start, because their gradients are then zero "
    "too. Keep the random initialization of nn.Linear.")
def zeros():
    model = Network()
    for p in model.parameters():
        nn.init.zeros_(p)
    return model


@exercise.misconception(
    trained, "Your classes are exchanged: the opposite sign of your logits would be right. Check the sign of the loss and the coding of y.")
def swapped(model, x, y):
    return trained.original(model, x, 1 - y)


@exercise.misconception(
    predicted,
    "You return probabilities. They classify correctly with the threshold 0.5, but logits are expected: return the output before the sigmoid.")
def probabilities(model, x, new_x):
    return torch.sigmoid(predicted.original(model, x, new_x))


@exercise.misconception(predicted, "You return the logits of the training points x. The result should have one logit for each row of new_x.")
def of_training(model, x, new_x):
    return predicted.original(model, x, x)


@exercise.misconception(
    predicted, "Your result has the shape (M, 1). nn.Linear(H, 1) keeps the last dimension, so remove it, for example with squeeze(-1).")
def column(model, x, new_x):
    return predicted.original(model, x, new_x)[:, None]


def rings(generator, num: int, center: Tensor) -> tuple[Tensor, Tensor]:
    """Points in a disk around the center, class 1, and in a ring around the disk, class 0, in equal numbers."""
    y = (torch.arange(num) % 2).float()
    radius = torch.where(y == 1, 1.0 * uniform(generator, num).sqrt(), 1.8 + 0.15 * normal(generator, num))
    angle = 2 * math.pi * uniform(generator, num)
    return center + radius[:, None] * torch.stack([torch.cos(angle), torch.sin(angle)], dim=1), y


@exercise.property("95 % of the new points", points=5)
def reaches_the_accuracy(run, generator, solve):
    center = 0.3 * normal(generator, 2)
    x, y = rings(generator, 400, center)
    new_x, new_y = rings(generator, 1000, center)
    logits = run(x, y, new_x)
    if not isinstance(logits, Tensor) or tuple(logits.shape) != (len(new_x),):
        got = f"a tensor of shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else None
        name = {(len(new_x), 1): "column", (len(x),): "of_training"}.get(shape)
        return Fault(f"Your function returned {got}; expected a tensor of shape ({len(new_x)},).", name, "wrong_shape")
    logits = logits.float()
    if not logits.isfinite().all():
        return Fault("Some of your logits are NaN or infinite. Train with a smaller learning rate, and compute the loss from logits.")
    accuracy = float(((logits > 0).float() == new_y).float().mean())
    if accuracy >= SCORE:
        return None
    return Fault(f"Your network classifies {100 * accuracy:.1f} % of the new points correctly; {100 * SCORE:.0f} % are required.",
                 why_low(new_x, new_y, logits))


def why_low(x: Tensor, y: Tensor, logits: Tensor) -> str | None:
    """The misconception that the logits show, if they show one."""
    def accuracy(threshold, sign=1):
        return float(((sign * (logits - threshold) > 0).float() == y).float().mean())

    if accuracy(0, -1) >= SCORE:
        return "swapped"
    if logits.min() >= 0 and logits.max() <= 1 and accuracy(0.5) >= SCORE:
        return "probabilities"
    if logits.std() < 1e-6:
        return "zeros"
    columns = torch.cat([torch.ones(len(x), 1), x], dim=1).double()
    plane = columns @ torch.linalg.lstsq(columns, logits.double()[:, None]).solution[:, 0]
    return "linear" if (plane - logits).std() < 1e-3 * logits.std() else None


exercise.hint(
    "You do not know what to write first.",
    "A class with self.hidden = nn.Linear(2, 16) and self.output = nn.Linear(16, 1) in __init__, and forward, which applies the hidden "
    "layer, an activation function and the output layer.")
exercise.hint(
    "You do not know what belongs into the loop.",
    "optimizer.zero_grad(), the loss F.binary_cross_entropy_with_logits(model(x), y), loss.backward(), optimizer.step().")
exercise.hint(
    "The accuracy is about 50 to 70 %.",
    "No straight line separates a disk from the ring around it. Check that an activation function is applied, then train for more steps.")
