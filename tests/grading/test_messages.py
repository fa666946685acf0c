"""Messages that no twin can give, since what they explain is left to chance: a tie, a random input, a rounding error."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.checks import Record, say_of_gradient
from course_lib.grading.protocol.calls import Outcome
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


@pytest.mark.parametrize("seed", range(3))
def test_one_random_input_is_told_how_many_paths_it_missed(seed):
    def one_input(layer, T, d):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(1, T, d, generator=generator)
        before, found = layer(x), []
        for j in range(1, T):
            other = x.clone()
            other[:, j] = torch.randn(d, generator=generator)
            found += [(i, j) for i in range(j) if (layer(other) - before)[0, i].abs().max() > 1e-6]
        return sorted(found)

    report = evaluate("find_peeking", one_input, seed)
    assert report.state == "wrong_value" and report.misconception is None
    assert "misses" in report.message and "certain inputs" in report.message


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


def test_the_pair_that_is_asked_for_is_not_in_the_message():
    for seed in range(4):
        report = evaluate("find_peeking", lambda layer, T, d: [], seed)
        assert "(0, 1)" not in report.message and "(0, 2)" not in report.message


def test_what_is_no_pair_is_called_so():
    report = evaluate("find_peeking", lambda layer, T, d: ["x_1 reads x_2"], 0)
    assert report.message == "As result[0], your function returns one str; it should return a tuple of 2."
    [check] = EXERCISES["find_peeking"].checks
    sound = [args for args in check.cases(torch.Generator().manual_seed(0)) if not EXERCISES["find_peeking"].expected(*args)]
    for args in sound:
        fault = check.fault(Record(args, [], Outcome("value", ["x_1 reads x_2"])))
        assert fault.message == "Your list should hold pairs (i, j) of whole numbers."
    assert len(sound) == 1


def test_the_tip_on_hidden_paths_is_given_of_a_layer_that_has_some():
    for rest in (0, 1):
        answer = EXERCISES["find_peeking"].solve if rest else lambda layer, T, d: []
        report = evaluate("find_peeking", lambda layer, T, d, answer=answer: answer(layer, T, d)[:-1], 0)
        assert "misses" in report.message and "certain inputs" not in report.message and "softmax(scores) * mask" in report.message


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


def test_a_wrong_gradient_is_not_called_a_wrong_value():
    def cut_at_the_first(x, h0, Wx, Wh, b):
        h, states = h0, []
        for t in range(x.shape[1]):
            h = torch.tanh(x[:, t] @ Wx.T + (h if t != 1 else h.detach()) @ Wh.T + b)
            states.append(h)
        return torch.stack(states, 1)

    report = evaluate("rnn_forward", cut_at_the_first, 3)
    assert report.state == "wrong_gradient" and report.misconception is None
    assert "is not. Your gradient is wrong only at index 0 of axis 1" in report.message, report.message
    assert say_of_gradient("3 of your 12 values are too small, each by another amount.").startswith("3 of its 12 entries are too small")
    assert say_of_gradient("Your value has the wrong sign.") == "It has the wrong sign."


@pytest.mark.parametrize("seed", range(3))
def test_an_opposite_mask_is_shown_on_a_small_case(seed):
    for kind in ("-1e9", "-inf"):
        report = evaluate("cross_attention", WRONG[f"cross_attention: {kind} where the mask is True"], seed)
        assert "\n  src_mask: bool, shape (" in report.shown and "*" in report.shown
