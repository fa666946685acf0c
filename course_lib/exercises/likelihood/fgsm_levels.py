"""The fast gradient sign method, in whole levels."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fgsm_levels", chapter="likelihood", place=1, title="One step of FGSM",
    contract="x (B, n) int64, images of whole levels 0..levels - 1; y (B,) int64, their classes. A linear classifier has the "
             "logits (x / (levels - 1)) W^T + b, with W (C, n) and b (C,). Return x + eps sign(g), clipped to 0..levels - 1, "
             "as int64 (B, n): g is the gradient of each image's cross-entropy with respect to x, and eps a whole number of "
             "levels. A pixel with gradient 0 stays.",
    points=["adversarial"], difficulty=2, minutes=20)


@exercise.step
def gradient(x, y, W, b, levels):
    """Of each image's cross-entropy with respect to x, (B, n): (softmax - one-hot) W / (levels - 1)."""
    logits = x.to(W.dtype) / (levels - 1) @ W.T + b                            # (B, C)
    return (logits.softmax(dim=1) - F.one_hot(y, len(b))) @ W / (levels - 1)


@exercise.step
def signed_step(g, eps):
    return eps * g.sign()


@exercise.step
def moved(x, change, levels):
    return (x + change).round().long().clamp(0, levels - 1)


@exercise.reference()
def fgsm_levels_reference(x, y, W, b, eps, levels):
    return moved(x, signed_step(gradient(x, y, W, b, levels), eps), levels)


@exercise.misconception(
    gradient,
    "You decrease the logit of the right class alone. The loss depends on all logits: an attack may gain more by raising another "
    "class.")
def own_logit(x, y, W, b, levels):
    return -W[y]


@exercise.misconception(
    gradient,
    "You increase the loss of the class that the classifier predicts. It is the loss of y, also where the classifier is wrong.")
def predicted(x, y, W, b, levels):
    return gradient.original(x, (x.to(W.dtype) / (levels - 1) @ W.T + b).argmax(dim=1), W, b, levels)


@exercise.misconception(signed_step, "You decrease the loss, so the right class becomes more probable. An attack increases it.")
def downhill(g, eps):
    return -eps * g.sign()


@exercise.misconception(
    signed_step,
    "You add eps times the gradient. Its sign is asked for: every pixel moves by the whole of eps.")
def no_sign(g, eps):
    return eps * g


@exercise.misconception(moved, "Your images leave the range. Clip them to 0..levels - 1.")
def not_clipped(x, change, levels):
    return (x + change).round().long()


@exercise.misconception(moved, "You clip to 0..levels. The highest level is levels - 1.")
def one_too_high(x, change, levels):
    return moved.original(x, change, levels + 1)


@exercise.misconception(
    moved,
    "You move by eps / (levels - 1) of a level, and whole numbers lose the fraction. eps is counted in levels.")
def fraction(x, change, levels):
    return (x + change / (levels - 1)).long().clamp(0, levels - 1)


@exercise.misconception(
    moved,
    "You return to levels by cutting off the fraction: a level that was divided and multiplied may be a little less than itself, and "
    "loses one. Round, or add whole levels to x.")
def cut_off(x, change, levels):
    scaled = (x.to(change.dtype) / (levels - 1) + change / (levels - 1)).clamp(0, 1)
    return (scaled * (levels - 1)).long()


@exercise.misconception(signed_step, "You decrease a pixel with gradient 0 by eps. The sign of 0 is 0, so this pixel stays.")
def zero_decreased(g, eps):
    return torch.where(g > 0, eps, -eps)


def images_to_attack(generator):
    """Several sizes and budgets, an image alone; pixels at both ends of the range, and one that the classifier does not read. Many
    of a hundred levels, of which one in seven is a little less than itself when it was divided and multiplied."""
    found = [attacked(generator, *each) for each in ((2, 17, 3), (integer(generator, 3, 4), 9, 4), (1, 256, 5), (3, 100, 3, 40))]
    x, y, W, b, _, levels = found[0]
    return [*found, (x, y, W, b, 0, levels), (x[:1], y[:1], W, b, 2, levels)]


def attacked(generator, eps: int, levels: int, classes: int, more: int = 0) -> tuple:
    """Drawn until the sign of no gradient hangs on the last digits, but for that of the pixel that is not read."""
    while True:
        B, n = integer(generator, 5, 6), integer(generator, 11, 13) + more
        x = torch.randint(levels, (B, n), generator=generator)
        x[:, :4] = levels - 1
        x[:, 4:8] = 0
        W = normal(generator, classes, n, scale=1.5)
        W[:, n - 1] = 0                                                        # gradient 0
        y = torch.randint(classes, (B,), generator=generator)
        y[:2] = torch.tensor([0, classes - 1])
        b = normal(generator, classes)
        p = (x.double() / (levels - 1) @ W.double().T + b.double()).softmax(dim=1)
        if (((p - torch.eye(classes)[y]) @ W.double())[:, :-1].abs() > 1e-4).all():
            return x, y, W, b, eps, levels


exercise.compare("values", images_to_attack, points=5)
exercise.unchanged(images_to_attack)
exercise.hint(
    "You do not know how to get a gradient with respect to the image.",
    "z = x.float().requires_grad_(), then the logits from z, then F.cross_entropy(logits, y, reduction='sum').backward(): "
    "z.grad is it. By hand: softmax minus one-hot, times W.")
exercise.hint(
    "Only the size of your change is wrong.",
    "The sign of the gradient is -1, 0 or 1. Times eps it is a number of levels.")
exercise.hint(
    "Your result is of another type.",
    "Levels are whole numbers: turn the sign into int64 before you add it to x, then clamp.")
