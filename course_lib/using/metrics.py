r"""Metrics of classification (accuracy, F1, Matthews correlation) and of answers (exact match, F1).

GLUE reports Matthews' correlation for CoLA, accuracy and F1 for MRPC; SQuAD exact
match and the F1 of words.
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
    """The fraction of correct predictions; predicted and labels are (N,)."""
    _fit(predicted, labels)
    return (predicted == labels).double().mean().item()


def f1(predicted: Tensor, labels: Tensor, positive: int = 1) -> float:
    r"""The F1 of label `positive`, $\frac{2\,TP}{2\,TP + FP + FN}$; 0 if it is neither predicted nor present.

    TP, FP, FN  numbers of true positives, false positives and false negatives
    """
    tp, fp, fn, _ = _table(predicted, labels, positive)
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0


def matthews(predicted: Tensor, labels: Tensor, positive: int = 1) -> float:
    r"""The Matthews correlation, $\frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}$.

    TP, FP, FN, TN  numbers of true and false positives, and of false and true negatives, for label `positive`

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
    """1 if the normalized answer equals one of the correct answers `truths`, normalized too, else 0."""
    return float(normalized(answer) in {normalized(truth) for truth in _truths(truths)})


def answer_f1(answer: str, truths: Sequence[str]) -> float:
    """The F1 of the words of `answer` and a correct answer, as multisets; the maximum over correct answers `truths`.

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
        raise ValueError(f"predicted has shape {tuple(predicted.shape)} and labels {tuple(labels.shape)}; expected (N,) "
                         "for both, with N at least 1")


def _table(predicted: Tensor, labels: Tensor, positive: int) -> tuple[int, int, int, int]:
    """(TP, FP, FN, TN): true and false positives, false and true negatives, for label `positive`."""
    _fit(predicted, labels)
    said, true = predicted == positive, labels == positive
    return tuple(int(each.sum()) for each in (said & true, said & ~true, ~said & true, ~said & ~true))
