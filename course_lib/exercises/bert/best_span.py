"""The answer that is a stretch of the passage."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "best_span", chapter="18", place=6, title="From two scores a token to an answer",
    contract="start and end (B, S) have a score for each token: that an answer begins, or ends, there. passage (B, S), boolean, is True "
             "for the tokens of the passage; longest is the largest number of tokens of an answer. Return spans (B, 2), long: in each "
             "row the i and j, both in the passage and i <= j, of at most longest tokens, the one at j included, for which "
             "start[i] + end[j] is largest. The passage of a row has no gap and is not empty.",
    points=["qa-token-heads"], difficulty=2, minutes=20)


@exercise.reference(
    apart="You take the best start and the best end each by itself. The end may then lie before the start: choose the pair.",
    start_first="You take the best start first, and then the best end after it. Another start may have the better pair.",
    end_first="You take the best end first, and then the best start before it. Another end may have the better pair.",
    any_order="Your end may come before your start.",
    any_length="Your answers may be longer than `longest`.",
    one_longer="Your answers may have longest + 1 tokens: j - i is at most longest - 1.",
    one_shorter="Your answers have fewer than `longest` tokens. As many as longest are allowed.",
    anywhere="Your answers may lie in the question. Both ends are in the passage.",
    question_may_begin="Your answers may begin in the question: i is in the passage too.",
    several="Your answers have more than one token always. i = j is an answer of one token.",
    multiplied="You multiply the two scores. The logarithm of p(i) p(j) is a sum.",
    exclusive="Your j is the place after the last token. It is the last token's.",
    exchanged="You return j and then i.",
    of_the_passage="You count from the beginning of the passage. i and j count from the first token of the row.",
)
def best_span_reference(start, end, passage, longest, bugs=frozenset()):
    B, S = start.shape
    i, j = torch.arange(S)[:, None], torch.arange(S)                           # (S, 1) and (S,)
    begins, ends = passage[:, :, None], passage[:, None, :]
    score = start[:, :, None] * end[:, None, :] if "multiplied" in bugs else start[:, :, None] + end[:, None, :]      # (B, S, S)
    most = longest + ("one_longer" in bugs) - ("one_shorter" in bugs and longest > 1)
    ordered = torch.ones(S, S, dtype=torch.bool) if {"any_order", "apart"} & bugs else (i < j) if "several" in bugs else (i <= j)
    short = torch.ones(S, S, dtype=torch.bool) if {"any_length", "apart"} & bugs else (j - i < most)
    allowed = ordered & short & (torch.ones_like(begins) if {"anywhere", "question_may_begin"} & bugs else begins)
    allowed = allowed & (torch.ones_like(ends) if "anywhere" in bugs else ends)
    score = score.masked_fill(~allowed, -torch.inf)
    if "start_first" in bugs:
        first = start.masked_fill(~passage, -torch.inf).argmax(1)              # (B,)
        score = score.masked_fill(first[:, None, None] != i, -torch.inf)
    if "end_first" in bugs:
        last = end.masked_fill(~passage, -torch.inf).argmax(1)
        score = score.masked_fill(last[:, None, None] != j, -torch.inf)
    best = score.flatten(1).argmax(1)
    spans = torch.stack([best // S, best % S], dim=1)                          # (B, 2)
    if "exclusive" in bugs:
        spans = spans + torch.tensor([0, 1])
    if "of_the_passage" in bugs:
        spans = spans - passage.long().argmax(1)[:, None]
    return spans.flip(1) if "exchanged" in bugs else spans


FAULTS = ["apart", "start_first", "end_first", "any_order", "any_length", "one_longer", "one_shorter", "anywhere", "question_may_begin",
          "several", "multiplied", "exclusive", "exchanged", "of_the_passage"]


def span_cases(generator):
    """Batches until each way of going wrong gives another answer, and no two the same; then a passage of one token, and longest 1."""
    def draw():
        S, B = integer(generator, 9, 12), integer(generator, 2, 3)
        first = [integer(generator, 2, 4) for _ in range(B)]
        passage = torch.stack([(torch.arange(S) >= one) & (torch.arange(S) < S - 1) for one in first])
        return normal(generator, B, S, scale=2.0), normal(generator, B, S, scale=2.0), passage, integer(generator, 3, 5)

    def answer(*case, bugs=frozenset()):
        return best_span_reference(*case, bugs=bugs).tolist()

    found = telling(draw, answer, FAULTS)
    start, end, passage, _ = draw()
    one = torch.zeros_like(passage)
    one[:, 5] = True
    return [*found, (start, end, passage, 1), (start, end, one, 4)]


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
