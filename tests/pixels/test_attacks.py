"""Attacks: the classifier, the box, the pixels that may change, bad input. Their equations: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.pixels import ImageClassifier, fgsm, pgd, sign_noise
from course_lib.pixels.classifier import shifted
from tests.pixels import checks as check
from tests.support.random import redrawn, rng

LEVELS = 17


def net(**size):
    return redrawn(ImageClassifier((4, 4), LEVELS, 3, (3, 4, 5), **size), scale=3.0)


def images(num=20, seed=0):
    return torch.randint(LEVELS, (num, 16), generator=rng(seed))


def classes(num=20, seed=1):
    return torch.randint(3, (num,), generator=rng(seed))


# --- the classifier --------------------------------------------------------------------------------------------------


def test_classifier_equals_torch():
    model = net()
    a, b, c = model.convolutions
    plain = torch.nn.Sequential(torch.nn.Unflatten(1, (1, 4, 4)), a, torch.nn.ReLU(), b, torch.nn.ReLU(),
                                torch.nn.MaxPool2d(2), c, torch.nn.ReLU(), torch.nn.Flatten(), model.last)
    x, y = images().double().requires_grad_(), classes()
    want = plain(x / 16)
    torch.testing.assert_close(model(x), want)
    torch.testing.assert_close(model.log_prob(x, y), want.log_softmax(1)[torch.arange(20), y])
    assert torch.equal(model.classify(x), want.argmax(1))
    loss = torch.nn.functional.cross_entropy(want, y)
    torch.testing.assert_close(model.loss((x, y)), loss)
    for ours, theirs in zip(torch.autograd.grad(model.loss((x, y)), (x, a.weight)), torch.autograd.grad(loss, (x, a.weight))):
        torch.testing.assert_close(ours, theirs)


def test_shifted_one_of_nine():
    torch.manual_seed(0)
    x = images(200) + 1                                              # 0 is what comes in from outside
    moved, seen = shifted(x, (4, 4)).view(-1, 4, 4), set()
    for before, after in zip(x.view(-1, 4, 4), moved):
        at = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if torch.equal(after, torch.nn.functional.pad(
            before, (c, -c, r, -r)))]
        assert len(at) == 1
        seen.add(at[0])
    assert len(seen) == 9


# --- the attacks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", [fgsm, pgd])
@pytest.mark.parametrize("eps", [0, 1, 3])
def test_attacks_within_eps(attack, eps):
    check.stays_in_the_box(attack, net(), eps)


def test_attacks_where():
    model, x, y = net(), images(), classes()
    ink = x > 8
    for changed in (fgsm(model, x, y, 2, LEVELS, where=ink), pgd(model, x, y, 2, LEVELS, where=ink, generator=rng(0)),
                    sign_noise(x, 2, LEVELS, rng(0), ink)):
        assert torch.equal(changed[~ink], x[~ink]) and not torch.equal(changed, x)


@pytest.mark.parametrize("make, message", [
    (lambda: fgsm(net(), images(), classes(), -1, LEVELS), "eps is -1; expected an integer of at least 0"),
    (lambda: pgd(net(), images(), classes(), -1, LEVELS), "eps is -1"),
    (lambda: sign_noise(images(), -2, LEVELS), "eps is -2"),
    (lambda: fgsm(net(), images() + 1, classes(), 1, LEVELS), r"x contains levels from 1 to 17; expected 0 to 16"),
    (lambda: fgsm(net(), images() - 1, classes(), 1, LEVELS), r"x contains levels from -1 to 15; expected 0 to 16"),
    (lambda: fgsm(net(), images() / 16, classes(), 1, LEVELS), r"x has dtype torch.float32; expected integers, levels 0 to 16"),
    (lambda: fgsm(net(), images()[0], classes(), 1, LEVELS), r"x has shape \(16,\); expected \(B, n\)"),
    (lambda: fgsm(net(), images()[:, :9], classes(), 1, LEVELS), r"x has shape \(20, 9\); expected \(B, 16\), images of 4 x 4"),
    (lambda: pgd(net(), images(), classes(19), 1, LEVELS), r"y has shape \(19,\); expected \(20,\), one class per image"),
    (lambda: pgd(net(), images(), classes(), 1, LEVELS, steps=0), "steps is 0; expected at least 1"),
    (lambda: pgd(net(), images(), classes(), 1, LEVELS, where=torch.ones(20, 9).bool()),
     r"where has shape \(20, 9\) and dtype torch.bool; expected the shape of x, \(20, 16\)"),
    (lambda: net()(images() + 1), r"x contains levels from 1 to 17; expected 0 to 16"),
    (lambda: ImageClassifier((5, 4), 17), r"shape is \[5, 4\]; expected \(height, width\), both even"),
    (lambda: ImageClassifier((4, 4), 1), "levels is 1 and classes is 10; expected at least 2 levels and 2 classes"),
    (lambda: ImageClassifier((4, 4), 2, widths=(3, 4)), r"widths is \[3, 4\]; expected three integers of at least 1"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
