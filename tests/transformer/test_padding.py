"""Texts as tokens and mask: what is passed on, what is refused. What is right: padding_checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.decoding import exhaustive, greedy
from course_lib.tokenizers import left_pad, tokens_and_mask
from course_lib.tokenizers.sequences import check_prompt
from course_lib.transformer import bert
from tests.transformer import padding_checks as check
from tests.transformer.padding_checks import ROWS, encoder_decoder, padded

small_gpt, small_bert = check.gpt, check.bert(bert)


def test_bert_reads_no_padding():
    check.bert_reads_no_padding(bert)


def test_bert_refuses_left_padding():
    tokens, mask = padded("left")
    with pytest.raises(ValueError, match=r"mask is False at the first position of a row; expected padding on the right"):
        small_bert(tokens, mask=mask)


def test_decoding_refuses_batches():
    with pytest.raises(ValueError, match="batch is 2; .* 3, as in context"):
        greedy(small_gpt(), 5, context=left_pad(ROWS), batch=2)
    with pytest.raises(ValueError, match="context has 3 rows"):
        exhaustive(small_gpt(), 3, context=left_pad(ROWS))


# --- what was written before, and what is no mask --------------------------------------------------------------------


def test_tokens_and_mask():
    tokens, mask = padded(fill=-5)
    same_tokens, none = tokens_and_mask(tokens, 7)
    assert same_tokens is tokens and none is None and tokens_and_mask((tokens, None), 7)[1] is None
    filled, again = tokens_and_mask((tokens, mask), 7)
    assert again is mask and (filled[~mask] == 0).all() and torch.equal(filled[mask], tokens[mask])
    assert (tokens[~mask] == -5).all(), "the caller's tokens stay as they are"
    assert torch.equal(tokens_and_mask((tokens, ~mask), 5)[0], tokens.where(tokens < 5, 0)), "of what is hidden alone"


FULL = torch.ones(3, 7, dtype=torch.bool)


@pytest.mark.parametrize("call, error, says", [
    (lambda: small_gpt().start(2, torch.tensor([[-1, -1, 1], [2, 0, 1]])), ValueError, "context contains -1 at"),
    (lambda: small_gpt().sample(3, context=FULL, length=2), ValueError, "context is boolean; expected integer tokens"),
    (lambda: small_gpt().loss(FULL), ValueError, "tokens is boolean"),
    (lambda: small_gpt().loss((padded()[0], FULL.long())), ValueError, "torch.int64; expected .* torch.bool"),
    (lambda: small_gpt().loss((padded()[0], FULL[:, :4])), ValueError, r"\(3, 4\) .* expected \(3, 7\), as tokens"),
    (lambda: encoder_decoder().encode((padded()[0], FULL.float())), ValueError, "mask has shape .* torch.float32"),
    (lambda: encoder_decoder().loss((padded(), padded("left"))), ValueError, "mask of target has padding left of a"),
    (lambda: tokens_and_mask([[1, 2], [3]], 7), TypeError, "tokens is of type list; expected a tensor"),
    (lambda: tokens_and_mask((FULL,), 7, name="source"), TypeError, "source is a tuple of Tensor; expected a tensor"),
    (lambda: check_prompt(small_gpt(), padded(), 3, 1), ValueError, "context is a pair; GPT expects prompts of one length"),
])
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()
