"""The likelihood of softmax NADE."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "categorical_nade_loglik", chapter="05", place=2, title="The likelihood of softmax NADE",
    contract="x (D,) holds levels 0..K-1, long; W (D, K, H), V (D, K, H), b (D, K), c (H,). With a_1 = c: "
             "p(x_i | x_<i) = softmax(b_i + V_i sigmoid(a_i)) at x_i, then a_{i+1} = a_i + W[i, x_i]. Return ln p(x), "
             "one number.",
    points=["categorical-nade"], difficulty=3, minutes=25)


@exercise.reference(
    sees_itself="Your factor i has already read x_i: W[i, x_i] is added before the prediction. Predict first, then add.",
    last_only="Each of your factors reads only the variable before it. The additions stay: a is a running sum.",
    as_number="You multiply by the level, as if 8 were twice 4. The level chooses a row of W[i]; it is no factor.",
    reads_nothing="Your factors do not react to the variables before them: a is never updated.",
    no_c="Your hidden layer starts at 0. It starts at c.",
    no_b="Your scores do not use b.",
    no_sigmoid="The running sum goes into the scores as it is. The hidden layer is its sigmoid.",
    squashed_sum="You add W[i, x_i] to the hidden layer. It belongs to the running sum a, before the sigmoid.",
    sigmoids="Your factors are not normalised over the K levels: a sigmoid for each. Levels exclude each other, which is "
             "a softmax.",
    other_level="You score a level that is not the observed one: the likeliest. The likelihood asks for x_i.",
    averaged="Your result is divided by the number of variables. The logarithm of a product is the sum.",
    literal="Your result is not a number where scores are large: e^1000 does not fit. Take the logarithm of the softmax in "
            "one step.",
    log_of_zero="Your result is minus infinity where scores are large: the softmax became 0 before you took its logarithm. "
                "Take both in one step.",
    written_over="Your running sum is the caller's c: += writes into it. Begin with a copy.",
)
def categorical_nade_loglik_reference(x, W, V, b, c, bugs=frozenset()):
    D, a, total = len(x), torch.zeros_like(c) if "no_c" in bugs else c, 0.0
    for i in range(D):
        step = W[i, x[i]] * (x[i] if "as_number" in bugs else 1)               # (H,)
        if "sees_itself" in bugs:
            a = a + step
        scores = V[i] @ (a if "no_sigmoid" in bugs else a.sigmoid())           # (K,)
        if "no_b" not in bugs:
            scores = scores + b[i]
        if "literal" in bugs:
            logs = (scores.exp() / scores.exp().sum()).log()
        elif "log_of_zero" in bugs:
            logs = scores.softmax(dim=0).log()
        elif "sigmoids" in bugs:
            logs = torch.nn.functional.logsigmoid(scores)
        else:
            logs = scores.log_softmax(dim=0)
        total = total + (logs.max() if "other_level" in bugs else logs[x[i]])
        if "last_only" in bugs:
            a = c + step
        elif "squashed_sum" in bugs:
            a = a.sigmoid() + step
        elif not {"sees_itself", "reads_nothing"} & bugs:
            a = a + step
    if "written_over" in bugs:
        c.detach().add_(sum(W[i, x[i]] for i in range(D)).detach())
    return total / D if "averaged" in bugs else total


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


exercise.compare("values", nade_cases, points=4)
exercise.compare("large scores", large_nade_cases, points=1)
exercise.unchanged(nade_cases)
exercise.gradient("gradient", nade_cases, wrt=(1, 2, 3, 4), points=1)
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
