"""What fit and evaluate say when they cannot go on."""
from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training import constant, evaluate, fit
from tests.support.training import SMALL, Logits


@pytest.fixture
def data():
    return SMALL.clone()


class Breaks(Logits):
    """Fails in its k-th loss, counted from 1."""

    def __init__(self, k, how):
        super().__init__()
        self.k, self.how, self.calls = k, how, 0

    def loss(self, batch):
        self.calls += 1
        loss = -self.log_prob(batch).mean()
        if self.calls != self.k:
            return loss
        if self.how == "loss":
            return loss * math.nan
        return loss + torch.where(self.bias > 9, (self.bias * 0).sqrt(), 0.0).sum()    # 0 * inf on the way back


@pytest.mark.parametrize("how, sentence", [("loss", "the training loss is nan at epoch 2, step 5"),
                                           ("gradient", "the gradient of bias is not finite at epoch 2, step 5")])
def test_fit_not_finite(data, tmp_path, how, sentence):
    model, path = Breaks(5, how), tmp_path / "run.ckpt"
    with pytest.raises(FloatingPointError, match=sentence) as caught:
        fit(model, data, epochs=3, batch_size=10, lr=0.1, checkpoint=path)
    assert "run.ckpt holds the last good state" in str(caught.value)
    assert all(p.isfinite().all() for p in model.parameters())
    mended, whole = Breaks(0, how), Breaks(0, how)
    history = fit(mended, data, epochs=3, batch_size=10, lr=0.1, checkpoint=path)
    assert history.train == fit(whole, data, epochs=3, batch_size=10, lr=0.1).train
    assert torch.equal(mended.weight, whole.weight)


def test_fit_validation_not_finite(data):
    class Infinite(Logits):
        def log_prob(self, x):
            return super().log_prob(x) if self.training else torch.full((len(x),), -math.inf)

    with pytest.raises(FloatingPointError, match="validation loss is inf after epoch 1"):
        fit(Infinite(), data, data, epochs=2)


X = torch.zeros(8, 6)


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"train": X[:0]}, ValueError, r"train has shape \(0, 6\); expected at least one row"),
    ({"train": ()}, ValueError, "train is an empty tuple"),
    ({"train": (X, X[:3])}, ValueError, "train contains tensors of 8 and 3 rows"),
    ({"train": [[0.0, 1.0]]}, TypeError, None),
    ({"valid": X[:, :5]}, ValueError, r"valid has rows of shape \(5,\); expected rows of shape \(6,\), as in train"),
    ({"valid": X[:0]}, ValueError, "valid has shape"),
    ({"batch_size": 0}, ValueError, "batch_size is 0; expected 1 or more"),
    ({"epochs": 0}, ValueError, "epochs is 0; expected 1 or more"),
    ({"accumulate": 0}, ValueError, "accumulate is 0"),
    ({"patience": 2}, ValueError, "patience is 2 and valid is None"),
    ({"patience": 0, "valid": X}, ValueError, "patience is 0; expected 1 or more"),
    ({"checkpoint_every": 0}, ValueError, "checkpoint_every is 0"),
    ({"lr": 0.0}, ValueError, "lr is 0.0; expected a finite number, more than 0"),
    ({"lr": math.nan}, ValueError, "lr is nan"),
    ({"clip": -1.0}, ValueError, "clip is -1.0"),
    ({"weight_decay": -0.1}, ValueError, "weight_decay is -0.1; expected a finite number, 0 or more"),
    ({"schedule": "cosin"}, ValueError, "schedule is 'cosin'; expected one of constant, cosine, inverse_sqrt, linear"),
    ({"warmup": 10 ** 6}, ValueError, "warmup is 1000000 steps; expected 0 to"),
    ({"warmup": 2, "schedule": constant(9)}, ValueError, "warmup is 2 and schedule is a function"),
])
def test_fit_bad_arguments(arguments, error, sentence):
    arguments = {"train": X, "epochs": 1} | arguments
    with pytest.raises(error, match=sentence):
        fit(Logits(), arguments.pop("train"), **arguments)


def test_fit_bad_models(data):
    class NoParameters(nn.Module):
        def log_prob(self, x):
            return x[:, 0]

    class NotSummed(Logits):
        def log_prob(self, x):
            return super().log_prob(x)[:, None].expand(-1, 6)

    class NotReduced(Logits):
        def loss(self, batch):
            return -self.log_prob(batch)

    class Weightless(Logits):
        def loss(self, batch):
            return -self.log_prob(batch).mean(), 0

    class Strict(Logits):
        def log_prob(self, x):
            return -F.linear(x, self.weight, self.bias).pow(2).sum(1)

    class OnlyLoss(nn.Module):
        def loss(self, batch):
            return batch.sum()

    with pytest.raises(ValueError, match="NoParameters, which has no parameters that require a gradient"):
        fit(NoParameters(), data, epochs=1)
    with pytest.raises(ValueError, match=r"log_prob of NotSummed gave shape \(23, 6\); expected \(23,\)"):
        fit(NotSummed(), data, epochs=1)
    with pytest.raises(ValueError, match=r"loss\(batch\) of NotReduced gave shape \(23,\)"):
        fit(NotReduced(), data, epochs=1)
    with pytest.raises(ValueError, match="weights that loss.batch. of .* returned sum to 0"):
        fit(Weightless(), data, epochs=1)
    with pytest.raises(ValueError, match="data are torch.float32 and the parameters of Strict torch.float64"):
        fit(Strict(), data.float(), epochs=1)
    with pytest.raises(ValueError, match="data are torch.uint8 and the parameters of Strict torch.float64"):
        evaluate(Strict(), data)
    with pytest.raises(TypeError, match="OnlyLoss has no log_prob"):
        evaluate(OnlyLoss(), data)
    with pytest.raises(ValueError, match="batch_size is 0"):
        evaluate(Logits(), data, batch_size=0)
