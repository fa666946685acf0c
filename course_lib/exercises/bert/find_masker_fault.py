"""Which masker breaks the rule?"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.bert._shared import HIDDEN, RATE, REPLACED, text
from course_lib.exercises.draws import integer
from course_lib.exercises.findings import Words
from course_lib.exercises.remembered import Remembered
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_masker_fault", chapter="bert", place=5, title="Find what the masker gets wrong",
    contract="masker(tokens, seed) gives (inputs, labels) for tokens (B, T); every seed gives another draw. special is the "
             "list of tokens that may never be chosen. Return the part of BERT's rule that it breaks, one word: \"special\" "
             "(a special token has a label), \"labels\" (a label is not the original token), \"rate\" (not 15 % of the "
             "ordinary tokens are chosen), \"shares\" (not 80, 10, 10 % of them are hidden, replaced, kept), or \"none\". "
             "At most one part is broken; a broken rate is off by 0.02 or more, a broken share by 0.05 or more.",
    points=["mlm"], difficulty=3, minutes=30, kind="find")


@exercise.step
def masked(masker, tokens):
    """A long text, eighty times the given one, and what the masker makes of it: tokens, inputs and labels, (80 B, T)."""
    text = tokens.repeat(80, 1)
    return text, *masker(text, 0)


@exercise.step
def chosen_tokens(tokens, inputs, labels):
    return labels != -100


@exercise.step
def special_tokens(tokens, special):
    return is_among(tokens, special)


@exercise.step
def labels_differ(tokens, labels, chosen):
    return (labels != tokens)[chosen].any()


@exercise.step
def rate(chosen, ordinary):
    return float(chosen.sum() / ordinary.sum())


@exercise.step
def shares_agree(hidden, kept):
    return abs(hidden - HIDDEN) < 0.025 and abs(kept - 0.1) < 0.025


@exercise.reference()
def find_masker_fault_reference(masker, tokens, special, mask_id):
    tokens, inputs, labels = masked(masker, tokens)
    chosen = chosen_tokens(tokens, inputs, labels)
    if (chosen & special_tokens(tokens, special)).any():
        return "special"
    if labels_differ(tokens, labels, chosen):
        return "labels"
    if abs(rate(chosen, ~is_among(tokens, special)) - RATE) > 0.01:
        return "rate"
    hidden, kept = (float((chosen & part).sum() / chosen.sum()) for part in (inputs == mask_id, inputs == tokens))
    return "none" if shares_agree(hidden, kept) else "shares"


@exercise.misconception(
    special_tokens,
    "You look at one kind of special token. A masker may spare [CLS] and choose [SEP] or padding.")
def first_special(tokens, special):
    return tokens == special[0]


@exercise.misconception(
    shares_agree,
    "You compare the share of [MASK] alone. 80, 20 and 0 % break the rule as well.")
def hidden_only(hidden, kept):
    return abs(hidden - HIDDEN) < 0.025


@exercise.misconception(
    chosen_tokens,
    "You count the tokens that were changed. One in ten of the chosen tokens is kept; the labels say which tokens were chosen.")
def changed_only(tokens, inputs, labels):
    return inputs != tokens


@exercise.misconception(
    rate,
    "You find the rate broken wherever it is right. It is of those that may be chosen, the ordinary tokens, and one batch alone is off by "
    "a hundredth or two.")
def over_all(chosen, ordinary):
    return float(chosen.sum() / ordinary.numel())


@exercise.misconception(labels_differ, "You do not compare the labels with the original tokens.")
def labels_unread(tokens, labels, chosen):
    return False


@exercise.misconception(
    masked,
    "Your verdicts are those of one draw. Some eighty of its tokens are chosen, so that its rate is off by a hundredth and its shares by "
    "four: put many seeds together.")
def one_draw(masker, tokens):
    return tokens, *masker(tokens, 0)


def is_among(tokens: Tensor, kinds: Sequence[int]) -> Tensor:
    """Where a token is one of a few. (torch.isin sorts, and takes ten times as long.)"""
    among = torch.zeros_like(tokens, dtype=torch.bool)
    for kind in kinds:
        among |= tokens == kind
    return among


def suspect(V: int, mask_id: int, start: int, touched: Sequence[int] = (), rate: float = RATE, hidden: float = HIDDEN,
            replaced: float = REPLACED, wrong_labels: bool = False):
    """A masker that may choose `touched` special tokens; replacements are never the token itself. Its seeds count from
    `start`, so that no seed suits all maskers."""
    def masker(tokens: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        g = torch.Generator().manual_seed(start + int(seed))
        u, fate = torch.rand(2, *tokens.shape, generator=g)
        chosen = (u < rate) & ((tokens >= 5) | is_among(tokens, touched))
        strange = 5 + (tokens - 5 + torch.randint(1, V - 5, tokens.shape, generator=g)) % (V - 5)
        inputs = torch.where(chosen & (fate < hidden), mask_id, tokens)
        inputs = torch.where(chosen & (fate >= hidden) & (fate < hidden + replaced), strange, inputs)
        return inputs, torch.where(chosen, inputs if wrong_labels else tokens, -100)

    return Remembered(masker)


def suspect_cases(generator):
    V = integer(generator, 60, 90)
    tokens, _ = text(generator, 14, 50, V)
    faults = [{}] * 5 + [{"touched": [3]}, {"touched": [0]}, {"touched": [2]}, {"wrong_labels": True}]
    faults += [{"rate": rate} for rate in (0.125, 0.13, 0.17, 0.175)]
    faults += [{"hidden": hidden, "replaced": replaced} for hidden, replaced in (
        (0.7, 0.2), (0.75, 0.1), (0.75, 0.15), (0.8, 0.05), (0.8, 0.15), (0.8, 0.2), (0.85, 0.05), (0.85, 0.1), (0.9, 0.0))]
    kinds = [suspect(V, 4, integer(generator, 0, 2**31), **fault) for fault in faults]
    return [(kinds[k], tokens, [2, 3, 0], 4) for k in torch.randperm(len(kinds), generator=generator).tolist()]


@dataclass
class Part(Words):
    """As Words, for the part of the rule that one masker breaks."""

    def told(self, got: str, expected: str) -> str:
        if expected == "none":
            return f"You answer {got!r} for a masker that keeps the rule. " + CHANCE
        if got == "none":
            return 'You answer "none" for a masker that breaks the rule. ' + CHANCE
        return f"You answer {got!r} for a masker that breaks another part of the rule."


CHANCE = "A rate and a share are frequencies: one draw of the text is off by some hundredths."
exercise.checks.append(Part("values", 5, suspect_cases, names=("special", "labels", "rate", "shares", "none")))
exercise.hint(
    "Your verdict changes from run to run.",
    "One batch chooses some eighty tokens, and one in ten of those is few. Put the draws of eighty seeds together, "
    "or give the masker the text eighty times over: tokens.repeat(80, 1).")
exercise.hint(
    "You call a sound masker broken.",
    "Chosen is where the label is not -100, kept tokens included. The rate is the chosen over the ordinary tokens, the shares "
    "are over the chosen. Half a hundredth off is chance, with eighty seeds.")
