"""The logistic and the neural conditional of one variable, written from their formulas."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import bits, integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "two_conditionals", chapter="chain-rule", place=8, title="A logistic and a neural conditional",
    contract="parents (N, m) contains 0 and 1, as floats. alpha (m + 1,) are the parameters of p_logit, the constant alpha_0 first. A (H, m), "
             "b (H,) and beta (H + 1,), the constant beta_0 first, are those of p_Neural, whose hidden units are tanh(A parents + b). Return the "
             "probabilities that the variable is 1, shape (N, 2): p_logit in column 0, p_Neural in column 1. m may be 0.",
    points=["neural-conditional"], difficulty=2, minutes=15)


@exercise.step
def linear(x, weights):
    """The constant plus a weighted sum of the inputs, (N,)."""
    return weights[0] + x @ weights[1:]


@exercise.step
def preactivation(parents, A, b):
    return parents @ A.T + b                                                   # (N, H)


@exercise.step
def activation(z):
    return torch.tanh(z)


@exercise.step
def hidden(parents, A, b):
    return activation(preactivation(parents, A, b))                            # (N, H)


@exercise.step
def probability(logits):
    return torch.sigmoid(logits)


@exercise.step
def logits(parents, alpha, A, b, beta):
    return torch.stack([linear(parents, alpha), linear(hidden(parents, A, b), beta)], dim=1)


@exercise.reference()
@exercise.step
def two_conditionals_reference(parents, alpha, A, b, beta):
    return probability(logits(parents, alpha, A, b, beta))


@exercise.misconception(probability, "You return logits. The sigmoid maps them to probabilities.")
def no_sigmoid(total):
    return total


@exercise.misconception(probability, "You return the probability of a 0. Return the probability of a 1.")
def of_zero(total):
    return torch.sigmoid(-total)


@exercise.misconception(
    probability,
    "Your two columns sum to 1: you apply a softmax over the two models. Each column is a probability of its own, so apply the sigmoid to each "
    "logit.")
def softmax_over_models(total):
    return total.softmax(dim=1)


@exercise.misconception(linear, "Your logits lack the constants alpha_0 and beta_0.")
def no_constant(x, weights):
    return x @ weights[1:]


@exercise.misconception(linear, "You take the last parameter as the constant. alpha_0 and beta_0 come first.")
def constant_last(x, weights):
    return weights[-1] + x @ weights[:-1]


@exercise.misconception(activation, "Your hidden units are linear, so p_Neural is another logistic regression. Apply tanh to A parents + b.")
def no_tanh(z):
    return z


@exercise.misconception(activation, "You apply the sigmoid in the hidden layer. The hidden units of this model are tanh(A parents + b).")
def sigmoid_units(z):
    return torch.sigmoid(z)


@exercise.misconception(preactivation, "Your hidden units do not use b. Add it before tanh.")
def no_b(parents, A, b):
    return parents @ A.T


@exercise.misconception(hidden, "You add b after tanh. It belongs into the argument of tanh.")
def b_outside(parents, A, b):
    return activation(parents @ A.T) + b


@exercise.misconception(two_conditionals_reference, "Your columns are exchanged: p_logit is column 0 and p_Neural column 1.")
def exchanged(parents, alpha, A, b, beta):
    return two_conditionals_reference.original(parents, alpha, A, b, beta).flip(1)


def away(generator, *shape):
    """Numbers of both signs, none of them near 0."""
    value = normal(generator, *shape)
    return value.sign() * (0.4 + value.abs().clamp(max=1.5))


def conditional_cases(generator):
    """Uneven sizes; one row, one parent and one unit; no parents."""
    sizes = [uneven(generator, (5, 8), (2, 4), (9, 11)), [1, integer(generator, 3, 4), 2], [4, 1, 1], [6, 3, 5], [3, 0, 2]]
    return [(bits(generator, N, m) if m else torch.zeros(N, 0), away(generator, m + 1), away(generator, H, m), away(generator, H),
             away(generator, H + 1)) for N, m, H in sizes]


exercise.compare("values", conditional_cases, points=3)
exercise.unchanged(conditional_cases)
exercise.gradient("gradient", lambda generator: conditional_cases(generator)[:4], wrt=(1, 2, 3, 4), points=1)
exercise.hint(
    "You do not know how to begin.",
    "The logit of p_logit is alpha[0] + parents @ alpha[1:], shape (N,). Apply torch.sigmoid to it.")
exercise.hint(
    "The shapes of the hidden layer do not fit.",
    "A has one row per hidden unit and parents one row per image. parents @ A.T has shape (N, H), and b is added to each of its rows.")
exercise.hint(
    "The shape of your result is (2, N).",
    "torch.stack puts the two vectors of shape (N,) side by side as columns if you give it dim=1.")
