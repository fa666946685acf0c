"""[CLS] A [SEP] B [SEP]: the number of each token's segment."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bert_segments", chapter="bert", place=1, title="Segments and positions",
    contract="A pair of a_len and b_len tokens is read as [CLS] A [SEP] B [SEP]. Return (segment_ids, position_ids), each "
             "of shape (a_len + b_len + 3,) and dtype long; the first [SEP] belongs to A, positions begin at 0.",
    points=["bert"], difficulty=1, minutes=10)


@exercise.step
def sizes(a_len, b_len):
    """Of segment 0, which is [CLS] A [SEP], and of segment 1, B [SEP]."""
    return a_len + 2, b_len + 1


@exercise.step
def segment_ids(first, second):
    return torch.tensor([0] * first + [1] * second)


@exercise.step
def position_ids(first, second):
    return torch.arange(first + second)


@exercise.reference()
def bert_segments_reference(a_len, b_len):
    first, second = sizes(a_len, b_len)
    return segment_ids(first, second), position_ids(first, second)


@exercise.misconception(sizes, "Your sequence ends with B. A second [SEP] closes it.")
def no_last_sep(a_len, b_len):
    return a_len + 2, b_len


@exercise.misconception(sizes, "Your sequence begins with A. [CLS] comes first.")
def no_cls(a_len, b_len):
    return a_len + 1, b_len + 1


@exercise.misconception(sizes, "The first [SEP] has segment 1 in your result. It closes A, and has A's segment, 0.")
def sep_to_b(a_len, b_len):
    return a_len + 1, b_len + 2


@exercise.misconception(segment_ids, "The last [SEP] has segment 0 in your result. It closes B, and has B's segment, 1.")
def last_sep_zero(first, second):
    return torch.tensor([0] * first + [1] * (second - 1) + [0])


@exercise.misconception(position_ids, "Your positions start again at B. They continue to the end of the pair.")
def restarted(first, second):
    return torch.cat([torch.arange(first), torch.arange(second)])


@exercise.misconception(position_ids, "Your positions begin at 1. [CLS] has position 0.")
def from_one(first, second):
    return torch.arange(first + second) + 1


def length_cases(generator):
    return [tuple(uneven(generator, (1, 9), (1, 9))) for _ in range(4)] + [(1, 1)]


exercise.compare("values", length_cases, points=3)
exercise.hint(
    "Your result is too short.",
    "Count the signs that are added: [CLS] in front, [SEP] after A, [SEP] after B. Three.")
exercise.hint(
    "To which segment a sign belongs.",
    "[CLS] and the [SEP] after A count as A, the [SEP] after B as B. So there are a_len + 2 zeros and b_len + 1 ones.")
