"""What a gap may read of two recurrent networks, mended."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "gap_states", chapter="11", place=3, title="Mend what the gap reads",
    contract="ahead (B, T, H) holds the states of a forward network, ahead[:, i] after it has read words 0..i; back (B, T, H) those of "
             "a backward network, back[:, i] after it has read words T - 1 down to i. start and end (H,) are their states before they "
             "have read anything. Return (B, T, 2H): at each place the state of the forward network before the word, then that of the "
             "backward network before the word.",
    points=["birnn-mlm"], difficulty=2, minutes=20, kind="find")


@exercise.reference(
    at_the_word="Both states have read the word itself. A model trained on them has nothing to guess: its loss goes to 0.",
    forward_leaks="Your forward states have read the word itself: take the one before it.",
    backward_leaks="Your backward states have read the word itself. Before place i the backward network has read down to i + 1.",
    same_side="Both of your states come from the left. The backward network comes from the other end.",
    too_far="You go two places back: the words next to the gap are not read.",
    exchanged="The two halves are exchanged: forward first.",
    zeros="At the edges you take zeros. start and end are the states before anything is read.",
    edges_exchanged="start and end are exchanged: start is the forward network's.",
    end_wraps="At the last place your backward state is back[:, 0], which has read every word: a roll brings back what falls off. Put end "
              "there.",
    start_wraps="At the first place your forward state is ahead[:, -1], which has read every word: a roll brings back what falls off. "
                "Put start there.",
    wraps="At the edges your states come from the other end of the text: a roll brings back what falls off.",
)
def gap_states_reference(ahead, back, start, end, bugs=frozenset()):
    B, T, H = ahead.shape
    if "zeros" in bugs:
        start, end = torch.zeros_like(start), torch.zeros_like(end)
    if "edges_exchanged" in bugs:
        start, end = end, start
    first, last = start.expand(B, 1, H), end.expand(B, 1, H)
    if "wraps" in bugs:
        first, last = ahead[:, -1:], back[:, :1]
    if "start_wraps" in bugs:
        first = ahead[:, -1:]
    if "end_wraps" in bugs:
        last = back[:, :1]
    before = torch.cat([first, ahead[:, :-1]], dim=1)                          # (B, T, H)
    after = torch.cat([back[:, 1:], last], dim=1)
    if "too_far" in bugs:
        before = torch.cat([first, before[:, :-1]], dim=1)
        after = torch.cat([after[:, 1:], last], dim=1)
    if "same_side" in bugs:
        after = torch.cat([last, back[:, :-1]], dim=1)
    if bugs & {"at_the_word", "forward_leaks"}:
        before = ahead
    if bugs & {"at_the_word", "backward_leaks"}:
        after = back
    return torch.cat([after, before] if "exchanged" in bugs else [before, after], dim=-1)


def states(generator):
    """Batches of several lengths, one word alone among them."""
    found = []
    for T in (integer(generator, 4, 6), 3, 1):
        B, H = integer(generator, 2, 3), integer(generator, 2, 4)
        found.append((normal(generator, B, T, H), normal(generator, B, T, H), normal(generator, H), normal(generator, H)))
    return found


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
