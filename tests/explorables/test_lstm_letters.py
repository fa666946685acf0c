"""The LSTM that reads letters: its numbers against torch's LSTM, what its cells follow measured anew, bad input."""
from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from benchmarks.explorables import READ, correlation, features
from course_lib import hub
from course_lib.data import load_data
from course_lib.explorables import LstmLetters
from course_lib.explorables.base import STATIC
from course_lib.explorables.lstm_letters import BEFORE, WEIGHTS, lstm_of, run
from course_lib.tokenizers import CharTokenizer


def by_torch(model, ids):
    """h of every letter, c of the last, and logits, by torch.nn.LSTM with these weights."""
    ours, H = lstm_of(model), lstm_of(model).hidden
    theirs = torch.nn.LSTM(ours.inputs, H, batch_first=True).double()
    rows = torch.cat([torch.arange(k * H, (k + 1) * H) for k in (0, 1, 3, 2)])                 # torch has i, f, g, o
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.W_x[rows])
        theirs.weight_hh_l0.copy_(ours.W_h[rows])
        theirs.bias_ih_l0.copy_(ours.b[rows])
        theirs.bias_hh_l0.zero_()
        h, (_, c) = theirs(torch.nn.functional.one_hot(torch.tensor([ids]), model.vocab_size).double())
        return h[0], c[0, 0], torch.nn.functional.linear(h[0], model.head.weight, model.head.bias)


def test_memory_and_logits_are_those_of_torch():
    w = LstmLetters()
    h, c, logits = by_torch(w._model, w.ids)
    torch.testing.assert_close(w.result.h, h, rtol=0, atol=1e-9)
    torch.testing.assert_close(w.result.c[-1], c, rtol=0, atol=1e-9)
    torch.testing.assert_close(w.result.logits, logits, rtol=0, atol=1e-9)
    with torch.no_grad():
        torch.testing.assert_close(w.result.logits, w._model(torch.tensor([w.ids]))[0], rtol=0, atol=1e-9)


def test_a_gate_that_is_held_is_held_and_no_other():
    w = LstmLetters(cell=22)
    free = run(w._model, w.ids)
    for number, gate in enumerate("ifo"):
        for value in (0, 1):
            held = run(w._model, w.ids, 22, f"{gate}={value}")
            assert (held.gates[:, number, 22] == value).all()
            assert torch.equal(held.gates[0, :, :22], free.gates[0, :, :22]), "the first letter's other gates are free"
    closed = run(w._model, w.ids, 22, "i=0")
    assert (closed.c[:, 22] == 0).all() and not torch.equal(closed.logits, free.logits)


def test_the_page_holds_the_rounded_weights_that_torch_runs():
    import base64

    w, model = LstmLetters(), hub.load(STATIC / "weights" / WEIGHTS)
    sent = np.frombuffer(base64.b64decode(w.weights), "<f2").astype("f4")
    lstm = lstm_of(model)
    want = torch.cat([p.detach().flatten() for p in (lstm.W_x, lstm.W_h, lstm.b, model.head.weight, model.head.bias)])
    assert np.array_equal(sent, want.numpy()) and w.hidden == 48
    assert len(json.dumps(w.get_state()).encode()) <= 100_000


def test_the_features_of_a_text():
    got = features("A:\nit's. b\n\nCD:\nx")
    assert got["the place in the line"].tolist() == [1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 1, 2, 3, 0, 1]
    assert got["the place in the word"].tolist() == [1, 0, 0, 1, 2, 3, 4, 0, 0, 1, 0, 0, 1, 2, 0, 0, 1]
    assert got["a speaker's name"].tolist() == [0] * 11 + [1, 1, 1, 1, 0, 0]
    assert got["the line of the speech"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 0, 0, 0, 1, 1]
    assert got["the place in the sentence"].tolist() == [1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    a, b = torch.randn(2, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert correlation(a[:, None], b)[0].item() == pytest.approx(np.corrcoef(a, b)[0, 1])


@pytest.mark.data
def test_cell_23_follows_the_place_in_the_line_as_the_card_says():
    """The correlation on the test text, the choice on the validation text, the forget gate where a line begins."""
    w, text = LstmLetters(), load_data("tiny_shakespeare")
    memory = run(w._model, w._tokenizer.encode(text.test[:READ]).tolist())
    measured = correlation(memory.c, features(text.test[:READ])["the place in the line"])
    assert measured[22].item() == pytest.approx(w.follows["correlation"], abs=0.001)
    assert w.follows["cell"] == 22 and w.follows["letters"] == READ
    chosen = correlation(run(w._model, w._tokenizer.encode(text.valid[:READ]).tolist()).c,
                         features(text.valid[:READ])["the place in the line"])
    assert chosen.abs().argmax() == 22
    first = torch.tensor([before == "\n" for before in " " + text.test[:READ - 1]])
    end = torch.tensor([letter == "\n" for letter in text.test[:READ]])
    forget = memory.gates[:, 1, 22]
    assert forget[end | first].mean() < 0.5 < 0.8 < forget[~(end | first)].mean()


def test_what_chapter_7_says_of_it():
    """The memory begins anew at each line; with f at 1 it falls from line to line. Three features are no cell's."""
    w = LstmLetters(typed="KING:\nWhat news, my lord, from home?\nWe wait for them.\nThey come with all their men.\n")
    ends = [k for k, letter in enumerate(BEFORE + w.typed) if letter == "\n"][3:]
    c = w.result.c[:, 22]
    assert all(c[a + 3:b].min() < c[a] - 1 and c[b + 1] > c[a + 3:b].min() + 1 for a, b in zip(ends, ends[1:-1]))
    w.held = "f=1"
    c = w.result.c[ends, 22]
    assert (c.diff() < -3).all()
    found = [each for each in hub.card(STATIC / "weights" / WEIGHTS).results.values() if isinstance(each, dict)]
    assert len(found) == 6 and sum(abs(each["correlation"]) < each["last letter alone"] for each in found) == 3


def test_words():
    w = LstmLetters(typed="Oh")
    lines = w.text().splitlines()
    assert len(lines) == 2 + 4 + 1 and lines[2].startswith("line end") and lines[-1].startswith("Most likely next: ")
    w.held = "f=1"
    assert w.text().endswith("Gate f of this cell is held at 1.") and repr(w) == "LstmLetters()"
    assert isinstance(w._tokenizer, CharTokenizer) and len(w.ids) == len(BEFORE + "Oh")
    bundle = w._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == w.text()


@pytest.mark.parametrize("make, message", [
    (lambda: LstmLetters(typed="caf\u00e9"), "typed has '\u00e9'; this model knows"),
    (lambda: LstmLetters(typed="a" * 161), "typed has 161 letters; expected at most 160"),
    (lambda: LstmLetters(cell=48), "cell is 48; expected 0 to 47"),
    (lambda: LstmLetters(letter=-1), "letter is -1; expected 0 to 161"),
    (lambda: LstmLetters(held="g=1"), "held is 'g=1'; expected one of '', 'i=0'"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
