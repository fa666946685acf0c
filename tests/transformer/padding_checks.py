"""One convention for texts of unequal length, asked of all three models; the tests and the mutants use these checks."""
from __future__ import annotations

import torch

from course_lib.contract import check_all
from course_lib.decoding import beam_search, exhaustive, greedy, sample, stochastic_beam
from course_lib.tokenizers import left_pad, pad
from course_lib.transformer import PretrainingBatch, mask_tokens
from tests.support.random import redrawn, rng
from tests.support.tensors import same
from tests.transformer import checks, transformer_checks

ROWS = [[3, 4, 5], [6], [5, 3, 4, 4, 6]]                             # of three lengths
FILLS = (0, 6, -1, 999)                                              # a token no row has, one of theirs, no tokens
SIDES = ("right", "left")
gpt = checks.small


def encoder_decoder(module=None, **changes):
    return redrawn(transformer_checks.small(module, **changes)).eval()


def bert(module):
    torch.manual_seed(0)
    return redrawn(module.BERT(module.BERTConfig(vocab_size=11, window=10, layers=2, heads=3, d_model=12))).eval()


def padded(side="right", fill=0, more=2):
    """The rows as tokens and mask, some columns wider than the longest of them."""
    tokens, mask = pad([*ROWS, [1] * (5 + more)], fill, side)
    return tokens[:-1], mask[:-1]


def gpt_reads_no_padding(module):
    """Whatever fills up, on either side: logits, loss and attention of each row as by itself."""
    model = gpt(module)
    for side in SIDES:
        for fill in FILLS:
            tokens, mask = padded(side, fill)
            logits = model(tokens, mask)
            for b, row in enumerate(ROWS):
                same(logits[b][mask[b]], model(torch.tensor([row]))[0])
            loss, count = model.loss((tokens, mask))
            each = [model.loss(torch.tensor([row])) for row in ROWS if len(row) > 1]
            assert count == sum(n for _, n in each) == 6
            same(loss, sum(value * n for value, n in each) / count)
            weights = model.attention_weights(tokens, mask)[1][0]
            same(weights[:, mask[0]][..., mask[0]], model.attention_weights(torch.tensor([ROWS[0]]))[1][0])


def bert_reads_no_padding(module):
    """On the right, where [CLS] leaves room for it: vectors, the sentence, and what is masked and asked."""
    model = bert(module)
    for fill in FILLS:
        tokens, mask = padded("right", fill)
        encoded = model(tokens, mask=mask)
        for b, row in enumerate(ROWS):
            alone = model(torch.tensor([row]))
            same(encoded.tokens[b][mask[b]], alone.tokens[0])
            same(encoded.sentence[b], alone.sentence[0])
        read, chosen = mask_tokens(tokens, 7, 11, mask=mask, rate=0.5, generator=rng(1))
        assert torch.equal(read[~mask], tokens[~mask]) and not chosen[~mask].any() and chosen.any()
        batch = PretrainingBatch(read, torch.zeros_like(read), mask, chosen, tokens)
        same(model.loss(batch)[0], model.loss(PretrainingBatch(*(part[:, :5] for part in batch[:5])))[0])


def encoder_decoder_reads_no_padding(module):
    """Source and target with masks, whatever fills up, the source on either side: as each pair by itself."""
    model, (target, real) = encoder_decoder(module), pad([[5, 6, 2], [7, 8, 9, 4, 2], [3, 2]], 0)
    for side in SIDES:
        for fill in FILLS:
            source = padded(side, fill)
            log_p = model.log_prob(target, source)
            for b, row in enumerate(ROWS):
                same(log_p[b], model.log_prob(target[b:b + 1], torch.tensor([row]))[0])
            loss, count = model.loss((source, (target.masked_fill(~real, fill), real)))
            assert count == 10
            same(loss, -log_p.sum() / 10)
            together = greedy(model, length=6, context=source, eos_id=2)
            for b, row in enumerate(ROWS):
                said = greedy(model, length=6, context=torch.tensor([row]), eos_id=2).tokens[0]
                assert torch.equal(together.tokens[b, :len(said)], said)


def a_mask_stands_above_pad_id(module):
    """A token that has the number of the padding is a token where the mask says so."""
    model = encoder_decoder(module)
    source, target = torch.tensor([[3, 0, 5]]), torch.tensor([[5, 2]])
    everything = torch.ones_like(source, dtype=torch.bool)
    assert (model.log_prob(target, source) - model.log_prob(target, (source, everything))).abs() > 1e-3
    some = torch.tensor([[True, False, True]])
    same(model.log_prob(target, (source, some)), model.log_prob(target, torch.tensor([[3, 5]])))


def starts_after_prompts_of_unequal_length(module):
    """Contract and samples, with what fills up outside the vocabulary."""
    model = gpt(module, vocab_size=3)
    prompts = pad([[1], [2, 0, 1]], 7, side="left")
    check_all(model, length=3, context=prompts)
    x = model.sample(2, context=prompts, length=4, generator=rng())
    same(model.log_prob(x[:1], torch.tensor([[1]])), model.log_prob(x, prompts)[:1])


def decodes_each_prompt_as_by_itself(decoding):
    """Every way of decoding, from a batch of prompts of three lengths."""
    model = gpt()
    for name, options in (("greedy", {}), ("beam_search", {}), ("sample", {"generator": rng(4)}),
                          ("stochastic_beam", {"generator": rng(4), "beams": 1})):
        together = decoding[name](model, 5, context=left_pad(ROWS), **options)
        for b, row in enumerate(ROWS):
            said, prompt = together.tokens[b].reshape(1, 5), torch.tensor([row])
            same(together.log_prob[b].reshape(1), model.log_prob(said, prompt))
            if not options:
                same(together.score[b:b + 1], decoding[name](model, 5, context=prompt).score)
    one = tuple(part[1:2] for part in left_pad(ROWS))
    same(decoding["exhaustive"](model, 3, context=one).score, exhaustive(model, 3, context=torch.tensor([[6]])).score)


DECODING = {"greedy": greedy, "beam_search": beam_search, "sample": sample, "stochastic_beam": stochastic_beam,
            "exhaustive": exhaustive}
