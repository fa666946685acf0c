"""Early stopping, evaluation and history; generators, precision and modes."""
from __future__ import annotations

import json
import math

import pytest
import torch
from torch import nn

from course_lib.training import History, evaluate, fit
from tests.support.training import SMALL, Climber, Logits, Recorder


@pytest.fixture
def data():
    return SMALL.clone()


# --- early stopping ---------------------------------------------------------------------------------------------------


def test_early_stopping(data):
    model = Climber()
    history = fit(model, data, data, epochs=50, batch_size=23, lr=0.1, patience=3)
    assert history.best_epoch == 5 or history.best_epoch == 6        # w = 0.5 or 0.6, both 0.05 away
    assert history.epochs == history.best_epoch + 3 and history.stopped and history.restored
    assert history.best_valid == min(history.valid) == pytest.approx(0.0025, rel=1e-4)
    assert evaluate(model, data)[0] == history.best_valid
    assert "stopped early, best weights restored" in str(history)


# --- randomness -------------------------------------------------------------------------------------------------------


def test_fit_repeatable(data):
    results = []
    for start in (1, 2):
        torch.manual_seed(start)
        before, model = torch.get_rng_state(), Logits()
        history = fit(model, data, data, epochs=3, batch_size=5, lr=0.1)
        assert torch.equal(torch.get_rng_state(), before)
        results.append((model.weight, history.train, history.valid))
    assert torch.equal(results[0][0], results[1][0]) and results[0][1:] == results[1][1:]
    other = Logits()
    fit(other, data, epochs=3, batch_size=5, lr=0.1, seed=1)
    assert not torch.equal(other.weight, results[0][0])


# --- precision, devices, modes ----------------------------------------------------------------------------------------


def test_fit_bfloat16(data):
    model, reference = Recorder(), Recorder()
    history = fit(model, data, data, epochs=2, batch_size=23, lr=0.01, bf16=True)
    exact = fit(reference, data, data, epochs=2, batch_size=23, lr=0.01)
    assert model.seen == [torch.bfloat16, torch.float32] * 2
    assert {p.dtype for p in model.parameters()} == {torch.float32} == {p.grad.dtype for p in model.parameters()}
    assert history.train == pytest.approx(exact.train, rel=0.02) and history.train != exact.train
    with pytest.raises(ValueError, match="bf16 is True and some parameters are not float32"):
        fit(Logits(), data, epochs=1, bf16=True)


def test_fit_training_mode(data):
    model = Recorder()
    model.eval()
    model.drop.train()
    fit(model, data, data, epochs=1, batch_size=23, lr=0.01)
    evaluate(model, data, batch_size=23)
    assert model.modes == [(True, True), (False, False), (False, False)]
    assert not model.training and model.drop.training


def test_fit_frozen_parameters(data):
    model, reference = Logits(), Logits()
    for m in (model, reference):
        m.weight.requires_grad_(False)
    model.bias.grad = torch.full((6,), 1e6, dtype=torch.float64)
    model.weight.grad = torch.full((6, 6), math.nan, dtype=torch.float64)
    fit(model, data, epochs=1, batch_size=10, lr=0.1, clip=1.0)
    fit(reference, data, epochs=1, batch_size=10, lr=0.1, clip=1.0)
    assert torch.equal(model.weight, Logits().weight) and torch.equal(model.bias, reference.bias)


@pytest.mark.gpu
def test_fit_on_gpu(data):
    cpu, gpu = Logits(), Logits()
    one = fit(cpu, data, data, epochs=3, batch_size=10, lr=0.05, clip=1.0)
    two = fit(gpu, data, data, epochs=3, batch_size=10, lr=0.05, clip=1.0, device="cuda")
    assert gpu.weight.device.type == "cuda" and two.train == pytest.approx(one.train, rel=1e-10)
    torch.testing.assert_close(gpu.weight.cpu(), cpu.weight, rtol=0, atol=1e-10)
    assert evaluate(gpu, data)[0] == pytest.approx(evaluate(cpu, data)[0], rel=1e-10)


# --- evaluation and history -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 7, 23, 100])
def test_evaluate_mean_and_error(data, batch_size):
    model = Logits()
    nll = [-v for v in model.log_prob(data).tolist()]
    mean = math.fsum(nll) / 23
    error = math.sqrt(math.fsum((v - mean) ** 2 for v in nll) / 22) / math.sqrt(23)
    assert evaluate(model, data, batch_size) == pytest.approx((mean, error), rel=1e-12)


def test_evaluate_double_precision():
    class Shifted(nn.Module):
        def log_prob(self, x):
            return -(20000 + x[:, 0])

    values = torch.arange(1000) % 7 / 8
    mean, error = evaluate(Shifted(), values[:, None])
    assert mean == pytest.approx(20000 + values.double().mean().item(), abs=1e-9)
    rounded = (20000 + values).double()
    assert error == pytest.approx(rounded.std().item() / math.sqrt(1000), rel=1e-9)
    assert math.isnan(evaluate(Shifted(), values[:1, None])[1])


def test_history_json_and_plot(data):
    history = fit(Logits(), data, data[:9], epochs=3, batch_size=10, lr=0.1)
    again = History(**json.loads(json.dumps(history.to_dict())))
    assert again == history and history.epochs == 3 and all(s > 0 for s in history.seconds)
    ax = history.plot()
    drawn = {line.get_label(): list(line.get_ydata()) for line in ax.get_lines()}
    assert drawn["training"] == history.train and drawn["validation"] == history.valid
    assert ax.get_xlabel() == "epoch"
    assert fit(Logits(), data, epochs=1).to_dict()["valid"] == []
