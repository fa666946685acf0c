"""What ELMo refuses. Its two language models, mixture and pieces beside torch's: checks.py."""
from __future__ import annotations

import re

import pytest
import torch

from course_lib.words import BiLM, LayerMix, OneWay, words_of_pieces
from tests.support.types import untyped


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
    (lambda: OneWay(BiLM(5, 4), 5), "edge is 5; expected 0 to 4, a token of the BiLM"),
    (lambda: OneWay(BiLM(5, 4), 0, backward=True),
     "backward is True and n is None; expected the number of tokens n"),
    (lambda: LayerMix(2)([torch.zeros(3)]), "states has shapes [(3,)]; expected 2 tensors of one shape"),
    (lambda: words_of_pieces(torch.zeros(1, 2, 3), torch.zeros(1, 3, dtype=torch.long), 1),
     "word has shape (1, 3); expected (1, 2), an index for each token of states"),
    (lambda: words_of_pieces(torch.zeros(1, 2, 3), torch.tensor([[0, 1]]), 1), "word contains indices from 0 to 1; expected 0 to 0, because words is 1, or -1 for a token without word"),
])
def test_bad_input(call, message):
    with untyped(), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_bad_tokens():
    with pytest.raises(ValueError, match="tokens contains 5"):
        BiLM(5, 4)(torch.tensor([[1, 5]]))
