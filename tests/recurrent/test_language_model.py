"""The recurrent language model: the contract, prompts, its start, the slide's 'hello', streams."""
from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from course_lib.contract import check_all
from course_lib.recurrent import AttentiveLM, Carried, RecurrentLM, Seq2Seq, nats_of_text, streams
from course_lib.recurrent import truncated as truncated_module
from course_lib.transformer import left_pad
from tests.recurrent import checks as check
from tests.support.random import drawn, rng
from tests.support.tensors import same
from tests.support.types import untyped

MODELS = {"one-hot RNN": {"cell": "rnn"}, "LSTM of two layers": {"layers": 2, "embedding": 3, "dropout": 0.3},
          "GRU": {"cell": "gru", "layers": 2}}


def made(name="one-hot RNN", **more):
    return RecurrentLM(5, 6, **{**MODELS[name], **more})


@pytest.mark.parametrize("start", [{"bos_id": 0}, {"learned_start": True}], ids=["bos", "h_0"])
@pytest.mark.parametrize("name", MODELS)
def test_contract(name, start):
    assert "causal, normalized" in str(check_all(RecurrentLM(3, 4, **{**MODELS[name], **start}), length=4))


def test_contract_with_prompts():
    prompts = torch.tensor([[1, 2], [0, 0]])
    check_all(RecurrentLM(3, 4, "gru"), length=3, context=prompts)
    check_all(RecurrentLM(3, 4, "lstm"), length=3, context=left_pad([[1, 2, 0], [2]]))


def test_learned_start():
    check.starts_from_h0(made(learned_start=True))
    model = drawn(made(learned_start=True))
    same(model.log_prob(torch.tensor([[3]])), model.head(model.layers.first[-1, 0]).log_softmax(-1)[3:4])


@pytest.mark.parametrize("make, context", [
    (lambda: RecurrentLM(5, 4, "gru", bos_id=0), None), (lambda: AttentiveLM(5, 4, "gru", bos_id=0), None),
    (lambda: Seq2Seq(6, 5, 4, pad_id=0, bos_id=1, eos_id=2), torch.tensor([[3, 4, 2], [4, 2, 0]])),
], ids=["recurrent", "attentive", "seq2seq"])
def test_update_bad_input(make, context):
    model = make().eval()
    state = model.start(2, context)
    with pytest.raises(ValueError, match=r"x_i contains 9 at \[1\]; a categorical variable with 5 values takes 0 to 4"):
        model.update(state, torch.tensor([3, 9]))
    with untyped():
        for x_i in (torch.tensor([3, 4, 3]), torch.tensor([3]), torch.tensor([[3, 4]])):
            said = re.escape(f"x_i has shape {tuple(x_i.shape)}; expected (2,), a token for each row")
            with pytest.raises(ValueError, match=said):
                model.update(state, x_i)
    assert model.predict(model.update(state, torch.tensor([3, 4]))).batch_shape == (2,)


def test_log_prob_by_hand():
    """The slide's four letters: probabilities by hand, from W_hh, W_xh, W_hy and h_0."""
    model = drawn(RecurrentLM(4, 3, "rnn", learned_start=True)).eval()
    cell, word = model.layers.cells[0], [0, 1, 2, 2, 3]
    h, nats = model.layers.first[0, 0], 0.0
    for letter in word:
        o = model.head.weight @ h + model.head.bias
        nats = nats - (o[letter] - torch.logsumexp(o, 0))
        h = torch.tanh(cell.W_h @ h + cell.W_x @ nn.functional.one_hot(torch.tensor(letter), 4).double() + cell.b)
    same(-model.log_prob(torch.tensor([word])), nats[None])


# --- streams ---------------------------------------------------------------------------------------------------------


def test_streams_cover_text():
    text = torch.arange(100)
    batches = [rows for (rows,) in streams(text, 3, 8)]
    assert [tuple(rows.shape) for rows in batches] == [(3, 9)] * 4
    for row in range(3):
        said = torch.cat([rows[row, 1:] for rows in batches])
        assert torch.equal(said, torch.arange(32) + 32 * row + 1)


def test_carried_resume(tmp_path):
    check.goes_on_after_a_kill(truncated_module, tmp_path)


def test_nats_of_text():
    model = drawn(made("GRU"))
    text, before = torch.randint(5, (23,), generator=rng()), torch.tensor([1, 2, 3])
    nats = nats_of_text(model, text, before, piece=4)
    same(nats.sum(), -model.eval().log_prob(text[None], before[None])[0])
    assert nats.shape == (23,)


@pytest.mark.parametrize("call, error, message", [
    (lambda: RecurrentLM(1, 4), ValueError, "vocab_size is 1; expected at least 2"),
    (lambda: RecurrentLM(5, 0), ValueError, "hidden is 0; expected at least 1"),
    (lambda: RecurrentLM(5, 4, embedding=0), ValueError, "embedding is 0; expected at least 1, or None"),
    (lambda: RecurrentLM(5, 4, bos_id=5), ValueError, r"bos_id is 5; expected 0 to 4"),
    (lambda: RecurrentLM(5, 4).log_prob(torch.tensor([[1]])), ValueError, "neither a bos_id nor a learned start"),
    (lambda: made(bos_id=0).log_prob(torch.zeros(2, 0, dtype=torch.long)), ValueError, "x has no tokens"),
    (lambda: made()(torch.tensor([[1, 5]])), ValueError, r"tokens contains 5 at \[0, 1\]"),
    (lambda: made()(torch.tensor([1, 2])), ValueError, r"tokens has shape \(2,\); expected \(B, T\)"),
    (lambda: made()(torch.tensor([[1, 2, 3]]), torch.tensor([[True, False, True]])), ValueError,
     "with padding between tokens"),
    (lambda: made().loss(torch.tensor([[1]])), ValueError, r"tokens has shape \(1, 1\); expected \(B, T\) with T at least 2"),
    (lambda: made().start(3, torch.tensor([[1]])), ValueError, r"context has shape \(1, 1\); expected \(B, P\) with B = 3"),
    (lambda: made().start(1, (torch.tensor([[1, 2]]), torch.tensor([[True, False]]))), ValueError,
     "the mask of context is False at the end of a row"),
    (lambda: made().read(torch.tensor([[1]]), made().layers.start(2)), ValueError, "state 0 of memory has the shapes"),
    (lambda: streams(torch.arange(9), 2, 5), ValueError, r"text has shape \(9,\); expected \(T,\) with T at least 11"),
    (lambda: streams(torch.arange(9), 0, 5), ValueError, "batch is 0; expected at least 1"),
    (lambda: Carried(made(), 4).loss(torch.ones(3, 4, dtype=torch.long)), ValueError,
     "tokens has 3 rows; expected 4, one for each stream"),
    (lambda: nats_of_text(made(), torch.tensor([1]), torch.tensor([])), ValueError, "with T and S at least 1"),
])
def test_bad_input(call, error, message):
    with untyped(), pytest.raises(error, match=message):
        call()
