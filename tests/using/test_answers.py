"""What a leaderboard counts, and bad input. F1, correlation and the reader of spans: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.using import (
    SpanReader,
    accuracy,
    answer_f1,
    exact_match,
    fit_reader,
    normalized,
    reader,
)
from tests.using import checks as check


def test_answer_metrics():
    check.normalizes_as_squad(normalized)
    check.shares_words(answer_f1)
    assert exact_match("The Broncos.", ["Denver", "broncos"]) == 1.0 and exact_match("Denver Broncos", ["Broncos"]) == 0.0


def test_fit_reader():
    check.learns_what_is_asked_for(reader)


@pytest.mark.parametrize("call, message", [
    (lambda: accuracy(torch.zeros(2), torch.zeros(3)), "predicted has shape (2,) and labels has shape (3,); expected (N,) for both"),
    (lambda: exact_match("a", "a"), "truths is 'a'; expected a list of at least one answer"),
    (lambda: answer_f1("a", []), "truths is []; expected a list of at least one answer"),
    (lambda: SpanReader({}, longest=0), "longest is 0, sentences is 3 and buckets is 262144; expected at least 1 each"),
    (lambda: fit_reader(SpanReader({}, buckets=8), [("Who?", "Ada wrote.", ["Grace"])]),
     "asked has 1 questions, none of which has its answer among its candidates"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
