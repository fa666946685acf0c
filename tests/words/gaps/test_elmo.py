"""ELMo: two language models with torch's LSTMs, no direction that sees ahead, the mixture of layers, pieces to words."""
from __future__ import annotations

import re

import pytest
import torch

from course_lib import hub
from course_lib.words import BiLM, LayerMix, OneWay, elmo, words_of_pieces
from tests.support.types import untyped
from tests.words.gaps import checks as check


def test_two_language_models():
    check.is_two_torch_lstms(BiLM)
    check.neither_direction_looks_ahead(elmo)


def test_the_loss():
    check.loss_is_both_log_probs(elmo)
    check.padded_loss_is_that_of_the_rows(BiLM)


def test_layers_of_any_number():
    tokens = torch.tensor([[1, 2, 3]])
    for layers in (1, 3):
        model = BiLM(5, 4, layers)
        assert len(model.states(tokens)) == layers + 1 and model(tokens)[0].shape == (1, 3, 5)


def test_a_layer_changes_with_the_sentence_and_the_word_vector_does_not():
    model = BiLM(6, 4)
    here, there = model.states(torch.tensor([[1, 5, 2]])), model.states(torch.tensor([[3, 5, 4]]))
    assert torch.equal(here[0][0, 1], there[0][0, 1])
    assert not torch.allclose(here[1][0, 1], there[1][0, 1], atol=1e-4)


def test_the_mixture():
    check.is_the_scalar_mixture(LayerMix)


def test_pieces_to_words():
    check.is_the_mean_of_the_pieces(words_of_pieces)


def test_it_can_be_stored(tmp_path):
    model = BiLM(7, 4, layers=1, dropout=0.25).eval()
    hub.save(model, tmp_path, "small", hub.Card("a test", "nothing", "MIT", "this test"))
    again, tokens = hub.load(tmp_path / "small"), torch.tensor([[1, 2, 3]])
    assert again.config == model.config and torch.equal(again(tokens)[1], model(tokens)[1])


@pytest.mark.parametrize("call, message", [
    (lambda: BiLM(1, 4), "vocab_size is 1; expected at least 2"),
    (lambda: BiLM(5, 0), "width is 0; expected at least 1"),
    (lambda: BiLM(5, 4, 0), "layers is 0; expected at least 1"),
    (lambda: BiLM(5, 4, dropout=1.0), "dropout is 1.0; expected a probability of dropping, from 0 to below 1"),
    (lambda: BiLM(5, 4)(torch.tensor([1, 2])), "tokens has shape (2,); expected (B, T), neither of them 0"),
    (lambda: BiLM(5, 4).loss(torch.tensor([[1]])),
     "a row has 1 token; expected at least 2, one to predict the other from"),
    (lambda: BiLM(5, 4)(torch.tensor([[1, 2]]), torch.tensor([[False, True]])),
     "the mask of tokens has padding before a token; expected the tokens at the left of each row"),
    (lambda: OneWay(BiLM(5, 4), 5), "edge is 5; this vocabulary has 0..4"),
    (lambda: OneWay(BiLM(5, 4), 0, backward=True),
     "backward is True and n is None; the last token comes first: expected its place, n tokens"),
    (lambda: LayerMix(0), "layers is 0; expected at least 1"),
    (lambda: LayerMix(2)([torch.zeros(3)]), "states has shapes [(3,)]; expected 2 of one shape"),
    (lambda: words_of_pieces(torch.zeros(1, 2, 3), torch.zeros(1, 3, dtype=torch.long), 1),
     "word has shape (1, 3); expected (1, 2), as the states"),
    (lambda: words_of_pieces(torch.zeros(1, 2, 3), torch.tensor([[0, 1]]), 1), "word goes from 0 to 1; expected -1 to 0"),
])
def test_what_is_refused(call, message):
    with untyped(), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_tokens_outside_the_vocabulary():
    with pytest.raises(ValueError, match="tokens holds 5"):
        BiLM(5, 4)(torch.tensor([[1, 5]]))
