"""What a right loss, schedule and step of training do. The mutants are caught by it."""
from __future__ import annotations

import torch

from tests.support.random import normal
from tests.support.tensors import same

# --- label smoothing and the schedule --------------------------------------------------------------------------------


def smooths_in_both_forms(losses):
    """Against sums that are written out, with padding: neither in the sum nor in the number."""
    logits, target = 3 * normal(9, 5), torch.tensor([0, 4, 2, 2, 1, 0, 3, 2, 4])
    log_p = logits.log_softmax(-1)
    for form, eps in (("slide", 0.1), ("torch", 0.1), ("slide", 0.6), ("torch", 0.0)):
        for ignore in (None, 2, 0):
            total, count = 0.0, 0
            for row, k in zip(log_p, target.tolist()):
                if k != ignore:
                    rest = eps / 4 if form == "slide" else eps / 5
                    total -= sum((1 - eps + (form == "torch") * rest if v == k else rest) * row[v] for v in range(5))
                    count += 1
            same(losses.cross_entropy(logits, target, eps, form, ignore), total / count)
            q = losses.smoothed(target, 5, eps, form).double()
            same(q.sum(-1), torch.ones(9).double(), 1e-6)


def warms_up_from_step_one(schedules):
    """A straight line from step 1 to the peak at the end of the warm-up, then one over the root of the step."""
    D, w = 64, 40
    peak = (D * w) ** -0.5
    for step in (1, 7, 39, 40, 41, 160, 1000):
        want = step / w if step <= w else (w / step) ** 0.5
        assert abs(schedules.noam_lr(step, D, w) / peak - want) < 1e-12, f"noam_lr at step {step}"
        assert abs(schedules.inverse_sqrt(2000, w)(step) - want) < 1e-12, f"inverse_sqrt at step {step}"
    assert abs(schedules.noam_lr(1, 512, 4000) - 512 ** -0.5 * 4000 ** -1.5) < 1e-15
    try:
        schedules.noam_lr(0, D, w)
    except ValueError as error:
        assert "step is 0" in str(error)
    else:
        raise AssertionError("step 0 has a rate")


# --- a step of training ----------------------------------------------------------------------------------------------


class Slope(torch.nn.Module):
    """A loss that is linear in a matrix and a bias: their gradients are known, 3 and 4 long, together 5."""

    def __init__(self):
        super().__init__()
        self.matrix, self.bias = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))

    def loss(self, batch):
        return 3 * self.matrix[0, 1] + 4 * self.bias[0] + 0 * batch.sum()


def clips_by_the_global_norm(loop):
    """All gradients are shortened together, by one factor; those below the limit stay as they are."""
    for limit, factor in ((1.0, 0.2), (4.5, 0.9), (5.5, 1.0), (None, 1.0)):
        model = Slope()
        loop.fit(model, torch.zeros(4, 1), epochs=1, batch_size=4, lr=1e-9, clip=limit, progress=False)
        same(model.matrix.grad[0, 1], torch.tensor(3 * factor), 1e-5)
        same(model.bias.grad[0], torch.tensor(4 * factor), 1e-5)


def decays_matrices_alone(loop):
    """Weight decay pulls at matrices, not at biases and gains."""
    model = Slope()
    model.loss = lambda batch: 0 * (model.matrix.sum() + model.bias.sum()) + 0 * batch.sum()
    loop.fit(model, torch.zeros(4, 1), epochs=1, batch_size=4, lr=0.1, weight_decay=0.5, progress=False)
    same(model.matrix.data, torch.full((2, 2), 0.95), 1e-6)
    assert (model.bias == 1).all()


# --- what is looked at before the first step ---------------------------------------------------------------------------


def looks_at_every_row_of_what_it_knows(module):
    """`check_once`: a wrong value in the last row is found, and a loss is judged by its own check alone."""
    class Strict(torch.nn.Module):
        def loss(self, batch):
            return batch.sum()

        def check_batch(self, batch):
            if (batch < 0).any():
                raise ValueError("below 0")

    class Other(Strict):
        def loss(self, batch):
            return -batch.sum()

    rows, before, module.ROWS = torch.tensor([1.0] * 9 + [-1.0]), module.ROWS, 4
    try:
        module.check_once(Strict(), rows, rows.device)
        raise AssertionError("the last row was not looked at")
    except ValueError as error:
        assert str(error) == "below 0"
    finally:
        module.ROWS = before
    assert module.check_once(Strict(), rows[:9], rows.device) is module.unchecked
    assert module.check_once(Other(), rows, rows.device) is module.nullcontext
