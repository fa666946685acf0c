"""What a run is: a data set and the models that are measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.reproduce import recipes
from course_lib.data import Splits


@dataclass(frozen=True)
class Target:
    """Test figures: `at_most`, or where more is better `at_least`, is to be reached; `aim` would be better still."""

    at_most: float | None = None
    aim: float | None = None
    at_least: float | None = None

    def __post_init__(self):
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"at_most is {self.at_most} and at_least {self.at_least}; expected one of the two")

    def met(self, mean: float) -> bool:
        return mean <= self.at_most if self.at_least is None else mean >= self.at_least


@dataclass(frozen=True)
class Row:
    """One model of a run: a line of the results page.

    label       what the page calls it
    model       its class, built with `arguments`
    recipe      how it is trained, told `settings`
    candidates  settings tried on top of those; the candidate with the best figure on the validation set is kept
    choose      measures the candidates, where `measure` is slow or coarse; the run's `best` says which is the better one
    final       settings of the candidate that was kept, which is trained once more with them
    measure     measure(model, part) -> mean, standard error, and what it is taken over
    weights     the name under which the package ships it, in half precision
    """

    label: str
    model: Callable[..., torch.nn.Module]
    recipe: Callable[..., recipes.Trained]
    arguments: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    candidates: tuple[dict[str, Any], ...] = ({},)
    measure: Callable[..., dict[str, float]] = recipes.nats
    target: Target | None = None
    weights: str | None = None
    final: dict[str, Any] = field(default_factory=dict)
    choose: Callable[..., dict[str, float]] | None = None


@dataclass(frozen=True)
class Run:
    """One command.

    data     the name of the set, loaded with `options`, then made ready by `prepare`
    draw     draws the set, where it is from a grammar of the course: `data` is its name then, and nothing is loaded
    unit     of every figure
    best     min or max: which of two figures is the better one
    """

    name: str
    data: str
    rows: tuple[Row, ...]
    options: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[Any], Any] = lambda splits: splits
    unit: str = "nats"
    best: Callable[..., float] = min
    seed: int = 0
    note: str = ""
    draw: Callable[[], Splits] | None = None


def over(setting: str, values) -> tuple[dict[str, Any], ...]:
    """Candidates that differ in one setting."""
    return tuple({setting: value} for value in values)
