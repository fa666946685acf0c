"""The balls on a loss surface: every path is torch.optim's, surfaces have the gradients that they claim, bad input."""
from __future__ import annotations

import itertools
import json

import pytest
import torch

from course_lib.explorables import LossSurface
from course_lib.explorables.loss_surface import DECAY, FAR, NOISE, OPTIMIZERS, SURFACES, noise, path

TORCHS = {
    "SGD": lambda p, lr: torch.optim.SGD(p, lr),
    "momentum": lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9),
    "Adam": lambda p, lr: torch.optim.Adam(p, lr),
    "AdamW": lambda p, lr: torch.optim.AdamW(p, lr, weight_decay=DECAY),
}


def by_torch(surface, optimizer, rate, start, steps, sigma=0.0, seed=1):
    """The path by torch's optimizer and torch's gradient of the loss."""
    theta = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    rule, found = TORCHS[optimizer]([theta], rate), [theta.detach().clone()]
    for z in noise(seed, steps):
        rule.zero_grad()
        (SURFACES[surface][0](*theta) + sigma * (theta * torch.tensor(z, dtype=torch.float64)).sum()).backward()
        rule.step()
        found.append(theta.detach().clone())
        if not theta.detach().abs().max() < FAR:
            break
    return torch.stack(found)


@pytest.mark.parametrize("surface, optimizer", [*itertools.product(SURFACES, OPTIMIZERS)])
def test_every_path_is_that_of_torch(surface, optimizer):
    for rate, sigma in ((0.01, 0.0), (0.19, NOISE), (2.0, NOISE)):
        args = surface, optimizer, rate, [-2.2, 1.4], 60, sigma, 3
        mine, torchs = path(*args), by_torch(*args)
        assert len(mine) == len(torchs)
        torch.testing.assert_close(mine, torchs, rtol=1e-9, atol=1e-9)


def test_the_noise_is_normal_and_its_own_for_each_seed():
    z = torch.tensor(noise(1, 20_000), dtype=torch.float64).flatten()
    assert abs(z.mean()) < 0.02 and abs(z.std() - 1) < 0.02 and abs((z.abs() < 1).double().mean() - 0.6827) < 0.01
    assert noise(1, 5) == noise(1, 50)[:5] != noise(2, 5)


def test_what_diverges_ends_and_says_so():
    assert len(path("valley", "SGD", 0.25, [-2.2, 1.4], 100)) < 100
    assert "SGD at rate 0.25: diverged." in LossSurface(rates=[0.25, 0.1, 0.1, 0.1], steps=100, noisy=False).text()


def test_it_opens_where_the_four_go_four_ways():
    """On the valley SGD has gone the least of the way along it, at a rate at which it just converges."""
    w = LossSurface()
    ends = torch.stack([points[-1] for points in w.paths])
    assert ends[:, 0].argmin() == 0 and (ends.abs() < 3).all()
    assert len(path("valley", "SGD", 0.19, w.start, 100)) == 101


def test_what_is_stored_is_small_and_has_words():
    w = LossSurface()
    assert repr(w) == "LossSurface()" and len(json.dumps(w.get_state()).encode()) <= 60_000
    assert len(w.text().splitlines()) == 5
    bundle = w._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == w.text()


@pytest.mark.parametrize("make, message", [
    (lambda: LossSurface(surface="hill"), "surface is 'hill'; expected one of 'valley', 'bowl', 'saddle'"),
    (lambda: LossSurface(start=[0.0, 3.0]), r"start is \[0.0, 3.0\]; expected \(x, y\)"),
    (lambda: LossSurface(rates=[0.1] * 3), "expected four of 0.003, 0.005"),
    (lambda: LossSurface(rates=[0.11] * 4), "rates is .*; expected four of"),
    (lambda: LossSurface(shown=[True]), "shown has 1 entries; expected four"),
    (lambda: LossSurface(steps=101), "steps is 101; expected 0 to 100"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_chapter_2_says_of_it():
    """Momentum runs past the goal, SGD leaves the picture at the next rate, nobody leaves x = 0 on the saddle."""
    w = LossSurface()
    assert w.paths[1][:, 0].max() > 1.5 and (w.paths[0][1:, 1] - 0.5)[:6].sign().diff().abs().min() == 2
    w.rates = [0.25, 0.19, 0.19, 0.19]
    assert w.paths[0].abs().max() > 3
    for name in OPTIMIZERS:
        assert (path("saddle", name, 0.19, [0.0, 1.5], 100)[:, 0] == 0).all()
        assert (path("saddle", name, 0.19, [0.0, 1.5], 100, NOISE)[-1, 0] != 0)
