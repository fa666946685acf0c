"""The four models of images: the contract, receptive fields, cached sampling, colours, classes, and what they refuse."""
from __future__ import annotations

import re

import pytest
import torch

from course_lib.conditional import Bernoulli, Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.contract import check_all, check_causal, check_normalized, check_views_agree
from course_lib.pixels import DiagonalBiLSTM, GatedPixelCNN, PixelCNN, RowLSTM
from course_lib.pixels.pixelrnn import lstm
from tests.pixels import checks as check
from tests.support.random import drawn, normal, rows

CONVOLUTIONS, RECURRENT = [PixelCNN, GatedPixelCNN], [RowLSTM, DiagonalBiLSTM]
MODELS = [*CONVOLUTIONS, *RECURRENT]
LOGISTIC = DiscretizedLogisticMixture(2, 4)


# --- the contract ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [
    pytest.param(PixelCNN((3, 3), 4, 2, 3), id="PixelCNN"), pytest.param(GatedPixelCNN((3, 3), 4, 2, 3), id="gated"),
    pytest.param(RowLSTM((2, 2), 3, 1, 3), id="RowLSTM"), pytest.param(DiagonalBiLSTM((2, 2), 3, 1, 3), id="DiagonalBiLSTM"),
    pytest.param(PixelCNN((1, 2), 4, 1, 3, conditional=Categorical(3)), id="softmax"),
    pytest.param(GatedPixelCNN((3, 1, 1), 6, 1, 3, conditional=LOGISTIC, colors="chain"), id="chain"),
])
def test_contract(model):
    assert str(check_all(model)).startswith("causal, normalized (sum of p over ")


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("depth, first", [(1, 3), (2, 5)])
def test_contract_8_by_8(kind, depth, first):
    """`parents` are computed from the masks alone; the reactions are those of the network."""
    model = kind((8, 8), 8, depth, first)
    check_causal(model)
    check_views_agree(model)


@pytest.mark.parametrize("colors", ["masks", "chain"])
@pytest.mark.parametrize("kind", MODELS)
def test_contract_colors(kind, colors):
    family = Bernoulli() if colors == "masks" else DiscretizedLogisticMixture(2, 2)
    model = kind((3, 2, 2), 6, 2, 3, conditional=family, colors=colors)
    check_causal(model)
    check_normalized(model)
    check_views_agree(model)
    assert sorted(model.parents(9)) == [0, 1, 4, 5, 8]               # blue of pixel 1: all of pixel 0, its red and green


@pytest.mark.parametrize("kind", MODELS)
def test_contract_classes(kind):
    model, classes = kind((2, 3), 4, 2, 3, classes=3), torch.tensor([[2], [0], [1]])
    check_causal(model, context=classes)
    check_normalized(model, context=classes)
    check_views_agree(model, context=classes)
    x, moved = torch.zeros(2, 6), torch.zeros(6, dtype=torch.bool)
    for seed in range(8):                                            # a ReLU may be shut by chance
        p = drawn(model, seed).conditionals(x, torch.tensor([0, 1])).probs
        assert torch.equal(p, model.conditionals(x, torch.tensor([[0], [1]])).probs)
        moved |= p[0] != p[1]
    assert moved.all()


@pytest.mark.parametrize("kind", MODELS)
def test_contract_continuous(kind):
    check_causal(kind((2, 3), 4, 1, 3, conditional=MixtureOfGaussians(2)))


# --- receptive fields ------------------------------------------------------------------------------------------------


def unseen(model):
    return model.n * (model.n - 1) // 2 - int(model.receptive_field.sum())


def test_receptive_field_blind_spot():
    plain, gated = ([unseen(kind((8, 8), 4, depth, 3)) for depth in (1, 6, 10, 14)] for kind in CONVOLUTIONS)
    assert plain[0] > plain[1] == plain[2] == plain[3] > 300         # depth does not help beyond some point
    assert gated[0] > gated[1] > gated[2] == gated[3] == 0


def test_receptive_field_diagonal_bilstm():
    check.reads_all_before(DiagonalBiLSTM((8, 8), 4, 1, 3))
    usual = DiagonalBiLSTM((8, 8), 4, 1, 3, mirrored="A")
    check_causal(usual)                                              # and its network misses them, no more and no less
    missing = (torch.ones(64, 64).tril(-1).bool() & ~usual.receptive_field).nonzero().tolist()
    assert missing == [[8 * r + c, 8 * r - 1] for r in range(1, 8) for c in range(6)] and len(missing) == 7 * 6
    assert unseen(DiagonalBiLSTM((8, 8), 4, 3, 3, mirrored="A")) == 42                            # at any depth


# --- one variable at a time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [
    PixelCNN((5, 6), 4, 2, 5), PixelCNN((3, 2), 4, 2, 7), PixelCNN((3, 3, 2), 6, 1, 3, conditional=Categorical(4)),
    PixelCNN((3, 2, 3), 5, 2, 3, conditional=LOGISTIC, colors="chain"), PixelCNN((1, 1), 2, 1, 3),
    GatedPixelCNN((5, 6), 4, 3, 5), GatedPixelCNN((3, 2), 4, 2, 7), GatedPixelCNN((3, 3, 2), 6, 2, 3, conditional=Categorical(4)),
    GatedPixelCNN((3, 2, 3), 5, 2, 3, conditional=LOGISTIC, colors="chain"), GatedPixelCNN((1, 1), 2, 1, 3),
    PixelCNN((4, 3), 4, 1, 3, k=5), GatedPixelCNN((4, 3), 4, 2, 3, k=5, dropout=0.5),
], ids=lambda m: f"{type(m).__name__} {m.shape} {m.colors}")
def test_sample_equals_full_passes(model):
    check.draws_what_full_passes_draw(model)


@pytest.mark.parametrize("kind", MODELS)
def test_update_bad_input(kind):
    """An argument of another length than the batch, and a value that is none of the family's, as for x."""
    model = kind((2, 2), 4, 1, 3)
    state = model.start(2)
    for x_i, has in ((torch.zeros(3), "(3,)"), (torch.zeros(1), "(1,)")):
        with pytest.raises(ValueError, match=re.escape(f"x_i has shape {has}; expected a tensor of shape (2,), a value for each "
                                                       "row of the state")):
            model.update(state, x_i)
    for x_i, value, at in ((torch.tensor([1.0, 7.0]), "7", 1), (torch.tensor([0.5, 1.0]), "0.5", 0), (torch.tensor([2, 1]), "2", 0)):
        with pytest.raises(ValueError, match=re.escape(f"x_i contains {value} at [{at}]; a Bernoulli variable takes 0 or 1")):
            model.update(state, x_i)
    softmax = kind((2, 2), 4, 1, 3, conditional=Categorical(4))
    with pytest.raises(ValueError, match=re.escape("x_i contains 4 at [1]; a categorical variable with 4 values takes 0 to 3")):
        softmax.update(softmax.start(2), torch.tensor([3, 4]))
    for whole in (torch.tensor([1, 0]), torch.tensor([True, False]), torch.tensor([1, 0], dtype=torch.uint8)):
        logits = model.predict(model.update(state, whole)).logits
        assert torch.equal(logits, model.predict(model.update(state, torch.tensor([1.0, 0.0]))).logits)


# --- the parts -------------------------------------------------------------------------------------------------------


def test_lstm_step_equals_torch():
    cell = torch.nn.LSTMCell(3, 4).double()
    x, h, c = normal(5, 3, grad=True), normal(5, 4, seed=1), normal(5, 4, seed=2, grad=True)
    want = cell(x, (h, c))
    i, f, g, o = (x @ cell.weight_ih.T + cell.bias_ih + h @ cell.weight_hh.T + cell.bias_hh).chunk(4, dim=1)      # torch's order
    got = lstm(torch.cat([i, f, o, g], dim=1), c)
    for a, b in zip(got, want):
        torch.testing.assert_close(a, b)
    for a, b in zip(*(torch.autograd.grad(y[0].sum() + y[1].sin().sum(), (x, c), retain_graph=True) for y in (got, want))):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(4), LOGISTIC], ids=str)
def test_initialize_from_colors(family):
    x = (rows(family, 500, 12) * (torch.arange(12) < 4)).long()      # red at random, green and blue always 0
    for colors in ("masks", "chain") if family is LOGISTIC else ("masks",):
        torch.manual_seed(0)
        model = PixelCNN((3, 2, 2), 6, 1, 3, conditional=family, colors=colors)
        before = model.log_prob(x).mean()
        assert model.initialize(x) is model
        assert model.log_prob(x).mean() > before + 1


@pytest.mark.parametrize("make, message", [
    (lambda: PixelCNN((3, 8, 8), 32, 1, 3), "width is 32; expected a multiple of 3"),
    (lambda: PixelCNN((3, 8, 8), 30, 1, 3, inner=16), "inner is 16; expected a multiple of 3"),
    (lambda: GatedPixelCNN((8, 8), depth=0), "depth is 0; expected at least 1"),
    (lambda: PixelCNN((8,)), r"shape is \[1, 8\]; expected \(channels, height, width\) or \(height, width\)"),
    (lambda: PixelCNN((8, 8), first=4), "k is 4; expected an odd number"),
    (lambda: PixelCNN((8, 8), colors="blocks"), "colors is 'blocks'; expected 'masks' or 'chain'"),
    (lambda: PixelCNN((8, 8), colors="chain"), "colors is 'chain' and conditional is Bernoulli.*expected a DiscretizedLogistic"),
    (lambda: PixelCNN((8, 8), classes=0), "classes is 0; expected at least 1, or None"),
    (lambda: RowLSTM((4, 4), 4, 1, 3, classes=2).log_prob(torch.zeros(1, 16)),
     r"context is None; expected integers \(B,\), the class of each row, 0 to 1"),
    (lambda: PixelCNN((4, 4), 4, 1, 3, classes=2).sample(2, context=torch.tensor([0, 2])),
     r"context contains classes from 0 to 2; expected 0 to 1"),
    (lambda: PixelCNN((4, 4), 4, 1, 3, classes=2).sample(2, context=torch.tensor([0])), r"context has shape \(1,\)"),
    (lambda: PixelCNN((4, 4), 4, 1, 3).sample(2, context=torch.tensor([0, 1])), "context is given; expected None, because PixelCNN is unconditional"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
