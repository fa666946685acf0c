"""The likelihood of softmax NADE."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "categorical_nade_loglik", chapter="gray-levels", place=2, title="The likelihood of softmax NADE",
    contract="x (D,) holds levels 0..K-1, long; W (D, K, H), V (D, K, H), b (D, K), c (H,). With a_1 = c: "
             "p(x_i | x_<i) = softmax(b_i + V_i sigmoid(a_i)) at x_i, then a_{i+1} = a_i + W[i, x_i]. Return ln p(x), "
             "one number.",
    points=["categorical-nade"], difficulty=3, minutes=25)


@exercise.step
def chosen_rows(x, W):
    """W[i, x_i] for every variable i, (D, H)."""
    return W[torch.arange(len(x)), x]


@exercise.step
def running_sums(rows, c):
    """a_1, ..., a_D, each without the row of its own variable, (D, H)."""
    return torch.cat([c[None], rows[:-1]]).cumsum(dim=0)


@exercise.step
def hidden_layers(a):
    return a.sigmoid()


@exercise.step
def log_softmax(scores):
    return scores.log_softmax(dim=1)


@exercise.step
def log_likelihood(log_p, x):
    return log_p[torch.arange(len(x)), x].sum()


@exercise.reference()
@exercise.step
def categorical_nade_loglik_reference(x, W, V, b, c):
    h = hidden_layers(running_sums(chosen_rows(x, W), c))                      # (D, H)
    scores = torch.einsum("dkh,dh->dk", V, h) + b
    return log_likelihood(log_softmax(scores), x)


@exercise.misconception(
    chosen_rows,
    "You multiply by the level, as if level 8 were twice level 4. The level selects a row of W[i]; it is not a factor.")
def as_number(x, W):
    return chosen_rows.original(x, W) * x[:, None]


@exercise.misconception(
    chosen_rows,
    "You add x_i times W[i, 0] to the running sum, as NADE of binary pixels adds x_i times the weights of pixel i. Here each level has "
    "weights of its own: add the row W[i, x_i].")
def times_first_row(x, W):
    return W[:, 0] * x[:, None]


@exercise.misconception(
    running_sums,
    "Your factor i has already read x_i: W[i, x_i] is added before the prediction. Predict first, then add.")
def sees_itself(rows, c):
    return c + rows.cumsum(dim=0)


@exercise.misconception(
    running_sums,
    "Each of your factors depends only on the variable before it. Earlier rows stay in a, which is a running sum.")
def last_only(rows, c):
    return torch.cat([c[None], c + rows[:-1]])


@exercise.misconception(hidden_layers, "The running sum goes into the scores as it is. The hidden layer is its sigmoid.")
def no_sigmoid(a):
    return a


@exercise.misconception(
    log_softmax,
    "Your factors are not normalized over the K levels: you take a sigmoid of each score. Levels exclude each other, so their "
    "probabilities are a softmax.")
def sigmoids(scores):
    return torch.nn.functional.logsigmoid(scores)


@exercise.misconception(
    log_softmax,
    "Your result is not finite where scores are large, because e^1000 overflows. Take the logarithm of the softmax in one step.")
def literal(scores):
    return (scores.exp() / scores.exp().sum(dim=1, keepdim=True)).log()


@exercise.misconception(
    log_softmax,
    "Your result is minus infinity where scores are large: the softmax became 0 before you took its logarithm. Take both in one "
    "step.")
def log_of_zero(scores):
    return scores.softmax(dim=1).log()


@exercise.misconception(
    categorical_nade_loglik_reference,
    "Your running sum is the caller's c, and += writes into it. Begin with a copy.")
def written_over(x, W, V, b, c):
    value = categorical_nade_loglik_reference.original(x, W, V, b, c)
    c.data.add_(chosen_rows(x, W).sum(dim=0))
    return value


def nade_weights(generator, D: int, K: int, H: int):
    x = torch.randint(0, K, (D,), generator=generator)
    x[0], x[-1] = K - 1, integer(generator, 1, K - 2)                          # no chance of zeros only
    return [x, normal(generator, D, K, H), normal(generator, D, K, H), normal(generator, D, K), normal(generator, H)]


def nade_cases(generator):
    shapes = [uneven(generator, (3, 5), (4, 6), (5, 8)), uneven(generator, (6, 8), (3, 4), (2, 5)), [1, 4, 3]]
    return [tuple(nade_weights(generator, *shape)) for shape in shapes]


def large_nade_cases(generator):
    x, W, V, b, c = nade_weights(generator, *uneven(generator, (3, 5), (4, 6), (5, 8)))
    last = V[-1] @ (c + sum(W[i, x[i]] for i in range(len(x) - 1))).sigmoid() + b[-1]
    x[-1] = last.argmin()                          # so far below the others that its probability is 0 in single precision
    return [(x, W, 200 * V, 200 * b, c)]


def gradient_cases(generator):
    """Of ordinary scores; and of large ones, in double precision."""
    x, *weights = large_nade_cases(generator)[0]
    W, V, b, c = (weight.double() for weight in weights)
    return [*nade_cases(generator), (x, W, 3 * V, 3 * b, c)]


exercise.compare("values", nade_cases, points=4)
exercise.compare("large scores", large_nade_cases, points=1)
exercise.unchanged(nade_cases)
exercise.gradient("gradient", gradient_cases, wrt=(1, 2, 3, 4), points=1)
exercise.hint(
    "You do not see what W[i, x_i] is.",
    "W[i] has a row of length H for each level. A one-hot vector times W[i] picks one row; W[i, x[i]] picks it without the "
    "product.")
exercise.hint(
    "Your likelihood is too good.",
    "Follow the order: the scores of variable i come from a before W[i, x_i] is added. Swap the two lines and the factor "
    "sees what it predicts.")
exercise.hint(
    "The check with large scores finds something that is not finite.",
    "torch.log_softmax(scores, dim=0)[x[i]] is the logarithm of the probability, in one step that cannot overflow.")
