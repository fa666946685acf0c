"""The attacked digit: its numbers against literal loops, what its page carries, bad input."""
from __future__ import annotations

import base64

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_lib import hub
from course_lib.data import load_data
from course_lib.explorables import AttackedDigit
from course_lib.explorables.attacked_digit import ATTACKS, CLASSIFIER, DENSITY, SHOWN, everything
from tests.explorables.figure import Figure, choose, click, close, data, fill, keys, pressed

CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def networks():
    return hub.load(CLASSIFIER).double().eval(), hub.load(DENSITY).double().eval()


@pytest.fixture(scope="module")
def first():
    """The first test image of each digit, found by a loop."""
    digits = load_data("digits", grey=True)
    found = {}
    for image, label in zip(digits.test.long(), digits.labels["test"].tolist()):
        found.setdefault(label, image)
    return torch.stack([found[digit] for digit in SHOWN])


def test_fgsm_sign_of_gradient(networks, first):
    classifier, _ = networks
    for name, wanted, up in (("FGSM", torch.tensor(SHOWN), 1), ("FGSM, towards 8", torch.full((len(SHOWN),), 8), -1)):
        x = first.double().requires_grad_()
        F.nll_loss(classifier(x).log_softmax(dim=1), wanted, reduction="sum").backward()
        for eps in (1, 2, 3):
            want = (first + up * eps * x.grad.sign()).clamp(0, 16).long()
            got = [by_attack[ATTACKS.index(name)][eps - 1].image.x for by_attack in everything().changed]
            assert torch.equal(torch.stack(got), want)


@pytest.mark.thorough
@torch.no_grad()
def test_numbers_whole_passes(networks):
    """One attacked image by a literal loop: each pixel from a pass over the image, the greedy repair from 64 passes."""
    classifier, density = networks
    image, repaired = everything().changed[3][0][1]
    probs = density.conditionals(image.x[None]).probs[0]             # (64, 17)
    for i, level in enumerate(image.x.tolist()):
        assert image.log_p[i].item() == pytest.approx(probs[i, level].log().item(), abs=1e-9)
    aside = density.log_prob(load_data("digits", grey=True).valid).tolist()
    now = image.x.clone()
    for i in range(64):
        probs = density.conditionals(now[None]).probs[0, i]
        around = range(max(0, int(image.x[i]) - 2), min(16, int(image.x[i]) + 2) + 1)
        now[i] = max(around, key=lambda v: probs[v].item())
    assert torch.equal(now, repaired.x) and not torch.equal(now, image.x)
    for seen in (image, repaired):
        logits = classifier(seen.x[None])[0]
        torch.testing.assert_close(seen.classes, logits.exp() / logits.exp().sum(), rtol=0, atol=1e-12)
        lower = sum(s <= seen.log_p.sum().item() for s in aside)
        assert seen.p == pytest.approx((1 + lower) / 351)


def unpacked(text: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), "<f4").copy()).double()


def test_page_data():
    w, found = AttackedDigit(), everything()
    for sent, clean, by_attack in zip(w.digits, found.clean, found.changed, strict=True):
        states = [(sent["clean"], clean), *((one, pair) for ours, theirs in zip(sent["changed"], by_attack, strict=True)
                                            for one, pair in zip(ours, theirs, strict=True))]
        for one, (image, repaired) in states:
            torch.testing.assert_close(unpacked(one["log_p"]), image.log_p, **CLOSE)
            assert one["repaired"]["total"] == pytest.approx(repaired.log_p.sum().item(), abs=1e-5)
            for part, seen in ((one, image), (one["repaired"], repaired)):
                assert [int(sign, 17) for sign in part["x"]] == seen.x.tolist()
                torch.testing.assert_close(unpacked(part["classes"]), seen.classes, **CLOSE)
                assert part["p"] == pytest.approx(seen.p, abs=1e-6)


# --- in the browser ----------------------------------------------------------------------------------------------------


def agrees(page, w) -> None:
    (image, repaired), clean = w.result, AttackedDigit(digit=w.digit, eps=0).result.image
    assert data(page, "level") == image.x.tolist() and data(page, "repaired") == repaired.x.tolist()
    assert data(page, "change") == (image.x - clean.x).tolist() and pressed(page, ".cl-dd-grid button") == [w.pixel]
    close(data(page, "nats"), image.log_p)
    for row, seen in zip(("first", "last"), (image, repaired)):
        close(data(page, "p", f".cl-ad-classes tbody tr:{row}-child"), seen.classes)
    said = page.locator(".cl-live").text_content()
    for number in (f"{image.log_p.sum():.2f}", f"{repaired.log_p.sum():.2f}", f"{image.p:.4f}", f"{repaired.p:.4f}",
                   f"{image.log_p[w.pixel]:.4f}", *map(str, w.shares[w.attack][w.eps])):
        assert number.replace("-", "−") in said, number
    strip = page.locator(".cl-ad-strip").get_attribute("aria-label")
    assert all(f"{seen.log_p.sum():.1f}".replace("-", "−") in strip for seen in (image, repaired))


BAD = [
    ({"digit": 8}, "digit is 8; expected 0 to 7"),
    ({"attack": 5}, "attack is 5; expected 0 to 4"),
    ({"eps": 4}, "eps is 4; expected 0 to 3"),
    ({"pixel": -1}, "pixel is -1; expected 0 to 63"),
]
FIGURE = Figure(AttackedDigit, agrees, bad=BAD, change={"eps": 0}, height=600,
                says=("a 4, PGD, at most 2 levels a pixel.", "It is read as 9, p = 0.", ", flagged.",
                      "After the repair it is read as 4, p = "), moves=[
    (keys("ArrowRight", at="[type=range]"), {"eps": 3}),
    (keys("ArrowLeft", "ArrowLeft"), {"eps": 1}),
    (keys("Tab", "ArrowUp", "ArrowRight", "Enter"), {"pixel": 49}),
    (fill("[type=range]", 0), {"eps": 0}),
    (choose("Digit", 7), {"digit": SHOWN.index(7)}),
    (fill("[type=range]", 2), {"eps": 2}),
    *((choose("Change", k), {"attack": k}) for k in (*range(1, len(ATTACKS)), 0)),
    (click("[data-level]:last-child"), {"pixel": 63}),
])
