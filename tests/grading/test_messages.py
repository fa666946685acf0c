"""Messages that no twin can give, since what they explain is left to chance: a tie, a random input, a rounding error."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.grading import EXERCISES, evaluate
from tests.exercises.answers import WRONG


@pytest.mark.parametrize("seed", range(3))
def test_a_dropped_tie_is_explained_whichever_of_the_two_it_was(seed):
    def by_places(logits, k):
        best = logits.topk(min(k, logits.shape[-1]))
        return torch.full_like(logits, -math.inf).scatter(-1, best.indices, best.values)

    def keeps_the_later(logits, k):
        rank = logits.flip(-1).sort(dim=-1, descending=True, stable=True).indices[..., :k]
        keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.shape[-1] - 1 - rank, True)
        return logits.masked_fill(~keep, -math.inf)

    for answer in (by_places, keeps_the_later):
        report = evaluate("top_k_filter", answer, seed)
        assert report.state == "wrong_value"
        assert report.message == EXERCISES["top_k_filter"].misconceptions["ties_dropped"]


@pytest.mark.parametrize("answer, says", [
    (lambda layer, T, d: [], "has 3 such pairs. Your list misses 3, the first at position 0 of the result."),
    (lambda layer, T, d: [(0, 1), (0, 2)] if T == 3 else [], "Your list misses 1, at position 1 of the result."),
    (lambda layer, T, d: [(i, j) for i in range(T) for j in range(i + 1, T)],
     "Your list holds (0, 1) and 4 more, where position 0 of the result stays as it is, whatever stands at position 1."),
    (lambda layer, T, d: [(0, 1), (0, 2), (1, 2), (2, 2)], "Your list holds (2, 2), where the second position is not later than the first."),
    (lambda layer, T, d: [(0, 1), (0, 2), (1, 2), (1, 3)], "Your list holds (1, 3), where positions go from 0 to 2."),
    (lambda layer, T, d: [(0, 1), (0, 2), (1, 2), 3], "Your list holds 3, where two whole numbers are asked for."),
])
def test_who_peeks_is_told_by_layer_and_position_and_the_smallest_layer_is_shown(answer, says):
    drawn = EXERCISES["find_peeking"].checks[0].cases
    seed = next(seed for seed in range(99) if drawn(EXERCISES["find_peeking"].generator(seed, "values"))[0][1] == 3)
    report = evaluate("find_peeking", answer, seed)
    assert report.state == "wrong_value" and says in report.message, report.message
    assert report.message.startswith("The layer ") and f"with T = {4 if 'and 4 more' in says else 3} and" in report.message
    assert "\n  layer = " in report.shown and "softmax(scores" in report.shown and "\n  T = " in report.shown, report.shown


def test_exact_comparison_of_inner_products_is_explained():
    def exact(encode, d, n):
        pairs = encode(torch.arange(n)).reshape(n, d // 2, 2)
        products = torch.einsum("kic,jic->ikj", pairs, pairs)
        return [i for i in range(d // 2) if (products[i, 1:, 1:] != products[i, :-1, :-1]).any()]

    report = evaluate("find_position_fault", exact, 0)
    assert report.misconception == "every_pair"


@pytest.mark.parametrize("id, says", [("train_nade", "by the clock. If it trains, take fewer steps"), ("causal_mask", "a loop that never ends, or one")])
def test_who_is_late_is_told_of_steps_and_of_the_machine_where_something_trains(id, says, monkeypatch):
    def late(*args):
        while True:
            pass

    monkeypatch.setattr(EXERCISES[id], "deadline", 0.2)
    report = evaluate(id, late, 0)
    assert report.state == "timeout" and says in report.message
    assert ("keeps this machine busy" in report.message) is EXERCISES[id].trains


@pytest.mark.parametrize("name, says", [
    ("beam_search: the score in the place of log p", ("your tokens are right, and you return log p / len ** alpha.",)),
    ("stochastic_beam: what cannot be computed gets the score -inf", ("Sequences of larger ln p came out right.",)),
    ("find_improper: a grid with a step of 0.1", ("with a narrow peak, of deviation 0.02 to 0.03.", "your points lie too far apart")),
])
def test_a_check_explains_what_no_misconception_can(name, says):
    for seed in range(3):
        report = evaluate(name.partition(":")[0], WRONG[name], seed)
        assert report.state == "wrong_value" and any(text in report.message for text in says), report
