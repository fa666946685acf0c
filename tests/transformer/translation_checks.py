"""What a right encoder-decoder and its training loss do. The tests ask it of the library, the mutants are caught by it."""
from __future__ import annotations

import torch

from course_lib.contract import check_causal, check_normalised, check_views_agree
from tests.transformer.checks import drawn, normal, rng, same

PAD, BOS, EOS = 0, 1, 2
SOURCE = torch.tensor([[3, 4, 5, PAD], [6, 7, 8, 9], [10, PAD, PAD, PAD]])
TARGET = torch.tensor([[5, 6, EOS, PAD, PAD], [7, 8, 9, 4, EOS], [3, EOS, PAD, PAD, PAD]])
PAIRS = [([3, 4, 5], [5, 6, EOS]), ([6, 7, 8, 9], [7, 8, 9, 4, EOS]), ([10], [3, EOS])]   # the same without padding


def small(module=None, **changes):
    if module is None:
        from course_lib.transformer import translation as module
    settings = {"source": 11, "target": 13, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "d_model": 12, "heads": 3,
                "d_ff": 20, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0, **changes}
    torch.manual_seed(0)
    return module.Translation(module.TranslationConfig(**settings))


def one_by_one(model):
    """log p of each target up to and including its end: single sentences, the plain sum over their own tokens."""
    found = []
    for source, target in PAIRS:
        logits = model._logits(model._decode(torch.tensor([[BOS, *target[:-1]]]), *model.encode(torch.tensor([source]))))
        log_p = logits.log_softmax(-1)[0]
        found.append(sum(log_p[t, v] for t, v in enumerate(target)))
    return torch.stack(found)


def scores_up_to_the_end(module):
    """Targets of unequal lengths in one batch: value and gradient of the sentences alone; a wider batch changes nothing."""
    model = drawn(small(module))
    parameters, weight = list(model.parameters()), normal(3, seed=4)
    got, want = model.log_prob(TARGET, SOURCE), one_by_one(model)
    same(got, want)
    ours, loops = (torch.autograd.grad((weight * part).sum(), parameters) for part in (got, want))
    assert all(torch.isfinite(g).all() for g in ours)
    for a, b in zip(ours, loops):
        same(a, b)
    wide = torch.nn.functional.pad(TARGET, (0, 3), value=PAD)
    same(model.log_prob(wide, SOURCE), want)
    after = TARGET.clone()
    after[0, 3] = 6                                                  # a word after the end is no target at all
    assert model.log_prob(after, SOURCE)[0] == -torch.inf


def keeps_the_contract_past_the_end(module):
    """Rows of one length hold targets of many: probabilities sum to one, and both views stop at the end token."""
    model = small(module, target=3, d_model=8, heads=2, d_ff=8, encoder_layers=1, decoder_layers=1).double()
    check_causal(model, length=4, context=SOURCE[:1])
    check_normalised(model, length=4, context=SOURCE[:1])
    check_views_agree(model, length=5, context=SOURCE)
    drawn_ = model.sample(200, context=SOURCE[:1].expand(200, -1), length=6, generator=rng())
    over = (drawn_ == EOS).cumsum(dim=1) > (drawn_ == EOS)
    assert over.any() and (drawn_[over] == PAD).all()


def steps_as_the_full_pass(module):
    """Logits step by step, for targets that have not ended, branches included."""
    model = drawn(small(module)).eval()
    target = torch.tensor([[5, 6, 3, 3], [7, 8, 9, 4], [3, 10, 4, 6]])
    full, state = model.conditionals(target, SOURCE).logits, model.start(3, SOURCE)
    for t in range(4):
        same(model.predict(state).logits, full[:, t])
        model.update(state, torch.full((3,), 4))                     # a branch does not disturb the trunk
        state = model.update(state, target[:, t])


def loss_is_the_mean_over_real_tokens(module):
    """Against the sum over single sentences, with and without smoothing; padding is neither in it nor in the number."""
    plain, smooth = drawn(small(module)), drawn(small(module, smoothing=0.2, form="torch"))
    count = sum(len(target) for _, target in PAIRS)
    for wide in (0, 4):
        batch = tuple(torch.nn.functional.pad(side, (0, wide), value=PAD) for side in (SOURCE, TARGET))
        loss, number = plain.loss(batch)
        same(loss, -one_by_one(plain).sum() / count)
        assert number == count == 10
        spread = 0.0
        for source, target in PAIRS:
            hidden = plain._decode(torch.tensor([[BOS, *target[:-1]]]), *plain.encode(torch.tensor([source])))
            spread = spread - plain._logits(hidden).log_softmax(-1).mean(-1).sum()
        same(smooth.loss(batch)[0], 0.8 * loss + 0.2 * spread / count)


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
