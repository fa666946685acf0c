"""Chapter 05: a log-softmax that survives, the softmax NADE, a mixture of Gaussians, and densities that are none."""
from __future__ import annotations

import math

import torch

from course_lib.grading.bank.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

# A log-softmax that survives

stable_log_softmax = Exercise(
    "stable_log_softmax", chapter="05", title="A log-softmax that survives",
    contract="a (..., K) holds scores of any size. Return ln softmax(a) along the last axis, same shape. It must be finite "
             "for every finite a. Build it from exp, log, sum and max.",
    points=["softmax"], difficulty=2, minutes=15,
    forbid=("log_softmax", "softmax", "logsumexp", "logaddexp", "cross_entropy"))


@stable_log_softmax.reference(
    literal="Where scores are near 1000 your result is not finite: e^1000 does not fit. Take the largest score off first.",
    log_of_zero="Where one score is far below the largest, your result is minus infinity: its probability became 0 before "
                "you took the logarithm. Subtract logarithms; do not take the logarithm of a quotient.",
    mean_shift="You take the mean off, not the maximum. One score far above the others still overflows.",
    absolute="You take off the largest absolute value. Where all scores are far below zero, every exponential vanishes.",
    one_maximum="You take one maximum for the whole tensor. In a row far below it every exponential vanishes; each row "
                "needs its own.",
    first_axis="Your result is normalised along the first axis. It should be the last.",
    all_entries="Your exponentials sum to one over the whole tensor. Each row is a distribution of its own.",
    shift_kept="Your rows are off by their largest score: it was taken off inside the logarithm of the sum and not added "
               "back.",
    no_logarithm="You return the probabilities. Their logarithms are asked for.",
    written_over="You subtract the maximum in place. The caller's scores are changed.",
)
def stable_log_softmax_reference(a, bugs=frozenset()):
    if "written_over" in bugs:
        mine = a.clone()
        a.data.sub_(a.detach().amax(dim=-1, keepdim=True))
        a = mine
    axis = 0 if "first_axis" in bugs else -1
    m = a.amax(dim=axis, keepdim=True)
    if "literal" in bugs:
        m = torch.zeros_like(m)
    if "mean_shift" in bugs:
        m = a.mean(dim=-1, keepdim=True)
    if "absolute" in bugs:
        m = a.abs().amax(dim=-1, keepdim=True)
    if "one_maximum" in bugs or "all_entries" in bugs:
        m = a.amax()
    total = (a - m).exp().sum(dim=axis, keepdim=True)
    if "all_entries" in bugs:
        total = (a - m).exp().sum()
    if "log_of_zero" in bugs:
        return ((a - m).exp() / total).log()
    result = a - total.log() if "shift_kept" in bugs else a - m - total.log()
    return result.exp() if "no_logarithm" in bugs else result


def small_scores(generator):
    return [(normal(generator, *uneven(generator, (3, 5), (4, 7)), scale=2.0),),
            (normal(generator, *uneven(generator, (2, 3), (3, 5), (4, 7)), scale=2.0),),
            (normal(generator, integer(generator, 3, 6), scale=2.0),)]


def large_scores(generator):
    B, K = uneven(generator, (4, 6), (5, 8))
    a = normal(generator, B, K, scale=3.0)
    a[0] += 1000
    a[1] -= 1000
    a[2, integer(generator, 0, K - 1)] += 900                                  # one far above the others
    a[3, integer(generator, 0, K - 1)] -= 900
    return [(a,)]


stable_log_softmax.compare("values", small_scores, points=2)
stable_log_softmax.compare("scores near a thousand", large_scores, points=2)
stable_log_softmax.gradient("gradient", small_scores, wrt=(0,), points=1)
stable_log_softmax.unchanged(small_scores)
stable_log_softmax.hint(
    "You see NaN where the scores are large.",
    "Adding the same number to every score of a row changes nothing. So subtract the row's largest: then the largest "
    "exponential is 1.")
stable_log_softmax.hint(
    "You see minus infinity where one score is small, or one and the same number for all small scores.",
    "ln(e^a / s) = a - ln s. The right side needs no exponential of the small score on its own, and nothing small that is "
    "added inside a logarithm.")
stable_log_softmax.hint(
    "The shapes do not fit when a has one axis, or three.",
    "amax(dim=-1, keepdim=True) and sum(dim=-1, keepdim=True) keep the last axis with length 1, so that they can be "
    "subtracted from a.")

# The likelihood of softmax NADE

categorical_nade_loglik = Exercise(
    "categorical_nade_loglik", chapter="05", title="The likelihood of softmax NADE",
    contract="x (D,) holds levels 0..K-1, long; W (D, K, H), V (D, K, H), b (D, K), c (H,). With a_1 = c: "
             "p(x_i | x_<i) = softmax(b_i + V_i sigmoid(a_i)) at x_i, then a_{i+1} = a_i + W[i, x_i]. Return ln p(x), "
             "one number.",
    points=["categorical-nade"], difficulty=3, minutes=25)


@categorical_nade_loglik.reference(
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


categorical_nade_loglik.compare("values", nade_cases, points=4)
categorical_nade_loglik.compare("large scores", large_nade_cases, points=1)
categorical_nade_loglik.gradient("gradient", nade_cases, wrt=(1, 2, 3, 4), points=1)
categorical_nade_loglik.unchanged(nade_cases)
categorical_nade_loglik.hint(
    "You do not see what W[i, x_i] is.",
    "W[i] has a row of length H for each level. A one-hot vector times W[i] picks one row; W[i, x[i]] picks it without the "
    "product.")
categorical_nade_loglik.hint(
    "Your likelihood is too good.",
    "Follow the order: the scores of variable i come from a before W[i, x_i] is added. Swap the two lines and the factor "
    "sees what it predicts.")
categorical_nade_loglik.hint(
    "The check with large scores finds something that is not finite.",
    "torch.log_softmax(scores, dim=0)[x[i]] is the logarithm of the probability, in one step that cannot overflow.")

# The likelihood of a mixture of Gaussians

mog_loglik = Exercise(
    "mog_loglik", chapter="05", title="The log-density of a mixture of Gaussians",
    contract="x (B,); logits, mu, log_sigma (B, K), one mixture for each row. With pi = softmax(logits) and "
             "sigma = exp(log_sigma), return ln sum_j pi_j N(x; mu_j, sigma_j^2), shape (B,). It must be finite far from "
             "every mean.",
    points=["rnade"], difficulty=3, minutes=20)


@mog_loglik.reference(
    equal_weights="Your result does not depend on the logits: every component has weight 1/K.",
    no_weights="You add the densities without their weights. The area is then K, not 1.",
    raw_logits="Your weights are the exponentials of the logits, and do not sum to one. Normalise them: log_softmax.",
    over_batch="Your weights sum to one over the batch. Each row has a mixture of its own: normalise over its components.",
    mean_of_logs="You average the logarithms of the densities. The mixture is the logarithm of the average: log-sum-exp.",
    nearest="You keep the largest component only. The density is the sum over all of them.",
    literal="Far from every mean your result is minus infinity: all exponentials have become 0. Use log-sum-exp.",
    variance="You use exp(log_sigma) as the variance. It is the deviation; the variance is its square.",
    no_sigma="The factor 1 / sigma of the Gaussian is missing: narrow components must be higher.",
    no_constant="The factor 1 / sqrt(2 pi) of the Gaussian is missing.",
    no_half="The one half in the exponent of the Gaussian is missing.",
)
def mog_loglik_reference(x, logits, mu, log_sigma, bugs=frozenset()):
    if "variance" in bugs:
        log_sigma = log_sigma / 2
    z = (x[:, None] - mu) / log_sigma.exp()                                    # (B, K)
    logs = -z ** 2 if "no_half" in bugs else -z ** 2 / 2
    if "no_sigma" not in bugs:
        logs = logs - log_sigma
    if "no_constant" not in bugs:
        logs = logs - math.log(2 * math.pi) / 2
    weights = logits.log_softmax(dim=1)
    if "equal_weights" in bugs:
        weights = torch.zeros_like(logits).log_softmax(dim=1)
    if "no_weights" in bugs:
        weights = torch.zeros_like(logits)
    if "raw_logits" in bugs:
        weights = logits
    if "over_batch" in bugs:
        weights = logits.log_softmax(dim=0)
    if "mean_of_logs" in bugs:
        return (weights.exp() * logs).sum(dim=1)
    if "nearest" in bugs:
        return (weights + logs).amax(dim=1)
    return (weights + logs).exp().sum(dim=1).log() if "literal" in bugs else torch.logsumexp(weights + logs, dim=1)


def mixtures(generator, B: int, K: int, spread: float = 1.5):
    mu = normal(generator, B, K, scale=2.0)
    x = mu.mean(dim=1) + normal(generator, B, scale=spread)
    return x, normal(generator, B, K), mu, normal(generator, B, K, scale=0.6)


def mog_cases(generator):
    shapes = [uneven(generator, (4, 6), (3, 5)), uneven(generator, (2, 4), (5, 7)), [1, integer(generator, 3, 5)]]
    return [mixtures(generator, *shape) for shape in shapes]


def far_cases(generator):
    x, logits, mu, log_sigma = mixtures(generator, *uneven(generator, (4, 6), (3, 5)))
    return [(x + 80 * (2 * (uniform(generator, len(x)) < 0.5).float() - 1), logits, mu, log_sigma)]


mog_loglik.compare("values", mog_cases, points=4)
mog_loglik.compare("far from every mean", far_cases, points=1)
mog_loglik.gradient("gradient", mog_cases, wrt=(1, 2, 3), points=1)
mog_loglik.unchanged(mog_cases)
mog_loglik.hint(
    "The shapes do not fit.",
    "x is (B,), the means are (B, K). x[:, None] is (B, 1), and every component of a row meets the same x.")
mog_loglik.hint(
    "You see minus infinity far from the means.",
    "Never leave the logarithms: add ln pi to ln N, both (B, K), and finish with torch.logsumexp(..., dim=1).")
mog_loglik.hint(
    "Your values are off, and you cannot tell why.",
    "ln N has three parts: -ln sigma, -ln(2 pi) / 2 and -(x - mu)^2 / (2 sigma^2). Try K = 1, and compare with "
    "torch.distributions.Normal.")

EXERCISES = [stable_log_softmax, categorical_nade_loglik, mog_loglik]
