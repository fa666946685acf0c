"""The ways to get a trained model. Each takes the job, a row of the table and its settings, and returns `Trained`."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.reproduce.run import Job, Row, Trained
from course_lib.density import Mixture, Tabular
from course_lib.training import fit


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
