"""What a right mask or model of images does. The mutants are caught by it."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.autoregressive import AutoregressiveModel, uniforms
from tests.support.random import drawn, normal, rng, rows


def mask_by_loops(k, kind, outputs=1, inputs=1, groups=1):
    """The definition, an entry at a time."""
    mask = torch.zeros(outputs, inputs, k, k)
    for o in range(outputs):
        for i in range(inputs):
            for r in range(k):
                for c in range(k):
                    before = (r, c) < (k // 2, k // 2)
                    centre = (r, c) == (k // 2, k // 2)
                    own, read = o * groups // outputs, i * groups // inputs
                    mask[o, i, r, c] = before or centre and (read < own or kind == "B" and read == own)
    return mask


def is_the_mask(kernel_mask):
    for k in (1, 3, 5):
        for kind in "AB":
            for outputs, inputs, groups in ((1, 1, 1), (3, 3, 3), (6, 3, 3), (6, 9, 3), (4, 2, 1)):
                assert torch.equal(kernel_mask(k, kind, outputs, inputs, groups),
                                   mask_by_loops(k, kind, outputs, inputs, groups))


def is_torchs_convolution(layer):
    """A masked layer in value and gradient: torch's convolution with the whole k x k kernel and its mask."""
    layer, x = layer.double(), normal(2, layer.in_channels, 5, 6)
    rows_, k = layer.kernel_size
    above = rows_ > 1 or k == 1
    full = mask_by_loops(k, layer.kind, layer.out_channels, layer.in_channels, layer.colors).double()
    weight = torch.zeros_like(full)
    first = 0 if above else k // 2
    weight[:, :, first:k // 2 + 1] = layer.weight.detach()
    if not above:
        full[:, :, :first] = 0
    weight.requires_grad_()
    want = F.conv2d(x, weight * full, layer.bias, padding=k // 2)
    got = layer(x)
    torch.testing.assert_close(got, want)
    up = normal(*got.shape, seed=1)
    (ours,), (theirs,) = (torch.autograd.grad((y * up).sum(), w) for y, w in ((got, layer.weight), (want, weight)))
    torch.testing.assert_close(ours, theirs[:, :, first:k // 2 + 1])


def draws_what_full_passes_draw(model, context=None):
    """The cached view against `conditionals` run again for every variable, on the same uniforms, holes too."""
    model = drawn(model)
    n = model.n

    class Rerun(type(model)):
        start, predict, update = AutoregressiveModel.start, AutoregressiveModel.predict, AutoregressiveModel.update

    slow = Rerun(**model.config).double()
    slow.load_state_dict(model.state_dict())
    given, known = model.check_input(rows(model.conditional, 6, n, seed=1)), torch.rand(6, n, generator=rng(2)) < 0.3
    u = uniforms(6, n, model.conditional.num_uniforms, rng(3), "cpu")
    with torch.no_grad():
        for g, k in ((None, None), (given, known)):
            assert torch.equal(model.eval().draw_all(u, g, k, context), slow.eval().draw_all(u, g, k, context))


def is_pixelcnn_plus_plus(model):
    """The chain: the sum of a pixel's factors is log of the sum over components of products over colours."""
    model = drawn(model)
    (C, H, W), k, levels = model.shape, model.conditional.k, model.conditional.num_values
    x = torch.randint(levels, (5, C, H, W), generator=rng(1))
    raw, want = model.raw(model.image(x.flatten(1)), None), torch.zeros(5, dtype=torch.float64)
    value = 2 * x.double() / (levels - 1) - 1
    for b in range(5):
        for r in range(H):
            for w in range(W):
                p = raw[b, :, r, w]
                pi, mean, scale = p[:k].softmax(0), p[k:k + C * k].view(C, k), p[k + C * k:k + 2 * C * k].view(C, k).exp()
                red, green, blue = value[b, :, r, w]
                gamma = p[k + 2 * C * k:].view(3, k).tanh()
                mu = torch.stack([mean[0], mean[1] + gamma[0] * red, mean[2] + gamma[1] * red + gamma[2] * green])
                half, total = 1 / (levels - 1), pi
                for c in range(C):
                    v = value[b, c, r, w]
                    upper = torch.ones(k) if x[b, c, r, w] == levels - 1 else torch.sigmoid((v + half - mu[c]) / scale[c])
                    lower = torch.zeros(k) if x[b, c, r, w] == 0 else torch.sigmoid((v - half - mu[c]) / scale[c])
                    total = total * (upper - lower)
                want[b] += total.sum().log()
    torch.testing.assert_close(model.log_prob(x.flatten(1)), want)


def reads_all_before(model):
    """The whole receptive field: no blind spot."""
    n = model.n
    assert int(model.receptive_field.sum()) == n * (n - 1) // 2


# --- attacks and detection -------------------------------------------------------------------------------------------


def toy(seed=0):
    """A classifier of 16 pixels that is smooth: gradients are nowhere 0."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).double()


def attackable(seed=1):
    return torch.randint(17, (30, 16), generator=rng(seed)), torch.randint(3, (30,), generator=rng(seed + 1))


def is_fgsm(fgsm):
    """Pixel by pixel, from the loss of one image at a time; towards a target too."""
    model, (x, y) = toy(), attackable()
    for targeted in (False, True):
        got = fgsm(model, x, y, 2, 17, targeted=targeted)
        for k in range(len(x)):
            z = x[k:k + 1].double().requires_grad_()
            (g,) = torch.autograd.grad(F.cross_entropy(model(z), y[k:k + 1]), z)
            want = [min(16, max(0, int(v) + 2 * (-1 if (s > 0) == targeted else 1))) for v, s in zip(x[k], g[0])]
            assert got[k].tolist() == want


def is_pgd(pgd):
    """By a literal loop for each image: steps of one level, and of all of them the image with the largest margin."""
    model, (x, y) = toy(), attackable()
    for targeted in (False, True):
        got = pgd(model, x, y, 2, 17, steps=4, targeted=targeted)
        for k in range(len(x)):
            now, reached, kept = x[k].clone(), -float("inf"), None
            for _ in range(5):
                z = now[None].double().requires_grad_()
                logits = model(z)
                (g,) = torch.autograd.grad(F.cross_entropy(logits, y[k:k + 1]), z)
                logits = logits.detach()
                own = int(y[k])
                m = (max(float(v) for j, v in enumerate(logits[0]) if j != own) - float(logits[0, own])) * (-1 if targeted else 1)
                if m > reached:
                    reached, kept = m, now.clone()
                for i in range(16):
                    move = int(g[0, i].sign()) * (-1 if targeted else 1)
                    now[i] = min(16, int(x[k, i]) + 2, max(0, int(x[k, i]) - 2, int(now[i]) + move))
            assert torch.equal(got[k], kept)


def stays_in_the_box(attack, model, eps):
    """No pixel moves by more than eps nor leaves the range, at the ends of which half of the pixels are."""
    ends = torch.tensor([0, 16, 8, 3]).repeat(20, 4)
    y = torch.arange(20) % 3
    changed = attack(model, ends, y, eps, 17)
    assert changed.dtype == torch.int64 and changed.min() >= 0 and changed.max() <= 16
    assert (changed - ends).abs().max() == eps if eps else torch.equal(changed, ends)


def goes_through_the_defence(pgd):
    """A defence that reverses the pixels: what the classifier sees decides, and the step is taken where the pixel is.

    The gradient passes the defence as if it were not there, so that reversed pixels move the wrong ones: for images that
    read the same both ways the step is right, and the attack through the defence does what the plain one does.
    """
    model, (x, y) = toy(), attackable()
    seen = []

    def blind(z):                                                    # a defence that shows the classifier nothing
        seen.append(z.clone())
        return torch.full_like(z, 8)

    at_blank = pgd(model, x, y, 1, 17, steps=1, through=blind)
    assert len(seen) == 2 and torch.equal(seen[0], x)                # at the start and after the step
    z = torch.full((30, 16), 8.0).double().requires_grad_()
    (g,) = torch.autograd.grad(F.cross_entropy(model(z), y, reduction="sum"), z)
    assert torch.equal(seen[1], (x + g.sign().long()).clamp(0, 16))  # the gradient at what was seen, the step at x
    assert torch.equal(at_blank, x)                                  # the margin is the same after the step: not better
    noisy = pgd(model, x, y, 2, 17, through=lambda v: (v + 1).clamp(0, 16))
    m = [(model((v + 1).clamp(0, 16).double()).argmax(1) != y).sum() for v in (x, noisy)]
    assert m[1] > m[0]


def is_the_rank(rank_p_values):
    """By counting, with ties and at both ends."""
    calibration = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5]).double()
    for s in (0.0, 1.0, 2.5, 5.0, 9.0, 10.0):
        count = sum(float(c) <= s for c in calibration)
        assert abs(rank_p_values(torch.tensor([s]), calibration).item() - (1 + count) / 10) < 1e-12


def is_the_area(auc):
    """scikit-learn's, with ties."""
    from sklearn.metrics import roc_auc_score

    for seed in range(5):
        clean, other = torch.randint(6, (30,), generator=rng(seed)), torch.randint(8, (20,), generator=rng(seed + 9))
        want = roc_auc_score([0] * 30 + [1] * 20, torch.cat([clean, other]).numpy())
        assert abs(auc(clean, other) - want) < 1e-12


def is_greedy(purify, model, eps, num=5):
    """By full passes: each variable takes its likeliest value near the given one, after those that are repaired."""
    x = model.check_input(rows(model.conditional, num, model.n, seed=1)).long()
    want, K = x.clone(), model.conditional.num_values
    for k in range(model.n):
        i = model.variable_at(k)
        for b in range(len(x)):
            found = []
            for v in range(max(0, int(x[b, i]) - eps), min(K - 1, int(x[b, i]) + eps) + 1):
                trial = want[b:b + 1].clone()
                trial[0, i] = v
                factor = model.conditionals(trial).log_prob(trial.to(model.like().dtype))[0, i].detach()
                found.append((float(factor), v))
            want[b, i] = max(found)[1]
    assert torch.equal(purify(model, x, eps), want)
