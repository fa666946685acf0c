"""Chapter 04: NADE's log-likelihood, a draw from it, impostors among distributions, and one trained to a score."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.grading.bank.draws import bits, integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise


def logits(x: Tensor, W: Tensor, V: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Logits (B, D) of every factor for x (B, D): b_i + V_i . sigmoid(c + sum_{j<i} W[:, j] x_j)."""
    adds = x[:, :, None] * W.T                                                 # (B, D, H)
    h = torch.sigmoid(c + adds.cumsum(1) - adds)                               # without the variable's own
    return (h * V).sum(-1) + b


def log_prob(x: Tensor, z: Tensor) -> Tensor:
    """Log-probability (B,) of the bits x under the logits z, both (B, D)."""
    return -F.binary_cross_entropy_with_logits(z, x.to(z.dtype), reduction="none").sum(1)


def every_state(n: int) -> Tensor:
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))


def weights(generator, H: int, D: int, scale: float = 1.3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W (H, D), V (D, H), b (D,), c (H,)."""
    return (normal(generator, H, D, scale=scale), normal(generator, D, H, scale=scale), normal(generator, D),
            normal(generator, H))


# The log-likelihood by the running sum

nade_loglik = Exercise(
    "nade_loglik", chapter="04", title="A log-likelihood by the running sum",
    contract="x (D,) holds 0 and 1; W (H, D); V (D, H); b (D,); c (H,). a_1 = c; p_i = sigmoid(b_i + V_i . sigmoid(a_i)); "
             "a_{i+1} = a_i + W[:, i] x_i. Return log p(x) in nats, one number.",
    points=["nade"], difficulty=2, minutes=20)


@nade_loglik.reference(
    leaks="Factor i has already seen x_i: its column of W is added before the factor is computed. Predict first, then "
          "add.",
    twice="Your output goes through the sigmoid twice: the second one takes a probability for a logit, and no factor "
          "falls below 1/2.",
    linear="Your hidden units are the running sum itself. Put it through the sigmoid before V reads it.",
    squashed_sum="You add the columns of W to the hidden units. They belong to the running sum a, before the sigmoid.",
    forgets="Your hidden layer knows only the variable just before. The sum runs on: each column of W stays in it.",
    no_output_bias="Your log-likelihood does not use b.",
    no_hidden_bias="Your running sum starts from 0. It starts from c.",
    ones_only="Your sum takes only the variables that are 1. A 0 has a probability too: 1 - p.",
    always_one="You take log p for every variable, whatever its value. Where x_i is 0 the factor is 1 - p.",
    averaged="You average over the variables. The chain rule adds their log-probabilities.",
    negated="Your sign is the loss's, not the log-likelihood's.",
    not_logged="You return the probability itself. Its logarithm is asked for.",
    in_bits="Your value is in bits (base 2). Nats are asked for: the natural logarithm.",
    written_over="You add into c itself, so the caller's c is changed. Start from a copy, or write a = a + ... instead "
                 "of a += ...",
)
def nade_loglik_reference(x, W, V, b, c, bugs=frozenset()):
    a = torch.zeros_like(c) if "no_hidden_bias" in bugs else c.detach() if "written_over" in bugs else c
    total = 0.0
    for i in range(len(x)):
        column = W[:, i] * x[i]
        if "leaks" in bugs:
            a = a + column
        h = a if "linear" in bugs else torch.sigmoid(a)
        p = torch.sigmoid((0.0 if "no_output_bias" in bugs else b[i]) + V[i] @ h)
        p = torch.sigmoid(p) if "twice" in bugs else p
        term = torch.log(p if "always_one" in bugs else torch.where(x[i] == 1, p, 1 - p))
        total = total + (term * x[i] if "ones_only" in bugs else term)
        if "written_over" in bugs:
            a += column.detach()
        elif "squashed_sum" in bugs:
            a = h + column
        elif "forgets" in bugs:
            a = c + column
        elif "leaks" not in bugs:
            a = a + column
    if "averaged" in bugs:
        total = total / len(x)
    if "in_bits" in bugs:
        total = total / math.log(2)
    return total.exp() if "not_logged" in bugs else -total if "negated" in bugs else total


def loglik_cases(generator):
    sizes = [uneven(generator, (4, 6), (7, 9)), uneven(generator, (6, 8), (3, 5)), [1, 5], [3, integer(generator, 4, 6)]]
    return [(bits(generator, D), *weights(generator, H, D)) for H, D in sizes]


nade_loglik.compare("values", loglik_cases, points=4)
nade_loglik.gradient("gradient", loglik_cases, wrt=(1, 2, 3, 4), points=1)
nade_loglik.unchanged(loglik_cases)
nade_loglik.hint(
    "You do not see what to keep from one variable to the next.",
    "One vector, a, of H numbers. It starts as c. When x_i is known, add W[:, i] * x[i] to it: nothing else ever changes.")
nade_loglik.hint(
    "Your result is larger than it should be.",
    "Look at the order inside your loop. Factor i must be computed from a before column i is added; otherwise it sees "
    "the value that it predicts.")
nade_loglik.hint(
    "The values are right, and a check says that an argument is changed.",
    "a = c makes a second name for the same tensor, and a += ... writes into it. a = a + ... makes a new tensor.")

# A draw by the running sum

nade_sample = Exercise(
    "nade_sample", chapter="04", title="A draw by the running sum",
    contract="u (B, D) holds uniform numbers in [0, 1); W, V, b, c as in nade_loglik. Draw x_1, x_2, ... in this order, the "
             "batch at once: x_i = 1 where u[:, i] < p_i, with p_i from the x_<i just drawn, else 0. Return x, floats "
             "(B, D).",
    points=["nade"], difficulty=3, minutes=20)


@nade_sample.reference(
    rounded="Your draws do not depend on u: each variable takes its likelier value. That gives one image, not samples.",
    all_at_once="Your variables do not react to those drawn before them: the running sum stays at c.",
    greater="You set x_i to 1 where u is above p. That happens with probability 1 - p.",
    feeds_probabilities="Your running sum takes in the probabilities. It must take in the drawn values, 0 or 1.",
    feeds_uniforms="Your running sum takes in u in the place of the values that were drawn.",
    one_row="All rows of your batch share one running sum. Each row has drawn other values and needs a sum of its own.",
    late="Your running sum lags: when x_i is drawn it does not yet hold the column of the variable just before.",
    no_hidden_bias="Your running sum starts from 0. It starts from c.",
    linear="Your hidden units are the running sum itself. Put it through the sigmoid before V reads it.",
)
def nade_sample_reference(u, W, V, b, c, bugs=frozenset()):
    B, D = u.shape
    x, a = torch.zeros_like(u), (torch.zeros_like(c) if "no_hidden_bias" in bugs else c).expand(B, -1)   # a: (B, H)
    waiting = torch.zeros_like(a)
    for i in range(D):
        h = a if "linear" in bugs else torch.sigmoid(a)
        p = torch.sigmoid(h @ V[i] + b[i])                                     # (B,)
        drawn = p > 0.5 if "rounded" in bugs else u[:, i] > p if "greater" in bugs else u[:, i] < p
        x[:, i] = drawn.to(u.dtype)
        read = p if "feeds_probabilities" in bugs else u[:, i] if "feeds_uniforms" in bugs else x[:, i]
        if "one_row" in bugs:
            read = read[:1].expand(B)
        column = read[:, None] * W[:, i]                                       # (B, H)
        if "late" in bugs:
            a, waiting = a + waiting, column
        elif "all_at_once" not in bugs:
            a = a + column
    return x


def sample_cases(generator):
    found = []
    while len(found) < 3:
        B, H, D = uneven(generator, (9, 14), (5, 8), (6, 9))
        u, model = uniform(generator, B, D), weights(generator, H, D, scale=2.0)
        p = logits(nade_sample_reference(u, *model), *model).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no draw hangs on the last digits
            found.append((u, *model))
    return found


nade_sample.compare("values", sample_cases, points=4)
nade_sample.unchanged(sample_cases)
nade_sample.hint(
    "You do not see what shape the running sum has.",
    "(B, H): a row for each image, since each image has drawn other values. c.expand(B, -1) or c.repeat(B, 1) starts it.")
nade_sample.hint(
    "The shapes of the column and the sum do not fit.",
    "x[:, i] is (B,) and W[:, i] is (H,). x[:, i, None] * W[:, i] is (B, H): one column for the rows that drew a 1, zeros "
    "for the others.")
nade_sample.hint(
    "You tried bernoulli() and the check disagrees.",
    "The randomness is in u, so that the check can know what is right. x_i = 1 where u[:, i] is below p_i.")

# Impostors

find_impostors = Exercise(
    "find_impostors", chapter="04", title="Find the impostors",
    contract="log_probs is a list of functions: each takes x (B, n) of 0 and 1 and returns (B,), what it calls the "
             "log-probability of each row, in nats. Return a sorted list of the numbers, counted from 0, of those that are "
             "no probability distribution over the 2^n states.",
    points=["nade"], difficulty=3, minutes=25, kind="find")

EXACT = 1e-3                    # a sum over at most 2^7 states in single precision is far closer to 1


@find_impostors.reference(
    too_much_only="You name those whose probabilities sum to more than 1. A sum below 1 is no distribution either.",
    too_little_only="You name those whose probabilities sum to less than 1. A sum above 1 is no distribution either: that "
                    "is what a leak looks like.",
    above_one_only="You look for single probabilities above 1. Most impostors have none: it is the sum over all states "
                   "that betrays them.",
    honest_ones="Your list holds the honest ones. The impostors are asked for.",
    from_one="You count from 1. The list counts from 0.",
    roughly="You let small faults pass. The sum over all states is 1 up to rounding; a few per cent are no rounding.",
    nobody="You find no impostor. List all 2^n states, and sum what the functions give them: the probabilities, not their "
           "logarithms.",
    everybody="You name them all, although some are distributions. Is it the probabilities that you sum, exp of what a "
              "function returns, and do you allow for rounding?",
    too_good="You name the one with the largest average log-probability. A model may be good, and an impostor may be bad: "
             "sum the probabilities.",
    unsorted="Your list is not sorted.",
)
def find_impostors_reference(log_probs, n, bugs=frozenset()):
    states = every_state(n)
    values = [f(states).detach().double() for f in log_probs]
    sums = [v.exp().sum().item() for v in values]
    slack = 0.2 if "roughly" in bugs else EXACT
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
    """Honest distributions, some of them odd, and impostors whose sums are off by different amounts."""
    model, other = (weights(generator, 5, n, scale=1.5) for _ in range(2))
    slight = [part.clone() for part in model]
    leak = normal(generator, n).abs() * 0.05 + 0.03
    order = torch.randperm(n, generator=generator)

    def honest(x):
        return log_prob(x, logits(x, *model))

    def shuffled(x):                                                           # the same, other columns first
        return log_prob(x[:, order], logits(x[:, order], *other))

    def squashed(x):                                                           # two sigmoids: poor, but it sums to 1
        return log_prob(x, logits(x, *model).sigmoid())

    def mixed(x):                                                              # the mean of two probabilities
        return torch.logaddexp(honest(x), shuffled(x)) - math.log(2)

    def leaking(x):                                                            # factor i reads x_i a little
        return log_prob(x, logits(x, *slight) + leak * (2 * x - 1))

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

    return [honest, shuffled, squashed, mixed, leaking, seeing, ones, averaged, bits_for_nats, against_coins]


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
        if min(off) > 0.02 and any(gap < 0.19 for gap in off) and above != [best]:
            found.append((functions, n))
    return found


find_impostors.compare("values", suspect_cases, points=5)
find_impostors.hint(
    "You only have functions, and no weights to look at.",
    "You do not need the weights. n is small: list all 2^n states, ask for their log-probabilities, and sum the "
    "probabilities.")
find_impostors.hint(
    "One of them looks bad, and you are not sure.",
    "A bad model is still a distribution. The only question is whether its probabilities sum to 1.")
find_impostors.hint(
    "Your list is too short.",
    "A sum may miss 1 by a few per cent, and on either side. Rounding in single precision stays far below a thousandth.")
find_impostors.hint(
    "Your list is too long.",
    "No sum in floating point is exactly 1. Ask whether it is further from 1 than rounding can bring it.")

EXERCISES = [nade_loglik, nade_sample, find_impostors]
