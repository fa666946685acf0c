"""Open questions: no answer is right, the best score counts. `score` measures your model on held-out data and stores a table."""
from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib import hub
from course_lib.contract import ContractError, check_causal
from course_lib.counting.ngram import NGram
from course_lib.data import load_data
from course_lib.data.corpus import load_prose
from course_lib.density.tabular import Tabular
from course_lib.grading import progress_file
from course_lib.show.tables import Table, table
from course_lib.tokenizers.characters import CharTokenizer

WINDOW = 64                     # characters that are scored, after as many that are given
SUMS = 1e-3                     # how far the probabilities of one character may sum from 1


@dataclass(frozen=True)
class Question:
    """What `fit` gets, how its model is measured, in which unit (less is better), its CPU-seconds, and what simple models reach."""

    unit: str
    seconds: float
    train: Callable[[], Tensor]
    measure: Callable[[Any], float]
    baselines: Callable[[], list[tuple[str, float]]]


def score(question: str, fit: Callable[[Tensor], Any], name: str = "mine") -> Table:
    """Call fit(train), measure the model that it returns, keep the result under `name`, and return the table of all.

    question: "digits" or "prose". fit: takes the training data and returns a model with log_prob; it may use all of the
    library, and takes the question's CPU-seconds at most. A model that reads what it predicts, or whose probabilities do not
    sum to 1, is told so and not entered. Raises KeyError for another question, TypeError where there is no model to measure.
    """
    if question not in QUESTIONS:
        raise KeyError(f"question is {question!r}; there are {', '.join(QUESTIONS)}")
    chosen, began = QUESTIONS[question], time.process_time()
    try:
        model = fit(chosen.train())
    except NotImplementedError:
        print("fit is still to be written; this is what simple models reach.")
        return score_table(question)
    seconds = time.process_time() - began
    if not callable(getattr(model, "log_prob", None)):
        raise TypeError(f"fit returns {'None' if model is None else type(model).__name__}; expected a model with log_prob")
    if seconds > chosen.seconds:
        print(f"Not entered: fit took {seconds:.0f} CPU-seconds, and {chosen.seconds:g} are allowed.")
        return score_table(question)
    try:
        with torch.no_grad():
            reached = chosen.measure(model)
    except ContractError as broken:
        print(f"Not entered: {broken}.")
        return score_table(question)
    print(f"{name}: {reached:.3f} {chosen.unit}, in {seconds:.1f} CPU-seconds")
    tries = {row[0]: row for row in sorted(stored_tries(question), key=lambda row: row[1], reverse=True)}
    if name not in tries or reached < tries[name][1]:    # the best of its name is stored
        tries[name] = [name, round(reached, 4), round(seconds, 1)]
    progress_file.save("scores", question, list(tries.values()))
    return score_table(question, () if progress_file.enabled() else [(name, reached, seconds)])


def stored_tries(question: str) -> list[list]:
    """The stored tries: name, score, seconds."""
    return progress_file.read().get("scores", {}).get(question, []) if progress_file.enabled() else []


def score_table(question: str, more: list[tuple] | tuple = ()) -> Table:
    """All tries and what simple models reach, the best first."""
    chosen = QUESTIONS[question]
    rows = [(name, value, f"{seconds:.1f}") for name, value, seconds in (*stored_tries(question), *more)]
    rows += [(f"{name} (to compare)", value, "") for name, value in chosen.baselines()]
    return table(["model", chosen.unit, "CPU-seconds"], [[name, f"{value:.2f}", seconds] for name, value, seconds in
                                                         sorted(rows, key=lambda row: row[1])],
                 f"Open question: {question}, held-out part; less is better")


def digits(part: str) -> Tensor:
    """The binary digits of a part, (N, 64)."""
    return getattr(load_data("digits"), part).float()


def nats_per_image(model: Any) -> float:
    """Mean of -log p over the 350 validation images. Raises ContractError for a model that reads what it predicts."""
    for part in getattr(model, "models", [model]):
        if not hasattr(part, "conditionals"):
            raise TypeError(f"{type(part).__name__} has no conditionals; expected an AutoregressiveModel, or a Mixture of them")
        check_causal(part)
    return mean_nats(model, digits("valid"))


@functools.cache
def digits_baselines() -> list[tuple[str, float]]:
    """What a coin, frequencies and this course's stored models reach on the digits."""
    train, valid = digits("train"), digits("valid")
    alone = Tabular(64, parents=[[] for _ in range(64)]).fit_counts(train, alpha=1.0)
    rows = [("a coin for each pixel", 64 * math.log(2)), ("each pixel's frequency", mean_nats(alone, valid))]
    return rows + [(f"this course's {name}", mean_nats(hub.load(name), valid)) for name in ("fvsbn-digits", "nade-digits")]


@torch.no_grad()
def mean_nats(model: Any, x: Tensor) -> float:
    """Mean of -log p over the rows of x."""
    return float(-model.log_prob(x).double().mean())


def prose(part: str) -> Tensor:
    """The part's characters as ids (T,); all characters of the prose are in the vocabulary."""
    return CharTokenizer.fit(load_prose()).encode(load_prose(part))


def bits_per_character(model: Any) -> float:
    """Mean of -log2 p over windows of the validation part. Raises ContractError for probabilities that do not sum to 1."""
    ids = prose("valid")
    whole = ids[:len(ids) // (2 * WINDOW) * 2 * WINDOW].reshape(-1, 2 * WINDOW)                  # (N, 128)
    given, x = whole[:, :WINDOW], whole[:, WINDOW:]
    V = vocab_size()
    total = float(model.log_prob(torch.arange(V)[:, None], given[:1].expand(V, -1)).exp().sum())
    if not abs(total - 1) < SUMS:
        raise ContractError(f"the probabilities of the next character sum to {total:.4f}, not to 1")
    both = model.log_prob(x[:8], given[:8])
    first, rest = x[:8, :WINDOW // 2], x[:8, WINDOW // 2:]
    chained = model.log_prob(first, given[:8]) + model.log_prob(rest, torch.cat([given[:8], first], dim=1))
    if not torch.allclose(both, chained, rtol=0.02, atol=0.5):
        raise ContractError("log p of a window is not the sum of log p of its halves, the second after the first: the model "
                            "reads ahead, or forgets what it was given")
    return float(-model.log_prob(x, given).double().mean()) / WINDOW / math.log(2)


def vocab_size() -> int:
    """How many different characters the prose has."""
    return len(CharTokenizer.fit(load_prose()).vocabulary)


@functools.cache
def prose_baselines() -> list[tuple[str, float]]:
    """What counting reaches on the prose."""
    V, train = vocab_size(), prose("train")
    models = {n: NGram(n=n, vocab_size=V, smoothing="kneser-ney").fit_counts(train) for n in (1, 2, 3, 5)}
    return [("every character alike", math.log2(V)), *((f"{n}-gram, Kneser-Ney", bits_per_character(model)) for n, model in models.items())]


QUESTIONS = {
    "digits": Question("nats an image", 60.0, lambda: digits("train"), nats_per_image, digits_baselines),
    "prose": Question("bits a character", 60.0, lambda: prose("train"), bits_per_character, prose_baselines),
}
