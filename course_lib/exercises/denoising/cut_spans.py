"""Spans of a text, exchanged for sentinels."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "cut_spans", chapter="denoising", place=1, title="Cut spans out",
    contract="tokens (T,) long; spans is a list of pairs (start, end), in order, with a token between any two of them: tokens start to "
             "end - 1 go. The sentinels are first, first + 1, and so on, which no token is. Return (read, target), both long: read is "
             "the text with one sentinel for each span; target holds each sentinel, then what it stands for, and ends with the next "
             "sentinel.",
    points=["t5-span"], difficulty=2, minutes=15)


@exercise.step
def sentinels(spans, first):
    """One for each span, and the one that closes the target."""
    return list(range(first, first + len(spans) + 1))


@exercise.step
def source_of(text, spans, marks):
    source, at = [], 0
    for mark, (start, end) in zip(marks, spans):
        source += text[at:start] + [mark]
        at = end
    return source + text[at:]


@exercise.step
def target_of(text, spans, marks):
    target = []
    for mark, (start, end) in zip(marks, spans):
        target += [mark] + text[start:end]
    return target + [marks[-1]]


@exercise.reference()
@exercise.step
def cut_spans_reference(tokens, spans, first):
    text, marks = tokens.tolist(), sentinels(spans, first)
    return tuple(torch.tensor(part(text, spans, marks), dtype=torch.long) for part in (source_of, target_of))


@exercise.misconception(
    sentinels,
    "You use one sentinel for all spans, so the target does not say to which gap a span belongs.")
def same_sentinel(spans, first):
    return [first] * (len(spans) + 1)


@exercise.misconception(sentinels, "Your sentinels count down. The one after first is first + 1.")
def downward(spans, first):
    return list(range(first, first - len(spans) - 1, -1))


@exercise.misconception(
    sentinels,
    "Your target ends with the sentinel of the last span once more. The next sentinel closes the target.")
def last_again(spans, first):
    return [*range(first, first + len(spans)), first + max(0, len(spans) - 1)]


@exercise.misconception(source_of, "Your read lacks the text after the last span.")
def tail_lost(text, spans, marks):
    return source_of.original(text[:spans[-1][1]] if spans else [], spans, marks)


@exercise.misconception(target_of, "Your target ends without the last sentinel, which says that nothing more is missing.")
def no_end(text, spans, marks):
    return target_of.original(text, spans, marks)[:-1]


@exercise.misconception(target_of, "Your target is the whole text, as BART's is. The target of T5 holds only what is missing.")
def whole_text(text, spans, marks):
    return text


@exercise.misconception(cut_spans_reference, "You take the token at end away too. A span holds the tokens start to end - 1.")
def end_included(tokens, spans, first):
    return cut_spans_reference.original(tokens, [(start, end + 1) for start, end in spans], first)


@exercise.misconception(
    cut_spans_reference,
    "You cut one span after the other out of the same list, from the left, at the old positions, but after the first cut all "
    "positions have moved. Begin with the last span, or build a new list.")
def places_moved(tokens, spans, first):
    source, target = tokens.tolist(), []
    for mark, (start, end) in enumerate(spans, first):
        target += [mark] + source[start:end]
        source[start:end] = [mark]
    return torch.tensor(source), torch.tensor([*target, first + len(spans)])


@exercise.misconception(
    target_of, "Your target has no closing sentinel if the last span reaches the end of the text. The target always ends with the next sentinel.")
def no_end_at_the_end(text, spans, marks):
    target = target_of.original(text, spans, marks)
    return target[:-1] if spans and spans[-1][1] == len(text) else target


def texts(generator):
    """Spans inside and at both ends, of one token and of several; a text without any, and one that is a span."""
    cases = []
    for length, spans in ((14, [(2, 4), (6, 7), (9, 12)]), (9, [(0, 2), (5, 6)]), (10, [(1, 3), (7, 10)]), (5, []), (1, [(0, 1)])):
        tokens = torch.randint(5, 40, (length,), generator=generator)
        cases.append((tokens, spans, integer(generator, 60, 90)))
    return cases


exercise.compare("values", texts, points=4)
exercise.unchanged(texts)
exercise.hint(
    "You do not know where to start.",
    "Keep a place `at` in the text, 0 at first. For each span: tokens at to start go to read, then the sentinel; the sentinel and "
    "tokens start to end go to target; then at = end.")
exercise.hint(
    "Your read or your target is too short.",
    "After the last span two things are left: the rest of the text, for read, and one more sentinel, for target.")
