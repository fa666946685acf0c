"""The answer that is a stretch of the passage."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "best_span", chapter="fine-tuning", place=1, title="From two scores a token to an answer",
    contract="start and end (B, S) have a score for each token: that an answer begins, or ends, there. passage (B, S), boolean, is True "
             "for the tokens of the passage; longest is the largest number of tokens of an answer. Return spans (B, 2), long: in each "
             "row the i and j, both in the passage and i <= j, of at most longest tokens, the one at j included, for which "
             "start[i] + end[j] is largest. The passage of a row has no gap and is not empty.",
    points=["qa-token-heads"], difficulty=2, minutes=20)


@exercise.step
def fits(length, longest):
    """Whether an answer may have this length, j - i + 1."""
    return (length >= 1) & (length <= longest)


@exercise.step
def inside(passage):
    """(B, S, S): whether i and j are both in the passage."""
    return passage[:, :, None] & passage[:, None, :]


@exercise.reference()
@exercise.step
def best_span_reference(start, end, passage, longest):
    S = start.shape[1]
    length = torch.arange(S) - torch.arange(S)[:, None] + 1                    # (S, S)
    scores = start[:, :, None] + end[:, None, :]                               # (B, S, S)
    best = scores.masked_fill(~(inside(passage) & fits(length, longest)), -torch.inf).flatten(1).argmax(1)
    return torch.stack([best // S, best % S], dim=1)


@exercise.misconception(
    fits,
    "You take the best start and the best end each by itself. The end may then lie before the start: choose the pair.")
def apart(length, longest):
    return torch.ones_like(length, dtype=torch.bool)


@exercise.misconception(
    best_span_reference,
    "You take the best start first, and then the best end after it. Another start may have the better pair.")
def start_first(start, end, passage, longest):
    first = start.masked_fill(~passage, -torch.inf).argmax(1, keepdim=True)    # (B, 1)
    only = torch.full_like(start, -torch.inf).scatter(1, first, start.gather(1, first))
    return best_span_reference.original(only, end, passage, longest)


@exercise.misconception(fits, "Your end may come before your start.")
def any_order(length, longest):
    return length <= longest


@exercise.misconception(fits, "Your answers may be longer than `longest`.")
def any_length(length, longest):
    return length >= 1


@exercise.misconception(fits, "Your answers may have longest + 1 tokens: j - i is at most longest - 1.")
def one_longer(length, longest):
    return fits.original(length, longest + 1)


@exercise.misconception(fits, "Your answers have fewer than `longest` tokens. As many as longest are allowed.")
def one_shorter(length, longest):
    return fits.original(length, max(longest - 1, 1))


@exercise.misconception(inside, "Your answers may lie in the question. Both ends are in the passage.")
def anywhere(passage):
    return torch.ones_like(inside.original(passage))


@exercise.misconception(inside, "Your answers may begin in the question: i is in the passage too.")
def question_may_begin(passage):
    return passage[:, None, :].expand_as(inside.original(passage))


@exercise.misconception(best_span_reference, "Your j is the place after the last token. It is the last token's.")
def exclusive(start, end, passage, longest):
    return best_span_reference.original(start, end, passage, longest) + torch.tensor([0, 1])


@exercise.misconception(
    best_span_reference,
    "You count from the beginning of the passage. i and j count from the first token of the row.")
def of_the_passage(start, end, passage, longest):
    return best_span_reference.original(start, end, passage, longest) - passage.long().argmax(1)[:, None]


def span_cases(generator):
    """Batches until each misconception gives another answer, and no two the same; then a passage of one token, longest 1, and a
    row that is all passage, whose answer is all of it."""
    def draw():
        S, B = integer(generator, 9, 12), integer(generator, 2, 3)
        first = [integer(generator, 2, 4) for _ in range(B)]
        passage = torch.stack([(torch.arange(S) >= begin) & (torch.arange(S) < S - 1) for begin in first])
        return normal(generator, B, S, scale=2.0), normal(generator, B, S, scale=2.0), passage, integer(generator, 3, 5)

    def answer(*case, bugs=()):
        return exercise.solve(*case, bugs=bugs).tolist()

    cases = telling(draw, answer, exercise.misconceptions)
    start, end, passage, _ = draw()
    token = torch.zeros_like(passage)
    token[:, 5] = True
    S = start.shape[1]
    scores = 3 * torch.linspace(1, -1, S)[None]                                # best at the first token, and at the last
    return [*cases, (start, end, passage, 1), (start, end, token, 4), (scores, -scores, torch.ones(1, S, dtype=torch.bool), S + 2)]


exercise.compare("values", span_cases, points=5)
exercise.unchanged(span_cases)
exercise.hint(
    "Where to begin.",
    "start[:, :, None] + end[:, None, :] is (B, S, S): the score of every pair. Fill what is not allowed with minus infinity, and "
    "take the largest of each row's S * S numbers.")
exercise.hint(
    "From the place in the S * S numbers to the pair.",
    "flatten(1).argmax(1) gives i * S + j. Division without and with remainder gives i and j back.")
exercise.hint(
    "Your answers are sometimes too long.",
    "An answer from i to j has j - i + 1 tokens.")
