"""Passages that repeat a question to be retrieved, caught by the longest run of its words."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "planted_passages", chapter="prompting-and-retrieval", place=4, title="Catch the planted passage",
    contract="question is a list of words, passages a list of lists of words, share a number from 0 to 1. Return a list of booleans, one "
             "a passage: True if the longest run of consecutive words of the question that stands in the passage in the same order "
             "and without a gap has at least share * len(question) words. A run may begin anywhere in both.",
    points=["rag"], difficulty=3, minutes=25, kind="find")


@exercise.step
def longest_run(question, passage):
    """By the numbers of words of the runs that end at word i of the question and at each word of the passage."""
    longest, runs = 0, [0] * (len(passage) + 1)
    for word in question:
        runs = [0] + [run + 1 if word == other else 0 for run, other in zip(runs, passage)]
        longest = max(longest, *runs)
    return longest


@exercise.step
def is_planted(run, question, share):
    return run >= share * len(question)


@exercise.reference()
@exercise.step
def planted_passages_reference(question, passages, share):
    return [is_planted(longest_run(question, passage), question, share) for passage in passages]


@exercise.misconception(
    planted_passages_reference,
    "The filter as it stands: it finds a run at the beginning of both only, measures it by the passage, and wants more than the share.")
def as_given(question, passages, share):
    return [from_the_start(question, passage) > share * len(passage) for passage in passages]


@exercise.misconception(
    longest_run,
    "You count words that both have, in any order. An honest passage shares the words too; a planted one repeats the question as it "
    "stands.")
def shared_words(question, passage):
    return sum(word in passage for word in question)


@exercise.misconception(
    longest_run,
    "Your run may have gaps: words in the same order, others between them. A run has no gaps.")
def with_gaps(question, passage):
    longest = [0] * (len(passage) + 1)                                         # in common with so many words of the passage
    for word in question:
        before, longest = longest, [0]
        for j, other in enumerate(passage):
            longest.append(before[j] + 1 if word == other else max(before[j + 1], longest[j]))
    return longest[-1]


@exercise.misconception(
    longest_run,
    "Your run begins at the first word of both, question and passage. It may begin anywhere in either.")
def from_the_start(question, passage):
    return next((n for n in range(len(question), 0, -1) if question[:n] == passage[:n]), 0)


@exercise.misconception(
    longest_run,
    "Your run begins at the first word of the question only. It may begin anywhere in the question, so you miss a passage that repeats the "
    "question from its second word on.")
def from_the_first_word(question, passage):
    return max((from_the_start(question, passage[j:]) for j in range(len(passage))), default=0)


@exercise.misconception(is_planted, "Exactly share * len(question) words are enough: at least, not more than.")
def more_than(run, question, share):
    return run > share * len(question)


@exercise.misconception(
    planted_passages_reference,
    "You compare with the length of the passage. The share is of the question: a long passage would hide it.")
def by_passage(question, passages, share):
    return [longest_run(question, passage) >= share * len(passage) for passage in passages]


@exercise.misconception(
    is_planted,
    "You cut share * len(question) to a whole number: a run that falls short of it by a fraction is caught too.")
def rounded_down(run, question, share):
    return run >= int(share * len(question))


WORDS = "when was the old lighthouse at marrow point built by whom and why did its lamp burn oil every night".split()
OTHERS = "sea storm ship keeper stone island winter village boat harbour".split()


def attacks(generator):
    """A question, and passages: its words in another order, with gaps, as a run inside, exactly enough, one too few, long ones; an empty one."""
    cases = []
    for length in (8, 12, 8):
        start = integer(generator, 0, len(WORDS) - length)
        question, half = WORDS[start:start + length], length // 2

        def filler(num):
            return [OTHERS[i] for i in torch.randint(len(OTHERS), (num,), generator=generator).tolist()]

        shuffled = [word for pair in zip(question[::2], question[1::2]) for word in reversed(pair)]
        gaps = [word for each in question for word in (each, "sea")]
        first = integer(generator, 1, half - 1)
        enough = [*filler(3), *question[first:first + half], *filler(2)]
        too_few = [*question[:half - 1], *filler(4), *question[half + 1:half + 2]]
        long = [*filler(30), *question[1:half + 2], *filler(20)]
        opening = [*question, *filler(2)]
        half_and_long = [*question[:half], *filler(20)]
        nothing = filler(integer(generator, 3, 9))
        cases.append((question, [shuffled, gaps, enough, too_few, long, opening, half_and_long, nothing, [*filler(2), *question]], 0.5))
    question, passages, _ = cases[0]
    return [*cases, (question, passages, 0.75), (question, passages, 0.4), (["when"], [["sea"], ["sea", "when"]], 1.0),
            (question, [[], ["sea"], question], 0.0)]


exercise.compare("values", attacks, points=4)
exercise.unchanged(attacks)
exercise.hint(
    "You do not know how to find a run.",
    "A run of n words: question[i:i + n] == passage[j:j + n] for some i and j. Try every i and j, and go on while the words agree.")
exercise.hint(
    "A passage with the question's words in another order is caught.",
    "Shared words are no proof: an honest passage has them too. Compare words that follow each other in both.")
exercise.hint(
    "The boundary is wrong.",
    "With share 0.5 and a question of 8 words, a run of 4 is enough and one of 3 is not.")
