"""A run without a network's layers: a sentence of SST-2 as the counts of its words, beside BERT on the same labels."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.reproduce import pretraining
from benchmarks.reproduce.pretraining import Sentences, drawn, over_seeds, per_cent_right, task
from benchmarks.reproduce.recipes import Job, Repeats, Trained
from benchmarks.reproduce.run import Row, Run, over


class BagOfWords(nn.Module):
    r"""$p(y \mid x) = \mathrm{softmax}(W t(x) + b)$, where $t(x) \propto$ counts times inverse document frequencies.

    Which word pieces occur and how often; their order is lost. Two classes, one of which has the score 0.
    """

    def __init__(self, pieces: int = 0):
        super().__init__()
        pieces = pieces or pretraining.PIECES
        self.register_buffer("frequency", torch.ones(pieces))        # ln((1 + sentences) / (1 + those with it)) + 1
        self.linear = nn.Linear(pieces, 1)

    def forward(self, tokens: Integer[Tensor, "B T"]) -> Float[Tensor, "B 2"]:
        weighed = F.normalize(counted(tokens, len(self.frequency)) * self.frequency, dim=1)
        score = self.linear(weighed)                                 # (B, 1)
        return torch.cat([torch.zeros_like(score), score], dim=1)


def counted(tokens: Integer[Tensor, "B T"], pieces: int) -> Float[Tensor, "B V"]:
    """How often each word piece occurs in each row; special tokens and filling do not count."""
    counts = torch.zeros(len(tokens), pieces)
    counts.scatter_add_(1, tokens, torch.ones_like(tokens, dtype=counts.dtype))
    counts[:, :pretraining.SPECIAL] = 0
    return counts


def by_weighing(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Logistic regression with a penalty, to its optimum, a model a seed: on the labels that BERT gets with this seed."""
    began, models, train = time.perf_counter(), Repeats(), job.splits.train
    for seed in range(settings["seeds"]):
        model = row.model(**row.arguments)
        chosen = drawn(len(train.labels), settings["labels"] or len(train.labels), 2000 + seed)
        counts = counted(train.tokens[chosen], len(model.frequency)).double().numpy()
        weights = TfidfTransformer().fit(counts)
        found = LogisticRegression(C=settings["C"], max_iter=2000).fit(weights.transform(counts), train.labels[chosen].numpy())
        with torch.no_grad():
            model.frequency.copy_(torch.from_numpy(weights.idf_))
            model.linear.weight.copy_(torch.from_numpy(found.coef_))
            model.linear.bias.copy_(torch.from_numpy(found.intercept_))
        models.append(model)
    return Trained(models, time.perf_counter() - began)


@torch.no_grad()
def over_sentences(models: Repeats, part: Sentences) -> dict[str, Any]:
    """The share that the one model tells right, in percent, and its standard error over the sentences."""
    (model,) = models
    p = (model(part.tokens).argmax(dim=1) == part.labels).double().mean().item()
    return {"mean": round(100 * p, 2), "standard_error": round(100 * math.sqrt(p * (1 - p) / len(part.labels)), 2),
            "over": len(part.labels)}


def row(labels: int | None) -> Row:
    """With all labels nothing is drawn: there is one model, and its error is that over the sentences."""
    several = {"final": {"seeds": 3}} if labels else {}
    return Row(f"words counted, {f'{labels:,}' if labels else 'all'} labels", BagOfWords, by_weighing, {},
               {"labels": labels, "seeds": 1}, over("C", (0.3, 1.0, 3.0, 10.0)),
               partial(over_seeds, score=per_cent_right) if labels else over_sentences, **several)


RUNS: dict[str, Run] = {"bag-of-words-sst2": Run(
    "bag-of-words-sst2", "sst2", tuple(map(row, pretraining.UPDATES)), prepare=partial(task, development=("valid",)),
    unit="% right", best=max,
    note="Words counted: TF-IDF of the word pieces that BERT reads, and logistic regression with a penalty. Mean ± standard error "
         "over three seeds, each with the labels that BERT gets with it; with all labels nothing is drawn, and the error is over "
         "the sentences. The penalty is chosen by the first seed on the same 500 training sentences. Measured on the 872 "
         "sentences of the development set.")}
