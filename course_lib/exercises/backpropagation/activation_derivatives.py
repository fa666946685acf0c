"""The derivatives of three activations."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "activation_derivatives", chapter="backpropagation", place=1, title="Derivatives of activation functions",
    contract="z (B,). Return (3, B): the derivatives at z of the sigmoid, of tanh and of ReLU, in this order. At 0, where ReLU has no "
             "derivative, use 0. All must be finite for every finite z. Automatic differentiation of torch is not allowed.",
    points=["activations"], difficulty=1, minutes=15, forbid=("torch.autograd.grad", "torch.Tensor.backward"))


@exercise.step
def sigmoid_slope(z):
    return torch.sigmoid(z) * torch.sigmoid(-z)


@exercise.step
def tanh_slope(z):
    return 1 - torch.tanh(z) ** 2


@exercise.step
def relu_slope(z):
    return (z > 0).to(z.dtype)


@exercise.reference()
def activation_derivatives_reference(z):
    return torch.stack([sigmoid_slope(z), tanh_slope(z), relu_slope(z)])


@exercise.misconception(
    sigmoid_slope,
    "Your first row is z (1 - z). In the formula sigma' = s (1 - s), s is sigma(z), the value of the function.")
def of_z(z):
    return z * (1 - z)


@exercise.misconception(
    sigmoid_slope, "Your first row is s (1 + s). The derivative of the sigmoid is s (1 - s): it is at most 1/4.")
def plus(z):
    return torch.sigmoid(z) * (1 + torch.sigmoid(z))


@exercise.misconception(
    sigmoid_slope,
    "You return NaN for z far from 0, because an exponential overflows and infinity is divided by infinity. Compute the derivative "
    "from torch.sigmoid, which does not overflow.")
def overflows(z):
    return torch.exp(-z) / (1 + torch.exp(-z)) ** 2


@exercise.misconception(tanh_slope, "Your second row is 1 - tanh(z). The derivative of tanh is 1 - tanh(z) squared.")
def tanh_not_squared(z):
    return 1 - torch.tanh(z)


@exercise.misconception(
    tanh_slope,
    "Your second row is half of the derivative. In tanh(z) = 2 sigma(2z) - 1 the inner function 2z contributes a factor of 2.")
def inner_forgotten(z):
    return 2 * sigmoid_slope.original(2 * z)


@exercise.misconception(relu_slope, "Your third row is ReLU itself. Its derivative is 0 or 1.")
def relu_itself(z):
    return z.relu()


@exercise.misconception(relu_slope, "At 0 your derivative of ReLU is 1. There the derivative does not exist, and the exercise uses 0, as torch does.")
def one_at_zero(z):
    return (z >= 0).to(z.dtype)


@exercise.misconception(relu_slope, "Your third row is -1 below 0. ReLU is constant there, so its derivative is 0.")
def sign(z):
    return z.sign()


def activation_cases(generator):
    """Without 0, where ReLU has no derivative."""
    edges = torch.tensor([1.0, -1.0, 30.0, -30.0])
    return [(torch.cat([edges, normal(generator, integer(generator, 4, 8), scale=2.0)]),), (normal(generator, 1),)]


def zero_cases(generator):
    return [(torch.cat([torch.zeros(1), normal(generator, 3)]),)]


def far_cases(generator):
    return [(torch.tensor([-900.0, -120.0, 120.0, 900.0]) + normal(generator, 4),)]


exercise.compare("values", activation_cases, points=3)
exercise.compare("at 0", zero_cases, points=1)
exercise.compare("far from 0", far_cases, points=1)
exercise.hint(
    "You do not know where to begin with the sigmoid.",
    "Write sigma(z) = 1 / (1 + exp(-z)) as a power with exponent -1 and use the chain rule. Then express the result by sigma(z).")
exercise.hint(
    "You want to test your formulas.",
    "Compare with the library: from course_lib.basics import Value; v = Value(0.7); v.sigmoid().backward(); v.grad.")
exercise.hint(
    "You get NaN for z far from 0.",
    "exp(1000) is infinite. Use 1 - sigma(z) = sigma(-z), and torch.sigmoid, which accepts any finite number.")
