"""The encoder-decoder with one vector and with attention, and the language model that looks back."""
from __future__ import annotations

import pytest
import torch

from course_lib.contract import check_all
from course_lib.recurrent import SCORES, AttentiveLM, Seq2Seq, attentive
from tests.recurrent import attention_checks as check

NAMES = [f"{score or 'one vector'}, {placement}" for score, placement in check.ARMS]


@pytest.mark.parametrize("score, placement", check.ARMS, ids=NAMES)
def test_log_prob_equals_loop(score, placement):
    check.follows_its_equations(score, placement)


@pytest.mark.parametrize("changes", [{"cell": "lstm"}, {"cell": "rnn", "bidirectional": False}, {"tied": True, "embedding": 5}],
                         ids=["lstm", "one direction", "tied"])
@pytest.mark.parametrize("score, placement", [("additive", "before"), (None, "after")], ids=["attention", "one vector"])
def test_log_prob_equals_loop_other_parts(score, placement, changes):
    check.follows_its_equations(score, placement, **changes)


@pytest.mark.parametrize("score, placement", [(None, "before"), ("bilinear", "before"), ("additive", "after")])
def test_contract(score, placement):
    check.keeps_the_contract(score, placement)
    torch.manual_seed(0)
    assert "causal, normalized" in str(check_all(Seq2Seq(5, 3, 4, score, placement), length=3,
                                                 context=torch.tensor([[3, 4, 3]])))


@pytest.mark.parametrize("call, error", [
    (lambda: check.small(placement="between"), "placement is 'between'; expected one of 'before', 'after'"),
    (lambda: check.small(score="cosine"), "score is 'cosine'; expected one of 'dot'"),
    (lambda: Seq2Seq(5, 5, 4, "dot"), "key is 8 and query is 4; expected equal sizes"),
    (lambda: check.small(dropout=1), "dropout is 1; expected a probability"),
    (lambda: check.small(bos_id=13), r"bos_id is 13; expected 0 to 12"),
    (lambda: check.small(eos_id=0), "eos_id and pad_id are both 0"),
    (lambda: check.small().log_prob(check.TARGET), r"context is None; expected the tokens of the source \(B, S\)"),
    (lambda: check.small().log_prob(check.TARGET, check.SOURCE[:2]), r"context has shape \(2, 4\); expected .* B = 3"),
    (lambda: check.small().encode(torch.tensor([[4, 3], [0, 0]])), "context has a row without tokens"),
    (lambda: check.small().encode(torch.tensor([[4, 0, 4]])), "context has padding left of a token"),
    (lambda: check.small().encode(torch.tensor([[4, 11]])), r"context contains tokens from 4 to 11; expected 0 to 10"),
    (lambda: check.small().encode(torch.tensor([4, 1])), r"context has shape \(2,\)"),
    (lambda: check.small().loss((check.SOURCE, torch.tensor([[4, 0, 2]] * 3))), "target has padding left of a token"),
    (lambda: AttentiveLM(5, 4).read(torch.tensor([[1, 2]]), memory=()), "memory is a tuple; expected None"),
    (lambda: AttentiveLM(5, 4).log_prob(torch.tensor([[1, 2]])), "neither a bos_id nor a learned start"),
], ids=["placement", "score", "width", "dropout", "bos", "eos", "no context", "rows", "empty", "left", "range", "axes", "target",
        "memory", "prompt"])
def test_bad_input(call, error):
    with pytest.raises(ValueError, match=error):
        call()


# --- the language model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_attentive_lm_equals_loop(score):
    check.looks_back(attentive, score)
    check_all(AttentiveLM(3, 4, "gru", score, bos_id=0), length=4)
