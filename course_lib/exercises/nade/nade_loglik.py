"""The log-likelihood of NADE by the running sum."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.nade._shared import logits, weights
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "nade_loglik", chapter="04", place=1, title="A log-likelihood by the running sum",
    contract="x (D,) holds 0 and 1; W (H, D); V (D, H); b (D,); c (H,). a_1 = c; p_i = sigmoid(b_i + V_i . sigmoid(a_i)); "
             "a_{i+1} = a_i + W[:, i] x_i. Return log p(x) in nats, one number.",
    points=["nade"], difficulty=2, minutes=20)


@exercise.reference(
    leaks="Factor i has already seen x_i: its column of W is added before the factor is computed. Predict first, then "
          "add.",
    twice="Your output goes through the sigmoid twice: the second one takes a probability for a logit, and no factor "
          "falls below 1/2.",
    linear="Your hidden units are the running sum itself. Put it through the sigmoid before V reads it.",
    tanh="Your hidden units are the tanh of the running sum. This NADE takes the sigmoid.",
    squashed_sum="You add the columns of W to the hidden units. They belong to the running sum a, before the sigmoid.",
    sees_all="Every factor of yours reads the whole of x: its hidden layer is that of c + W x. Factor i may read x_1, ..., "
             "x_{i-1} only.",
    reads_nothing="Your factors do not react to the variables before them: the running sum stays at c.",
    adds_probabilities="Your running sum takes in p_i. It takes in x_i, the value that the variable has.",
    last_left_out="The last variable is missing from your sum: its factor counts, although nothing comes after it.",
    underflow="You multiply the probabilities and take the logarithm at the end. Over hundreds of factors the product becomes 0 "
              "in floating point. Add logarithms instead.",
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
    total, product = 0.0, 1.0
    a = a + W @ x if "sees_all" in bugs else a
    for i in range(len(x) - ("last_left_out" in bugs and len(x) > 1)):
        column = W[:, i] * x[i]
        if "leaks" in bugs:
            a = a + column
        h = a if "linear" in bugs else torch.tanh(a) if "tanh" in bugs else torch.sigmoid(a)
        p = torch.sigmoid((0.0 if "no_output_bias" in bugs else b[i]) + V[i] @ h)
        p = torch.sigmoid(p) if "twice" in bugs else p
        factor = p if "always_one" in bugs else torch.where(x[i] == 1, p, 1 - p)
        term, product = torch.log(factor), product * factor
        total = total + (term * x[i] if "ones_only" in bugs else term)
        if "written_over" in bugs:
            a += column.detach()
        elif "squashed_sum" in bugs:
            a = h + column
        elif "forgets" in bugs:
            a = c + column
        elif "adds_probabilities" in bugs:
            a = a + W[:, i] * p
        elif not {"leaks", "sees_all", "reads_nothing"} & bugs:
            a = a + column
    if "underflow" in bugs:
        return torch.log(product)
    if "averaged" in bugs:
        total = total / len(x)
    if "in_bits" in bugs:
        total = total / math.log(2)
    return total.exp() if "not_logged" in bugs else -total if "negated" in bugs else total


def loglik_cases(generator):
    sizes = [uneven(generator, (4, 6), (7, 9)), uneven(generator, (6, 8), (3, 5)), [1, 5], [3, integer(generator, 4, 6)]]
    return [drawn(generator, H, D) for H, D in sizes]


def drawn(generator, H: int, D: int, scale: float = 1.3) -> tuple:
    """Bits and weights that give every value of every variable a probability that single precision can hold: 1 - p, too."""
    while True:
        x, model = bits(generator, D), weights(generator, H, D, scale=scale)
        if logits(x[None], *model).abs().max() < 6:
            return x, *model


def long_cases(generator):
    return [drawn(generator, 3, integer(generator, 350, 450), scale=0.5)]


exercise.compare("values", loglik_cases, points=3)
exercise.compare("many variables", long_cases, points=1)
exercise.unchanged(loglik_cases)
exercise.gradient("gradient", loglik_cases, wrt=(1, 2, 3, 4), points=1)
exercise.hint(
    "You do not see what to keep from one variable to the next.",
    "One vector, a, of H numbers. It starts as c. When x_i is known, add W[:, i] * x[i] to it: nothing else ever changes.")
exercise.hint(
    "Your result is larger than it should be.",
    "Look at the order inside your loop. Factor i must be computed from a before column i is added; otherwise it sees "
    "the value that it predicts.")
exercise.hint(
    "With many variables your result is infinite.",
    "A product of 400 probabilities is smaller than the smallest float. Add the logarithm of each factor in the loop.")
exercise.hint(
    "The values are right, and a check says that an argument is changed.",
    "a = c makes a second name for the same tensor, and a += ... writes into it. a = a + ... makes a new tensor.")
