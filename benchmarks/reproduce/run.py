"""What a run is: a data set and the models that are measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_lib.data import Splits
from course_lib.training import evaluate


class Parts(NamedTuple):
    """The parts of a set in the form that the recipes of a run read, and the set's info."""

    train: Any
    valid: Any
    test: Any
    info: dict[str, Any]


@dataclass
class Trained:
    """A model, the seconds (None: those of the recipe's call), the epochs it took (None where there are none), the best of them.

    curve  where it was watched: what it had read, and a figure on the validation set; of several seeds a list each
    """

    model: nn.Module
    seconds: float | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    curve: list | None = None


class Repeats(nn.ModuleList):
    """One model trained from several seeds."""


@dataclass
class Job:
    """What the rows of a run share: the data, the seed, the device, a folder for checkpoints, the models so far."""

    splits: Any                                                      # as the run prepared them
    seed: int
    device: torch.device
    checkpoints: Path
    resumed: bool = False                                            # a killed run left some of its work there
    models: dict[str, nn.Module] = field(default_factory=dict)
    counted: set[Path] = field(default_factory=set)                  # checkpoints whose seconds are in the record


def own(protocol: str, citation: str, licence: str = "MIT, as the code that draws it") -> dict[str, Any]:
    """What is to be known of a set that the course makes itself."""
    return {"protocol": protocol, "licence": licence, "citation": citation, "key": "", "comparable_with_papers": False}


def of_items(values: Tensor, over: int | None = None) -> dict[str, Any]:
    """The mean, its standard error over the values, and what they were taken over, if that is not their number."""
    values = values.double()
    return {"mean": round(values.mean().item(), 4), "standard_error": round(values.std().item() / len(values) ** 0.5, 4),
            "over": len(values) if over is None else over}


def nats(model: nn.Module, part: Tensor) -> dict[str, float]:
    """Negative log-likelihood a row: its mean, the standard error of the mean, the rows it was taken over."""
    mean, error = evaluate(model, part, batch_size=100)              # of pixels, 500 take twice as long: out of the cache
    return {"mean": round(mean, 4), "standard_error": round(error, 4), "over": len(part)}


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
    recipe: Callable[..., Trained]
    arguments: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    candidates: tuple[dict[str, Any], ...] = ({},)
    measure: Callable[..., dict[str, float]] = nats
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
