"""Spans of a text, exchanged for sentinels."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "cut_spans", chapter="19", place=1, title="Cut spans out",
    contract="tokens (T,) long; spans is a list of pairs (start, end), in order, with a token between any two of them: tokens start to "
             "end - 1 go. The sentinels are first, first + 1, and so on, which no token is. Return (read, target), both long: read is "
             "the text with one sentinel for each span; target holds each sentinel, then what it stands for, and ends with the next "
             "sentinel.",
    points=["t5-span"], difficulty=2, minutes=15)


@exercise.reference(
    same_sentinel="You use one sentinel for all spans. Nobody could tell which gap a span belongs to.",
    no_end="Your target ends without the last sentinel: it says that nothing more is missing.",
    end_included="You take the token at end away too. A span holds the tokens start to end - 1.",
    spans_stay="Your read still holds what the spans held: the sentinel stands in their place, not before them.",
    one_each="You put a sentinel for each token that is missing. A span leaves one, whatever its length.",
    places_moved="You cut one span after the other out of the same list, from the left, by the old numbers: after the first cut all places "
                 "have moved. Begin with the last span, or build a new list.",
    last_again="Your target ends with the sentinel of the last span once more. The next one closes it.",
    tail_lost="What follows the last span is lost from your read.",
    whole_text="Your target is the whole text, as BART's is. T5 writes what is missing and nothing else.",
    sentinel_after="In your target the sentinel follows its span. It comes first, and what it stands for follows.",
    downward="Your sentinels count down. The next one after first is first + 1.",
)
def cut_spans_reference(tokens, spans, first, bugs=frozenset()):
    text, read, target, at = tokens.tolist(), [], [], 0
    step = 0 if "same_sentinel" in bugs else -1 if "downward" in bugs else 1
    for k, (start, end) in enumerate(spans):
        sentinel = first + step * k
        end = min(end + 1, len(text)) if "end_included" in bugs else end
        read += text[at:start] + [sentinel] * (end - start if "one_each" in bugs else 1)
        read += text[start:end] if "spans_stay" in bugs else []
        target += text[start:end] + [sentinel] if "sentinel_after" in bugs else [sentinel] + text[start:end]
        at = end
    read += [] if "tail_lost" in bugs else text[at:]
    if "places_moved" in bugs:
        read, target = list(text), []
        for k, (start, end) in enumerate(spans):
            target += [first + k] + read[start:end]
            read[start:end] = [first + k]
    closing = len(spans) - ("last_again" in bugs and bool(spans))
    target += [] if "no_end" in bugs else [first + step * closing]
    return torch.tensor(read), torch.tensor(text if "whole_text" in bugs else target)


def texts(generator):
    """Spans inside and at both ends, of one token and of several; a text without any."""
    found = []
    for length, spans in ((14, [(2, 4), (6, 7), (9, 12)]), (9, [(0, 2), (5, 6)]), (10, [(1, 3), (7, 10)]), (5, [])):
        tokens = torch.randint(5, 40, (length,), generator=generator)
        found.append((tokens, spans, integer(generator, 60, 90)))
    return found


exercise.compare("values", texts, points=4)
exercise.unchanged(texts)
exercise.hint(
    "You do not know where to start.",
    "Keep a place `at` in the text, 0 at first. For each span: tokens at to start go to read, then the sentinel; the sentinel and "
    "tokens start to end go to target; then at = end.")
exercise.hint(
    "Your read or your target is too short.",
    "After the last span two things are left: the rest of the text, for read, and one more sentinel, for target.")
