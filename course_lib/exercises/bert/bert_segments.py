"""[CLS] A [SEP] B [SEP]: the number of each token's segment."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bert_segments", chapter="18", place=1, title="Segments and positions",
    contract="A pair of a_len and b_len tokens is read as [CLS] A [SEP] B [SEP]. Return (segment_ids, position_ids), each "
             "of shape (a_len + b_len + 3,) and dtype long; the first [SEP] belongs to A, positions begin at 0.",
    points=["bert"], difficulty=1, minutes=10)


@exercise.reference(
    no_last_sep="Your sequence ends with B. A second [SEP] closes it.",
    no_cls="Your sequence begins with A. [CLS] comes first.",
    sep_to_b="The first [SEP] has segment 1 in your result. It closes A, and has A's segment, 0.",
    last_sep_zero="The last [SEP] has segment 0 in your result. It closes B, and has B's segment, 1.",
    one_two="Your segments are 1 and 2. They are 0 and 1.",
    restarted="Your positions start again at B. They run on to the end of the pair.",
    from_one="Your positions begin at 1. [CLS] stands at position 0.",
    exchanged="You return the positions first. The segments come first.",
)
def bert_segments_reference(a_len, b_len, bugs=frozenset()):
    first = a_len + 2 - ("no_cls" in bugs) - ("sep_to_b" in bugs)
    second = b_len + 1 + ("sep_to_b" in bugs) - ("no_last_sep" in bugs)
    segments = torch.cat([torch.zeros(first), torch.ones(second)]).long()
    if "last_sep_zero" in bugs:
        segments[-1] = 0
    positions = torch.arange(len(segments)) + ("from_one" in bugs)
    if "restarted" in bugs:
        positions = torch.cat([torch.arange(first), torch.arange(second)])
    segments = segments + ("one_two" in bugs)
    return (positions, segments) if "exchanged" in bugs else (segments, positions)


def length_cases(generator):
    return [tuple(uneven(generator, (1, 9), (1, 9))) for _ in range(4)] + [(1, 1)]


exercise.compare("values", length_cases, points=3)
exercise.hint(
    "Your result is too short.",
    "Count the signs that are added: [CLS] in front, [SEP] after A, [SEP] after B. Three.")
exercise.hint(
    "To which segment a sign belongs.",
    "[CLS] and the [SEP] after A count as A, the [SEP] after B as B. So there are a_len + 2 zeros and b_len + 1 ones.")
