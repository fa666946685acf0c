"""GPT's step of generation: the same numbers with fewer calls, and no call left out that somebody waits for."""
from __future__ import annotations

import pytest
import torch

from course_lib.contract import check_all, check_views_agree
from course_lib.decoding import greedy
from course_lib.transformer import _gpt_step, gpt
from course_lib.transformer.heads import switched_off
from tests.transformer import checks as check
from tests.transformer.checks import small, steps_as_the_plain_pass


def test_step_calls_hooks():
    check.calls_what_listens(gpt)


@pytest.mark.thorough
@pytest.mark.parametrize("heads", [[(0, 0)], [(0, 1), (1, 2)], [(1, 0), (1, 1), (1, 2)]])
def test_step_heads_switched_off(heads):
    model = small(vocab_size=3)
    whole = greedy(model, 8).log_prob
    with switched_off(model, heads):
        check_views_agree(model, length=5)
        check_all(model, length=4)
        assert (greedy(model, 8).log_prob - whole).abs() > 1e-3
    assert torch.equal(greedy(model, 8).log_prob, whole)


def test_step_fast_path_taken(monkeypatch):
    model, taken, attended = small(), [], _gpt_step.attended
    monkeypatch.setattr(_gpt_step, "attended", lambda *given: taken.append(1) or attended(*given))
    steps_as_the_plain_pass(model)
    assert len(taken) == 5 * 2
    with switched_off(model, [(0, 0)]):                              # by a hook on W^O
        steps_as_the_plain_pass(model)
    assert len(taken) == 5 * 2
