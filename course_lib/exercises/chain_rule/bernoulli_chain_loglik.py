"""The log-likelihood of bits from their conditionals."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import bits, uneven, uniform
from course_lib.grading.checks import Fault, shape_fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bernoulli_chain_loglik", chapter="01", place=1, title="A log-likelihood, factor by factor",
    contract="x (B, D) holds 0 and 1, p (B, D) the probabilities p[b, i] = P(x_i = 1 given x_<i). "
             "p may be very small, and exactly 0 or 1 where x says the same. Return log p(x) in nats, shape (B,).",
    points=["chain-rule"], difficulty=1, minutes=10)


@exercise.reference(
    ones_only="Your sum takes only the variables that are 1. A 0 has a probability too: 1 - p.",
    swapped="You give every 1 the probability 1 - p and every 0 the probability p. It is the other way round: p is the "
            "probability of a 1.",
    not_logged="You return the probability itself. The logarithm is asked for.",
    averaged="You average over the variables. The chain rule multiplies the factors, so their logarithms are added: "
             "an image of 784 pixels has 784 terms, and no division.",
    negated="Your sign is the loss's, not the log-likelihood's. The logarithm of a probability is never positive.",
    in_bits="Your values are in bits (base 2). Nats are asked for: the natural logarithm.",
    summed_over_batch="You added over the batch. Each row of x is its own draw and keeps its own log-likelihood: add "
                      "over the variables, dimension 1.",
    one_number="You return one number for the whole batch. Each row keeps its own log-likelihood, shape (B,).",
    first_left_out="The first variable is missing from your sum. It has no parents, but it has a probability.",
    squeezed="A batch of one row comes back without its batch dimension. squeeze() removes every dimension of size 1; "
             "name the one that you mean.",
    zero_times_infinity="Where p is exactly 0 or 1 your result is NaN: 0 times minus infinity. Pick the probability of the "
                        "value that x has first, then take its logarithm.",
    clamped="Your values are too large where something happens that p calls nearly impossible: some floor keeps your "
            "probabilities away from 0, a clamp or a small number that is added. That is the likelihood of another model.",
    underflow="You multiply the probabilities and take the logarithm at the end. Over hundreds of factors the product "
              "becomes 0 in floating point. Add logarithms instead.",
)
def bernoulli_chain_loglik_reference(x, p, bugs=frozenset()):
    if "swapped" in bugs:
        p = 1 - p
    if "clamped" in bugs:
        p = p.clamp(0.01, 0.99)
    factors = torch.where(x == 1, p, 1 - p)                                   # (B, D)
    if "underflow" in bugs or "not_logged" in bugs:
        product = factors.prod(dim=1)
        return product if "not_logged" in bugs else product.log()
    terms = x * p.log() + (1 - x) * (1 - p).log() if "zero_times_infinity" in bugs else factors.log()
    if "ones_only" in bugs:
        terms = terms * x
    if "first_left_out" in bugs:
        terms = terms[:, 1:]
    if "in_bits" in bugs:
        terms = terms / math.log(2)
    if "negated" in bugs:
        terms = -terms
    if "one_number" in bugs:
        return terms.sum()
    result = terms.sum(dim=0 if "summed_over_batch" in bugs else 1)
    if "averaged" in bugs:
        result = result / x.shape[1]
    return result.squeeze() if "squeezed" in bugs else result


def likelihood_cases(generator, low=2, high=9):
    sizes = [uneven(generator, (3, 7), (low, high)), uneven(generator, (2, 6), (low, high)), [1, high]]
    return [(bits(generator, *size), uniform(generator, *size, low=0.03, high=0.97)) for size in sizes]


def extreme_cases(generator):
    """In each row a variable that is certain, 0 or 1 as p says, and two that hardly anybody expects. In double precision,
    where 1 minus 1e-9 is no 1 yet, so that every way of writing a factor has its digits."""
    B, D = uneven(generator, (3, 6), (7, 9))
    x, p = bits(generator, B, D).double(), uniform(generator, B, D, low=0.03, high=0.97).double()
    for b in range(B):
        zero, one, rare, likely = torch.randperm(D, generator=generator)[:4].tolist()
        tiny = uniform(generator, 2, low=1e-10, high=1e-9).double()
        x[b, [zero, one, rare, likely]] = torch.tensor([0, 1, 1, 0]).double()
        p[b, [zero, one, rare, likely]] = torch.stack([0 * tiny[0], 0 * tiny[0] + 1, tiny[0], 1 - tiny[1]])
    return x, p


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
        return Fault("Your result is infinite, although nothing has happened that p calls impossible.")
    if torch.allclose(got, expected.double(), rtol=1e-4, atol=1e-5):
        return None
    return Fault("Your values are wrong where p is close to 0 or 1, or equal to them.",
                 "clamped" if (got > expected).all() else None)


exercise.compare("many variables", lambda g: likelihood_cases(g, 900, 1000), points=1)
exercise.unchanged(likelihood_cases)
exercise.gradient("gradient", likelihood_cases, wrt=(1,), points=1)
exercise.hint(
    "You do not know where to begin.",
    "Write one factor first: the probability that variable i has the value it has. It is p where x is 1, and 1 - p "
    "where x is 0. torch.where picks between the two for all entries at once.")
exercise.hint(
    "The shape is not (B,).",
    "Each row is one draw of all D variables. Add over the variables, which is dimension 1, and leave the batch alone.")
exercise.hint(
    "You see NaN, or a wrong value where p is close to 0 or 1.",
    "x * p.log() is 0 times minus infinity where x and p are 0. Choose between p and 1 - p first, and take one logarithm. "
    "Add no small number and clamp nothing: both change the model.")
exercise.hint(
    "With many variables the result is minus infinity.",
    "A product of 900 probabilities is smaller than the smallest float. Take the logarithm of each factor first, then "
    "add.")
