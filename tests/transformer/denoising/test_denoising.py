"""The library keeps what `checks` asks; bad input is refused by name."""
from __future__ import annotations

import pytest
import torch

from course_lib.transformer import BERT, BERTConfig
from course_lib.transformer import denoising as library
from course_lib.transformer.denoising import deberta, electra, masking, noises, pegasus, sentinels, t5, xlnet
from tests.support.random import rng
from tests.transformer.denoising import checks as check

ASKED = [(noises, check.masks_tokens_in_place), (noises, check.deletes_without_a_trace), (noises, check.infills_spans),
         (noises, check.permutes_sentences), (noises, check.rotates), (sentinels, check.gives_the_text_back),
         (sentinels, check.covers_its_share), (sentinels, check.refuses_what_is_no_pair), (masking, check.is_static_or_not),
         (xlnet, check.masks_by_order), (xlnet, check.keeps_the_contract), (xlnet, check.sums_to_one_in_every_order),
         (xlnet, check.equals_masked_passes), (xlnet, check.asks_for_the_last), (electra, check.labels_what_was_put_in),
         (electra, check.asks_at_every_place), (electra, check.draws_from_the_generator),
         (deberta, check.is_the_sum_of_three), (deberta, check.knows_distances_alone), (pegasus, check.is_rouge),
         (pegasus, check.takes_what_says_most), (t5, check.buckets_distances), (t5, check.t5_steps)]


@pytest.mark.parametrize("module, asks", ASKED, ids=lambda part: getattr(part, "__name__", "").rpartition(".")[2])
def test_denoising(module, asks):
    asks(module)


def test_noise_repeatable():
    for noise in (lambda g: noises.token_masking(check.TEXT, 0, generator=g),
                  lambda g: noises.token_deletion(check.TEXT, generator=g),
                  lambda g: noises.text_infilling(check.TEXT, 0, generator=g),
                  lambda g: noises.sentence_permutation(check.TEXT, 9, generator=g),
                  lambda g: noises.document_rotation(check.TEXT, generator=g),
                  lambda g: torch.cat(sentinels.span_corruption(check.TEXT, range(90, 99), generator=g))):
        before = check.TEXT.clone()
        assert torch.equal(noise(rng(3)), noise(rng(3))) and torch.equal(check.TEXT, before)


def small_bert(V):
    return BERT(BERTConfig(vocab_size=V, window=8, layers=1, heads=2, d_model=4))


@pytest.mark.parametrize("call, said", [
    (lambda: library.token_masking(torch.zeros(2, 3).long(), 0), "tokens has shape"),
    (lambda: library.token_masking(torch.zeros(0).long(), 0), "tokens has shape"),
    (lambda: library.token_deletion(torch.arange(3), 1.2), "rate is 1.2; expected a share"),
    (lambda: library.text_infilling(torch.arange(3), 0, mean=0), "mean is 0"),
    (lambda: library.text_infilling(torch.arange(3), 0, rate=-1), "rate is -1"),
    (lambda: library.span_corruption(torch.arange(9), range(20, 29), mean=0.5), "mean is 0.5"),
    (lambda: library.span_corruption(torch.arange(9), [20, 20, 21]), "each sentinel once"),
    (lambda: library.exchange(torch.arange(9), [(3, 5), (4, 6)], range(20, 29)), r"\(4, 6\) after a span"),
    (lambda: library.StaticMasking(torch.zeros(2, 3).long(), 0, mask_id=1, vocab_size=3), "copies is 0"),
    (lambda: library.order_masks([0, 0, 1]), "permutation of 0 to 2"),
    (lambda: library.XLNet(3, 3, layers=0), "layers is 0"),
    (lambda: library.XLNet(3, 3).loss_in(torch.zeros(1, 3).long(), range(3), last=4), "last is 4"),
    (lambda: library.ELECTRA(small_bert(5), small_bert(6)), "5 tokens and discriminator 6"),
    (lambda: library.ELECTRA(small_bert(5), small_bert(5), -1), "weight is -1"),
    (lambda: library.replace(torch.zeros(1, 3).long(), torch.ones(1, 2).bool(), torch.zeros(1, 3).long()), "chosen has"),
    (lambda: library.DisentangledAttention(8, 3, 2), "expected a multiple of heads, 3"),
    (lambda: library.DisentangledAttention(8, 2, 0), "span is 0"),
    (lambda: library.DisentangledAttention(8, 2, 2, ["content"]), "terms is"),
    (lambda: library.gap_sentences([["a"], ["b"]], 2), "number is 2; expected 1 to 1"),
    (lambda: library.gap_sentences([["a"], ["b"]], by="best"), "by is 'best'"),
    (lambda: library.rouge_n(["a"], ["b"], 0), "n is 0"),
    (lambda: library.BARTConfig(9, 9, 1, 2, 2, norm="pre"), "expected 'all' and 'post'"),
    (lambda: library.BARTConfig(9, 9, 1, 2, 2, window=0), "window is 0"),
    (lambda: library.BARTConfig(9, 9, 1, 2, 2, activation="tanh"), "activation is 'tanh'"),
    (lambda: library.T5Config(9, 9, 0, 0, 1, buckets=6), "buckets is 6"),
    (lambda: library.T5Config(9, 8, 0, 0, 1, tied="none"), "one vocabulary"),
])
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()
