"""A NADE trained to a score that no FVSBN reaches, because an exclusive or hides in the data."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.exercises.building import describe_independent
from course_lib.exercises.draws import uniform
from course_lib.exercises.nade._shared import every_state, log_prob, logits
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_nade", chapter="nade", place=4, title="Train to a score that FVSBN cannot reach",
    contract="train (N, D) holds 0 and 1, drawn from an unknown source in which exclusive ors hide. Write the loss and the "
             "training loop of a NADE. Return (W, V, b, c), the parameters that came out: W (H, D), V (D, H), b (D,), c (H,), "
             "with H up to you, at most 1000. To reach: an expected log-likelihood within 0.15 nats of the source's own. Your "
             "function has 20 seconds on one core.",
    points=["nade"], difficulty=4, minutes=35, kind="train", deadline=20.0)

D, N, NOISE = 6, 2000, 0.05
GAP = 0.15                      # nats to the source
UNITS = 1000                    # hidden units that are read: what is handed in is computed by the judge
WORSE = (" A fair coin for each variable loses less. If your model began so, train longer. If training made it so, its steps "
         "overshoot: set the gradients to zero before each backward(), or they add up, and try a smaller learning rate.")
LOST = 25.0                     # nats for D bits that only a model pushed away from the data loses


model_logits = exercise.step(logits)


@exercise.step
def initial(n, hidden, generator):
    W, V = torch.randn(hidden, n, generator=generator), 0.1 * torch.randn(n, hidden, generator=generator)
    return W, V, torch.zeros(n), torch.zeros(hidden)


@exercise.step
def loss(states, times, parameters):
    """Minus the mean log-likelihood of the rows: a state counts as often as it occurs."""
    return -(times * log_prob(states, model_logits(states, *parameters))).sum() / times.sum()


@exercise.step
def trained(train, parameters):
    parameters = [parameter.requires_grad_() for parameter in parameters]
    states, times = train.unique(dim=0, return_counts=True)                    # at most 2^D rows
    optimizer = torch.optim.Adam(parameters, lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss(states, times, parameters).backward()
        optimizer.step()
    return tuple(parameter.detach() for parameter in parameters)


@exercise.reference()
def train_nade_reference(train):
    return trained(train, initial(train.shape[1], 16, torch.Generator().manual_seed(0)))


@exercise.misconception(trained, "Your b is all zero: this is the model before training.")
def untrained(train, parameters):
    return parameters


@exercise.misconception(
    trained, "Your pixels are independent: no logit depends on x. V is zero, or W is. Train all four tensors.")
def independent(train, parameters):
    W, V, _, c = parameters
    return W, torch.zeros_like(V), torch.logit(train.mean(0)), c


@exercise.misconception(
    initial,
    "Your hidden units are all equal: each row of W equals the others. They started equal, so they received equal gradients. Start W "
    "at random.")
def alike(n, hidden, generator):
    return torch.zeros(hidden, n), torch.full((n, hidden), 0.1), torch.zeros(n), torch.zeros(hidden)


@exercise.misconception(
    loss, "Your parameters point away from the data: you maximize the loss. Minimize minus the log-likelihood.")
def uphill(states, times, parameters):
    return -loss.original(states, times, parameters)


@exercise.misconception(
    model_logits,
    "Your model was trained with a leak: column i of W was added before factor i was computed, so the factor depended on its own "
    "variable. In a NADE it does not.")
def leaked(x: Tensor, W: Tensor, V: Tensor, b: Tensor, c: Tensor) -> Tensor:
    adds = x[:, :, None] * W.T                                                 # (B, D, H)
    return (torch.sigmoid(c + adds.cumsum(1)) * V).sum(-1) + b


@exercise.misconception(
    model_logits,
    "Your model was trained without the sigmoid in its hidden layer. A NADE has a sigmoid there, and your weights are used with it.")
def linear(x: Tensor, W: Tensor, V: Tensor, b: Tensor, c: Tensor) -> Tensor:
    adds = x[:, :, None] * W.T
    return ((c + adds.cumsum(1) - adds) * V).sum(-1) + b


@exercise.misconception(
    model_logits,
    "Your model was trained with tanh in its hidden layer. A NADE has the sigmoid there, and your weights are used with it.")
def hyperbolic(x: Tensor, W: Tensor, V: Tensor, b: Tensor, c: Tensor) -> Tensor:
    adds = x[:, :, None] * W.T
    return (torch.tanh(c + adds.cumsum(1) - adds) * V).sum(-1) + b


def source(generator) -> tuple[Tensor, Tensor]:
    """All states of D bits and their probabilities: two noisy exclusive ors of biased coins, columns in random order."""
    states = every_state(D).double()
    coins = uniform(generator, 4, low=0.3, high=0.7).double()
    p = torch.ones(len(states), dtype=torch.float64)
    columns = torch.randperm(D, generator=generator).tolist()
    for k in (0, 1):
        x, y, z = (states[:, columns[3 * k + m]] for m in range(3))
        for value, coin in ((x, coins[2 * k]), (y, coins[2 * k + 1])):
            p = p * torch.where(value == 1, coin, 1 - coin)
        p = p * torch.where((x + y) % 2 == z, 1 - NOISE, NOISE)
    return states, p


@exercise.property("within 0.15 nats of the source", points=5)
def close_to_the_source(run, generator, solve):
    states, p = source(generator)
    train = states[torch.multinomial(p, N, replacement=True, generator=generator)].float()

    result = run(train)
    good = isinstance(result, list | tuple) and len(result) == 4 and all(isinstance(part, Tensor) for part in result)
    H = result[0].shape[0] if good and result[0].ndim == 2 else 0
    if not good or [tuple(part.shape) for part in result] != [(H, D), (D, H), (D,), (H,)] or H == 0:
        return Fault(f"Your function should return four tensors: W (H, {D}), V ({D}, H), b ({D},) and c (H,).", None,
                     "wrong_shape")
    if H > UNITS:
        return Fault(f"Your model has {H} hidden units; {UNITS} at most. Eight are enough.", None, "wrong_shape")
    model = tuple(part.double() for part in result)
    if not all(part.isfinite().all() for part in model):
        return Fault("Some of your parameters are NaN or infinite. Train with a smaller learning rate, and compute the "
                     "loss from logits.")

    gap = expected_gap(states, p, logits(states, *model))
    if gap <= GAP:
        return None
    worse = WORSE if gap > expected_gap(states, p, torch.zeros_like(states)) else ""
    return Fault(f"Your model loses {gap:.3f} nats to the source; {GAP} are allowed.{worse}{describe_independent(states, p, gap)}", why_short(states, p, model, gap))


def expected_gap(states: Tensor, p: Tensor, z: Tensor) -> float:
    """Source's expected log-likelihood minus the model's, in nats, over all states."""
    return float((p * (p.log() - log_prob(states, z))).sum())


def why_short(states: Tensor, p: Tensor, model: tuple[Tensor, ...], gap: float) -> str | None:
    """The misconception that the parameters show, if they show one."""
    W, V, b, c = model
    if not b.any():
        return "untrained"
    if logits(states, *model).std(0).max() < 1e-9:
        return "independent"
    entropy = -float((p * p.log()).sum())
    gap_leaked = expected_gap(states, p, leaked(states, *model))
    if gap_leaked < -entropy / 2:                                                  # below the entropy: a leak, not a record
        return "leaked"
    if gap > LOST and gap_leaked > LOST:
        return "uphill"
    if len(W) > 1 and (W - W[0]).abs().max() < 1e-6:
        return "alike"
    if expected_gap(states, p, hyperbolic(states, *model)) <= GAP:
        return "hyperbolic"
    z = linear(states, *model)
    if expected_gap(states, p, z) < min(gap - 0.02, D * math.log(2) - entropy):                    # read so, it is better, and b is where it was led
        off = (p[:, None] * (states - z.sigmoid())).sum(0).abs().max()
        return "linear" if off < 0.08 else None
    return None


exercise.hint(
    "You do not know how to compute all factors of all rows.",
    "x[:, :, None] * W.T is (N, D, H): what each variable adds. Its cumsum over dimension 1, minus itself, plus c, is every "
    "a_i. Or loop over the D variables and keep one (N, H) sum: D is small.")
exercise.hint(
    "Your loss comes to rest well above what is asked.",
    "That is as far as a logistic regression gets. Give the hidden layer a random start, W of size 1 or so, at least eight "
    "units, and all four tensors to the optimiser.")
exercise.hint(
    "Your training loss is near zero, and the score is bad.",
    "Factor i saw x_i. Compute it from the sum before the column of x_i is added.")
exercise.hint(
    "Your training takes too long.",
    "Take all rows in every step: a few hundred steps of Adam with a learning rate near 0.1 are enough. And no more than "
    "2^6 = 64 of the rows differ: train.unique(dim=0, return_counts=True) gives them, with a weight for each.")
