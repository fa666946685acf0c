"""fit against a loop written by hand, torch's own pieces and arithmetic on paper."""
from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training import constant, cosine, epoch_order, evaluate, fit, linear
from course_lib.training.batches import epoch_batches
from tests.support.training import SMALL, Logits


@pytest.fixture
def data():
    return SMALL.clone()


def by_hand(model, data, *, epochs, batch_size, lr, weight_decay=0.0, clip=None, factor=lambda step: 1.0, seed=0):
    """The loop as everyone writes it once; returns the weighted mean loss of each epoch, and the unweighted."""
    optimizer = torch.optim.AdamW([{"params": [model.weight], "weight_decay": weight_decay},
                                   {"params": [model.bias], "weight_decay": 0.0}], lr=lr, fused=True)
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
def test_fit_equals_hand_written_loop(data, dtype):
    ours, theirs = Logits(dtype=dtype), Logits(dtype=dtype)
    history = fit(ours, data, epochs=4, batch_size=5, lr=0.05, weight_decay=0.1, clip=0.7, schedule="cosine", warmup=3,
                  seed=9)
    weighted, _ = by_hand(theirs, data, epochs=4, batch_size=5, lr=0.05, weight_decay=0.1, clip=0.7,
                          factor=cosine(20, 3), seed=9)
    assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)
    assert history.train == pytest.approx(weighted, rel=1e-15)
    assert history.steps == [5, 10, 15, 20]


def test_fit_short_last_batch():
    x = torch.zeros(11, 6)
    x[7] = 1                                                         # one row unlike the others
    seed = next(s for s in range(99) if epoch_order(11, s, 1)[-1] == 7)
    history = fit(Logits(), x, epochs=1, batch_size=10, lr=1e-3, seed=seed)
    weighted, plain = by_hand(Logits(), x, epochs=1, batch_size=10, lr=1e-3, seed=seed)
    assert history.train == pytest.approx(weighted, rel=1e-14)
    assert abs(history.train[0] - plain[0]) > 0.01                   # the mean of means would be seen


def test_fit_with_context(data):
    context = torch.randn(23, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model, reference = Logits(), Logits()
    history = fit(model, (data, context), (data[:5], context[:5]), epochs=1, batch_size=7, lr=0.1)
    losses = []
    optimizer = torch.optim.AdamW(reference.parameters(), lr=0.1, weight_decay=0.0, fused=True)
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
def test_fit_accumulation(data, accumulate):
    whole, pieces = Logits(), Logits()
    one = fit(whole, data, epochs=3, batch_size=10, lr=0.05)
    many = fit(pieces, data, epochs=3, batch_size=10, lr=0.05, accumulate=accumulate)
    assert many.train == pytest.approx(one.train, rel=1e-12)
    torch.testing.assert_close(pieces.weight, whole.weight, rtol=0, atol=1e-12)


def test_fit_token_weighted_loss(data):
    class Masked(Logits):
        def loss(self, batch):
            x, mask = batch
            nll = F.binary_cross_entropy_with_logits(F.linear(x.double(), self.weight.tril(-1), self.bias), x.double(),
                                                     reduction="none")
            return nll[mask].sum() / mask.sum().clamp(min=1), mask.sum().item()

    mask = torch.arange(23)[:, None] % 7 > torch.arange(6)           # 0 to 6 tokens per row
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


def test_schedules():
    assert [constant(6, 3)(s) for s in range(1, 7)] == [1 / 3, 2 / 3, 1, 1, 1, 1]
    assert [linear(6, 2)(s) for s in range(1, 7)] == pytest.approx([0.5, 1, 0.8, 0.6, 0.4, 0.2])
    assert [linear(4)(s) for s in range(1, 5)] == pytest.approx([1, 0.75, 0.5, 0.25])
    assert [cosine(5, 2)(s) for s in range(1, 6)] == pytest.approx(
        [0.5, 1, 0.5 + 0.5 * math.cos(math.pi / 4), 0.5, 0.5 - 0.5 * math.cos(math.pi / 4)])
    for make in (constant, linear, cosine):
        for steps, warmup in ((1, 0), (1, 1), (40, 0), (40, 1), (40, 13), (40, 40)):
            factors = [make(steps, warmup)(s) for s in range(1, steps + 1)]
            assert max(factors) == factors[max(warmup, 1) - 1] == 1 and min(factors) > 0


def test_cosine_equals_torch():
    p = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], lr=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=17)
    for step in range(1, 18):
        assert cosine(17)(step) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-12)
        optimizer.step()
        schedule.step()


def test_epoch_batches_by_length():
    lengths = torch.randint(1, 40, (1003,), generator=torch.Generator().manual_seed(0))
    batches = epoch_batches(1003, 4, 0, 1, lengths)
    assert torch.equal(torch.cat(batches).sort().values, torch.arange(1003))
    assert sorted(map(len, batches))[:2] == [3, 4] and len(batches) == 251
    padding = [sum(int(lengths[b].max() * len(b) - lengths[b].sum()) for b in order)
               for order in (batches, epoch_batches(1003, 4, 0, 1))]
    assert padding[0] < 0.1 * padding[1]
    firsts = torch.stack([lengths[b].float().mean() for b in batches])
    assert abs(torch.corrcoef(torch.stack([firsts, torch.arange(251.0)]))[0, 1]) < 0.2    # not from short to long
    assert all(torch.equal(a, b) for a, b in zip(batches, epoch_batches(1003, 4, 0, 1, lengths)))
    assert not torch.equal(batches[0], epoch_batches(1003, 4, 0, 2, lengths)[0])


def test_fit_batches_by_length(data):
    seen = []

    class Noting(Logits):
        def log_prob(self, x, context=None):
            if self.training:
                seen.append(x.sum(1))
            return super().log_prob(x)

    lengths = data.sum(1)
    fit(Noting(), data, epochs=1, batch_size=4, lr=0.1, lengths=lengths)
    assert all(torch.equal(x, lengths[rows]) for x, rows in zip(seen, epoch_batches(len(data), 4, 0, 1, lengths)))
    with pytest.raises(ValueError, match="lengths has shape"):
        fit(Logits(), data, epochs=1, lengths=lengths[:-1])
