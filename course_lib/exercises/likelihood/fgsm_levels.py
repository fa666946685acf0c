"""The fast gradient sign method, in whole levels."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fgsm_levels", chapter="09", place=1, title="One step of FGSM",
    contract="x (B, n) int64, images of whole levels 0..levels - 1; y (B,) int64, their classes. A linear classifier has the "
             "logits (x / (levels - 1)) W^T + b, with W (C, n) and b (C,). Return x + eps sign(g), clipped to 0..levels - 1, "
             "as int64 (B, n): g is the gradient of each image's cross-entropy with respect to x, and eps a whole number of "
             "levels. A pixel with gradient 0 stays.",
    points=["adversarial"], difficulty=2, minutes=20)


@exercise.reference(
    downhill="You go down the loss: the right class becomes more certain. An attack goes up.",
    not_clipped="Your images leave the range. Clip them to 0..levels - 1.",
    one_too_high="You clip to 0..levels. The highest level is levels - 1.",
    own_logit="You go against the logit of the right class alone. The loss has all logits in it: an attack may gain more by "
              "raising another class.",
    predicted="You raise the loss of the class that the classifier names. It is that of y, also where the classifier is wrong.",
    cut_off="You go back to levels by cutting off the fraction: a level that was divided and multiplied may be a little less than "
            "itself, and loses one. Round, or add whole levels to x.",
    no_sign="You add eps times the gradient. Its sign is asked for: every pixel moves by the whole of eps.",
    fraction="You move by eps / (levels - 1) of a level, and whole numbers lose the fraction. eps is counted in levels.",
    single_level="You move by one level whatever eps is.",
    of_batch="You add the same change to all images: that of the mean of their gradients. Each image has its own.",
)
def fgsm_levels_reference(x, y, W, b, eps, levels, bugs=frozenset()):
    logits = x.to(W.dtype) / (levels - 1) @ W.T + b                            # (B, C)
    named = logits.argmax(dim=1) if "predicted" in bugs else y
    wrong = logits.softmax(dim=1) - torch.eye(len(b), dtype=W.dtype)[named]    # gradient with respect to the logits
    g = wrong @ W / (levels - 1)                                               # (B, n)
    if "own_logit" in bugs:
        g = -W[y]
    if "of_batch" in bugs:
        g = g.mean(dim=0, keepdim=True).expand_as(g)
    step = eps * g.sign()
    if "no_sign" in bugs:
        step = eps * g
    if "single_level" in bugs:
        step = g.sign()
    if "fraction" in bugs:
        step = step / (levels - 1)
    if "cut_off" in bugs:
        scaled = (x.to(W.dtype) / (levels - 1) + step / (levels - 1)).clamp(0, 1)
        return (scaled * (levels - 1)).long()
    changed = (x + (-step if "downhill" in bugs else step))
    changed = changed.long() if "fraction" in bugs else changed.round().long()
    if "not_clipped" in bugs:
        return changed
    return changed.clamp(0, levels if "one_too_high" in bugs else levels - 1)


def images_to_attack(generator):
    """Several sizes and budgets; pixels at both ends of the range, and one that the classifier does not read. Many of a hundred
    levels, of which one in seven is a little less than itself when it was divided and multiplied."""
    found = [attacked(generator, *each) for each in ((2, 17, 3), (integer(generator, 3, 4), 9, 4), (1, 256, 5), (3, 100, 3, 40))]
    x, y, W, b, _, levels = found[0]
    return [*found, (x, y, W, b, 0, levels)]


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
