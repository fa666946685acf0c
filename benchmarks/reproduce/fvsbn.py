"""Runs of the FVSBN, of tables and of n-grams: the models of chapters chain-rule, fvsbn and counting-text."""

from __future__ import annotations

from benchmarks.reproduce import density, recipes, text
from benchmarks.reproduce.run import Row, Run, over
from course_lib.counting import NGram
from course_lib.density import FVSBN, Tabular


def markov_chain(n: int, m: int) -> Tabular:
    """Each variable given the m before it, by a table."""
    return Tabular(n, [list(range(max(0, i - m), i)) for i in range(n)])


ALPHAS = over("alpha", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0))
SMALL = {"epochs": 200, "batch_size": 50, "lr": 0.01, "schedule": "cosine", "patience": 50}
SMOOTHINGS = (*({"smoothing": "add", "alpha": alpha} for alpha in (0.01, 0.1, 1.0)),
              *({"smoothing": "interpolated", "buckets": buckets} for buckets in (1, 8)),
              {"smoothing": "kneser-ney"})
LARGER = {**SMALL, "epochs": 60, "batch_size": 100, "patience": 10}


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("independent-digits", "digits", (
        Row("independent pixels", markov_chain, recipes.by_counting, {"n": 64, "m": 0},
            candidates=ALPHAS),
    ), options=density.DIGITS),
    Run("fvsbn-digits", "digits", (
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 64}, SMALL, density.DECAYS, weights="fvsbn-digits"),
    ), options=density.DIGITS),
    Run("fvsbn-binarized-mnist", "binarized_mnist", (
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 784},
            {"epochs": 60, "batch_size": 100, "lr": 0.005, "schedule": "cosine", "weight_decay": 0.04}, weights="fvsbn-binarized-mnist"),
    )),
    Run("independent-binarized-mnist", "binarized_mnist", (
        Row("independent pixels", markov_chain, recipes.by_counting, {"n": 784, "m": 0},
            candidates=ALPHAS),
    )),
    Run("fvsbn-caltech-silhouettes", "caltech101_silhouettes", (
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 784},
            {"epochs": 60, "batch_size": 50, "lr": 0.005, "schedule": "cosine"},
            weights="fvsbn-caltech-silhouettes"),
    )),
    Run("independent-caltech-silhouettes", "caltech101_silhouettes", (
        Row("independent pixels", markov_chain, recipes.by_counting, {"n": 784, "m": 0},
            candidates=ALPHAS),
    )),
    Run("nltcs", "nltcs", (
        *(Row(f"Markov chain of order {m}" if m else "independent variables", markov_chain, recipes.by_counting,
              {"n": 16, "m": m}, candidates=ALPHAS) for m in (0, 1, 2, 3, 5, 7, 10)),
        Row("full table", Tabular, recipes.by_counting, {"n": 16}, candidates=ALPHAS),
        Row("best tree", Tabular, recipes.by_tree, candidates=ALPHAS),
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 16}, LARGER, density.DECAYS),
    )),
    Run("plants", "plants", (
        Row("independent variables", markov_chain, recipes.by_counting, {"n": 69, "m": 0},
            candidates=ALPHAS),
        Row("best tree", Tabular, recipes.by_tree, candidates=ALPHAS),
        Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 69}, LARGER, density.DECAYS),
    )),
    Run("ngram-tiny-shakespeare", "tiny_shakespeare", tuple(
        Row(name, NGram, text.by_ngram, {"n": n}, candidates=SMOOTHINGS,
            measure=text.bits_per_character, weights=f"{name}-tiny-shakespeare" if n < 7 else None)
        for n, name in enumerate(("unigram", "bigram", "trigram", "4-gram", "5-gram", "6-gram", "7-gram"), start=1)
    ), prepare=text.characters, unit="bits per character", note="An n-gram sees the n - 1 characters before the next one."),
)}
