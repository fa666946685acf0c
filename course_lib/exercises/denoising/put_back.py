"""Spans put back where their sentinels stand."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "put_back", chapter="denoising", place=2, title="Put the spans back",
    contract="read (S,) long is a text with sentinels, target (L,) long what a model wrote: it starts with a sentinel, has none twice, "
             "and each is followed by the tokens that it stands for. Sentinels are the tokens from first on. Return the text, long: each "
             "sentinel of read replaced by what target says of it. A model may write the sentinels in another order; one that it left "
             "out stands for nothing; what it wrote of a sentinel that read has not is dropped.",
    points=["t5-span"], difficulty=3, minutes=20)


@exercise.step
def spans_by_sentinel(target, first):
    spans, span = {}, []
    for token in target:
        if token >= first:
            span = spans[token] = []
        else:
            span.append(token)
    return spans


@exercise.step
def replacement(sentinel, spans):
    return spans.get(sentinel, [])


@exercise.step
def restored(read, spans, first):
    text = []
    for token in read:
        text += replacement(token, spans) if token >= first else [token]
    return text


@exercise.reference()
@exercise.step
def put_back_reference(read, target, first):
    return torch.tensor(restored(read.tolist(), spans_by_sentinel(target.tolist(), first), first), dtype=torch.long)


@exercise.misconception(
    spans_by_sentinel,
    "Your last span is lost if no sentinel comes after it. The end of target closes it as well.")
def unclosed(target, first):
    spans = spans_by_sentinel.original(target, first)
    return spans | {[*spans][-1]: []}


@exercise.misconception(replacement, "Your text still holds the sentinels beside the tokens that they stand for.")
def sentinels_stay(sentinel, spans):
    return [sentinel, *replacement.original(sentinel, spans)]


@exercise.misconception(
    replacement,
    "A sentinel that target leaves out stays in your text. It stands for nothing, so it is removed.")
def unsaid_stays(sentinel, spans):
    return spans.get(sentinel, [sentinel])


@exercise.misconception(replacement, "You put back one token of each span. A span may have several.")
def first_only(sentinel, spans):
    return replacement.original(sentinel, spans)[:1]


@exercise.misconception(
    restored,
    "You give the first sentinel of read the first span of target, and so on. A model may write them in another order: look "
    "each span up by its sentinel, not by its place.")
def by_place(read, spans, first):
    sentinels = [token for token in read if token >= first]
    return restored.original(read, dict(zip(sentinels, spans.values())), first)


@exercise.misconception(restored, "You keep what target holds for sentinels that do not occur in read. It is dropped.")
def leftovers(read, spans, first):
    return restored.original(read, spans, first) + [t for token, span in spans.items() if token not in read for t in span]


@exercise.misconception(
    put_back_reference,
    "You treat first itself as a word, so it stays in the text. Sentinels are the tokens from first on, first included.")
def above_first(read, target, first):
    return put_back_reference.original(read, target, first + 1)


@exercise.misconception(
    put_back_reference,
    "You append what target holds for a sentinel that does not occur in read to the span before it. It is dropped.")
def joined(read, target, first):
    return put_back_reference.original(read, target[(target < first) | torch.isin(target, read)], first)


def written(generator):
    """A right target, one in another order, one that leaves a sentinel out, one with words too many at its end, one that ends with
    a span's tokens."""
    first = integer(generator, 60, 90)

    def word():
        return integer(generator, 5, 55)

    def pair(pieces, order, extra, closed=True):
        read, spans = [word()], {}
        for k, size in enumerate(pieces):
            spans[first + k] = [10 * (k + 1) + i if i else word() for i in range(size)]
            read += [first + k, word(), word()]
        target = [t for k in order for t in (first + k, *spans[first + k])]
        end = [first + len(pieces), *(word() for _ in range(extra))] if closed else []
        return torch.tensor(read), torch.tensor([*target, *end]), first

    return [pair((2, 1, 3), (0, 1, 2), 0), pair((3, 2, 2), (2, 0, 1), 0), pair((2, 3, 2), (0, 2), 0), pair((3, 2), (1, 0), 2),
            pair((2, 2), (1, 0), 0, closed=False)]


exercise.compare("values", written, points=4)
exercise.unchanged(written)
exercise.hint(
    "You do not know how to read target.",
    "Go through it once with a dictionary: a sentinel opens a new list, every other token is appended to the list that is open.")
exercise.hint(
    "You are right for targets in order only.",
    "Look each sentinel of read up in the dictionary, with an empty list where it is not: spans.get(token, []).")
