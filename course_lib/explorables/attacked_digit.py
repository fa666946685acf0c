r"""Adversarial attacks on digits: predictions of the classifier, log-probabilities of pixels, and purification.

`everything` computes all values with the library and the two networks of chapter likelihood; the figure stores them as
float32. Pixels are counted from 0 here; rows and columns from 1 in the figure.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.explorables.base import Explorable, Whole, as_base64, script, style
from course_lib.pixels import fgsm, pgd, purify, rank_p_values, sign_noise

# Names of the two networks, number of gray levels, largest eps; digits that can be selected, target class of targeted
# attacks, number of images for `Everything.shares`, p-value at or below which an image is flagged.
CLASSIFIER, DENSITY, LEVELS, LARGEST = "classifier-grey-digits", "gated-pixelcnn-grey-digits", 17, 3
SHOWN, TARGET, SHARED, ALARM = (0, 1, 3, 4, 5, 6, 7, 9), 8, 50, 0.05
ATTACKS = ("PGD", "FGSM", f"PGD, towards {TARGET}", f"FGSM, towards {TARGET}", "random signs")
SIGNS = "0123456789abcdefg"                                          # one character per level


class Seen(NamedTuple):
    """An image of n pixels, and what the PixelCNN and the classifier compute for it."""

    x: Int[Tensor, " n"]                                             # gray levels, row by row
    log_p: Float[Tensor, " n"]                                       # ln p of each pixel given the pixels before it
    classes: Float[Tensor, " ten"]                                   # p(class | image)
    p: float                                                         # p-value, from the rank among calibration images

    @property
    def read(self) -> int:
        """The predicted class."""
        return int(self.classes.argmax())


class Pair(NamedTuple):
    """An image of the figure and its version purified by PixelDefend, each with what the models compute for it."""

    image: Seen                                                      # before purification, attacked or not
    repaired: Seen                                                   # after purification


class Everything(NamedTuple):
    """All values of the figure, by digit in SHOWN, attack in ATTACKS, and eps, the largest change of a pixel."""

    calibration: Float[Tensor, " N"]                                 # log-likelihood of each calibration image, in nats
    clean: list[Pair]                                                # [digit], without attack
    changed: list[list[list[Pair]]]                                  # [digit][attack][eps - 1]
    shares: list[list[list[int]]]                                    # [attack][eps]: of SHARED images, the numbers that
                                                                     # are correct, flagged, correct after purification


@cache
@torch.no_grad()
def everything() -> Everything:
    """Compute the result of every attack with every eps on the images of the figure.

    These are the first test image of each digit in SHOWN and, for `shares`, the first SHARED test images. Images are
    purified with the eps of the attack. Random signs have seed 0.
    """
    from course_lib import hub
    from course_lib.data import load_data

    digits = load_data("digits", grey=True)
    x, y = digits.test.long(), digits.labels["test"]
    first, chosen = len(SHOWN), [int((y == digit).nonzero()[0]) for digit in SHOWN]
    x, y = torch.cat([x[chosen], x[:SHARED]]), torch.cat([y[chosen], y[:SHARED]])
    classifier, density = hub.load(CLASSIFIER).double(), hub.load(DENSITY).double()
    calibration, generator = density.log_prob(digits.valid), torch.Generator().manual_seed(0)

    def attacked(name: str, eps: int) -> Int[Tensor, "B n"]:
        if name == "random signs":
            return sign_noise(x, eps, LEVELS, generator)
        attack, targeted = (fgsm if name.startswith("FGSM") else pgd), "towards" in name
        wanted = torch.full_like(y, TARGET) if targeted else y
        return attack(classifier, x, wanted, eps, LEVELS, targeted=targeted)

    def seen(images: Int[Tensor, "B n"]) -> list[Seen]:
        each = density.conditionals(images).log_prob(images)         # (B, n)
        p = rank_p_values(each.sum(dim=1), calibration)
        classes = classifier(images).softmax(dim=1)
        return [Seen(image, log_p, c, value.item()) for image, log_p, c, value in zip(images, each, classes, p)]

    def pairs(images: Int[Tensor, "B n"], eps: int) -> list[Pair]:
        return [Pair(*both) for both in zip(seen(images), seen(purify(density, images, eps)), strict=True)]

    def share(found: list[Pair]) -> list[int]:
        counted = [[image.read == k, image.p <= ALARM, repaired.read == k]
                   for (image, repaired), k in zip(found[first:], y[first:].tolist(), strict=True)]
        return [sum(column) for column in zip(*counted)]

    clean = pairs(x, 0)
    by_eps = []
    for eps in range(1, LARGEST + 1):                                # all attacks of an eps in one batch
        found = pairs(torch.cat([attacked(name, eps) for name in ATTACKS]), eps)
        by_eps.append([found[k:k + len(x)] for k in range(0, len(found), len(x))])
    by_attack = list(zip(*by_eps))                                   # [attack][eps - 1][image]
    return Everything(calibration, clean[:first],
                      [[[found[k] for found in each] for each in by_attack] for k in range(first)],
                      [[share(clean), *map(share, each)] for each in by_attack])


def _packed(pair: Pair) -> dict[str, object]:
    """Return the values of an image and its purified version as a dict in the format of attacked_digit.js."""
    image, repaired = ({"x": "".join(SIGNS[v] for v in seen.x.tolist()), "classes": as_base64([seen.classes]),
                        "p": round(seen.p, 6)} for seen in pair)
    total = round(pair.repaired.log_p.sum().item(), 6)
    return {**image, "log_p": as_base64([pair.image.log_p]), "repaired": {**repaired, "total": total}}


class AttackedDigit(Explorable):
    """Interactive figure of adversarial attacks on digits of 17 gray levels, their detection and their purification.

    It shows the predicted class, the log-probability of every pixel under an autoregressive model, the p-value of the
    image, computed from the rank of its log-likelihood, and the purified image.

    digit   index, from 0, in SHOWN, the digits 0, 1, 3, 4, 5, 6, 7, 9
    attack  0 projected gradient descent (PGD), 1 fast gradient sign method (FGSM), 2 PGD and 3 FGSM with the target
            class 8, 4 random signs: index in ATTACKS
    eps     largest change of a pixel, in levels, 0 to 3
    pixel   index of the selected pixel, row by row, 0 to 63

    The constructor takes these attributes as keyword arguments. Raises ValueError for values out of range.

    >>> print(AttackedDigit().text().splitlines()[-2])
    It is read as 9, p = 0.90; log p is -231.5 nats, p-value 0.003, flagged.
    """

    _esm = script("attacked_digit")
    _css = style("drawn_digit", "attacked_digit")
    digits = traitlets.List().tag(sync=True)                         # for each digit: name, "clean", "changed"
    attacks = traitlets.List(list(ATTACKS)).tag(sync=True)
    calibration = traitlets.Unicode().tag(sync=True)
    shares = traitlets.List().tag(sync=True)
    of = traitlets.Int(SHARED).tag(sync=True)
    digit = Whole(3, 0, len(SHOWN) - 1).tag(sync=True)
    attack = Whole(0, 0, len(ATTACKS) - 1).tag(sync=True)
    eps = Whole(2, 0, LARGEST).tag(sync=True)
    pixel = Whole(56, 0, 63).tag(sync=True)

    def __init__(self, **traits):
        found = everything()
        digits = [{"name": name, "clean": _packed(clean), "changed": [[*map(_packed, by_eps)] for by_eps in by_attack]}
                  for name, clean, by_attack in zip(SHOWN, found.clean, found.changed, strict=True)]
        super().__init__(**{"digits": digits, "calibration": as_base64([found.calibration]), "shares": found.shares,
                            "alt": "A digit under attack: its classes, its likelihood by pixel, its repair", **traits})

    @property
    def result(self) -> Pair:
        """The selected image and its purified version, with likelihoods and class probabilities."""
        found = everything()
        return found.changed[self.digit][self.attack][self.eps - 1] if self.eps else found.clean[self.digit]

    def text(self) -> str:
        image, repaired = self.result
        bound = f"{ATTACKS[self.attack]}, at most {self.eps} level{'s' * (self.eps != 1)} a pixel"
        rows = ["".join(SIGNS[v] for v in line) for line in image.x.view(8, 8).tolist()]
        return "\n".join([f"Interactive figure: a {SHOWN[self.digit]}, {bound if self.eps else 'unchanged'}. Levels 0 "
                          "(paper) to 9, a to g (ink).", *rows, f"It is read as {said(image)}.",
                          f"After the repair it is read as {said(repaired)}."])


def said(seen: Seen) -> str:
    """Write the predicted class, log-likelihood, p-value and detection of an image as text."""
    return (f"{seen.read}, p = {seen.classes.max():.2f}; log p is {seen.log_p.sum():.1f} nats, p-value {seen.p:.3f}, "
            f"{'flagged' if seen.p <= ALARM else 'not flagged'}")
