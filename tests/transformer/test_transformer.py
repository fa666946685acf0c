"""The encoder-decoder: torch's layers stacked, the contract, ties, bad input. The rest: transformer_checks.py."""
from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.contract import check_all
from course_lib.training import cross_entropy
from course_lib.transformer.positions import sinusoidal
from tests.support.random import redrawn
from tests.support.tensors import same
from tests.transformer.checks import copy_layer
from tests.transformer.transformer_checks import BOS, PAD, SOURCE, TARGET, small


def test_equals_torch_layers():
    ours = redrawn(small(tied="none")).eval()
    options = {"batch_first": True, "dropout": 0.0, "dtype": torch.float64}
    encoder = [nn.TransformerEncoderLayer(12, 3, 20, **options) for _ in range(2)]
    decoder = [nn.TransformerDecoderLayer(12, 3, 20, **options) for _ in range(2)]
    for theirs, block in zip([*encoder, *decoder], [*ours.encoder, *ours.decoder]):
        copy_layer(theirs, block)
    table = sinusoidal(9, 12, dtype=torch.float64)
    m = 12**0.5 * ours.source(SOURCE) + table[:4]
    hidden = SOURCE == PAD
    for layer in encoder:
        m = layer(m, src_key_padding_mask=hidden)
    shifted = torch.cat([torch.full((3, 1), BOS), TARGET[:, :-1]], dim=1)
    h = 12**0.5 * ours.target(shifted) + table[:5]
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    for layer in decoder:
        h = layer(h, m, tgt_mask=future, memory_key_padding_mask=hidden)
    want = ours.head(h).log_softmax(-1)
    real = TARGET != PAD
    same(ours.conditionals(TARGET, SOURCE).logits[real], want[real], 1e-9)
    loss, count = ours.loss((SOURCE, TARGET))
    picked = want[real].gather(1, TARGET[real][:, None])
    same(loss, -picked.mean(), 1e-9)
    assert count == int(real.sum()) == 10


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_contract(norm):
    model = small(target=3, norm=norm, d_model=8, heads=2, d_ff=8, encoder_layers=1, decoder_layers=1).double()
    assert "causal" in str(check_all(model, length=3, context=SOURCE[:1]))


@pytest.mark.parametrize("tied, tables", [("none", 3), ("target", 2), ("all", 1)])
def test_tied_tables(tied, tables):
    model = small(source=13, tied=tied)
    assert sum(p.numel() for name, p in model.named_parameters() if p.shape == (13, 12)) == tables * 13 * 12
    assert (model.source is model.target) == (tied == "all") and (model.head is None) == (tied != "none")
    before = model.conditionals(TARGET, SOURCE).logits
    with torch.no_grad():
        model.target.weight[4] += 1
    assert (model.conditionals(TARGET, SOURCE).logits[..., 4] != before[..., 4]).any()


def test_smoothing_training_loss():
    plain, soft = redrawn(small()), redrawn(small(smoothing=0.2, form="slide"))
    real = TARGET != PAD
    logits = plain.conditionals(TARGET, SOURCE).logits
    same(soft.loss((SOURCE, TARGET))[0], cross_entropy(logits[real], TARGET[real], 0.2, "slide"), 1e-9)
    same(soft.log_prob(TARGET, SOURCE), plain.log_prob(TARGET, SOURCE), 1e-12)


def test_attention_weights():
    model = redrawn(small()).eval()
    weights = model.attention_weights(SOURCE, TARGET)
    assert [tuple(w.shape) for w in weights] == [(3, 3, 5, 4)] * 2
    for w in weights:
        same(w.sum(-1), torch.ones(3, 3, 5).double(), 1e-9)
        assert not w[0, ..., 3:].any() and not w[2, ..., 1:].any()


@pytest.mark.parametrize("changes, says", [
    ({"tied": "both"}, "tied is 'both'"), ({"tied": "all"}, "source is 11 and target is 13"), ({"bos_id": 13}, "bos_id is 13"),
    ({"pad_id": 12}, "pad_id is 12; expected 0 to 10"), ({"heads": 5}, "expected a multiple of heads, 5"),
])
def test_bad_sizes(changes, says):
    with pytest.raises(ValueError, match=says):
        small(**changes)


@pytest.mark.parametrize("call, says", [
    (lambda m: m.log_prob(TARGET), "context is None; expected the tokens of the source"),
    (lambda m: m.log_prob(TARGET, SOURCE[:2]), r"context has shape \(2, 4\)"),
    (lambda m: m.log_prob(TARGET, SOURCE.float()), "dtype torch.float32"),
    (lambda m: m.log_prob(TARGET, SOURCE + 1), "context contains tokens from 1 to 11; expected 0 to 10"),
    (lambda m: m.log_prob(TARGET + 9, SOURCE), "x contains"), (lambda m: m.loss((SOURCE, TARGET + 9)), "target contains"),
    (lambda m: m.start(2, None), "context is None"), (lambda m: m.encode(SOURCE[:, :0]), r"shape \(3, 0\)"),
])
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=says):
        call(small())
