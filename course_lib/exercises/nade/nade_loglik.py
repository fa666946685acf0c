"""The log-likelihood of NADE by the running sum."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.nade._shared import logits, weights
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "nade_loglik", chapter="nade", place=1, title="A log-likelihood by the running sum",
    contract="x (D,) holds 0 and 1; W (H, D); V (D, H); b (D,); c (H,). a_1 = c; p_i = sigmoid(b_i + V_i . sigmoid(a_i)); "
             "a_{i+1} = a_i + W[:, i] x_i. Return log p(x) in nats, one number.",
    points=["nade"], difficulty=2, minutes=20)


@exercise.step
def hidden(a):
    return torch.sigmoid(a)


@exercise.step
def running_sums(x, W, c):
    """a_1, ..., a_D, each (H,)."""
    sums = [c]
    for i in range(len(x) - 1):
        sums.append(sums[-1] + W[:, i] * x[i])
    return sums


@exercise.step
def factors(x, W, V, b, c):
    """p(x_i given x_<i) for the values that x holds, (D,)."""
    h = hidden(torch.stack(running_sums(x, W, c)))                             # (D, H)
    p = torch.sigmoid((V * h).sum(1) + b)
    return torch.where(x == 1, p, 1 - p)


@exercise.reference()
@exercise.step
def nade_loglik_reference(x, W, V, b, c):
    return factors(x, W, V, b, c).log().sum()


@exercise.misconception(
    hidden, "Your hidden units are the running sum itself. Put it through the sigmoid before V reads it.")
def linear(a):
    return a


@exercise.misconception(
    hidden, "Your hidden units are the tanh of the running sum. This NADE takes the sigmoid.")
def tanh(a):
    return torch.tanh(a)


@exercise.misconception(
    running_sums,
    "Factor i already depends on x_i: its column of W is added before the factor is computed. Predict first, then add.")
def leaks(x, W, c):
    return [a + W[:, i] * x[i] for i, a in enumerate(running_sums.original(x, W, c))]


@exercise.misconception(
    running_sums,
    "You add the columns of W to the hidden units. They belong to the running sum a, before the sigmoid.")
def squashed_sum(x, W, c):
    sums = [c]
    for i in range(len(x) - 1):
        sums.append(hidden(sums[-1]) + W[:, i] * x[i])
    return sums


@exercise.misconception(
    running_sums,
    "Every factor of yours reads the whole of x: its hidden layer is that of c + W x. Factor i may read only x_1, ..., x_{i-1}.")
def sees_all(x, W, c):
    return [c + W @ x] * len(x)


@exercise.misconception(
    running_sums, "Your factors do not depend on the variables before them: the running sum stays at c.")
def reads_nothing(x, W, c):
    return [c] * len(x)


@exercise.misconception(
    running_sums,
    "You add into c itself, so the caller's c is changed. Start from a copy, or write a = a + ... instead of a += ...")
def written_over(x, W, c):
    a, sums = c.detach(), []
    for i in range(len(x)):
        sums.append(a.clone())
        a += (W[:, i] * x[i]).detach()
    return sums


@exercise.misconception(
    factors, "You add W[:, i] p_i to your running sum. It takes x_i, the value that the variable has.")
def adds_probabilities(x, W, V, b, c):
    a, p = c, []
    for i in range(len(x)):
        p.append(torch.sigmoid(V[i] @ hidden(a) + b[i]))
        a = a + W[:, i] * p[i]
    return torch.where(x == 1, torch.stack(p), 1 - torch.stack(p))


@exercise.misconception(
    nade_loglik_reference,
    "The last variable is missing from your sum: its factor counts, although nothing comes after it.")
def last_left_out(x, W, V, b, c):
    return factors(x, W, V, b, c)[:max(1, len(x) - 1)].log().sum()


@exercise.misconception(
    nade_loglik_reference,
    "You multiply the probabilities and take the logarithm at the end. Over hundreds of factors the product becomes 0 in floating "
    "point. Add logarithms instead.")
def underflow(x, W, V, b, c):
    return factors(x, W, V, b, c).prod().log()


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
