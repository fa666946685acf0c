"""The log-likelihood of bits from their conditionals."""
from __future__ import annotations

from dataclasses import replace

import torch

from course_lib.exercises.draws import bits, uneven, uniform
from course_lib.grading.checks import Fault, Gradient, shape_fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bernoulli_chain_loglik", chapter="chain-rule", place=1, title="The log-likelihood of a Bernoulli model",
    contract="x (B, D) holds 0 and 1, p (B, D) the probabilities p[b, i] = P(x_i = 1 given x_<i). "
             "p may be very small, and exactly 0 or 1 where x says the same. Return log p(x) in nats, shape (B,).",
    points=["chain-rule"], difficulty=1, minutes=10)


@exercise.step
def factors(x, p):
    """The probability of each value that x holds, (B, D)."""
    return torch.where(x == 1, p, 1 - p)


@exercise.step
def log_factors(x, p):
    return factors(x, p).log()


@exercise.reference()
@exercise.step
def bernoulli_chain_loglik_reference(x, p):
    return log_factors(x, p).sum(dim=1)


@exercise.misconception(log_factors, "You add only the factors of variables that are 1. A variable that is 0 contributes log(1 - p).")
def ones_only(x, p):
    return x * factors(x, p).log()


@exercise.misconception(
    factors,
    "You exchanged p and 1 - p. A 1 has probability p, and a 0 has probability 1 - p.")
def swapped(x, p):
    return torch.where(x == 1, 1 - p, p)


@exercise.misconception(
    factors,
    "Your values are too large where x has a value of very small probability: a clamp, or a small number that you add, keeps "
    "your probabilities away from 0. The result is the likelihood of another model.")
def clamped(x, p):
    return factors.original(x, p.clamp(0.01, 0.99))


@exercise.misconception(
    log_factors,
    "Where p is exactly 0 or 1 your result, or its gradient, is NaN: 0 times minus infinity. Select the probability of the value that x "
    "has first, then take its logarithm.")
def zero_times_infinity(x, p):
    return x * p.log() + (1 - x) * (1 - p).log()


@exercise.misconception(
    bernoulli_chain_loglik_reference,
    "You multiply the probabilities and take the logarithm at the end. Over hundreds of factors the product becomes 0 in floating "
    "point. Add logarithms instead.")
def underflow(x, p):
    return factors(x, p).prod(dim=1).log()


@exercise.misconception(bernoulli_chain_loglik_reference, "You return the probability. Return its logarithm.")
def not_logged(x, p):
    return factors(x, p).prod(dim=1)


@exercise.misconception(
    bernoulli_chain_loglik_reference,
    "You average over the variables. The chain rule multiplies the factors, so their logarithms must be added, without a division.")
def averaged(x, p):
    return log_factors(x, p).mean(dim=1)


@exercise.misconception(
    bernoulli_chain_loglik_reference,
    "You return the loss, the negative of the log-likelihood. The logarithm of a probability is never positive.")
def negated(x, p):
    return -log_factors(x, p).sum(dim=1)


@exercise.misconception(
    bernoulli_chain_loglik_reference,
    "You added over the batch. Each row of x is a sample of its own with its own log-likelihood: add over the variables, dimension 1.")
def summed_over_batch(x, p):
    return log_factors(x, p).sum(dim=0)


@exercise.misconception(
    bernoulli_chain_loglik_reference, "You return one number for the whole batch. Each row has its own log-likelihood, so the shape is (B,).")
def one_number(x, p):
    return log_factors(x, p).sum()


def likelihood_cases(generator, low=2, high=9):
    sizes = [uneven(generator, (3, 7), (low, high)), uneven(generator, (2, 6), (low, high)), [1, high]]
    return [(bits(generator, *size), uniform(generator, *size, low=0.03, high=0.97)) for size in sizes]


def extreme_cases(generator):
    """In each row one variable is certainly 0, one certainly 1, and two have very improbable values. In double precision,
    where 1 - 1e-9 differs from 1, so that every form of a factor is accurate."""
    B, D = uneven(generator, (3, 6), (7, 9))
    x, p = bits(generator, B, D).double(), uniform(generator, B, D, low=0.03, high=0.97).double()
    for b in range(B):
        zero, one, rare, likely = torch.randperm(D, generator=generator)[:4].tolist()
        tiny = uniform(generator, 2, low=1e-10, high=1e-9).double()
        x[b, [zero, one, rare, likely]] = torch.tensor([0, 1, 1, 0]).double()
        p[b, [zero, one, rare, likely]] = torch.stack([0 * tiny[0], 0 * tiny[0] + 1, tiny[0], 1 - tiny[1]])
    return x, p


class GradientAtEnds(Gradient):
    """As Gradient. Where p is exactly 0 or 1 a gradient of 0 passes too: torch's binary cross-entropy returns it."""

    def fault(self, record):
        x, p, _ = record.args
        got = record.outcome.gradients.get(1, p)
        return super().fault(replace(record, expected={1: torch.where((x == p) & (got == 0), got, record.expected[1])}))


def certain_cases(generator):
    """As `likelihood_cases`; in each row one variable is certain, so that p is exactly the bit."""
    cases = likelihood_cases(generator)
    for x, p in cases:
        rows, columns = torch.arange(len(x)), torch.randint(x.shape[1], (len(x),), generator=generator)
        p[rows, columns] = x[rows, columns]
    return cases


exercise.compare("values", likelihood_cases, points=2)


@exercise.property("certain and rare", points=1)
def extreme(run, generator, solve):
    x, p = extreme_cases(generator)
    got, expected = run(x, p), solve(x, p)
    if fault := shape_fault(got, expected):
        return fault
    got = got.double()
    if got.isnan().any():
        return Fault("Where p is exactly 0 or 1 your result is NaN.", "zero_times_infinity")
    if got.isinf().any():
        return Fault("Your result is infinite, although every value in x has a positive probability under p.")
    if torch.allclose(got, expected.double(), rtol=1e-4, atol=1e-5):
        return None
    return Fault("Your values are wrong where p is close to 0 or 1, or equal to them.",
                 "clamped" if (got > expected).all() else None)


exercise.compare("many variables", lambda g: likelihood_cases(g, 900, 1000), points=1)
exercise.unchanged(likelihood_cases)
exercise.checks.append(GradientAtEnds("gradient", 1, certain_cases, wrt=(1,)))
exercise.hint(
    "You do not know where to begin.",
    "Write one factor first, the probability of the value that variable i has. It is p where x is 1, and 1 - p "
    "where x is 0. torch.where picks between the two for all entries at once.")
exercise.hint(
    "The shape is not (B,).",
    "Each row is one observation of all D variables. Sum over the variables, which is dimension 1, and keep the batch dimension.")
exercise.hint(
    "You see NaN, or a wrong value where p is close to 0 or 1.",
    "x * p.log() is 0 times minus infinity where x and p are 0. Choose between p and 1 - p first, and take one logarithm. "
    "Do not clamp p and do not add a small number, because both change the model.")
exercise.hint(
    "With many variables the result is minus infinity.",
    "A product of 900 probabilities is smaller than the smallest float. Take the logarithm of each factor first, then "
    "add.")
