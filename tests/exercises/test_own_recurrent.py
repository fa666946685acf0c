"""The reference of `OwnRecurrent` is the library's language model, on the same weights; its text asks for more than a few letters."""
from __future__ import annotations

import math
from collections import Counter, defaultdict

import pytest
import torch

from course_lib.exercises.recurrent._agreement_text import LETTERS, agreement
from course_lib.exercises.recurrent.own_recurrent import GAP, chosen, with_cell
from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.protocol.models import ModelServer
from course_lib.grading.proxy import Proxy
from course_lib.recurrent import RecurrentLM


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_it_is_the_language_model_of_the_library(kind):
    torch.manual_seed(0)
    model, theirs = with_cell(kind)(symbols=6, hidden=4, bos_id=2), RecurrentLM(6, 4, kind, bos_id=2)
    cell = theirs.layers.cells[0]
    assert dict(cell.named_parameters()).keys() | {"head.weight", "head.bias"} == dict(model.named_parameters()).keys()
    with torch.no_grad():
        for name, own in model.named_parameters():
            own.copy_(0.8 * torch.randn(own.shape))
            theirs.get_parameter(name if name.startswith("head") else f"layers.cells.0.{name}").copy_(own)
    tokens = torch.randint(6, (3, 9))
    (logits, state), (right, memory) = model.read(tokens), theirs.read(tokens)
    torch.testing.assert_close(logits, right)
    torch.testing.assert_close(state, memory[0])
    on, right_on = model.read(tokens[:, :2], state), theirs.read(tokens[:, :2], memory)
    torch.testing.assert_close((on[0], on[1]), (right_on[0], right_on[1][0]))
    torch.testing.assert_close(model.log_prob(tokens), theirs.log_prob(tokens))
    torch.testing.assert_close(model.log_prob(tokens, tokens[:, :3]), theirs.log_prob(tokens, tokens[:, :3]))
    torch.testing.assert_close(model.start(3, tokens), theirs.start(3, tokens).memory[0])


def test_the_cell_that_was_chosen_is_seen_by_its_rows():
    def run_of(kind):
        def run(what, config, weights):
            return 0 if what == "make" else dict(with_cell(kind)(symbols=5, hidden=3, bos_id=0).named_parameters())

        return run

    for kind in ("lstm", "gru"):
        found, config, weights = chosen(run_of(kind), torch.Generator().manual_seed(1))
        assert found == kind and len(weights["W_h"]) == {"lstm": 4, "gru": 3}[kind] * config["hidden"]


def counted(train: list[int], test: list[int], read: int) -> float:
    """Nats a letter of new text by counts of what follows the last `read` letters, each length mixed with the shorter one
    (Witten and Bell)."""
    V, seen = len(LETTERS), defaultdict(Counter)
    for t in range(read, len(train)):
        for k in range(read + 1):
            seen[tuple(train[t - k:t])][train[t]] += 1
    total = 0.0
    for t in range(read, len(test)):
        p = 1 / V
        for k in range(read + 1):
            after = seen.get(tuple(test[t - k:t]))
            p = p if after is None else (after[test[t]] + len(after) * p) / (after.total() + len(after))
        total -= math.log(p)
    return total / (len(test) - read)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_counts_of_a_few_letters_do_not_reach_the_score(seed):
    train, new = (agreement(torch.Generator().manual_seed(s))[1].tolist() for s in (seed, 100 + seed))
    assert min(counted(train, new[:8000], read) for read in (1, 2, 3)) > GAP


def test_the_state_is_read_a_letter_at_a_time_so_reading_ahead_gains_nothing():
    """A read whose logits at t have seen letter t + 1 of the same window: no part of it reaches the score."""
    class Ahead(with_cell("gru")):
        def read(self, tokens, state=None):
            logits, after = super().read(tokens, state)
            if tokens.shape[1] > 1:
                logits = logits.clone()
                logits[:, :-1].scatter_add_(2, tokens[:, 1:, None], torch.full_like(logits[:, :-1, :1], 20.0))
            return logits, after

        def fit(self, text):
            pass

    _, train, cost = agreement(torch.Generator().manual_seed(0))
    ask = ModelServer(Ahead)
    assert cost(Proxy(ask, ask("make", {"symbols": len(LETTERS), "hidden": 8, "bos_id": 0}))) > 2
    assert evaluate("OwnRecurrent", Ahead, 0).earned == 0


def test_the_parts_have_points_of_their_own():
    class NotTrained(with_cell("lstm")):
        def fit(self, text):
            pass

    report = evaluate("OwnRecurrent", NotTrained, 0)
    assert (report.earned, report.possible) == (12, EXERCISES["OwnRecurrent"].possible)
    assert "leaves the model as it was made" in report.message or report.misconception == "untrained"
