"""What is said of a list of findings, of words, and of a hypothesis, strange values among them."""
from __future__ import annotations

import pytest
import torch

from course_lib.exercises.findings import Findings, Words
from course_lib.grading import EXERCISES
from course_lib.grading.checks import Record
from course_lib.grading.protocol.calls import Outcome

LIST = Findings("values", 5, None, holder="One layer", noun="such pair", tip="Look again.")


def said(check, got, expected, args=()):
    fault = check.value_fault(Record(args, expected, Outcome("value", got)))
    return fault and fault.message


@pytest.mark.parametrize("got, expected, says", [
    ([(0, 1)], [(0, 1)], None),
    ([], [(0, 1)], "One layer has 1 such pair. Your list misses it. Look again."),
    ([(0, 1)], [], "One layer has no such pair. Your list holds 1 that does not belong there."),
    ([(0, 2), (0, 3)], [], "One layer has no such pair. Your list holds 2 that do not belong there."),
    ([(0, 1)], [(0, 1), (0, 2), (1, 2)], "One layer has 3 such pairs. Your list misses 2 of them. Look again."),
    ([(3, 4), (0, 1)], [(0, 1), (0, 2)],
     "One layer has 2 such pairs. Your list misses 1 of them, and holds 1 that does not belong there. Look again."),
    ([(0, 2), (0, 1)], [(0, 1), (0, 2)], "Your list holds the right ones, and is not sorted."),
    ([4, 4], [4], "Your list holds the right ones, and one of them twice."),
    ([torch.tensor(4), 5.0], [4], "One layer has 1 such pair. Your list holds 1 that does not belong there."),
])
def test_a_list_is_told_what_it_misses_and_what_does_not_belong(got, expected, says):
    assert said(LIST, got, expected) == says


@pytest.mark.parametrize("strange", ["3", None, [None], 1.5, float("nan"), float("inf"), torch.ones(2), True, {}])
def test_a_list_of_something_else_is_told_so(strange):
    assert "whole numbers" in said(LIST, [strange], [3])
    step_fn = torch.ones(3).log_softmax(0)
    args = lambda tokens: step_fn, 0, 2, 2, 3, 0.0                                           # noqa: E731
    [beam], [escape] = EXERCISES["beam_search"].checks, EXERCISES["greedy_trap"].checks[:1]
    assert "whole numbers" in said(beam, ([strange, 2], -1.0), ([2], -1.0), args)
    assert "whole numbers" in said(escape, ([strange, 2], 3), ([1, 2], 3))


@pytest.mark.parametrize("got, says", [
    ("Pre", "'Pre' is none of the words that are asked for: post, pre, in small letters and without spaces."),
    ("before", "'before' is none of the words that are asked for: post, pre."),
    (["post", 3], "'3' is none of the words that are asked for: post, pre."),
    (["post", torch.ones(2)], "is none of the words")])
def test_a_word_that_is_none_is_told(got, says):
    expected = "pre" if isinstance(got, str) else ["post"]
    assert says in said(Words("values", 5, None, names=("post", "pre")), got, expected)


@pytest.mark.parametrize("got, says", [
    (([1, 2], -1.5), None), (([1, 2], -3.0), "your tokens are right and their log p is not"),
    (([1, 1], -2.0), "worse"), (([0, 2], -1.0), "better"), (([], 0.0), "no hypothesis"), (([7], 0.0), "no hypothesis"),
    (([2, 1], 0.0), "no hypothesis"), (([1, 1, 1, 1], 0.0), "no hypothesis")])
def test_a_hypothesis_is_compared_by_its_score(got, says):
    table = torch.tensor([-0.1, -0.9, -0.6])                     # log p of any next token; eos is 2
    found = said(EXERCISES["beam_search"].checks[0], got, ([1, 2], -1.5), (lambda tokens: table, 0, 2, 2, 3, 0.0))
    assert found is None if says is None else says in found


@pytest.mark.parametrize("got, says", [
    (([1, 2], 3), None), (([1, 2], 4), "your width is too large"), (([1, 2], 2), "your width is too small"),
    (([1], 3), "has 1 tokens; it should have 2"), (([2, 1], 3), "not the one of highest probability")])
def test_a_sequence_and_a_width_are_told_apart(got, says):
    found = said(EXERCISES["greedy_trap"].checks[0], got, ([1, 2], 3))
    assert found is None if says is None else says in found
