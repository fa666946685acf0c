"""An FVSBN trained to a score."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.building import describe_independent
from course_lib.exercises.draws import normal, uniform
from course_lib.exercises.fvsbn._shared import logits
from course_lib.exercises.fvsbn.fvsbn_sample import fvsbn_sample_reference
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_fvsbn", chapter="fvsbn", place=4, title="Train to a score",
    contract="train (N, D) holds 0 and 1, drawn from an unknown FVSBN. Write the loss and the training loop. Return (W, c), "
             "the weights (D, D) and biases (D,) that came out. Of W only the entries j < i are used. To reach: an expected "
             "log-likelihood within 0.1 nats of the source's own. Your function has 20 seconds on one core.",
    points=["fvsbn"], difficulty=3, minutes=30, kind="train", deadline=20.0)

GAP = 0.1                       # nats to the source
WORSE = (" A fair coin for each variable loses less. If training made it so, its steps overshoot: set the gradients to zero before "
         "each backward(), or they add up, and try a smaller learning rate.")
ALIGNED = 0.5                   # cosine above which two directions are one; chance gives 0.15 in 45 dimensions


@exercise.step
def parents(W):
    """Row i holds the weights of the parents of x_i, zeros elsewhere."""
    return W.tril(-1)


@exercise.step
def loss(W, c, train):
    return F.binary_cross_entropy_with_logits(F.linear(train, parents(W), c), train)


@exercise.reference()
@exercise.step
def train_fvsbn_reference(train):
    D = train.shape[1]
    W, c = torch.zeros(D, D, requires_grad=True), torch.zeros(D, requires_grad=True)
    optimizer = torch.optim.Adam([W, c], lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        loss(W, c, train).backward()
        optimizer.step()
    return W.detach(), c.detach()


@exercise.misconception(
    train_fvsbn_reference, "Your weights and biases are all zero: this is the model before training.")
def untrained(train):
    D = train.shape[1]
    return torch.zeros(D, D), torch.zeros(D)


@exercise.misconception(
    parents, "Your W is zero where it counts, so your pixels are independent. Train W too, not c alone.")
def independent(W):
    return 0 * W


@exercise.misconception(
    train_fvsbn_reference,
    "Your W is transposed: W.T would do. Row i holds the weights that predict variable i.")
def transposed(train):
    W, c = train_fvsbn_reference.original(train)
    return W.T, c


@exercise.misconception(
    loss, "Your parameters point away from the data: you maximize the loss. Minimize minus the log-likelihood.")
def uphill(W, c, train):
    return -loss.original(W, c, train)


@exercise.misconception(
    parents,
    "The trained weights stand where j > i: your mask is transposed. Row i holds the weights of variable i, and its parents are the "
    "columns j < i.")
def mirrored(W):
    return W.triu(1)


@exercise.misconception(
    parents,
    "You trained without the mask: the weight went to entries with j >= i, which the model cannot use. Mask W inside the loss.")
def looked_ahead(W):
    return W


def expected_gap(states: Tensor, p: Tensor, W: Tensor, c: Tensor) -> Tensor:
    """Source's expected log-likelihood minus the model's, in nats: the KL divergence, over all states."""
    log_q = -F.binary_cross_entropy_with_logits(logits(states, W, c), states, reduction="none").sum(1)
    return (p * (p.log() - log_q)).sum()


@exercise.property("within 0.1 nats of the source", points=5)
def close_to_the_source(run, generator, solve):
    D, N = 9, 3000
    W, c = normal(generator, D, D, scale=1.5).tril(-1).double(), normal(generator, D, scale=0.5).double()
    train = fvsbn_sample_reference(uniform(generator, N, D).double(), W, c).float()
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=D)), dtype=torch.float64)
    p = (-F.binary_cross_entropy_with_logits(logits(states, W, c), states, reduction="none").sum(1)).exp()

    result = run(train)
    good = isinstance(result, list | tuple) and len(result) == 2 and all(isinstance(part, Tensor) for part in result)
    if not good or result[0].shape != (D, D) or result[1].shape != (D,):
        return Fault(f"Your function should return two tensors, W of shape {(D, D)} and c of shape {(D,)}.", None,
                     "wrong_shape")
    mine, bias = (part.double() for part in result)
    if not (mine.isfinite().all() and bias.isfinite().all()):
        return Fault("Some of your parameters are NaN or infinite. Train with a smaller learning rate, and compute the "
                     "loss from logits.")

    gap = expected_gap(states, p, mine, bias)
    if gap <= GAP:
        return None
    worse = WORSE if gap > expected_gap(states, p, 0 * mine, 0 * bias) else ""
    return Fault(f"Your model loses {gap:.3f} nats to the source; {GAP} are allowed.{worse}{describe_independent(states, p, float(gap))}",
                 why_short(lambda a, b: expected_gap(states, p, a, b), mine, bias))


def why_short(gap, W: Tensor, c: Tensor) -> str | None:
    """The misconception that the parameters show, if they show one."""
    lower, upper = W.tril(-1), W.triu(0)
    if gap(W.T, c) <= GAP:
        return "transposed"
    if not lower.any():
        return "mirrored" if W.triu(1).any() else None if upper.any() else "independent" if c.any() else "untrained"
    start = torch.zeros_like(W).requires_grad_(), torch.zeros_like(c).requires_grad_()
    climb = torch.cat([part.flatten() for part in torch.autograd.grad(gap(*start), start)])
    cosine = F.cosine_similarity(torch.cat([lower.flatten(), c]), climb, dim=0)
    if cosine > ALIGNED:
        return "uphill"
    if upper.diagonal().abs().min() > lower.abs().max() and cosine < 0:
        return "looked_ahead"
    return None


exercise.hint(
    "You do not know what loss to take.",
    "Minus the mean log-likelihood. From logits it is F.binary_cross_entropy_with_logits(logits, train), which stays "
    "finite when a probability comes close to 0 or 1.")
exercise.hint(
    "Your training loss is near zero, and the score is bad.",
    "The weights look at the pixel that they predict. Multiply W by the strictly lower triangle inside the loss, at "
    "every step.")
exercise.hint(
    "You stay above 0.1 nats.",
    "Train longer, or with a larger step: Adam at 0.1 needs some hundred steps on the whole batch, well under a second.")
