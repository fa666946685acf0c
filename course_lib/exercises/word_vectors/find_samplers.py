"""Samplers of negatives with faults, to be found from outside."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.findings import Findings
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_samplers", chapter="word-vectors", place=4, title="Find the faulty samplers",
    contract="samplers is a list of functions. Each claims to draw negatives: sampler(target, k) with target (B,) returns (B, k) "
             "words, drawn with probability proportional to counts ** 0.75 among all words but the target of their row. counts "
             "(V,) has a word that never occurs. Some draw the target too, or use another power, or draw the word that never "
             "occurs. Return their numbers, counted from 0, as a sorted list. A wrong probability is off by 0.03 at least for some "
             "word when the target is the most frequent one. You have 100,000 draws a sampler.",
    points=["word2vec"], difficulty=3, minutes=30, kind="find")


@exercise.step
def draws_target(drawn, target):
    return bool(drawn[target])


@exercise.step
def draws_unseen(drawn, counts):
    return bool(drawn[counts == 0].sum())


@exercise.step
def has_other_power(drawn, counts, target, powers=(1.0, 0.0)):
    """Whether the words other than the target have the shares of one of these powers."""
    others = torch.arange(len(counts)) != target
    shares = drawn[others] / drawn[others].sum()
    for power in powers:
        weights = torch.where(counts > 0, counts.double() ** power, 0.0)[others]
        if (shares - weights / weights.sum()).abs().max() < 0.012:
            return True
    return False


@exercise.step
def is_faulty(drawn, counts, target):
    """From the number of times that each word was drawn, (V,)."""
    return draws_target(drawn, target) or draws_unseen(drawn, counts) or has_other_power(drawn, counts, target)


@exercise.reference()
@exercise.step
def find_samplers_reference(samplers, counts):
    target, found = int(counts.argmax()), []
    for number, sampler in enumerate(samplers):
        drawn = torch.bincount(sampler(torch.full((4000,), target), 5).flatten(), minlength=len(counts)).double()
        if is_faulty(drawn, counts, target):
            found.append(number)
    return found


@exercise.misconception(draws_target, "You check the frequencies of the other words alone. The target must never be drawn.")
def power_alone(drawn, target):
    return False


@exercise.misconception(
    draws_unseen,
    "You do not check the word that never occurs: its probability is 0, so one draw of it proves the fault.")
def never_unseen(drawn, counts):
    return False


@exercise.misconception(has_other_power, "You only test for the power 1. A uniform distribution is as wrong.")
def flat_unseen(drawn, counts, target):
    return has_other_power.original(drawn, counts, target, powers=(1.0,))


@exercise.misconception(has_other_power, "You only test for uniform words. The plain counts are as wrong.")
def plain_unseen(drawn, counts, target):
    return has_other_power.original(drawn, counts, target, powers=(0.0,))


@exercise.misconception(is_faulty, "You only check whether the target is drawn. The power may be wrong too.")
def target_alone(drawn, counts, target):
    return draws_target(drawn, target)


@exercise.misconception(is_faulty, "Your list holds the samplers without fault. The faulty ones are asked for.")
def sound_ones(drawn, counts, target):
    return not is_faulty.original(drawn, counts, target)


@exercise.misconception(
    is_faulty,
    "You list all of them, although some are right. The right probabilities are counts ** 0.75 divided by its sum over the words other than "
    "the target, and the shares of a sample differ from them a little by chance.")
def everybody(drawn, counts, target):
    return True


@exercise.misconception(is_faulty, "Your list is empty, although some are faulty.")
def nobody(drawn, counts, target):
    return False


KINDS = ("sound", "by rejection", "one by one", "target too", "plain counts", "all alike", "word of count 0")


class Sampler:
    """A sampler of a kind, with random numbers of its own."""

    def __init__(self, counts, kind: str, seed: int):
        self.kind, self.generator = kind, torch.Generator().manual_seed(seed)
        power = {"plain counts": 1.0, "all alike": 0.0}.get(kind, 0.75)
        self.weights = torch.where(counts > 0, counts.double()**power, 0.0)
        if kind == "word of count 0":
            self.weights = torch.where(counts > 0, self.weights, 0.02 * self.weights.sum())

    def __call__(self, target, k):
        B, weights = len(target), self.weights
        if self.kind in ("by rejection", "target too"):
            drawn = self.draw(weights, B * k).view(B, k)
            while self.kind == "by rejection" and (same := drawn == target[:, None]).any():
                drawn[same] = self.draw(weights, int(same.sum()))
            return drawn
        if self.kind == "one by one":
            others = weights.repeat(B, 1).scatter(1, target[:, None], 0.0)
            return torch.multinomial(others, k, replacement=True, generator=self.generator)
        drawn = torch.empty(B, k, dtype=torch.long)
        for word in target.unique().tolist():
            rows = target == word
            others = weights.clone()
            others[word] = 0
            drawn[rows] = self.draw(others, int(rows.sum()) * k).view(-1, k)
        return drawn

    def draw(self, weights, num):
        return torch.multinomial(weights, num, replacement=True, generator=self.generator)


def sampler_cases(generator):
    cases = []
    for _ in range(2):
        counts = torch.tensor([900, 500, 180, 60, 25, 9, 0]) + torch.randint(0, 5, (7,), generator=generator)
        counts[-1] = 0
        counts = counts[torch.randperm(7, generator=generator)]
        order = torch.randperm(len(KINDS), generator=generator).tolist()
        rule = f"A sampler takes target (B,), a tensor of integers from 0 to {len(counts) - 1}, and k, the number of words for each target."
        cases.append(([with_rule(rule, Sampler(counts, KINDS[i], integer(generator, 0, 2**31))) for i in order], counts))
    return cases


exercise.checks.append(Findings(
    "values", 5, sampler_cases, holder="One of the lists of samplers", noun="faulty one",
    tip="Three things are promised: never the target, never a word of count 0, and the power 0.75."))
exercise.hint(
    "You do not know what to give a sampler.",
    "Give it the most frequent word as the target of a few thousand rows: torch.full((4000,), int(counts.argmax())). What should "
    "never come back?")
exercise.hint(
    "You do not see the wrong power.",
    "torch.bincount(drawn.flatten(), minlength=len(counts)) counts the draws. Compare the shares with counts ** 0.75 without "
    "the target, and ask whether they differ by more than 0.015.")
exercise.hint(
    "Your list is too long.",
    "Draws vary: with 20,000 of them a share is right within 0.015. Do not ask for equality.")
