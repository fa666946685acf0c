"""Every run in one table. A command names a run; a run is a data set and the models that are measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.reproduce import recipes, text
from course_lib.data import Splits
from course_lib.density import FVSBN, Mixture, Tabular
from course_lib.text import NGram


@dataclass(frozen=True)
class Target:
    """Test figures: `at_most` is to be reached, `aim` would be better still."""

    at_most: float
    aim: float | None = None


@dataclass(frozen=True)
class Row:
    """One model of a run: a line of the results page.

    label       what the page calls it
    model       its class, built with `arguments`
    recipe      how it is trained, told `settings`
    candidates  settings tried on top of those; the candidate with the lowest figure on the validation set is kept
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


@dataclass(frozen=True)
class Run:
    """One command.

    data     the name of the set, loaded with `options`, then made ready by `prepare`
    unit     of every figure
    """

    name: str
    data: str
    rows: tuple[Row, ...]
    options: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[Splits], Splits | text.Parts] = lambda splits: splits
    unit: str = "nats"
    seed: int = 0
    note: str = ""


def over(setting: str, values) -> tuple[dict[str, Any], ...]:
    """Candidates that differ in one setting."""
    return tuple({setting: value} for value in values)


def markov_chain(n: int, m: int) -> Tabular:
    """Each variable given the m before it, by a table."""
    return Tabular(n, [list(range(max(0, i - m), i)) for i in range(n)])


def fvsbn_in_order(n: int, order: int) -> FVSBN:
    """Order 0 is that of the columns; any other number is the seed of a random permutation."""
    return FVSBN(n, torch.randperm(n, generator=torch.Generator().manual_seed(order)) if order else None)


ALPHAS = over("alpha", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0))
SMALL = {"epochs": 200, "batch_size": 50, "lr": 0.01, "schedule": "cosine", "patience": 50}
SMOOTHINGS = (*({"smoothing": "add", "alpha": alpha} for alpha in (0.01, 0.1, 1.0)),
              *({"smoothing": "interpolated", "buckets": buckets} for buckets in (1, 8)),
              {"smoothing": "kneser-ney"})
LARGER = {**SMALL, "epochs": 60, "batch_size": 100, "patience": 10}
DECAYS = over("weight_decay", (0.0, 0.03, 0.1, 0.3, 1.0))


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("independent-digits", "digits", (
        Row("independent pixels", markov_chain, recipes.by_counting, {"n": 64, "m": 0},
            candidates=ALPHAS),
    )),
    Run("fvsbn-digits", "digits", (
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 64}, SMALL, DECAYS, target=Target(18.75),
            weights="fvsbn-digits"),
    )),
    Run("fvsbn-digits-orders", "digits", (
        *(Row(f"FVSBN, order {k}", fvsbn_in_order, recipes.by_gradient, {"n": 64, "order": k}, SMALL, DECAYS)
          for k in range(8)),
        Row("mixture of the eight", Mixture, recipes.by_mixing,
            settings={"of": [f"FVSBN, order {k}" for k in range(8)]}),
    ), note="Order 0 is row by row, the others are random."),
    Run("fvsbn-binarized-mnist", "binarized_mnist", (
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 784},
            {"epochs": 60, "batch_size": 100, "lr": 0.005, "schedule": "cosine", "weight_decay": 0.04},
            target=Target(97.9, aim=97.5), weights="fvsbn-binarized-mnist"),
    )),
    Run("fvsbn-caltech-silhouettes", "caltech101_silhouettes", (
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 784},
            {"epochs": 60, "batch_size": 50, "lr": 0.005, "schedule": "cosine"},
            weights="fvsbn-caltech-silhouettes"),
    )),
    Run("nltcs", "nltcs", (
        *(Row(f"Markov chain of order {m}" if m else "independent variables", markov_chain, recipes.by_counting,
              {"n": 16, "m": m}, candidates=ALPHAS) for m in (0, 1, 2, 3, 5, 7, 10)),
        Row("full table", Tabular, recipes.by_counting, {"n": 16}, candidates=ALPHAS),
        Row("best tree", Tabular, recipes.by_tree, candidates=ALPHAS),
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 16}, LARGER, DECAYS),
    )),
    Run("plants", "plants", (
        Row("independent variables", markov_chain, recipes.by_counting, {"n": 69, "m": 0},
            candidates=ALPHAS),
        Row("best tree", Tabular, recipes.by_tree, candidates=ALPHAS),
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 69}, LARGER, DECAYS),
    )),
    Run("ngram-tiny-shakespeare", "tiny_shakespeare", tuple(
        Row(f"n-gram of order {m}", NGram, text.by_ngram, {"order": m}, candidates=SMOOTHINGS,
            measure=text.bits_per_character, weights=f"ngram-{m}-tiny-shakespeare" if m < 6 else None)
        for m in range(7)
    ), prepare=text.characters, unit="bits per character", note="Order m: the m characters before the next one."),
)}
