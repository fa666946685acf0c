"""Impostors among distributions."""
from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import normal, uniform
from course_lib.exercises.nade._shared import every_state, log_prob, logits, weights
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_impostors", chapter="04", place=3, title="Find the impostors",
    contract="log_probs is a list of functions: each takes x (B, n) of 0 and 1 and returns (B,), what it calls the "
             "log-probability of each row, in nats. Return a sorted list of the numbers, counted from 0, of those that are "
             "no probability distribution over the 2^n states: the sum of an impostor is off by 0.01 at least.",
    points=["nade"], difficulty=3, minutes=25, kind="find")

EXACT = 1e-3                    # a sum over at most 2^7 states in single precision is far closer to 1


@exercise.reference(
    too_much_only="You name those whose probabilities sum to more than 1. A sum below 1 is no distribution either.",
    too_little_only="You name those whose probabilities sum to less than 1. A sum above 1 is no distribution either: that "
                    "is what a leak looks like.",
    above_one_only="You look for single probabilities above 1. Most impostors have none: it is the sum over all states "
                   "that betrays them.",
    honest_ones="Your list holds the honest ones. The impostors are asked for.",
    from_one="You count from 1. The list counts from 0.",
    roughly="You let small faults pass. The sum over all states is 1 up to rounding; one or two per cent are no rounding.",
    mean_of_states="You average over the states. Probabilities of states that exclude each other are added: it is their sum that "
                   "is 1.",
    nobody="You find no impostor. List all 2^n states, and sum what the functions give them: the probabilities, not their "
           "logarithms.",
    everybody="You name them all, although some are distributions. Is it the probabilities that you sum, exp of what a "
              "function returns, and do you allow for rounding?",
    too_good="You name the one with the largest average log-probability. A model may be good, and an impostor may be bad: "
             "sum the probabilities.",
    no_zeros="Your states leave out the one of zeros alone. A sum over fewer than all 2^n states accuses the honest.",
    no_ones="Your states leave out the one of ones alone. A sum over fewer than all 2^n states accuses the honest.",
    unsorted="Your list is not sorted.",
)
def find_impostors_reference(log_probs, n, bugs=frozenset()):
    states = every_state(n)[int("no_zeros" in bugs):2 ** n - int("no_ones" in bugs)]
    values = [f(states).detach().double() for f in log_probs]
    sums = [v.exp().sum().item() for v in values]
    if "mean_of_states" in bugs:
        sums = [v.exp().mean().item() for v in values]
    slack = 0.04 if "roughly" in bugs else EXACT
    found = [k for k, s in enumerate(sums) if abs(s - 1) > slack]
    if "too_much_only" in bugs:
        found = [k for k in found if sums[k] > 1]
    if "too_little_only" in bugs:
        found = [k for k in found if sums[k] < 1]
    if "above_one_only" in bugs:
        found = [k for k, v in enumerate(values) if v.max() > 1e-6]
    if "nobody" in bugs or "everybody" in bugs:
        found = [k for k in range(len(sums)) if "everybody" in bugs]
    if "honest_ones" in bugs:
        found = [k for k in range(len(sums)) if k not in found]
    if "too_good" in bugs:
        found = [max(range(len(values)), key=lambda k: values[k].mean().item())]
    return sorted((k + ("from_one" in bugs) for k in found), reverse="unsorted" in bugs)


def suspects(generator, n: int) -> list:
    """Honest distributions, some of them odd, and impostors whose sums are off by different amounts: two of them by one or
    two per cent, one above and one below."""
    model, other = (weights(generator, 5, n, scale=1.5) for _ in range(2))
    leak, shift = normal(generator, n).abs() + 0.5, normal(generator, n)
    order = torch.randperm(n, generator=generator)
    states = every_state(n)

    def honest(x):
        return log_prob(x, logits(x, *model))

    def shuffled(x):                                                           # the same, other columns first
        return log_prob(x[:, order], logits(x[:, order], *other))

    def squashed(x):                                                           # two sigmoids: poor, but it sums to 1
        return log_prob(x, logits(x, *model).sigmoid())

    def mixed(x):                                                              # the mean of two probabilities
        return torch.logaddexp(honest(x), shuffled(x)) - math.log(2)

    def alike(x):                                                              # all zeros or all ones, four times in five
        return torch.where((x == x[:, :1]).all(1), 0.4, 0.2 / (2 ** n - 2)).log()

    def leaking(x, by):                                                        # factor i reads x_i a little
        return log_prob(x, logits(x, *model) + by * leak * (2 * x - 1))

    def between(x, by):                                                        # logarithms averaged over two like models
        return (honest(x) + log_prob(x, logits(x, *model) + by * shift)) / 2

    def slight(fault):                                                         # by as much as makes it a small one
        low, high, target = 0.0, 8.0, float(uniform(generator, 1, low=0.013, high=0.025))
        for _ in range(30):
            middle = (low + high) / 2
            off = abs(fault(states, middle).double().exp().sum().item() - 1)
            low, high = (middle, high) if off < target else (low, middle)
        return partial(fault, by=high)

    def seeing(x):                                                             # factor i reads x_i well
        return log_prob(x, logits(x, *model) + 3.0 * (2 * x - 1))

    def ones(x):                                                               # the zeros cost nothing
        return (F.logsigmoid(logits(x, *other)) * x).sum(1)

    def averaged(x):                                                           # logarithms averaged over two models
        return (honest(x) + shuffled(x)) / 2

    def bits_for_nats(x):                                                      # each probability to the power 1.44
        return honest(x) / math.log(2)

    def against_coins(x):                                                      # how much better than fair coins
        return honest(x) + n * math.log(2)

    return [honest, shuffled, squashed, mixed, alike, slight(leaking), slight(between), seeing, ones, averaged, bits_for_nats,
            against_coins]


def suspect_cases(generator):
    found = []
    while len(found) < 3:
        n = (5, 6, 7)[len(found)]
        functions = suspects(generator, n)
        functions = [functions[k] for k in torch.randperm(len(functions), generator=generator).tolist()]
        values = [f(every_state(n)).double() for f in functions]
        off = [gap for v in values if (gap := abs(v.exp().sum().item() - 1)) > 1e-5]
        best = max(range(len(functions)), key=lambda k: values[k].mean().item())
        above = [k for k, v in enumerate(values) if v.max() > 0]
        if min(off) > 0.012 and sum(gap < 0.03 for gap in off) >= 2 and above != [best]:
            found.append((functions, n))
    return found


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
