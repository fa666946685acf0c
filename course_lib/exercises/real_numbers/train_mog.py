"""A mixture of Gaussians trained to a score."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.exercises.draws import uniform
from course_lib.exercises.real_numbers.mog_loglik import mog_loglik_reference
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

GAP = 0.02                      # nats to the source

exercise = Exercise(
    "train_mog", chapter="real-numbers", place=3, title="Train a mixture to a score",
    contract="x (N,) was drawn from an unknown mixture of K Gaussians; its values spread over some 30 units, and not around 0. "
             "Write the loss and the training loop. Return (logits, mu, log_sigma), each (K,), with the meaning of mog_loglik, of "
             "the mixture that came out. To reach: 0.02 nats to the source, KL(p || q), by quadrature. Your function has 20 "
             "seconds on one core, and may start several times.",
    points=["rnade"], difficulty=4, minutes=30, kind="train", deadline=20.0)


@exercise.step
def initial_means(z, K):
    return torch.linspace(float(z.min()), float(z.max()), K + 2)[1:-1]


@exercise.step
def fitted(z, mu):
    """The mixture (logits, mu, log_sigma) of standardized values z, trained from these means."""
    return trained_mixture(z, mu)


@exercise.step
def in_units(mixture, mean, scale):
    """The mixture of x, from that of the standardized values (x - mean) / scale."""
    logits, mu, log_sigma = mixture
    return logits, mean + scale * mu, log_sigma + scale.log()


@exercise.reference()
@exercise.step
def train_mog_reference(x, K):
    mean, scale = x.mean(), x.std()
    z = (x - mean) / scale
    return in_units(fitted(z, initial_means(z, K)), mean, scale)


def trained_mixture(z: Tensor, mu: Tensor, steps: int = 100, maximize: bool = False) -> tuple[Tensor, ...]:
    mixture = [torch.zeros(len(mu)), mu.clone(), torch.full((len(mu),), -1.0)]
    logits, mu, log_sigma = (part.requires_grad_() for part in mixture)
    optimizer = torch.optim.Adam(mixture, lr=0.1, maximize=maximize)
    for _ in range(steps):
        loss = -mog_loglik_reference(z, logits[None], mu[None], log_sigma[None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tuple(part.detach() for part in mixture)


@exercise.misconception(
    train_mog_reference,
    "Your parameters are the initial ones: all logits 0 and all deviations 1. Train inside the function.")
def untrained(x, K):
    return torch.zeros(K), torch.linspace(-1, 1, K), torch.zeros(K)


@exercise.misconception(
    initial_means,
    "Your components are all the same. They started alike, so their gradients are alike, and they stay so: start the means apart.")
def all_alike(z, K):
    return torch.zeros(K)


@exercise.misconception(
    fitted,
    "Your mixture assigns the data far less likelihood than one Gaussian with their mean and deviation would, as if the loss had "
    "been maximized. Minimize minus the mean log-likelihood.")
def uphill(z, mu):
    return trained_mixture(z, mu, steps=40, maximize=True)


@exercise.misconception(
    in_units,
    "Your means and deviations are those of the standardized values. Undo the scaling before you return.")
def standardised(mixture, mean, scale):
    return mixture


@exercise.misconception(in_units, "Your log_sigma is the logarithm of the variance, twice what is asked for.")
def log_variance(mixture, mean, scale):
    logits, mu, log_sigma = in_units.original(mixture, mean, scale)
    return logits, mu, 2 * log_sigma


@exercise.misconception(in_units, "Your log_sigma holds the deviations themselves. Return their logarithms.")
def plain_sigma(mixture, mean, scale):
    logits, mu, log_sigma = in_units.original(mixture, mean, scale)
    return logits, mu, log_sigma.exp()


@exercise.misconception(in_units, "Your logits are the weights themselves. Return their logarithms, because a softmax comes after.")
def weights(mixture, mean, scale):
    logits, mu, log_sigma = in_units.original(mixture, mean, scale)
    return logits.softmax(0), mu, log_sigma


@exercise.misconception(
    train_mog_reference,
    "Two of your components share one peak of the data, and the third stands for the rest. That is a local optimum: more steps do "
    "not leave it. Start again from other means, several times, and keep the run whose likelihood is highest.")
def shared_peak(x, K):
    """The first peak is cut in two, and all the others are one component; then some steps of expectation maximization."""
    mu = initial_means(x, K)
    for _ in range(20):
        nearest = (x[:, None] - mu).abs().argmin(1)
        mu = torch.stack([x[nearest == k].mean() for k in range(K)])
    parts = [*x[nearest == 0].sort().values.tensor_split(K - 1), x[nearest > 0]]
    mixture = (torch.tensor([float(len(part)) for part in parts]).log(), torch.stack([part.mean() for part in parts]),
               torch.stack([part.std() for part in parts]).log())
    for _ in range(2):
        mixture = maximized(x, *mixture)
    return mixture


def maximized(x: Tensor, logits: Tensor, mu: Tensor, log_sigma: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The mixture after one step of expectation maximization."""
    logs = logits.log_softmax(0) - log_sigma - ((x[:, None] - mu) / log_sigma.exp()) ** 2 / 2
    r = logs.softmax(1)                                                        # (N, K): who is responsible for x
    count = r.sum(0)
    mean = (r * x[:, None]).sum(0) / count
    return count.log(), mean, ((r * (x[:, None] - mean) ** 2).sum(0) / count).sqrt().log()


def log_density(x: Tensor, mixture) -> Tensor:
    """ln p at each of x (N,) of one mixture: logits, mu, log_sigma, (K,) each."""
    return mog_loglik_reference(x, *(part[None] for part in mixture))


def draw_source(generator, N: int):
    """A mixture of three unequal, well separated Gaussians, far from standard, and N values sampled from it."""
    weights = torch.tensor([0.6, 0.28, 0.12])[torch.randperm(3, generator=generator)]
    mu = torch.tensor([4.0, 14.0, 24.0]) + uniform(generator, 3, low=-1.0, high=1.0)
    sigma = uniform(generator, 3, low=1.6, high=2.6)
    j = torch.multinomial(weights, N, replacement=True, generator=generator)
    x = mu[j] + sigma[j] * torch.randn(N, generator=generator)
    return tuple(part.double() for part in (weights.log(), mu, sigma.log())), x


@exercise.property("within 0.02 nats of the source", points=5)
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
    near, x = at_peaks(source, mine), x.double()
    advice = "A peak of the data has no component: draw a histogram of x, and start from other means."
    if all(near):
        advice = "Every peak of the data has a component of its own: train longer, or with larger steps."
    stuck = 0 in near and max(near) > 1 and at_rest(x, *mine)
    name = why_short(gap, x, *mine) or ("shared_peak" if stuck else None)
    return Fault(f"Your mixture loses {lost:.3f} nats to the source; {GAP} are allowed. {advice}", name)


def at_peaks(source, mixture) -> list[int]:
    """For each component of the source: how many of the mixture's have their mean within 1.5 of its deviations, and
    a weight to speak of."""
    _, mu, log_sigma = source
    near = (mixture[1][:, None] - mu).abs() < 1.5 * log_sigma.exp()
    return (near & (mixture[0].softmax(0) > 0.02)[:, None]).sum(0).tolist()


def at_rest(x: Tensor, logits: Tensor, mu: Tensor, log_sigma: Tensor) -> bool:
    """Whether training has come to an end: a step of expectation maximization would gain less than 0.02 nats."""
    mixture = logits, mu, log_sigma
    return bool((log_density(x, maximized(x, *mixture)) - log_density(x, mixture)).mean() < 0.02)


def why_short(gap, x: Tensor, logits: Tensor, mu: Tensor, log_sigma: Tensor) -> str | None:
    """The misconception that the parameters show, if they show one: what would correct them."""
    mean, scale = x.mean(), x.std()
    if gap(logits, mu, log_sigma / 2) <= GAP:
        return "log_variance"
    if (log_sigma > 0).all() and gap(logits, mu, log_sigma.log()) <= GAP:
        return "plain_sigma"
    if (logits > 0).all() and abs(logits.sum() - 1) < 1e-3 and gap(logits.log(), mu, log_sigma) <= GAP:
        return "weights"
    if gap(logits, mean + scale * mu, log_sigma + scale.log()) <= GAP:
        return "standardised"
    if not logits.any() and not log_sigma.any():
        return "untrained"
    if mu.std() < 1e-3 and log_sigma.std() < 1e-3:
        return "all_alike"
    single = (0 * logits, mean + 0 * mu, scale.log() + 0 * mu)
    far_below = log_density(x, (logits, mu, log_sigma)).mean() < log_density(x, single).mean() - 3
    return "uphill" if far_below else None


exercise.hint(
    "You do not know where to start.",
    "Standardise x first, spread the K means over its range, and begin with deviations that overlap a little. At the end, "
    "undo the scaling: mu * s + m, and log_sigma + ln s.")
exercise.hint(
    "All your components end in the same place.",
    "Equal components get equal gradients. One gradient step keeps them equal, and so do a thousand: the means have to "
    "differ at the start.")
exercise.hint(
    "Two of your components end on one peak.",
    "The loss of a mixture has several valleys, and the start decides which one you reach. Run the loop from several starts, the "
    "means drawn from x for instance, and keep the run with the lowest loss.")
exercise.hint(
    "You stay above 0.02 nats.",
    "Train logits, means and log-deviations together. Adam with a step of 0.1 needs some hundred steps on the whole "
    "batch, under a second.")
