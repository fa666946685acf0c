"""The derivatives of three activations."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "activation_derivatives", chapter="02", place=1, title="Three slopes",
    contract="z (B,). Return (3, B): the derivatives at z of the sigmoid, of tanh and of ReLU, in this order. At 0, "
             "where ReLU has no derivative, take 0. All must be finite for every finite z.",
    points=["activations"], difficulty=1, minutes=15)


@exercise.reference(
    of_z="Your first row is z (1 - z). The formula sigma' = s (1 - s) wants s = sigma(z), the value of the function.",
    plus="Your first row is s (1 + s). The derivative of the sigmoid is s (1 - s): it is never above 1/4.",
    tanh_not_squared="Your second row is 1 - tanh(z). The derivative of tanh is 1 - tanh(z) squared.",
    inner_forgotten="Your second row is half of what it should be. tanh(z) = 2 sigma(2z) - 1, and the inner 2z has a "
                    "derivative too.",
    relu_itself="Your third row is ReLU, not its derivative: a derivative of 0 or 1.",
    one_at_zero="At 0 your derivative of ReLU is 1. The contract, and torch, take 0.",
    sign="Your third row is -1 below 0. ReLU is flat there: its derivative is 0.",
    exchanged="Your first two rows are exchanged: the sigmoid comes first, then tanh.",
    values="Your rows are the functions themselves. Asked for are their derivatives.",
    overflows="Far from 0 you return NaN: an exponential overflows, and infinity divided by infinity follows. Write "
              "the derivative with torch.sigmoid, which does not overflow.",
)
def activation_derivatives_reference(z, bugs=frozenset()):
    s, t = torch.sigmoid(z), torch.tanh(z)
    first, second, third = s * torch.sigmoid(-z), 1 - t ** 2, (z > 0).to(z.dtype)
    if "of_z" in bugs:
        first = z * (1 - z)
    if "plus" in bugs:
        first = s * (1 + s)
    if "overflows" in bugs:
        first = torch.exp(-z) / (1 + torch.exp(-z)) ** 2
    if "tanh_not_squared" in bugs:
        second = 1 - t
    if "inner_forgotten" in bugs:
        second = second / 2
    if "relu_itself" in bugs:
        third = z.clamp(min=0)
    if "one_at_zero" in bugs:
        third = (z >= 0).to(z.dtype)
    if "sign" in bugs:
        third = z.sign()
    if "exchanged" in bugs:
        first, second = second, first
    return torch.stack([s, t, z.clamp(min=0)] if "values" in bugs else [first, second, third])


def activation_cases(generator):
    edges = torch.tensor([0.0, 1.0, -1.0, 30.0, -30.0])
    return [(torch.cat([edges, normal(generator, integer(generator, 4, 8), scale=2.0)]),), (normal(generator, 1),)]


def far_cases(generator):
    return [(torch.tensor([-900.0, -120.0, 120.0, 900.0]) + normal(generator, 4),)]


exercise.compare("values", activation_cases, points=4)
exercise.compare("far from 0", far_cases, points=1)
exercise.hint(
    "You do not know where to begin with the sigmoid.",
    "Write sigma(z) = 1 / (1 + exp(-z)) as a power of -1 and use the chain rule. Then express what you find by "
    "sigma(z) itself.")
exercise.hint(
    "You want to test your formulas.",
    "Value of course_lib.basics knows these functions: v = Value(0.7); v.sigmoid().backward(); v.grad.")
exercise.hint(
    "Far from 0 you get NaN.",
    "exp(1000) is infinite. 1 - sigma(z) is sigma(-z), and torch.sigmoid takes any number.")
