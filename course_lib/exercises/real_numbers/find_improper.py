"""Which of several functions are densities."""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.findings import Told, counted, plainly
from course_lib.exercises.remembered import Remembered, with_rule
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_improper", chapter="real-numbers", place=2, title="Find the functions that are no densities",
    contract="log_densities is a list of functions. Each takes x (N,) and returns (N,), the logarithm of what is said to be "
             "a density on the line. All of its mass lies between low and high, in parts of deviation 0.02 or more. Return "
             "the sorted list of the positions, counted from 0, of those whose area is not 1. The faulty ones are off by "
             "0.05 at least.",
    points=["rnade"], difficulty=3, minutes=25, kind="find")


@exercise.step
def grid(low, high):
    """Steps of half the narrowest deviation: from there on, the trapezoids of a Gaussian are exact to ten digits."""
    return torch.linspace(low, high, 2001, dtype=torch.float64)


@exercise.step
def is_improper(p, x):
    return abs(float(torch.trapezoid(p, x)) - 1) > 0.01


@exercise.reference()
@exercise.step
def find_improper_reference(log_densities, low, high):
    x = grid(low, high)
    return [k for k, log_density in enumerate(log_densities) if is_improper(log_density(x).exp(), x)]


@exercise.misconception(
    grid,
    "Some areas are wrong because your points lie too far apart: a peak of deviation 0.02 falls between them. Take steps well "
    "below 0.02.")
def coarse(low, high):
    return torch.linspace(low, high, 60, dtype=torch.float64)


@exercise.misconception(
    is_improper,
    "You call a density improper because it exceeds 1 somewhere. A narrow density may exceed 1; only its area is bounded.")
def tall(p, x):
    return float(p.max()) > 1


@exercise.misconception(is_improper, "You find the areas above 1 and miss those below.")
def too_large_only(p, x):
    return float(torch.trapezoid(p, x)) > 1.01


@exercise.misconception(is_improper, "You find the areas below 1 and miss those above.")
def too_small_only(p, x):
    return float(torch.trapezoid(p, x)) < 0.99


@exercise.misconception(
    is_improper,
    "You miss an area that is off by less than a tenth. A function whose area is not exactly 1 is not a density; allow for the "
    "error of your sum only.")
def tolerant(p, x):
    return abs(float(torch.trapezoid(p, x)) - 1) > 0.1


@exercise.misconception(
    is_improper,
    "You list every function, although some are densities. An area is the sum of the values times the distance between two points; a sum or "
    "a mean of the values alone is far from 1 for each of them.")
def every_one(p, x):
    return abs(float(p.mean()) - 1) > 0.01


@exercise.misconception(is_improper, "You list those whose area is 1. List the others.")
def the_proper_ones(p, x):
    return not is_improper.original(p, x)


@exercise.misconception(find_improper_reference, "You count from 1. Positions count from 0 here, as in the list.")
def from_one(log_densities, low, high):
    return [k + 1 for k in find_improper_reference.original(log_densities, low, high)]


def density(weights: Tensor, mu: Tensor, sigma: Tensor, kind: str):
    """A function from x to the logarithm of a mixture, right if `kind` is "proper", else with that fault."""
    def log_density(x: Tensor) -> Tensor:
        logs = -((x.double()[:, None] - mu) / sigma) ** 2 / 2 - sigma.log() - math.log(2 * math.pi) / 2        # (N, K)
        if kind == "no weights":
            return torch.logsumexp(logs, dim=1)
        if kind == "no constant":
            logs = logs + math.log(2 * math.pi) / 2
        if kind == "mean of logs":
            return (weights * logs).sum(dim=1)
        total = torch.logsumexp(weights.log() + logs, dim=1)
        return total + math.log(SLIGHTLY.get(kind, 1.0))

    return with_rule("Each function takes x of shape (N,), a tensor of floats.", Remembered(log_density))


def mixture(generator, narrow: bool):
    """Weights, means and deviations of three Gaussians; with `narrow`, the first is a peak of deviation 0.02 to 0.03."""
    weights = uniform(generator, 3, low=0.5, high=1.5).double()
    mu = (2.0 * (torch.randperm(3, generator=generator) - 1) + uniform(generator, 3, low=-0.5, high=0.5)).double()
    sigma = uniform(generator, 3, low=0.6, high=1.2).double()
    if narrow:
        sigma[0] = float(uniform(generator, 1, low=0.02, high=0.03))
    return weights / weights.sum(), mu, sigma


SLIGHTLY = {"a little too much": 1.065, "a little too little": 0.935}
FAULTS = ("no weights", "no constant", "mean of logs")


def lists_of_densities(generator):
    """Two lists: each has proper ones, tall and low, among faulty ones of both directions, slight and gross."""
    found = []
    for _ in range(2):
        members = [("proper", False), ("proper", True), ("proper", True), ("mean of logs", False), ("no weights", False),
                   ("a little too much", True), ("a little too little", False), (FAULTS[integer(generator, 0, 2)], False)]
        order = torch.randperm(len(members), generator=generator).tolist()
        found.append(([density(*mixture(generator, members[k][1]), members[k][0]) for k in order], -9.0, 9.0))
    return found


@dataclass
class Improper(Told):
    """As Compare; the message says so if what does not belong in the list are densities with a narrow peak."""

    def value_fault(self, record: Record) -> Fault | None:
        fault = super().value_fault(record)
        log_densities, low, high = record.args
        try:
            extra = {plainly(k) for k in record.outcome.value} - {*record.expected}
        except TypeError:
            return fault
        if fault is None or not extra or not extra <= {*range(len(log_densities))}:
            return fault
        x = grid(low, high)
        if not all(float(log_densities[k](x).exp().max()) > 1.5 for k in extra):
            return fault
        return Fault(f"Your list holds {counted(len(extra), 'function')} of area 1 with a narrow peak, of deviation 0.02 to 0.03. If your points "
                     "lie as far apart as that, the area of the peak comes out too large or too small: take steps well below 0.02.")


exercise.checks.append(Improper("values", 5, lists_of_densities))
exercise.hint(
    "You have functions, and no formulas.",
    "A function can be called: choose many points between low and high, take the exponential of what it returns, and "
    "approximate the area. torch.trapezoid(p, x) does the sum.")
exercise.hint(
    "You list some that are sound.",
    "A peak of deviation 0.02 needs several points across it. Between low and high that makes some thousand points or "
    "more; the functions take them all in one call.")
exercise.hint(
    "You miss some.",
    "An area can be wrong in both directions, and by a little. Compare |area - 1| with something small.")
