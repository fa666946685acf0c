"""Bad input is refused by name. What is right: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.transformer import BERT, BERTConfig
from course_lib.transformer import denoising as library


def small_bert(V):
    return BERT(BERTConfig(vocab_size=V, window=8, layers=1, heads=2, d_model=4))


@pytest.mark.parametrize("call, said", [
    (lambda: library.token_masking(torch.zeros(2, 3).long(), 0), "tokens has shape"),
    (lambda: library.token_deletion(torch.arange(3), 1.2), "rate is 1.2; expected a share"),
    (lambda: library.text_infilling(torch.arange(3), 0, mean=0), "mean is 0"),
    (lambda: library.text_infilling(torch.arange(3), 0, rate=-1), "rate is -1"),
    (lambda: library.span_corruption(torch.arange(9), [20, 20, 21]), "each sentinel once"),
    (lambda: library.exchange(torch.arange(9), [(3, 5), (4, 6)], range(20, 29)), r"\(4, 6\) after a span"),
    (lambda: library.StaticMasking(torch.zeros(2, 3).long(), 0, mask_id=1, vocab_size=3), "copies is 0"),
    (lambda: library.order_masks([0, 0, 1]), "permutation of 0 to 2"),
    (lambda: library.XLNet(3, 3, layers=0), "layers is 0"),
    (lambda: library.XLNet(3, 3).loss_in(torch.zeros(1, 3).long(), range(3), last=4), "last is 4"),
    (lambda: library.ELECTRA(small_bert(5), small_bert(6)), "a vocabulary of 5 tokens and discriminator of 6"),
    (lambda: library.ELECTRA(small_bert(5), small_bert(5), -1), "weight is -1"),
    (lambda: library.replace(torch.zeros(1, 3).long(), torch.ones(1, 2).bool(), torch.zeros(1, 3).long()), "chosen has"),
    (lambda: library.DisentangledAttention(8, 3, 2), "expected a multiple of heads, 3"),
    (lambda: library.DisentangledAttention(8, 2, 0), "span is 0"),
    (lambda: library.DisentangledAttention(8, 2, 2, ["content"]), "terms is"),
    (lambda: library.gap_sentences([["a"], ["b"]], 2), "number is 2; expected 1 to 1"),
    (lambda: library.gap_sentences([["a"], ["b"]], by="best"), "by is 'best'"),
    (lambda: library.BARTConfig(9, 9, 1, 2, 2, norm="pre"), "expected tied 'all' and norm 'post'"),
    (lambda: library.BARTConfig(9, 9, 1, 2, 2, window=0), "window is 0"),
    (lambda: library.BARTConfig(9, 9, 1, 2, 2, activation="tanh"), "activation is 'tanh'"),
    (lambda: library.T5Config(9, 9, 0, 0, 1, buckets=6), "buckets is 6"),
])
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()
