"""fit and evaluate against loops written by hand, torch's own pieces and arithmetic on paper."""
from __future__ import annotations

import json
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training import History, constant, cosine, epoch_order, evaluate, fit, linear, loop


class Logits(nn.Module):
    """A logistic regression per variable on the ones before it; casts what it is given."""

    def __init__(self, n=6, dtype=torch.float64):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(n, n, dtype=dtype, generator=torch.Generator().manual_seed(1)))
        self.bias = nn.Parameter(torch.linspace(-1, 1, n, dtype=dtype))

    def log_prob(self, x, context=None):
        x = x.to(self.weight.dtype)
        logits = F.linear(x, self.weight.tril(-1), self.bias)
        if context is not None:
            logits = logits + context
        return -F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)


class Climber(nn.Module):
    """Its loss pushes w up by lr a step; its log-likelihood is best at w = 0.55."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def loss(self, batch):
        return -self.w.sum()

    def log_prob(self, x):
        return -(self.w - 0.55) ** 2 * torch.ones(len(x), dtype=torch.float64)


@pytest.fixture
def data():
    return (torch.rand(23, 6, generator=torch.Generator().manual_seed(5)) < 0.4).to(torch.uint8)


def by_hand(model, data, *, epochs, batch_size, lr, weight_decay=0.0, clip=None, factor=lambda step: 1.0, seed=0):
    """The loop as everyone writes it once; returns the weighted mean loss of each epoch, and the unweighted."""
    optimizer = torch.optim.AdamW([{"params": [model.weight], "weight_decay": weight_decay},
                                   {"params": [model.bias], "weight_decay": 0.0}], lr=lr)
    step, weighted, plain = 0, [], []
    for epoch in range(1, epochs + 1):
        losses, sizes = [], []
        for rows in epoch_order(len(data), seed, epoch).split(batch_size):
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = lr * factor(step)
            optimizer.zero_grad()
            loss = -model.log_prob(data[rows]).mean()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(loss.item())
            sizes.append(len(rows))
        weighted.append(sum(a * b for a, b in zip(losses, sizes)) / sum(sizes))
        plain.append(sum(losses) / len(losses))
    return weighted, plain


# --- the trajectory ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_trajectory_is_that_of_a_loop_written_by_hand(data, dtype):
    ours, theirs = Logits(dtype=dtype), Logits(dtype=dtype)
    history = fit(ours, data, epochs=4, batch_size=5, lr=0.05, weight_decay=0.1, clip=0.7, schedule="cosine", warmup=3,
                  seed=9)
    weighted, _ = by_hand(theirs, data, epochs=4, batch_size=5, lr=0.05, weight_decay=0.1, clip=0.7,
                          factor=cosine(20, 3), seed=9)
    assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)
    assert history.train == pytest.approx(weighted, rel=1e-15)
    assert history.steps == [5, 10, 15, 20]


def test_the_short_last_batch_weighs_as_many_as_it_has_rows():
    x = torch.zeros(11, 6)
    x[7] = 1                                                         # one row unlike the others
    seed = next(s for s in range(99) if epoch_order(11, s, 1)[-1] == 7)
    history = fit(Logits(), x, epochs=1, batch_size=10, lr=1e-3, seed=seed)
    weighted, plain = by_hand(Logits(), x, epochs=1, batch_size=10, lr=1e-3, seed=seed)
    assert history.train == pytest.approx(weighted, rel=1e-14)
    assert abs(history.train[0] - plain[0]) > 0.01                   # the mean of means would be seen


def test_a_model_with_a_loss_is_asked_for_it_and_the_others_for_log_prob(data):
    class WithLoss(Logits):
        def loss(self, batch):
            assert batch.dtype == torch.uint8
            return 3 * -self.log_prob(batch).mean() + 1

    plain = fit(Logits(), data, epochs=1, batch_size=23, lr=1e-3)
    history = fit(WithLoss(), data, data, epochs=1, batch_size=23, lr=1e-3)
    assert history.train[0] == pytest.approx(3 * plain.train[0] + 1, rel=1e-12)
    assert history.valid[0] < plain.train[0]                         # validated in nats


def test_context_travels_with_its_rows(data):
    context = torch.randn(23, 6, dtype=torch.float64)
    model, reference = Logits(), Logits()
    history = fit(model, (data, context), (data[:5], context[:5]), epochs=1, batch_size=7, lr=0.1)
    losses = []
    optimizer = torch.optim.AdamW(reference.parameters(), lr=0.1, weight_decay=0.0)
    for rows in epoch_order(23, 0, 1).split(7):
        optimizer.zero_grad()
        loss = -reference.log_prob(data[rows], context[rows]).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() * len(rows))
    assert torch.equal(model.weight, reference.weight)
    assert history.train[0] == pytest.approx(sum(losses) / 23, rel=1e-14)
    assert history.valid[0] == pytest.approx(evaluate(model, (data[:5], context[:5]))[0], rel=1e-14)


@pytest.mark.parametrize("accumulate", [2, 3, 50])
def test_accumulation_changes_memory_and_nothing_else(data, accumulate):
    whole, pieces = Logits(), Logits()
    one = fit(whole, data, epochs=3, batch_size=10, lr=0.05)
    many = fit(pieces, data, epochs=3, batch_size=10, lr=0.05, accumulate=accumulate)
    assert many.train == pytest.approx(one.train, rel=1e-12)
    torch.testing.assert_close(pieces.weight, whole.weight, rtol=0, atol=1e-12)


def test_a_loss_weighted_by_tokens_has_the_mean_over_all_tokens(data):
    class Masked(Logits):
        def loss(self, batch):
            x, mask = batch
            nll = F.binary_cross_entropy_with_logits(F.linear(x.double(), self.weight.tril(-1), self.bias), x.double(),
                                                     reduction="none")
            return nll[mask].sum() / mask.sum().clamp(min=1), mask.sum().item()

    mask = torch.arange(23)[:, None] % 7 > torch.arange(6)           # 0 to 6 tokens a row
    one, many = Masked(), Masked()
    histories = [fit(model, (data, mask), epochs=2, batch_size=23, lr=0.1, accumulate=a)
                 for model, a in ((one, 1), (many, 5))]
    x = data.double()
    fresh = Masked()
    nll = F.binary_cross_entropy_with_logits(F.linear(x, fresh.weight.tril(-1), fresh.bias), x, reduction="none")
    assert histories[0].train[0] == pytest.approx(nll[mask].mean().item(), rel=1e-12)
    assert histories[1].train == pytest.approx(histories[0].train, rel=1e-12)
    torch.testing.assert_close(many.weight, one.weight, rtol=0, atol=1e-12)
    sgd = Masked()
    fit(sgd, (data, mask), epochs=1, batch_size=23, lr=1e-9, accumulate=5)
    (wanted,) = torch.autograd.grad(nll[mask].mean(), fresh.bias)
    torch.testing.assert_close(sgd.bias.grad, wanted, rtol=1e-10, atol=0)


# --- clipping, decay, schedules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit, touched", [(0.05, True), (1e3, False)])
def test_clipping_is_by_the_global_norm_and_leaves_smaller_gradients_alone(data, limit, touched):
    model, reference = Logits(), Logits()
    fit(model, data, epochs=1, batch_size=23, lr=1e-6, clip=limit)   # one step; its gradient stays in .grad
    (-reference.log_prob(data[epoch_order(23, 0, 1)]).mean()).backward()
    raw = reference.bias.grad.clone()
    torch.nn.utils.clip_grad_norm_(reference.parameters(), limit)
    assert torch.equal(model.weight.grad, reference.weight.grad) and torch.equal(model.bias.grad, reference.bias.grad)
    assert torch.equal(model.bias.grad, raw) != touched
    if touched:
        norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
        assert norm.item() == pytest.approx(limit, rel=1e-4)


def test_weight_decay_spares_biases_and_gains():
    class Still(nn.Module):
        def __init__(self):
            super().__init__()
            self.matrix, self.bias = nn.Parameter(torch.ones(2, 2).double()), nn.Parameter(torch.ones(2).double())
            self.gain = nn.Parameter(torch.ones(()).double())

        def loss(self, batch):
            return 0 * (self.matrix.sum() + self.bias.sum() + self.gain)

    model = Still()
    fit(model, torch.zeros(4, 1), epochs=3, batch_size=4, lr=0.1, weight_decay=0.5)
    torch.testing.assert_close(model.matrix.data, torch.full((2, 2), 0.95 ** 3).double())
    assert (model.bias == 1).all() and model.gain == 1


def test_schedules_start_at_step_one_peak_where_the_warm_up_ends_and_never_waste_a_step():
    assert [constant(6, 3)(s) for s in range(1, 7)] == [1 / 3, 2 / 3, 1, 1, 1, 1]
    assert [linear(6, 2)(s) for s in range(1, 7)] == pytest.approx([0.5, 1, 0.8, 0.6, 0.4, 0.2])
    assert [linear(4)(s) for s in range(1, 5)] == pytest.approx([1, 0.75, 0.5, 0.25])
    assert [cosine(5, 2)(s) for s in range(1, 6)] == pytest.approx(
        [0.5, 1, 0.5 + 0.5 * math.cos(math.pi / 4), 0.5, 0.5 - 0.5 * math.cos(math.pi / 4)])
    for make in (constant, linear, cosine):
        for steps, warmup in ((1, 0), (1, 1), (40, 0), (40, 1), (40, 13), (40, 40)):
            factors = [make(steps, warmup)(s) for s in range(1, steps + 1)]
            assert max(factors) == factors[max(warmup, 1) - 1] == 1 and min(factors) > 0


def test_cosine_without_warm_up_is_torch_s():
    p = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], lr=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=17)
    for step in range(1, 18):
        assert cosine(17)(step) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-12)
        optimizer.step()
        schedule.step()


def test_the_schedule_reaches_the_optimizer_and_the_history(data):
    steps = []

    def halve(step):
        steps.append(step)
        return 0.5 ** step

    model = Climber()
    history = fit(model, data, epochs=2, batch_size=10, lr=0.1, schedule=halve)
    assert steps[-6:] == [1, 2, 3, 4, 5, 6]
    assert history.lr == [0.1 * 0.5 ** 3, 0.1 * 0.5 ** 6]
    assert model.w.item() == pytest.approx(0.1 * (1 - 0.5 ** 6), rel=1e-6)        # Adam moves by lr on a constant slope
    assert fit(Climber(), data, epochs=2, batch_size=10, lr=0.1, schedule="linear").lr == pytest.approx(
        [0.1 * 4 / 6, 0.1 / 6])


# --- early stopping ---------------------------------------------------------------------------------------------------


def test_early_stopping_restores_the_best_weights_and_says_so(data):
    model = Climber()
    history = fit(model, data, data, epochs=50, batch_size=23, lr=0.1, patience=3)
    assert history.best_epoch == 5 or history.best_epoch == 6        # w = 0.5 or 0.6, both 0.05 away
    assert history.epochs == history.best_epoch + 3 and history.stopped and history.restored
    assert history.best_valid == min(history.valid) == pytest.approx(0.0025, rel=1e-4)
    assert evaluate(model, data)[0] == history.best_valid
    assert "stopped early, best weights restored" in str(history)


def test_without_patience_the_last_weights_stay(data):
    model = Climber()
    history = fit(model, data, data, epochs=9, batch_size=23, lr=0.1)
    assert model.w.item() == pytest.approx(0.9, rel=1e-5)
    assert history.epochs == 9 and history.best_epoch in (5, 6) and not history.restored and not history.stopped


def test_patience_that_does_not_run_out_still_restores_the_best(data):
    model = Climber()
    history = fit(model, data, data, epochs=7, batch_size=23, lr=0.1, patience=3)
    assert history.epochs == 7 and not history.stopped and history.restored
    assert evaluate(model, data)[0] == min(history.valid)


# --- randomness -------------------------------------------------------------------------------------------------------


def test_the_order_is_a_permutation_of_its_own_for_every_epoch_and_seed():
    orders = {(seed, epoch): tuple(epoch_order(50, seed, epoch).tolist())
              for seed in (-1, 0, 1, 2) for epoch in (1, 2, 3)}
    assert len(set(orders.values())) == len(orders)
    assert all(sorted(order) == list(range(50)) for order in orders.values())


def test_two_runs_are_equal_whatever_the_global_generator_and_leave_it_alone(data):
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


class Recorder(Logits):
    """A linear layer whose output dtype and mode are noted."""

    def __init__(self):
        super().__init__(dtype=torch.float32)
        self.drop = nn.Dropout(0.5)
        self.seen, self.modes = [], []

    def log_prob(self, x, context=None):
        logits = F.linear(x.float(), self.weight.tril(-1), self.bias)
        self.seen.append(logits.dtype)
        self.modes.append((self.training, self.drop.training))
        return -F.binary_cross_entropy_with_logits(logits, x.float(), reduction="none").sum(1)


def test_bf16_computes_the_loss_in_bfloat16_and_keeps_weights_and_validation_in_float32(data):
    model, reference = Recorder(), Recorder()
    history = fit(model, data, data, epochs=2, batch_size=23, lr=0.01, bf16=True)
    exact = fit(reference, data, data, epochs=2, batch_size=23, lr=0.01)
    assert model.seen == [torch.bfloat16, torch.float32] * 2
    assert {p.dtype for p in model.parameters()} == {torch.float32} == {p.grad.dtype for p in model.parameters()}
    assert history.train == pytest.approx(exact.train, rel=0.02) and history.train != exact.train
    with pytest.raises(ValueError, match="bf16 is True and some parameters are not float32"):
        fit(Logits(), data, epochs=1, bf16=True)


def test_training_mode_is_on_in_training_off_in_validation_and_restored(data):
    model = Recorder()
    model.eval()
    model.drop.train()
    fit(model, data, data, epochs=1, batch_size=23, lr=0.01)
    evaluate(model, data, batch_size=23)
    assert model.modes == [(True, True), (False, False), (False, False)]
    assert not model.training and model.drop.training


def test_frozen_parameters_stay_and_stale_gradients_do_not_count(data):
    model, reference = Logits(), Logits()
    for m in (model, reference):
        m.weight.requires_grad_(False)
    model.bias.grad = torch.full((6,), 1e6, dtype=torch.float64)
    model.weight.grad = torch.full((6, 6), math.nan, dtype=torch.float64)
    fit(model, data, epochs=1, batch_size=10, lr=0.1, clip=1.0)
    fit(reference, data, epochs=1, batch_size=10, lr=0.1, clip=1.0)
    assert torch.equal(model.weight, Logits().weight) and torch.equal(model.bias, reference.bias)


@pytest.mark.gpu
def test_the_same_run_on_a_gpu(data):
    cpu, gpu = Logits(), Logits()
    one = fit(cpu, data, data, epochs=3, batch_size=10, lr=0.05, clip=1.0)
    two = fit(gpu, data, data, epochs=3, batch_size=10, lr=0.05, clip=1.0, device="cuda")
    assert gpu.weight.device.type == "cuda" and two.train == pytest.approx(one.train, rel=1e-10)
    torch.testing.assert_close(gpu.weight.cpu(), cpu.weight, rtol=0, atol=1e-10)
    assert evaluate(gpu, data)[0] == pytest.approx(evaluate(cpu, data)[0], rel=1e-10)


# --- evaluation and history -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 7, 23, 100])
def test_evaluate_gives_mean_and_standard_error(data, batch_size):
    model = Logits()
    nll = [-v for v in model.log_prob(data).tolist()]
    mean = math.fsum(nll) / 23
    error = math.sqrt(math.fsum((v - mean) ** 2 for v in nll) / 22) / math.sqrt(23)
    assert evaluate(model, data, batch_size) == pytest.approx((mean, error), rel=1e-12)


def test_evaluate_accumulates_in_double_precision():
    class Shifted(nn.Module):
        def log_prob(self, x):
            return -(20000 + x[:, 0])

    values = torch.arange(1000) % 7 / 8
    mean, error = evaluate(Shifted(), values[:, None])
    assert mean == pytest.approx(20000 + values.double().mean().item(), abs=1e-9)
    rounded = (20000 + values).double()
    assert error == pytest.approx(rounded.std().item() / math.sqrt(1000), rel=1e-9)
    assert math.isnan(evaluate(Shifted(), values[:1, None])[1])


def test_history_goes_through_json_and_draws_its_curve(data):
    history = fit(Logits(), data, data[:9], epochs=3, batch_size=10, lr=0.1)
    again = History(**json.loads(json.dumps(history.to_dict())))
    assert again == history and history.epochs == 3 and all(s > 0 for s in history.seconds)
    ax = history.plot()
    drawn = {line.get_label(): list(line.get_ydata()) for line in ax.get_lines()}
    assert drawn["training"] == history.train and drawn["validation"] == history.valid
    assert ax.get_xlabel() == "epoch"
    assert fit(Logits(), data, epochs=1).to_dict()["valid"] == []


def test_the_bar_is_shown_unless_it_is_unwanted(data, monkeypatch):
    made = []

    class Bar(loop.tqdm):
        def __init__(self, *args, **kwargs):
            made.append(kwargs)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(loop, "tqdm", Bar)
    fit(Logits(), data, epochs=2, batch_size=10)
    fit(Logits(), data, epochs=2, batch_size=10, progress=False)
    assert "disable" not in made[0] and made[0]["total"] == 6        # so that TQDM_DISABLE is heard
    assert made[1]["disable"] is True


# --- what goes wrong --------------------------------------------------------------------------------------------------


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
def test_a_loss_or_gradient_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(data, tmp_path, how, sentence):
    model, path = Breaks(5, how), tmp_path / "run.ckpt"
    with pytest.raises(FloatingPointError, match=sentence) as caught:
        fit(model, data, epochs=3, batch_size=10, lr=0.1, checkpoint=path)
    assert "run.ckpt holds the last good state" in str(caught.value)
    assert all(p.isfinite().all() for p in model.parameters())
    mended, whole = Breaks(0, how), Breaks(0, how)
    history = fit(mended, data, epochs=3, batch_size=10, lr=0.1, checkpoint=path)
    assert history.train == fit(whole, data, epochs=3, batch_size=10, lr=0.1).train
    assert torch.equal(mended.weight, whole.weight)


def test_a_validation_loss_that_is_not_finite_is_named(data):
    class Infinite(Logits):
        def log_prob(self, x):
            return super().log_prob(x) if self.training else torch.full((len(x),), -math.inf)

    with pytest.raises(FloatingPointError, match="validation loss is inf after epoch 1"):
        fit(Infinite(), data, data, epochs=2)


X = torch.zeros(8, 6)


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"train": X[:0]}, ValueError, r"train has shape \(0, 6\); at least one row is needed"),
    ({"train": ()}, ValueError, "train is an empty tuple"),
    ({"train": (X, X[:3])}, ValueError, "train holds tensors of 8 and 3 rows"),
    ({"train": [[0.0, 1.0]]}, TypeError, None),
    ({"valid": X[:, :5]}, ValueError, r"valid has rows of shape \(5,\); train has rows of shape \(6,\)"),
    ({"valid": (X, X)}, ValueError, "valid has rows of shape"),
    ({"valid": X[:0]}, ValueError, "valid has shape"),
    ({"batch_size": 0}, ValueError, "batch_size is 0; needed is 1 or more"),
    ({"epochs": 0}, ValueError, "epochs is 0; needed is 1 or more"),
    ({"accumulate": 0}, ValueError, "accumulate is 0"),
    ({"patience": 2}, ValueError, "patience is 2 and valid is None"),
    ({"patience": 0, "valid": X}, ValueError, "patience is 0; needed is 1 or more"),
    ({"checkpoint_every": 0}, ValueError, "checkpoint_every is 0"),
    ({"lr": 0.0}, ValueError, "lr is 0.0; needed is a finite number, more than 0"),
    ({"lr": math.nan}, ValueError, "lr is nan"),
    ({"clip": -1.0}, ValueError, "clip is -1.0"),
    ({"weight_decay": -0.1}, ValueError, "weight_decay is -0.1; needed is a finite number, 0 or more"),
    ({"schedule": "cosin"}, ValueError, "schedule is 'cosin'; needed is one of constant, cosine, linear"),
    ({"warmup": 10 ** 6}, ValueError, "warmup is 1000000 steps; this run has"),
    ({"warmup": 2, "schedule": constant(9)}, ValueError, "warmup is 2 and schedule is a function"),
])
def test_bad_arguments_are_named(arguments, error, sentence):
    arguments = {"train": X, "epochs": 1} | arguments
    with pytest.raises(error, match=sentence):
        fit(Logits(), arguments.pop("train"), **arguments)


def test_models_that_cannot_be_trained_are_named(data):
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

    with pytest.raises(ValueError, match="NoParameters has no parameters to train"):
        fit(NoParameters(), data, epochs=1)
    with pytest.raises(ValueError, match=r"log_prob of NotSummed gave shape \(23, 6\); needed is \(23,\)"):
        fit(NotSummed(), data, epochs=1)
    with pytest.raises(ValueError, match=r"loss\(batch\) of NotReduced gave shape \(23,\)"):
        fit(NotReduced(), data, epochs=1)
    with pytest.raises(ValueError, match="weights that loss.batch. returned sum to 0"):
        fit(Weightless(), data, epochs=1)
    with pytest.raises(ValueError, match="data are torch.float32 and the parameters of Strict torch.float64"):
        fit(Strict(), data.float(), epochs=1)
    with pytest.raises(ValueError, match="data are torch.uint8 and the parameters of Strict torch.float64"):
        evaluate(Strict(), data)
    with pytest.raises(TypeError, match="OnlyLoss has no log_prob"):
        evaluate(OnlyLoss(), data)
    with pytest.raises(ValueError, match="batch_size is 0"):
        evaluate(Logits(), data, batch_size=0)
