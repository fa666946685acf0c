"""Spans put back where their sentinels stand."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "put_back", chapter="19", place=2, title="Put the spans back",
    contract="read (S,) long is a text with sentinels, target (L,) long what a model wrote: it starts with a sentinel, has none twice, "
             "and each is followed by the tokens that it stands for. Sentinels are the tokens from first on. Return the text, long: each "
             "sentinel of read replaced by what target says of it. A model may write the sentinels in another order; one that it left "
             "out stands for nothing; what it wrote of a sentinel that read has not is dropped.",
    points=["t5-span"], difficulty=3, minutes=20)


@exercise.reference(
    dropped="The sentinels are gone from your text, and nothing stands in their place.",
    by_place="You give the first sentinel of read the first span of target, and so on. A model may write them in another order: go by the "
             "sentinel, not by its place.",
    sentinels_stay="Your text still holds sentinels beside what they stand for.",
    unsaid_stays="A sentinel of which target says nothing stays in your text. It stands for nothing: take it out.",
    first_only="You put back one token of each span. A span may have several.",
    turned="The tokens of a span come back in the wrong order.",
    at_the_end="You put what is missing at the end of the text. It belongs where its sentinel stands.",
    unclosed="Your last span is lost where no sentinel comes after it. The end of target ends it too.",
    above_first="first itself is no sentinel for you, and stays a word. Sentinels are the tokens from first on, first among them.",
    joined="You give what target says of a sentinel that read has not to the span before it. It is dropped.",
    leftovers="You keep what target says of sentinels that read has not.",
)
def put_back_reference(read, target, first, bugs=frozenset()):
    spans, current = {}, None
    lowest = first + ("above_first" in bugs)
    for token in target.tolist():
        if token >= first and "joined" in bugs and token not in read.tolist():
            continue
        if token >= lowest:
            current = spans.setdefault(token, [])
        elif current is not None:
            current.append(token)
    if "unclosed" in bugs and current:
        current.clear()
    in_order, text, used = list(spans.values()), [], []
    for token in read.tolist():
        if token < lowest:
            text.append(token)
            continue
        span = spans.get(token, [token] if "unsaid_stays" in bugs else [])
        if "by_place" in bugs:
            span = in_order[len(used)] if len(used) < len(in_order) else []
        used.append(token)
        span = span[:1] if "first_only" in bugs else span[::-1] if "turned" in bugs else span
        text += [token] if "sentinels_stay" in bugs else []
        text += [] if bugs & {"dropped", "at_the_end"} else span
    if "at_the_end" in bugs:
        text += [t for token in used for t in spans.get(token, [])]
    if "leftovers" in bugs:
        text += [t for token, span in spans.items() if token not in used for t in span]
    return torch.tensor(text)


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
