"""Impostors among distributions."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import normal, uniform
from course_lib.exercises.nade._shared import every_state, log_prob, logits, weights
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_impostors", chapter="nade", place=3, title="Find the impostors",
    contract="log_probs is a list of functions: each takes x (B, n) of 0 and 1 and returns (B,), what it calls the "
             "log-probability of each row, in nats. Return a sorted list of the numbers, counted from 0, of those that are "
             "no probability distribution over the 2^n states: the sum of an impostor is off by 0.01 at least.",
    points=["nade"], difficulty=3, minutes=25, kind="find")

EXACT = 1e-3                    # a sum over at most 2^7 states in single precision is far closer to 1


@exercise.step
def all_states(n):
    return every_state(n)


@exercise.step
def total(log_p):
    return log_p.exp().sum().item()


@exercise.step
def is_off(total):
    return abs(total - 1) > EXACT


@exercise.step
def unnormalized(log_p):
    """The numbers of the functions whose probabilities do not sum to 1; log_p (2^n,) of each."""
    return [k for k, values in enumerate(log_p) if is_off(total(values))]


@exercise.reference()
def find_impostors_reference(log_probs, n):
    return unnormalized([log_prob(all_states(n)).detach().double() for log_prob in log_probs])


@exercise.misconception(
    is_off, "You list those whose probabilities sum to more than 1. A sum below 1 is no distribution either.")
def too_much_only(total):
    return total - 1 > EXACT


@exercise.misconception(
    is_off,
    "You list those whose probabilities sum to less than 1. A sum above 1 is no distribution either: a leak has that effect.")
def too_little_only(total):
    return 1 - total > EXACT


@exercise.misconception(
    is_off,
    "You accept small errors. The sum over all states is 1 up to rounding, and one or two per cent are more than rounding.")
def tolerant(total):
    return abs(total - 1) > 0.04


@exercise.misconception(
    unnormalized,
    "You look for single probabilities above 1. Most impostors have none: only the sum over all states shows that they are not "
    "distributions.")
def above_one_only(log_p):
    return [k for k, values in enumerate(log_p) if values.max() > 1e-6]


@exercise.misconception(
    total,
    "You average over the states. Probabilities of states that exclude each other are added: their sum is 1.")
def mean_of_states(log_p):
    return log_p.exp().mean().item()


@exercise.misconception(
    unnormalized,
    "You list all of them, although some are distributions. Do you sum the probabilities, exp of what a function returns, and do "
    "you allow for rounding?")
def all_of_them(log_p):
    return list(range(len(log_p)))


@exercise.misconception(
    unnormalized,
    "You list the function with the largest average log-probability. A distribution can fit the data well and an impostor badly: sum "
    "the probabilities.")
def too_good(log_p):
    return [max(range(len(log_p)), key=lambda k: log_p[k].mean().item())]


@exercise.misconception(
    all_states,
    "Your states leave out the state of zeros alone. Without it the probabilities of a distribution do not sum to 1.")
def no_zeros(n):
    return every_state(n)[1:]


@exercise.misconception(
    all_states,
    "Your states leave out the state of ones alone. Without it the probabilities of a distribution do not sum to 1.")
def no_ones(n):
    return every_state(n)[:-1]


def suspects(generator, n: int) -> list:
    """Distributions, some of them odd, and impostors whose sums are off by different amounts: two of them by one or
    two per cent, one above and one below."""
    model, other = (weights(generator, 5, n, scale=1.5) for _ in range(2))
    leak, shift = normal(generator, n).abs() + 0.5, normal(generator, n)
    order = torch.randperm(n, generator=generator)
    states = every_state(n)

    def normalized(x):
        return log_prob(x, logits(x, *model))

    def shuffled(x):                                                           # the same, other columns first
        return log_prob(x[:, order], logits(x[:, order], *other))

    def squashed(x):                                                           # two sigmoids: poor, but it sums to 1
        return log_prob(x, logits(x, *model).sigmoid())

    def mixed(x):                                                              # the mean of two probabilities
        return torch.logaddexp(normalized(x), shuffled(x)) - math.log(2)

    def alike(x):                                                              # all zeros or all ones, four times in five
        return torch.where((x == x[:, :1]).all(1), 0.4, 0.2 / (2 ** n - 2)).log()

    def leaking(x, by):                                                        # factor i reads x_i a little
        return log_prob(x, logits(x, *model) + by * leak * (2 * x - 1))

    def between(x, by):                                                        # logarithms averaged over two like models
        return (normalized(x) + log_prob(x, logits(x, *model) + by * shift)) / 2

    def slight(fault):                                                         # by as much as makes it a small one
        low, high, target = 0.0, 8.0, float(uniform(generator, 1, low=0.013, high=0.025))
        for _ in range(30):
            middle = (low + high) / 2
            off = abs(fault(states, middle).double().exp().sum().item() - 1)
            low, high = (middle, high) if off < target else (low, middle)
        return lambda x: fault(x, high)

    def seeing(x):                                                             # factor i reads x_i well
        return log_prob(x, logits(x, *model) + 3.0 * (2 * x - 1))

    def ones(x):                                                               # the zeros cost nothing
        return (F.logsigmoid(logits(x, *other)) * x).sum(1)

    def averaged(x):                                                           # logarithms averaged over two models
        return (normalized(x) + shuffled(x)) / 2

    def bits_for_nats(x):                                                      # each probability to the power 1.44
        return normalized(x) / math.log(2)

    def against_coins(x):                                                      # how much better than fair coins
        return normalized(x) + n * math.log(2)

    return [normalized, shuffled, squashed, mixed, alike, slight(leaking), slight(between), seeing, ones, averaged, bits_for_nats,
            against_coins]


def suspect_cases(generator):
    cases = []
    while len(cases) < 3:
        n = (5, 6, 7)[len(cases)]
        functions = suspects(generator, n)
        functions = [functions[k] for k in torch.randperm(len(functions), generator=generator).tolist()]
        values = [f(every_state(n)).double() for f in functions]
        off = [gap for v in values if (gap := abs(v.exp().sum().item() - 1)) > 1e-5]
        best = max(range(len(functions)), key=lambda k: values[k].mean().item())
        above = [k for k, v in enumerate(values) if v.max() > 0]
        if min(off) > 0.012 and sum(gap < 0.03 for gap in off) >= 2 and above != [best]:
            rule = f"Each function takes x of shape (B, {n}), a tensor of 0 and 1."
            cases.append(([with_rule(rule, function) for function in functions], n))
    return cases


exercise.compare("values", suspect_cases, points=5)
exercise.hint(
    "You only have functions, and no weights to look at.",
    "You do not need the weights. n is small: list all 2^n states, ask for their log-probabilities, and sum the "
    "probabilities.")
exercise.hint(
    "One of them looks bad, and you are not sure.",
    "A bad model is still a distribution. The only question is whether its probabilities sum to 1.")
exercise.hint(
    "Your list is too short.",
    "A sum may miss 1 by one per cent, and on either side. Rounding in single precision stays far below a thousandth.")
exercise.hint(
    "Your list is too long.",
    "No sum in floating point is exactly 1. Ask whether it is further from 1 than rounding can bring it.")
