"""What a gap may read of two recurrent networks, mended."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "gap_states", chapter="fill-the-gap", place=3, title="Mend what the gap reads",
    contract="ahead (B, T, H) holds the states of a forward network, ahead[:, i] after it has read words 0..i; back (B, T, H) those of "
             "a backward network, back[:, i] after it has read words T - 1 down to i. start and end (H,) are their states before they "
             "have read anything. Return (B, T, 2H): at each place the state of the forward network before the word, then that of the "
             "backward network before the word.",
    points=["birnn-mlm"], difficulty=2, minutes=20, kind="find")


@exercise.step
def before(ahead, start):
    """The states of the forward network before each word."""
    return torch.cat([start.expand(len(ahead), 1, -1), ahead[:, :-1]], dim=1)


@exercise.step
def after(back, end):
    """The states of the backward network before each word: it comes from the right."""
    return torch.cat([back[:, 1:], end.expand(len(back), 1, -1)], dim=1)


@exercise.reference()
@exercise.step
def gap_states_reference(ahead, back, start, end):
    return torch.cat([before(ahead, start), after(back, end)], dim=-1)


@exercise.misconception(
    gap_states_reference,
    "Both states depend on the word itself. A model trained on them can copy it, and its loss goes to 0.")
def at_the_word(ahead, back, start, end):
    return torch.cat([ahead, back], dim=-1)


@exercise.misconception(before, "Your forward states have read the word itself: take the state before it.")
def forward_leaks(ahead, start):
    return ahead


@exercise.misconception(
    after,
    "Your backward states have read the word itself. Before place i the backward network has read down to i + 1.")
def backward_leaks(back, end):
    return back


@exercise.misconception(after, "Both of your states come from the left. The backward network comes from the other end.")
def same_side(back, end):
    return before.original(back, end)


@exercise.misconception(gap_states_reference, "The two halves are exchanged: forward first.")
def exchanged(ahead, back, start, end):
    return torch.cat([after(back, end), before(ahead, start)], dim=-1)


@exercise.misconception(gap_states_reference, "start and end are exchanged: start is the forward network's.")
def edges_exchanged(ahead, back, start, end):
    return gap_states_reference.original(ahead, back, end, start)


@exercise.misconception(
    after,
    "At the last place your backward state is back[:, 0], which has read every word: a roll moves the first state to the end. Put end "
    "there.")
def end_wraps(back, end):
    return back.roll(-1, dims=1)


@exercise.misconception(
    before,
    "At the first place your forward state is ahead[:, -1], which has read every word: a roll moves the last state to the front. Put "
    "start there.")
def start_wraps(ahead, start):
    return ahead.roll(1, dims=1)


def states(generator):
    """Batches of several lengths, one word alone among them; one text with states of one number."""
    cases = []
    for T in (integer(generator, 4, 6), 3, 1):
        B, H = integer(generator, 2, 3), integer(generator, 2, 4)
        cases.append((normal(generator, B, T, H), normal(generator, B, T, H), normal(generator, H), normal(generator, H)))
    return [*cases, (normal(generator, 1, 4, 1), normal(generator, 1, 4, 1), normal(generator, 1), normal(generator, 1))]


exercise.compare("values", states, points=4)
exercise.unchanged(states)
exercise.hint(
    "You do not see the fault.",
    "Write down for T = 3 which words each state has read: ahead[:, 1] has read 0 and 1. Which of them may the gap at 1 read?")
exercise.hint(
    "Only the first or the last place is wrong.",
    "Before the first word the forward network has read nothing: start. After the last word the backward network has: end.")
exercise.hint(
    "Your result has T - 1 or T + 1 places.",
    "torch.cat([start.expand(B, 1, H), ahead[:, :-1]], dim=1) has T places: each state moves one to the right.")
