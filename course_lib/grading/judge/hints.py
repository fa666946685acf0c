"""Which hint fits what the last check saw: the one whose symptom it is."""
from __future__ import annotations

import re
from collections.abc import Sequence

from course_lib.grading.exercise.exercise import Exercise, Hint
from course_lib.grading.judge.report import Report

SEEN = [                        # what a report says, and the words of a symptom that goes with it
    (r"^(not_attempted|missing)\b", r"do not (know|see)|only have|have (functions|a loop)|a formula"),
    (r"^wrong_shape|shape|size of tensor|dimension|broadcast", r"shape|type|\bax[ei]s\b|not fit|transpose|strides"),
    (r"^error", r"error|fail|complain|not fit"),
    (r"^timeout", r"too long|slow"),
    (r"^changed_arguments|writes into", r"argument is changed"),
    (r"\bNaN\b|infin|overflow|underflow", r"\bNaN\b|infin|finite"),
    (r"many variables", r"many variables"),
    (r"does? not belong|should be empty", r"too long|accuse|sound|in a causal"),
    (r"\bmisses\b|list is empty", r"\bmiss\b|some of|not all|some pairs|too short"),
    (r"\bnear\b|a little|off by one", r"\bnear\b|a little"),
    (r"too large|above", r"larger|too good|too large"),
    (r"too small|below", r"too small|smaller|negative|too short"),
    (r"times what|off by the same|right up to a factor", r"factor|off by"),
    (r"two calls|drawn at random", r"bernoulli|run to run|two calls"),
    (r"does not depend on|do not change along", r"does not depend|again and again|the same"),
    (r"last index|first is at|only at", r"first|last|column"),
    (r"nats to the source", r"stay above|comes to rest"),
]
ASKS = re.compile(r"(to )?(what|where|which|how)\b", re.I)                    # a symptom that is a question
THING = re.compile(r"(the|an?|from)\b", re.I)                                # it may be a thing, or a clause: then it has a verb
VERB = re.compile(r"\b(is|are|has|have|do|does|comes|confuse|fails?|falls|finds|gets?|goes|moves|raises|runs|says|stand|stays"
                  r"|stops)\b")
COMMON = set("""your that this with from what where which does have into than then only they there them when each other
                should right wrong value values result function is are was were its it of the a an and or not for to in on at
                one two all be by you""".split())


def in_order(exercise: Exercise, report: Report | None) -> list[int]:
    """The numbers of the hints (from 1), the one that fits the report first, the others as they are written."""
    numbers = list(range(1, len(exercise.hints) + 1))
    first = fitting(exercise, report)
    return numbers if first is None else [first, *(number for number in numbers if number != first)]


def fitting(exercise: Exercise, report: Report | None) -> int | None:
    """The number of the hint whose symptom is what the report saw; None if there is none, or nothing was seen."""
    if report is None or report.state == "right" or not exercise.hints:
        return None
    scores = [score(one, report) for one in exercise.hints]
    return scores.index(max(scores)) + 1 if max(scores) >= 3 else None


def score(hint: Hint, report: Report) -> int:
    """How well the hint's symptom goes with what was seen: 3 for each kind of thing that both speak of, 1 for a word."""
    failed = " ".join(check.name for check in report.checks if check.passed is False)
    text = f"{report.state} {failed} {report.message}"
    kinds = sum(bool(re.search(seen, text, re.I)) and bool(re.search(words, hint.symptom, re.I)) for seen, words in SEEN)
    return 3 * kinds + min(2, len(words_of(text) & words_of(f"{hint.symptom} {hint.text}")) // 2)


def words_of(text: str) -> set[str]:
    """The words of a text that tell something."""
    return {word for word in re.findall(r"[a-z_]{3,}", text.lower())} - COMMON


def heading(hint: Hint, number: int, count: int) -> str:
    """The hint's title: a condition, since nobody has looked at the code. A question becomes one; a thing that the hint is about
    stands alone."""
    symptom, place = hint.symptom.rstrip("."), f"Hint {number} of {count}."
    if THING.match(symptom) and not VERB.search(symptom):
        return f"{place} {symptom}:"
    first, *rest = symptom.split(" ")
    first = first.lower() if first.istitle() else first
    return f"{place} If {'you do not know ' * bool(ASKS.match(symptom))}{' '.join([first, *rest])}:"


def unseen(order: Sequence[int], given: Sequence[int]) -> int | None:
    """The first number in this order that was not given yet."""
    return next((number for number in order if number not in given), None)
