"""The variance of the weights that keeps the mean square of the values, and the mean squares over the layers."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven, uniform
from course_lib.grading.exercise import Exercise

NOT_MEAN_SQUARE = ("You compute the variance of the entries. The mean square does not subtract the mean, which is not "
                   "0 after the activation function.")

exercise = Exercise(
    "deep_initialization", chapter="backpropagation", place=8, title="The initialization of a deep network",
    contract="x (B, n), noise (K, n, n) of independent normal numbers with mean 0 and variance 1, and slope, a number from 0 to 1. The "
             "activation function is f(z) = z for z > 0 and slope * z otherwise. Let v be the variance of the weights with which every layer "
             "preserves the expected mean square. Compute h_0 = x and h_l = f(h_{l-1} @ W_l.T), where W_l is noise[l - 1], scaled to variance "
             "v. Return (2 + K,): v, then the mean squares of all entries of h_0, ..., h_K.",
    points=["activations"], difficulty=2, minutes=20)


@exercise.step
def variance(n, slope):
    return 2 / ((1 + slope ** 2) * n)


@exercise.step
def weight(noise, v):
    return noise * v ** 0.5


@exercise.step
def activation(z, slope):
    return torch.where(z > 0, z, slope * z)


@exercise.step
def size(h):
    return (h ** 2).mean()


@exercise.step
def layer_size(h):
    """That of h_1, ..., h_K."""
    return size(h)


@exercise.reference()
def deep_initialization_reference(x, noise, slope):
    v, h = variance(x.shape[1], slope), x
    sizes = [size(h)]
    for numbers in noise:
        h = activation(h @ weight(numbers, v).T, slope)
        sizes.append(layer_size(h))
    return torch.stack([x.new_tensor(v), *sizes])


@exercise.misconception(
    variance, "Your variance is 2/n, as for ReLU. Negative pre-activations are multiplied by the slope, so they contribute to the mean square too.")
def as_for_relu(n, slope):
    return 2 / n


@exercise.misconception(
    variance, "Your variance is 1/n, which preserves the mean square of linear layers only. The activation function reduces the mean square.")
def as_for_linear(n, slope):
    return 1 / n


@exercise.misconception(
    variance, "Your variance is 2 / ((1 + slope) n). The mean square of the negative half is multiplied by the square of the slope.")
def slope_not_squared(n, slope):
    return 2 / ((1 + slope) * n)


@exercise.misconception(
    weight, "You multiply the noise by the variance. A number of variance 1 is multiplied by the standard deviation, the square root of the variance.")
def times_variance(noise, v):
    return noise * v


@exercise.misconception(size, NOT_MEAN_SQUARE)
def variance_of_values(h):
    return h.var(correction=0)


@exercise.misconception(layer_size, NOT_MEAN_SQUARE)
def variance_after_layers(h):
    return h.var(correction=0)


@exercise.misconception(size, "You return root mean squares. The exercise asks for the mean squares.")
def root(h):
    return (h ** 2).mean().sqrt()


@exercise.misconception(activation, "You apply ReLU. The activation function multiplies negative numbers by the slope.")
def plain_relu(z, slope):
    return z.relu()


def networks(generator):
    """Slopes inside the range, and the edges: ReLU and the identity."""
    B, n, L = uneven(generator, (3, 6), (4, 8), (2, 5))
    slopes = (uniform(generator, 1, low=0.2, high=0.6).item(), 0.0, 1.0)
    return [(normal(generator, B, n) + 0.5, normal(generator, L, n, n), slope) for slope in slopes]


exercise.compare("values", networks, points=4)
exercise.unchanged(networks)
exercise.hint(
    "You do not know how to find the variance.",
    "For weights of variance v the pre-activation z has the expected square n v q, where q is the mean square of the n inputs. Its distribution "
    "is symmetric. Compute the expected square of f(z) from the halves z > 0 and z < 0, and set it equal to q.")
exercise.hint(
    "Your variance is right, but the mean squares are not.",
    "A normal number of variance 1 becomes one of variance v when it is multiplied by the square root of v. The mean square of h is "
    "(h ** 2).mean(), over all entries.")
