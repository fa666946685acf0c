"""Chapter 05: a mixture of Gaussians trained to a score."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.grading.bank.beyond_binary import mog_loglik_reference
from course_lib.grading.bank.draws import uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

GAP = 0.02                      # nats to the source

train_mog = Exercise(
    "train_mog", chapter="05", title="Train a mixture to a score",
    contract="x (N,) was drawn from an unknown mixture of K Gaussians. Return (logits, mu, log_sigma), each (K,), with the "
             "meaning of mog_loglik, of a mixture that you trained on x. To reach: 0.02 nats to the source, KL(p || q), by "
             "quadrature. You have 20 seconds on one core.",
    points=["rnade"], difficulty=4, minutes=30, kind="train", deadline=20.0)


@train_mog.reference(
    untrained="Your parameters are the start: all logits 0 and all deviations 1. Train inside the function.",
    all_alike="Your components are all the same. They started alike, so their gradients are alike, and they stay so: start "
              "the means apart.",
    equal_weights="Your weights are equal. The source's are not: train the logits too.",
    log_variance="Your log_sigma is the logarithm of the variance, twice what is asked for.",
    plain_sigma="Your log_sigma holds the deviations themselves. Return their logarithms.",
    weights="Your logits are the weights themselves. Return their logarithms: a softmax comes after.",
    standardised="Your means and deviations are those of the standardised values. Undo the scaling before you return.",
    uphill="Your mixture gives the data far less than one Gaussian with their mean and deviation would, as if the loss had "
           "been climbed. Minimise minus the mean log-likelihood.",
)
def train_mog_reference(x, K, bugs=frozenset()):
    if "untrained" in bugs:
        return torch.zeros(K), torch.linspace(-1, 1, K), torch.zeros(K)
    centre, scale = x.mean(), x.std()
    z = (x - centre) / scale
    start = torch.zeros(K) if "all_alike" in bugs else torch.linspace(float(z.min()), float(z.max()), K + 2)[1:-1]
    logits, mu = torch.zeros(K, requires_grad=True), start.requires_grad_()
    log_sigma = torch.full((K,), -1.0, requires_grad=True)
    trained = [mu, log_sigma] if "equal_weights" in bugs else [logits, mu, log_sigma]
    optimizer = torch.optim.Adam(trained, lr=0.1, maximize="uphill" in bugs)
    for _ in range(40 if "uphill" in bugs else 100):
        loss = -mog_loglik_reference(z, logits[None], mu[None], log_sigma[None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    logits, mu, log_sigma = (part.detach() for part in (logits, mu, log_sigma))
    if "standardised" not in bugs:
        mu, log_sigma = centre + scale * mu, log_sigma + scale.log()
    if "log_variance" in bugs:
        log_sigma = 2 * log_sigma
    if "plain_sigma" in bugs:
        log_sigma = log_sigma.exp()
    return logits.softmax(0) if "weights" in bugs else logits, mu, log_sigma


def log_density(x: Tensor, mixture) -> Tensor:
    """ln p at each of x (N,) of one mixture: logits, mu, log_sigma, (K,) each."""
    return mog_loglik_reference(x, *(part[None] for part in mixture))


def draw_source(generator, N: int):
    """A mixture of three unequal, well separated Gaussians, far from standard, and N values drawn from it."""
    weights = torch.tensor([0.6, 0.28, 0.12])[torch.randperm(3, generator=generator)]
    mu = torch.tensor([4.0, 14.0, 24.0]) + uniform(generator, 3, low=-1.0, high=1.0)
    sigma = uniform(generator, 3, low=1.6, high=2.6)
    j = torch.multinomial(weights, N, replacement=True, generator=generator)
    x = mu[j] + sigma[j] * torch.randn(N, generator=generator)
    return tuple(part.double() for part in (weights.log(), mu, sigma.log())), x


@train_mog.property("within 0.02 nats of the source", points=5)
def trained(run, generator, solve):
    K = 3
    source, x = draw_source(generator, 2000)
    line = torch.linspace(-15, 45, 6001, dtype=torch.float64)
    p = log_density(line, source)

    def gap(*mixture) -> float:
        return float(torch.trapezoid(p.exp() * (p - log_density(line, mixture)), line))

    result = run(x, K)
    good = isinstance(result, list | tuple) and len(result) == 3 and all(isinstance(part, Tensor) for part in result)
    if not good or any(part.shape != (K,) for part in result):
        return Fault(f"Your function should return three tensors of shape {(K,)}: logits, mu and log_sigma.", None,
                     "wrong_shape")
    mine = [part.double() for part in result]
    if not all(part.isfinite().all() for part in mine):
        return Fault("Some of your parameters are NaN or infinite. Train with a smaller learning rate, and compute the "
                     "loss by log-sum-exp.")
    lost = gap(*mine)
    if lost <= GAP:
        return None
    return Fault(f"Your mixture loses {lost:.3f} nats to the source; {GAP} are allowed.", why_short(gap, x.double(), *mine))


def why_short(gap, x: Tensor, logits: Tensor, mu: Tensor, log_sigma: Tensor) -> str | None:
    """The misconception that the parameters show, if they show one: what would mend them."""
    centre, scale = x.mean(), x.std()
    if gap(logits, mu, log_sigma / 2) <= GAP:
        return "log_variance"
    if (log_sigma > 0).all() and gap(logits, mu, log_sigma.log()) <= GAP:
        return "plain_sigma"
    if (logits > 0).all() and abs(logits.sum() - 1) < 1e-3 and gap(logits.log(), mu, log_sigma) <= GAP:
        return "weights"
    if gap(logits, centre + scale * mu, log_sigma + scale.log()) <= GAP:
        return "standardised"
    if not logits.any() and not log_sigma.any():
        return "untrained"
    if mu.std() < 1e-3 and log_sigma.std() < 1e-3:
        return "all_alike"
    if logits.std() < 1e-6 and log_sigma.std() > 1e-3:
        return "equal_weights"
    one_bell = (0 * logits, centre + 0 * mu, scale.log() + 0 * mu)
    far_below = log_density(x, (logits, mu, log_sigma)).mean() < log_density(x, one_bell).mean() - 3
    return "uphill" if far_below else None


train_mog.hint(
    "You do not know where to start.",
    "Standardise x first, spread the K means over its range, and begin with deviations that overlap a little. At the end, "
    "undo the scaling: mu * s + m, and log_sigma + ln s.")
train_mog.hint(
    "All your components end in the same place.",
    "Equal components get equal gradients. One gradient step keeps them equal, and so do a thousand: the means have to "
    "differ at the start.")
train_mog.hint(
    "You stay above 0.02 nats.",
    "Train logits, means and log-deviations together. Adam with a step of 0.1 needs some hundred steps on the whole "
    "batch, under a second.")

EXERCISES = [train_mog]
