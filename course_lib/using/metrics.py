r"""Metrics of classification (accuracy, F1, Matthews correlation) and of answers (exact match, F1).

Of the benchmarks, GLUE reports Matthews correlation for CoLA, and accuracy and F1 for MRPC; SQuAD reports exact match
and the F1 of words. `predicted` and `labels` are predicted and true labels, (N,).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from torch import Tensor

ARTICLES = re.compile(r"\b(a|an|the)\b")
SIGNS = re.compile(r"[!-/:-@\[-`{-~]")                               # as Python's string.punctuation


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """Accuracy, the fraction of predicted labels (N,) that equal the true labels (N,)."""
    _fit(predicted, labels)
    return (predicted == labels).double().mean().item()


def f1(predicted: Tensor, labels: Tensor, positive: int = 1) -> float:
    r"""F1 of the label `positive`, $\frac{2\,TP}{2\,TP + FP + FN}$; 0 if the label is neither predicted nor present.

    TP, FP, FN  numbers of true positives, false positives and false negatives
    """
    tp, fp, fn, _ = _table(predicted, labels, positive)
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0


def matthews(predicted: Tensor, labels: Tensor, positive: int = 1) -> float:
    r"""Matthews correlation, $\frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}$.

    TP, FP, FN, TN  numbers of true and false positives, and of false and true negatives, for the label `positive`

    It is 1 for perfect predictions and 0 for a constant prediction.

    >>> import torch
    >>> labels = torch.tensor([1, 1, 1, 0])
    >>> accuracy(torch.ones(4), labels), matthews(torch.ones(4), labels)
    (0.75, 0.0)
    """
    tp, fp, fn, tn = _table(predicted, labels, positive)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0


def normalized(answer: str) -> str:
    """Normalize an answer as SQuAD does: lower case, no punctuation, no articles, single spaces.

    >>> normalized("The  Broncos' defence.")
    'broncos defence'
    """
    return " ".join(ARTICLES.sub(" ", SIGNS.sub("", answer.lower())).split())


def exact_match(answer: str, truths: Sequence[str]) -> float:
    """Exact match: 1.0 if `answer` equals one of the correct answers `truths`, all normalized, otherwise 0.0."""
    return float(normalized(answer) in {normalized(truth) for truth in _truths(truths)})


def answer_f1(answer: str, truths: Sequence[str]) -> float:
    """F1 of the words that `answer` and a correct answer have in common, both normalized; the maximum over `truths`.

    truths  correct answers; words are counted with repetition

    >>> answer_f1("in the city of Paris", ["Paris"])
    0.4
    """
    return max(_shared(normalized(answer).split(), normalized(truth).split()) for truth in _truths(truths))


def _shared(predicted: list[str], true: list[str]) -> float:
    if not predicted or not true:
        return float(predicted == true)
    common = sum((Counter(predicted) & Counter(true)).values())
    return 2 * common / (len(predicted) + len(true))


def _truths(truths: Sequence[str]) -> Sequence[str]:
    if isinstance(truths, str) or not truths:
        raise ValueError(f"truths is {truths!r}; expected a list of at least one answer")
    return truths


def _fit(predicted: Tensor, labels: Tensor) -> None:
    if predicted.shape != labels.shape or labels.dim() != 1 or not len(labels):
        raise ValueError(f"predicted has shape {tuple(predicted.shape)} and labels has shape {tuple(labels.shape)}; "
                         "expected (N,) for both, one class per example, with N at least 1")


def _table(predicted: Tensor, labels: Tensor, positive: int) -> tuple[int, int, int, int]:
    """Return (TP, FP, FN, TN), the numbers of true and false positives, false and true negatives, for `positive`."""
    _fit(predicted, labels)
    said, true = predicted == positive, labels == positive
    return tuple(int(each.sum()) for each in (said & true, said & ~true, ~said & true, ~said & ~true))
