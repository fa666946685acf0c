"""The ways to get a trained model. Each takes the job, a row of the table and its settings, and returns `Trained`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.reproduce.run import Job, Repeats, Row, Trained
from course_lib.density import Mixture, Tabular
from course_lib.training import fit


def fitted(job: Job, row: Row, settings: dict[str, Any], name: str | None, train: Any = None, valid: Any = None, *, seed: int | None = None,
           start: Tensor | None = None, layout: torch.memory_format = torch.contiguous_format) -> Trained:
    """A model of the row by `fit`, on the job's training part unless another is named.

    valid   if given, the weights are those of the best epoch, unless the settings say otherwise by `patience`
    seed    that of the job, unless another is named
    start   what the model is initialized from, if it can be
    name    of the checkpoint; None for none
    layout  of its memory while it trains

    A killed run goes on from its checkpoint; the seconds before the kill count.
    """
    seed = job.seed if seed is None else seed
    torch.manual_seed(seed)
    model = row.model(**row.arguments)
    if start is not None and hasattr(model, "initialize"):
        model.initialize(start)
    model.to(job.device).to(memory_format=layout)
    if valid is not None:
        settings = {"patience": settings["epochs"], **settings}
    history = fit(model, job.splits.train if train is None else train, valid, seed=seed, device=job.device,
                  checkpoint=name and job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model.to(memory_format=torch.contiguous_format), sum(history.seconds), history.epochs, history.best_epoch)


def together(runs: Iterable[Trained]) -> Trained:
    """Models that differ by their seeds as one: seconds in all, the most epochs, the median of the best ones."""
    runs = list(runs)
    best = [run.best_epoch for run in runs]
    return Trained(Repeats(run.model for run in runs), sum(run.seconds for run in runs), max(run.epochs for run in runs),
                   None if None in best else round(statistics.median(best)))


def minimize(model: nn.Module, loss: Callable[[int], Tensor], updates: int, lr: float, share: Callable[[int], float],
             kind: type[torch.optim.Optimizer] = torch.optim.AdamW, clip: float | None = None,
             after: Callable[[float], bool | None] = lambda value: None, **options: Any) -> None:
    """`updates` steps on `loss(update)`, at the rate lr times `share(update)`; it ends early where `after(loss)` is true."""
    optimizer = kind(model.parameters(), lr, fused=True, **options)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = lr * share(update)
        value = loss(update)
        optimizer.zero_grad()
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if after(value.item()):
            break


def coefficients(found: LogisticRegression) -> tuple[Tensor, Tensor]:
    """Weights and biases of scikit-learn's fit, a row for each class; of two classes the first has the score 0."""
    weight, bias = torch.from_numpy(found.coef_), torch.from_numpy(found.intercept_)
    return (weight, bias) if len(found.classes_) > 2 else (F.pad(weight, (0, 0, 1, 0)), F.pad(bias, (1, 0)))


def by_gradient(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood by AdamW. The weights are those of the best epoch on the validation set."""
    return fitted(job, row, settings, name, valid=job.splits.valid)


def by_counting(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood by counting, with the smoothing of the settings."""
    model = row.model(**row.arguments).double()
    model.fit_counts(job.splits.train, **settings)
    return Trained(model.to(job.device))


def by_tree(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Tables over the best tree: each variable keeps one parent (Chow and Liu, 1968)."""
    order, parents = best_tree(job.splits.train.double())
    model = Tabular(len(order), parents, order).double().fit_counts(job.splits.train, **settings)
    return Trained(model.to(job.device))


def by_mixing(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """The mixture of the rows that `settings["of"]` names, with equal weights; nothing is trained."""
    return Trained(Mixture([job.models[label] for label in settings["of"]]), 0.0)


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
