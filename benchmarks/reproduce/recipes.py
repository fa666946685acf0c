"""The ways to get a trained model. Each takes the job, a row of the table and its settings, and returns `Trained`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.counting import NGram
from course_lib.counting.packing import unpack
from course_lib.data import Splits
from course_lib.density import MADE, Mixture, Tabular
from course_lib.density.made import MaskedLinear
from course_lib.pixels import ImageModel, MaskedConv2d
from course_lib.training import evaluate, fit

if TYPE_CHECKING:
    from benchmarks.reproduce.run import Row
    from benchmarks.reproduce.text import Parts


@dataclass
class Trained:
    """A model, the epochs it took (None where there are none), the best of them, and the seconds.

    curve  where it was watched: what it had read, and a figure on the validation set; of several seeds a list each
    """

    model: nn.Module
    seconds: float
    epochs: int | None = None
    best_epoch: int | None = None
    curve: list | None = None


class Repeats(nn.ModuleList):
    """One model trained from several seeds."""


@dataclass
class Job:
    """What the rows of a run share: the data, the seed, the device, a folder for checkpoints, the models so far."""

    splits: Splits | Parts                                           # as the run prepared them
    seed: int
    device: torch.device
    checkpoints: Path
    resumed: bool = False                                            # a killed run left some of its work there
    models: dict[str, nn.Module] = field(default_factory=dict)
    counted: set[Path] = field(default_factory=set)                  # checkpoints whose seconds are in the record


def of_other_rows(recipe: Callable) -> Callable:
    """Marks a recipe that reads the models of other rows: its run is carried out as a whole."""
    recipe.of_other_rows = True
    return recipe


def by_gradient(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood by AdamW. The weights are those of the best epoch on the validation set.

    A killed run goes on from its checkpoint; the seconds before the kill count.
    """
    torch.manual_seed(job.seed)
    model = row.model(**row.arguments).to(job.device)
    settings = {"patience": settings["epochs"], **settings}          # without patience, the last weights would stay
    history = fit(model, job.splits.train, job.splits.valid, seed=job.seed, device=job.device,
                  checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs, history.best_epoch)


def by_counting(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood by counting, with the smoothing of the settings."""
    began = time.perf_counter()
    model = row.model(**row.arguments).double()
    model.fit_counts(job.splits.train, **settings)
    return Trained(model.to(job.device), time.perf_counter() - began)


def by_tree(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Tables over the best tree: each variable keeps one parent (Chow and Liu, 1968)."""
    began = time.perf_counter()
    order, parents = best_tree(job.splits.train.double())
    model = Tabular(len(order), parents, order).double().fit_counts(job.splits.train, **settings)
    return Trained(model.to(job.device), time.perf_counter() - began)


@of_other_rows
def by_mixing(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """The mixture of the rows that `settings["of"]` names, with equal weights; nothing is trained."""
    return Trained(Mixture([job.models[label] for label in settings["of"]]), 0.0)


def nats(model: nn.Module, part: Tensor) -> dict[str, float]:
    """Negative log-likelihood a row: its mean, the standard error of the mean, the rows it was taken over."""
    mean, error = evaluate(model, part, batch_size=100)              # of pixels, 500 take twice as long: out of the cache
    return {"mean": round(mean, 4), "standard_error": round(error, 4), "over": len(part)}


def best_tree(x: Float[Tensor, "N n"]) -> tuple[list[int], list[list[int]]]:
    r"""Order and parents of the spanning tree of largest total mutual information, rooted at variable 0.

    $I(i, j) = \sum_{a, b} p(x_i = a, x_j = b) \log \frac{p(x_i = a, x_j = b)}{p(x_i = a) p(x_j = b)}$ from the counts
    of x. Of all models in which each variable has at most one parent, the tree's has the largest likelihood.
    """
    n, information = x.shape[1], 0.0
    for a, b in ((x, x), (x, 1 - x), (1 - x, x), (1 - x, 1 - x)):
        joint = a.T @ b / len(x)                                     # (n, n)
        apart = a.mean(dim=0)[:, None] * b.mean(dim=0)
        information = information + torch.special.xlogy(joint, joint / apart.clamp(min=1e-300))
    order, parents = [0], [[] for _ in range(n)]
    while len(order) < n:                                            # Prim: the strongest edge out of the tree so far
        rest = [i for i in range(n) if i not in order]
        edges = information[order][:, rest]
        place = int(edges.argmax())
        parent, child = order[place // len(rest)], rest[place % len(rest)]
        order.append(child)
        parents[child] = [parent]
    return order, parents


def free_parameters(model: nn.Module) -> int:
    """Numbers that the data may set: of an FVSBN the weights below the diagonal, of a MADE those that no mask hides, of
    an n-gram its counts. What the parts of a mixture share counts once, and so does a model that is repeated."""
    if isinstance(model, Repeats):
        return free_parameters(model[0])
    if isinstance(model, NGram):
        return len(unpack(model.packed)[1])
    if isinstance(model, Mixture):
        shared = len({id(p) for p in model.parameters()}) < sum(len(list(part.parameters())) for part in model.models)
        return free_parameters(model.models[0]) if shared else sum(free_parameters(part) for part in model.models)
    if isinstance(model, (MADE, ImageModel)):
        hidden = sum(int((m.mask == 0).sum()) for m in model.modules() if isinstance(m, (MaskedLinear, MaskedConv2d)))
        return sum(p.numel() for p in model.parameters()) - hidden
    if hasattr(model, "earlier"):
        return int(model.earlier.sum()) + model.bias.numel()
    return sum(p.numel() for p in model.parameters())
