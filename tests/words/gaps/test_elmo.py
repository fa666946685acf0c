"""ELMo: two language models with torch's LSTMs, no direction that sees ahead, the mixture of layers, pieces to words."""
from __future__ import annotations

import re

import pytest
import torch

from course_lib.words import BiLM, LayerMix, OneWay, elmo, words_of_pieces
from tests.support.types import untyped
from tests.words.gaps import checks as check


def test_states_equal_torch_lstms():
    check.is_two_torch_lstms(BiLM)
    check.neither_direction_looks_ahead(elmo)


def test_the_loss():
    check.loss_is_both_log_probs(elmo)
    check.padded_loss_is_that_of_the_rows(BiLM)


def test_layers_any_number():
    tokens = torch.tensor([[1, 2, 3]])
    for layers in (1, 3):
        model = BiLM(5, 4, layers)
        assert len(model.states(tokens)) == layers + 1 and model(tokens)[0].shape == (1, 3, 5)


def test_layer_mix():
    check.is_the_scalar_mixture(LayerMix)


def test_words_of_pieces():
    check.is_the_mean_of_the_pieces(words_of_pieces)


@pytest.mark.parametrize("call, message", [
    (lambda: BiLM(1, 4), "vocab_size is 1; expected at least 2"),
    (lambda: BiLM(5, 0), "width is 0; expected at least 1"),
    (lambda: BiLM(5, 4, 0), "layers is 0; expected at least 1"),
    (lambda: BiLM(5, 4, dropout=1.0), "dropout is 1.0; expected a probability, at least 0 and less than 1"),
    (lambda: BiLM(5, 4)(torch.tensor([1, 2])), "tokens has shape (2,); expected (B, T) with B and T at least 1"),
    (lambda: BiLM(5, 4).loss(torch.tensor([[1]])),
     "tokens has shape (1, 1); expected (B, T) with T at least 2"),
    (lambda: BiLM(5, 4)(torch.tensor([[1, 2]]), torch.tensor([[False, True]])),
     "the mask of tokens has padding before a token; expected padding on the right only"),
    (lambda: OneWay(BiLM(5, 4), 5), "edge is 5; expected 0 to 4"),
    (lambda: OneWay(BiLM(5, 4), 0, backward=True),
     "backward is True and n is None; expected the number of tokens n"),
    (lambda: LayerMix(0), "layers is 0; expected at least 1"),
    (lambda: LayerMix(2)([torch.zeros(3)]), "states has shapes [(3,)]; expected 2 tensors of one shape"),
    (lambda: words_of_pieces(torch.zeros(1, 2, 3), torch.zeros(1, 3, dtype=torch.long), 1),
     "word has shape (1, 3); expected (1, 2), as in states"),
    (lambda: words_of_pieces(torch.zeros(1, 2, 3), torch.tensor([[0, 1]]), 1), "word goes from 0 to 1; expected -1 to 0"),
])
def test_bad_input(call, message):
    with untyped(), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_bad_tokens():
    with pytest.raises(ValueError, match="tokens contains 5"):
        BiLM(5, 4)(torch.tensor([[1, 5]]))
