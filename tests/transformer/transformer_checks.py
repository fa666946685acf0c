"""What a right encoder-decoder and its loss do. The mutants are caught by it."""
from __future__ import annotations

import torch

from course_lib.contract import check_causal, check_normalized, check_views_agree
from tests.support.random import normal, redrawn, rng
from tests.support.tensors import same

PAD, BOS, EOS = 0, 1, 2
SOURCE = torch.tensor([[3, 4, 5, PAD], [6, 7, 8, 9], [10, PAD, PAD, PAD]])
TARGET = torch.tensor([[5, 6, EOS, PAD, PAD], [7, 8, 9, 4, EOS], [3, EOS, PAD, PAD, PAD]])
PAIRS = [([3, 4, 5], [5, 6, EOS]), ([6, 7, 8, 9], [7, 8, 9, 4, EOS]), ([10], [3, EOS])]   # the same without padding


def small(module=None, **changes):
    if module is None:
        from course_lib.transformer import transformer as module
    settings = {"source": 11, "target": 13, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "d_model": 12, "heads": 3,
                "d_ff": 20, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0, **changes}
    torch.manual_seed(0)
    return module.Transformer(module.TransformerConfig(**settings))


def one_by_one(model):
    """log p of each target up to and including its end: single sentences, the plain sum over their own tokens."""
    found = []
    for source, target in PAIRS:
        logits = model.logits(model.decode(torch.tensor([[BOS, *target[:-1]]]), *model.encode(torch.tensor([source]))))
        log_p = logits.log_softmax(-1)[0]
        found.append(sum(log_p[t, v] for t, v in enumerate(target)))
    return torch.stack(found)


def scores_up_to_the_end(module):
    """Targets of unequal lengths in one batch: value and gradient of the sentences alone; a wider batch changes nothing."""
    model = redrawn(small(module))
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
    check_normalized(model, length=4, context=SOURCE[:1])
    check_views_agree(model, length=5, context=SOURCE)
    sampled = model.sample(200, context=SOURCE[:1].expand(200, -1), length=6, generator=rng())
    over = (sampled == EOS).cumsum(dim=1) > (sampled == EOS)
    assert over.any() and (sampled[over] == PAD).all()


def steps_as_the_full_pass(module):
    """Logits step by step, for targets that have not ended, branches included."""
    model = redrawn(small(module)).eval()
    target = torch.tensor([[5, 6, 3, 3], [7, 8, 9, 4], [3, 10, 4, 6]])
    full, state = model.conditionals(target, SOURCE).logits, model.start(3, SOURCE)
    for t in range(4):
        same(model.predict(state).logits, full[:, t])
        model.update(state, torch.full((3,), 4))                     # a branch does not disturb the trunk
        state = model.update(state, target[:, t])


def loss_is_the_mean_over_real_tokens(module):
    """Against the sum over single sentences, with and without smoothing; padding is neither in it nor in the number."""
    plain, smooth = redrawn(small(module)), redrawn(small(module, smoothing=0.2, form="torch"))
    count = sum(len(target) for _, target in PAIRS)
    for wide in (0, 4):
        batch = tuple(torch.nn.functional.pad(side, (0, wide), value=PAD) for side in (SOURCE, TARGET))
        loss, number = plain.loss(batch)
        same(loss, -one_by_one(plain).sum() / count)
        assert number == count == 10
        spread = 0.0
        for source, target in PAIRS:
            hidden = plain.decode(torch.tensor([[BOS, *target[:-1]]]), *plain.encode(torch.tensor([source])))
            spread = spread - plain.logits(hidden).log_softmax(-1).mean(-1).sum()
        same(smooth.loss(batch)[0], 0.8 * loss + 0.2 * spread / count)


def selects_rows_with_their_sources(module):
    """Beams of one source are exchanged, or rows of another source come with it: each goes on as by itself."""
    model = redrawn(small(module)).eval()
    first = torch.tensor([5, 6, 7, 8, 9, 10])
    beams = model.update(model.select(model.start(3, SOURCE), torch.arange(6) // 2), first)          # two for each source
    for rows in ([1, 0, 2, 2, 5, 4], [2, 0, 5, 5, 1, 1], [4, 1], [0, 1, 2, 3, 4, 5]):
        rows, state = torch.tensor(rows), model.select(beams, torch.tensor(rows))
        second = torch.arange(len(rows)) + 3
        target = torch.stack([first[rows], second, second], dim=1)
        whole = model.conditionals(target, SOURCE[rows // 2]).logits
        same(model.predict(state).logits, whole[:, 1])
        again = model.select(model.update(state, second), torch.arange(len(rows)))
        same(model.predict(again).logits, whole[:, 2])
