"""A training run that stalls, with three faults in view: a warm-up that stays at 0, torn pairs, a step without a gradient."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "MendedTraining", chapter="training-a-transformer", place=7, title="A training run that stalls",
    contract="The class as it stands above the cell, MendedTraining(d, hidden, classes, warmup, peak), has three faults; each "
             "makes the loss stall. Mend them. rate(step), step from 1, rises in a straight line to peak at step = warmup, and falls "
             "with one over the square root of the step from there. batch(x, y) returns 64 rows of x (N, d) with their labels y (N,); step(x, y) takes one step of "
             "the optimizer on these rows and returns the loss before it, a float; fit(x, y) trains. To reach: 0.4 nats on new "
             "rows.",
    points=["noam"], difficulty=3, minutes=30, kind="repair", deadline=20.0)

NATS = 0.4                      # a label, on new rows
LEFT = ("whole_numbers", "torn_pairs", "emptied")                            # the three that stand in the code


@exercise.class_reference()
class MendedTraining(nn.Module):
    """A classifier with one hidden layer, its learning rate and its training."""

    def __init__(self, d, hidden, classes, warmup=50, peak=0.03):
        super().__init__()
        self.warmup, self.peak, self.count = warmup, peak, 0
        self.one, self.two = nn.Linear(d, hidden), nn.Linear(hidden, classes)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=peak)

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))

    @exercise.step
    def rate(self, step):
        return self.peak * min(step / self.warmup, (self.warmup / step) ** 0.5)

    @exercise.step
    def batch(self, x, y):
        rows = torch.randperm(len(x))[:64]
        return x[rows], y[rows]

    @exercise.step
    def set_gradients(self, loss):
        self.optimizer.zero_grad()
        loss.backward()

    @exercise.step
    def step(self, x, y):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.count)
        loss = F.cross_entropy(self(x), y)
        self.set_gradients(loss)
        self.optimizer.step()
        return loss.item()

    def fit(self, x, y):
        for _ in range(400):
            self.step(*self.batch(x, y))


@exercise.misconception(
    MendedTraining.rate,
    "Your warm-up divides in whole numbers: step // warmup, and with it the rate, is 0 until the warm-up is over. Write step "
    "/ warmup.")
def whole_numbers(self, step):
    return self.peak * min(step // self.warmup, (self.warmup / step) ** 0.5)


@exercise.misconception(
    MendedTraining.rate,
    "Your rate stays at its peak. After the warm-up it falls with one over the square root of the step.")
def no_decay(self, step):
    return self.peak * min(step / self.warmup, 1.0)


@exercise.misconception(
    MendedTraining.rate,
    "Your rate falls with one over the step. After the warm-up it falls with one over the square root of the step: at step 4 * warmup it is "
    "half the peak, not a quarter.")
def no_square_root(self, step):
    return self.peak * min(step / self.warmup, self.warmup / step)


@exercise.misconception(
    MendedTraining.rate,
    "Your rate has no warm-up. At step 1 it is peak / warmup, and it rises by as much at each step.")
def no_warmup(self, step):
    return self.peak * min(1.0, (self.warmup / step) ** 0.5)


@exercise.misconception(
    MendedTraining.rate,
    "Your rate is only peak / sqrt(warmup) at step = warmup, because min(step^-0.5, step * warmup^-1.5) is 1 / "
    "sqrt(warmup) there. Multiply it by sqrt(warmup) too, so that the rate reaches peak.")
def below_peak(self, step):
    return self.peak * min(step ** -0.5, step * self.warmup ** -1.5)


@exercise.misconception(
    MendedTraining.batch,
    "Your batch draws rows of x and of y separately, so the labels belong to other rows and the model can only learn how "
    "frequent each label is. Draw one set of indices and use it for both.")
def torn_pairs(self, x, y):
    return x[torch.randperm(len(x))[:64]], y[torch.randperm(len(x))[:64]]


@exercise.misconception(MendedTraining.batch, "Your batch does not have 64 rows: 64 of the N rows are asked for.")
def whole_set(self, x, y):
    rows = torch.randperm(len(x))
    return x[rows], y[rows]


@exercise.misconception(
    MendedTraining.set_gradients,
    "In step, the gradients are set to zero between backward() and the optimizer's step, so the parameters do not change. Set "
    "them to zero before backward().")
def emptied(self, loss):
    loss.backward()
    self.optimizer.zero_grad()


@exercise.misconception(
    MendedTraining.set_gradients,
    "Your step never sets the gradients to zero, so each step follows the sum of all gradients so far.")
def never_emptied(self, loss):
    loss.backward()


@exercise.misconception(MendedTraining.step, "Your step ascends: the loss of the same rows is larger after it.")
def uphill(self, x, y):
    self.optimizer.param_groups[0]["maximize"] = True
    return MendedTraining.step.original(self, x, y)


def task(generator, N: int, d: int = 5, classes: int = 3, source: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, their labels, and the directions that decide them: the label is the one whose direction, bent, fits best."""
    source = normal(generator, classes, d, scale=1.5) if source is None else source
    x = normal(generator, N, d)
    return x, ((x + 0.5 * x ** 2) @ source.T).argmax(1), source


def rates(generator):
    cases = []
    for warmup in (integer(generator, 4, 9), integer(generator, 30, 60)):
        config = {"d": 2, "hidden": 2, "classes": 2, "warmup": warmup, "peak": 0.5 + 0.1 * integer(generator, 1, 9)}
        steps = [1, 2, warmup - 1, warmup, warmup + integer(generator, 1, 5), 4 * warmup]
        cases += [("rate", config, None, step) for step in steps]
    return cases


exercise.compare("the rate warms up", rates, points=2)


@judged(exercise, "a batch keeps its pairs", 2, ("torn_pairs", "whole_set"))
def pairs(run, generator):
    N, number = 150, run("make", {"d": 3, "hidden": 4, "classes": 5}, None)
    x, y = normal(generator, N, 3), torch.arange(N)
    batch = run("batch", number, None, x, y)
    if not isinstance(batch, tuple | list) or len(batch) != 2 or not all(isinstance(part, Tensor) for part in batch) \
            or batch[0].ndim != 2 or len(batch[0]) != len(batch[1]):
        return Fault("batch should return two tensors, rows of x and their labels, as many of the one as of the other.", None,
                     "wrong_shape")
    if len(batch[0]) != 64:
        return Fault(f"batch returns {len(batch[0])} of {N} rows; 64 are asked for.")
    if not torch.equal(x[batch[1].long().clamp(0, N - 1)], batch[0].float()):
        return Fault("The labels of your batch belong to other rows of x.")
    if len(batch[1].unique()) < 32 or torch.equal(run("batch", number, None, x, y)[1], batch[1]):
        return Fault("Your batch is not drawn: it should be other rows each time.")
    return None


@judged(exercise, "a step lowers the loss", 2, ("emptied", "uphill", "never_emptied"))
def descends(run, generator):
    x, y, _ = task(generator, 64)
    number = run("make", {"d": 5, "hidden": 16, "classes": 3}, None)
    own, losses = [loss_of(run, number, x, y)], []
    for _ in range(12):
        losses.append(run("step", number, None, x, y))
        own.append(loss_of(run, number, x, y))
    if not all(isinstance(loss, float) for loss in losses):
        return Fault(f"step returns {type(losses[0]).__name__}; expected the loss, a float: loss.item().", None, "wrong_shape")
    if own[0] == own[-1]:
        return Fault("After twelve steps on the same rows the loss is what it was: your step changes nothing.")
    if not all(abs(loss - computed) <= 1e-4 * (1 + computed) for loss, computed in zip(losses, own, strict=False)):
        return Fault("step returns another number than the mean cross-entropy of its rows before the step.")
    if not own[-1] < own[0] - 0.01:
        return Fault("After twelve steps on the same rows the loss is no smaller.")
    if aside(run, number, *task(generator, 64)[:2]):
        return Fault("Your step does not go along the gradient of its own rows alone: what was there before is added to it.")
    return None


def loss_of(run, number: int, x: Tensor, y: Tensor) -> float:
    """The mean cross-entropy of these rows, from the logits that forward gives."""
    logits = run("forward", number, None, x)
    return float(F.cross_entropy(logits.detach(), y)) if isinstance(logits, Tensor) and logits.shape == (len(x), 3) else math.nan


def aside(run, number: int, x: Tensor, y: Tensor) -> bool:
    """Whether the gradient that a step leaves behind points elsewhere than that of its own rows; it may be scaled, as
    clipping does, and there may be none."""
    leaf = {name: value.clone().requires_grad_() for name, value in run("parameters", number, None).items()}
    h = torch.tanh(F.linear(x, leaf["one.weight"], leaf["one.bias"]))
    own = torch.autograd.grad(F.cross_entropy(F.linear(h, leaf["two.weight"], leaf["two.bias"]), y), list(leaf.values()))
    run("step", number, None, x, y)
    left = run("grads", number, None)
    if any(left.get(name) is None for name in leaf) or not any(grad.any() for grad in left.values()):
        return False
    got, expected = (torch.cat([grad.flatten() for grad in grads]) for grads in ([left[name] for name in leaf], own))
    return bool(F.cosine_similarity(got, expected, dim=0) < 0.99)


@judged(exercise, f"{NATS} nats on new rows", 3, ("never_emptied",))
def trained(run, generator):
    x, y, source = task(generator, 1500)
    new, labels, _ = task(generator, 1500, source=source)
    number = run("make", {"d": 5, "hidden": 32, "classes": 3}, None)
    run("fit", number, None, x, y)
    logits = run("forward", number, None, new)
    if not isinstance(logits, Tensor) or logits.shape != (len(new), 3):
        return Fault("forward should return logits of shape (N, classes).", None, "wrong_shape")
    nats = float(F.cross_entropy(logits, labels))
    shares = torch.bincount(y, minlength=3) / len(y)
    guess = float(-(shares * shares.clamp(min=1e-9).log()).sum())
    if nats <= NATS:
        return None
    return Fault(f"After fit a label of a new row costs {nats:.2f} nats; {NATS} are asked for. Guessing by how frequent each "
                 f"label is costs {guess:.2f}" + (": nothing about x was learned." if nats > guess - 0.05 else "."))


exercise.hint(
    "The loss does not move at all.",
    "Look at the parameters before and after one step. If they are the same, ask what .grad holds at that moment.")
exercise.hint(
    "The loss falls a little, to the entropy of the labels, and stays.",
    "Then only the frequencies of the labels are learned. Either nothing about x reaches the output, or the labels are not those "
    "of the rows. Look at one batch by eye.")
exercise.hint(
    "The rate is not what you expect.",
    "Print rate(1), rate(warmup) and rate(4 * warmup): they should be peak / warmup, peak and peak / 2.")
