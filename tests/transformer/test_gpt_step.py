"""GPT's step of generation: the same numbers with fewer calls, and no call left out that somebody waits for."""
from __future__ import annotations

import pytest
import torch

from course_lib.contract import check_all, check_views_agree
from course_lib.decoding import greedy
from course_lib.transformer import _gpt_step, gpt
from course_lib.transformer.heads import switched_off
from tests.transformer import checks as check
from tests.transformer.checks import PARTS, small, steps_as_the_plain_pass


def test_hooks_dropout_and_other_classes():
    check.calls_what_listens(gpt)


def test_the_parts_are_all_that_the_plain_pass_calls():
    model, called = small(), set()
    hooks = [part.register_forward_hook(lambda *_, name=name: called.add(name)) for name, part in model.named_modules()]
    model.conditionals(torch.tensor([[1, 2]]))
    for hook in hooks:
        hook.remove()
    assert {name for name in called if not name.startswith("blocks.0")} - {""} == set(PARTS)


@pytest.mark.thorough
@pytest.mark.parametrize("heads", [[(0, 0)], [(0, 1), (1, 2)], [(1, 0), (1, 1), (1, 2)]])
def test_heads_that_are_off_stay_off_while_it_generates(heads):
    model = small(vocab_size=3)
    whole = greedy(model, 8).log_prob
    with switched_off(model, heads):
        check_views_agree(model, length=5)
        check_all(model, length=4)
        assert (greedy(model, 8).log_prob - whole).abs() > 1e-3
    assert torch.equal(greedy(model, 8).log_prob, whole)


def test_the_short_way_is_taken_where_nothing_forbids_it(monkeypatch):
    model, taken, attended = small(), [], _gpt_step.attended
    monkeypatch.setattr(_gpt_step, "attended", lambda *given: taken.append(1) or attended(*given))
    steps_as_the_plain_pass(model)
    assert len(taken) == 5 * 2
    with switched_off(model, [(0, 0)]):                              # by a hook on W^O
        steps_as_the_plain_pass(model)
    assert len(taken) == 5 * 2
