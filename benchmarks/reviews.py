"""Sentiment classification of SST-2 with the stored bert-english (chapter fine-tuning).

    python -m benchmarks.reviews reviews     words counted, vectors of words, BERT frozen and fine-tuned; a quarter hour

Figures are stored in a scratch file beside the records until all are done, so that an interrupted run resumes.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks import steps
from benchmarks.contextual import HELD, PENALTIES, TUNING, Features, MeanClassifier, by_layers, in_pieces, scaled
from benchmarks.figures import of_seeds
from benchmarks.reproduce import bert_english, word_texts
from benchmarks.reproduce.pretraining import drawn, without
from benchmarks.reproduce.word_features import fresh_bert, pieces_of_bert
from benchmarks.steps import Kept
from benchmarks.word_vectors import averaged, tasks
from course_lib import hub
from course_lib.tokenizers.batching import pad
from course_lib.training import fit
from course_lib.transformer import BERT

UPDATES, SEEDS = {100: 100, 1000: 200}, 5                            # by labels
RATES = (3e-4, 1e-3, 3e-3)
SORTED = 800                                                         # labels from which on batches are of like length
LAYERS = ("layer 0", "layer 1", "layer 2", "all layers side by side")
TWIN, TRAINED = "untrained twin", "bert-english"

Setting = tuple[Any, ...]


class Reviews(NamedTuple):
    """Sentences, and whether each is positive."""

    texts: list[str]
    labels: Int[np.ndarray, " N"]

    def at(self, rows: Sequence[int]) -> Reviews:
        return Reviews([self.texts[i] for i in rows], self.labels[rows])


class Parts(NamedTuple):
    """`held` for model selection, `train` for training, `test` for the test; without duplicates in the first two, or
    with the test."""

    train: Reviews
    held: Reviews
    test: Reviews


@cache
def parts() -> Parts:
    texts, labels, test, wanted = tasks()["SST-2"]
    own = Reviews(texts, np.array(labels)).at(without(texts, test))
    order = np.random.default_rng(0).permutation(len(own.texts))
    return Parts(own.at(order[HELD:]), own.at(order[:HELD]), Reviews(test, np.array(wanted)))


def labelled(labels: int, seed: int) -> Reviews:
    """Training set of a seed, for all methods."""
    train = parts().train
    return train.at(drawn(len(train.texts), labels, 2000 + seed).tolist())


# --- logistic regression on a description -----------------------------------------------------------------------------


@cache
def network(name: str, seed: int = 0) -> BERT:
    return hub.load(bert_english.WEIGHTS) if name == TRAINED else fresh_bert(vectors=False, seed=seed)


@cache
def tables(name: str) -> dict[str, tuple[Features, Features, Features]]:
    """Representations of the sentences of the three parts: means of the vectors of a layer, or these concatenated."""
    if name == "averaged word vectors":
        return {"": tuple(averaged(hub.load("english-words"), part.texts) for part in parts())}
    found = [by_layers(network(name), part.texts, softmax=False) for part in parts()]
    means = {layer: tuple(part[f"{layer}, mean"] for part in found) for layer in LAYERS[:-1]}
    return {**means, LAYERS[-1]: tuple(np.concatenate(each, axis=1) for each in zip(*means.values()))}


def counted(texts: Sequence[str], words: int) -> TfidfVectorizer:
    """TF-IDF of words, or of n-grams of up to `words` words."""
    return TfidfVectorizer(tokenizer=word_texts.words, lowercase=False, token_pattern=None, sublinear_tf=True,
                           ngram_range=(1, words)).fit(texts)


def described(name: str, labels: int, seed: int, what: Any, how: str) -> tuple[Reviews, list[Features]]:
    """Labeled sentences, and the representations of these, of those for model selection and of the test."""
    own = labelled(labels, seed)
    if name == "TF-IDF":
        weigh = counted(own.texts, what)
        return own, [weigh.transform(part.texts) for part in (own, parts().held, parts().test)]
    train, held, test = tables(name)[what]
    rows = drawn(len(train), labels, 2000 + seed).numpy()
    return own, scaled(train[rows], held, test, how=how)


def by_regression(name: str, labels: int, seed: int, setting: Setting) -> list[float]:
    """Accuracy in percent on the sentences for model selection, and on the test."""
    C, what, how = setting
    own, (x, *others) = described(name, labels, seed, what, how)
    model = LogisticRegression(C=C, max_iter=300, tol=1e-3).fit(x, own.labels)
    return [100 * model.score(other, part.labels) for other, part in zip(others, parts()[1:])]


# --- fine-tuned -------------------------------------------------------------------------------------------------------


def rectangle(some: Reviews) -> tuple[Int[Tensor, "N T"], Int[Tensor, " N"]]:
    tokens, _ = pad(in_pieces(some.texts), pieces_of_bert().vocabulary.pad_id)
    return tokens, torch.from_numpy(some.labels)


@cache
def judged() -> list[tuple[Tensor, Tensor]]:
    return [rectangle(part) for part in parts()[1:]]


def by_tuning(name: str, labels: int, seed: int, setting: Setting) -> list[float]:
    """Fine-tuning of all weights, with a classifier of the mean of the top vectors; for a seed all starts get the same
    batches."""
    (lr,), updates = setting, UPDATES[labels]
    tokens, kinds = rectangle(labelled(labels, seed))
    torch.manual_seed(1000 + seed)
    model = MeanClassifier(network(name, seed), 2)
    rows = drawn(len(tokens), updates * TUNING["batch_size"], 3000 + seed)
    real = tokens != pieces_of_bert().vocabulary.pad_id
    with sdpa_kernel(SDPBackend.MATH):                               # rows are short: blocked kernels take longer here
        fit(model, (tokens[rows], real[rows], kinds[rows]), epochs=1, lr=lr, seed=seed,
            lengths=real[rows].sum(dim=1) if len(tokens) >= SORTED else None, **TUNING)
        return [model.right(*part) for part in judged()]


# --- the table --------------------------------------------------------------------------------------------------------

SCALES = ("columns", "whole")
REGRESSIONS: dict[str, tuple[str, list[Setting]]] = {
    "TF-IDF": ("TF-IDF", [*product(PENALTIES, (1, 2), SCALES[:1])]),
    "averaged word vectors": ("averaged word vectors", [*product(PENALTIES, ("",), SCALES)]),
    f"{TWIN}, frozen": (TWIN, [*product(PENALTIES, LAYERS, SCALES)]),
    f"{TRAINED}, frozen": (TRAINED, [*product(PENALTIES, LAYERS, SCALES)])}
TUNED = {f"{name}, fine-tuned": name for name in (TWIN, TRAINED)}
WAYS = (*REGRESSIONS, *TUNED)


def at_its_best(kept: Kept, key: str, settings: Sequence[Setting],
                measure: Callable[[Setting, int], list[float]]) -> dict[str, Any]:
    """Setting chosen with the first seed, on the sentences for model selection; then the test, for all seeds."""
    best, found = kept.of_seeds(key, settings, measure, SEEDS, lambda both: both[0])
    return {**of_seeds([test for _, test in found], SEEDS), "setting": list(best), "held": round(found[0][0], 2)}


def over_sentences(share: float, sentences: int) -> dict[str, Any]:
    """Accuracy in percent of a single model, and its standard error over sentences."""
    error = math.sqrt(share * (100 - share) / sentences)
    return {"mean": round(share, 2), "standard_error": round(error, 2), "over": sentences}


NOTE = (
    "SST-2 by the stored bert-english: is a sentence of a film review positive or negative? Frozen: the mean of the "
    "vectors of a layer, or of all layers side by side, and logistic regression. Fine-tuned: all weights, a linear "
    f"layer on the mean of the top vectors, dropout 0.1, {' or '.join(map(str, UPDATES.values()))} updates of "
    f"{TUNING['batch_size']} by labels. The setting (penalty, words in a row or layer, scale; rate) is chosen for each "
    f"row by the first seed on {HELD} other training sentences. Mean ± standard error over {SEEDS} seeds, each with "
    "its own labels, the same for all rows. Measured on the 872 sentences of the development set. The network and the "
    "word vectors read the training sentences without their labels.")


def make_reviews() -> None:
    kept, rows = Kept("using-reviews"), []
    test, commonest = parts().test.labels, np.bincount(parts().train.labels).argmax()
    rows.append({"model": "commonest class", "parameters": 0,
                 "test": over_sentences(100 * float((test == commonest).mean()), len(test))})
    for labels in UPDATES:
        for way in WAYS:
            key = f"{way}, {labels:,} labels"
            if way in TUNED:
                found = at_its_best(kept, key, [(lr,) for lr in RATES],
                                    lambda setting, seed: by_tuning(TUNED[way], labels, seed, setting))
            else:
                name, settings = REGRESSIONS[way]
                found = at_its_best(kept, key, settings,
                                    lambda setting, seed: by_regression(name, labels, seed, setting))
            rows.append({"model": key, "parameters": 0, "test": found})
            print(rows[-1], flush=True)
    steps.record("benchmarks.reviews", "using", "using-reviews", "% right", rows,
                 NOTE, {"name": "sst2"})
    kept.done()


STEPS = {"reviews": make_reviews}
if __name__ == "__main__":
    steps.run("benchmarks.reviews", __doc__, STEPS)
