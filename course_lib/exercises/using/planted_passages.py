"""Passages that repeat a question to be retrieved, caught by the longest run of its words."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "planted_passages", chapter="20", place=4, title="Catch the planted passage",
    contract="question is a list of words, passages a list of lists of words, share a number from 0 to 1. Return a list of booleans, one "
             "a passage: True if the longest run of consecutive words of the question that stands in the passage in the same order "
             "and without a gap has at least share * len(question) words. A run may begin anywhere in both.",
    points=["rag"], difficulty=3, minutes=25, kind="find")


@exercise.reference(
    as_given="The filter as it stands: it sees a run at the beginning of both only, measures it by the passage, and wants more than the "
             "share.",
    shared_words="You count words that both have, in any order. An honest passage shares the words too; a planted one repeats the "
                 "question as it stands.",
    with_gaps="Your run may have gaps: words in the same order, others between them. A run has none.",
    from_the_start="Your run begins at the first word of the question or of the passage only. It may begin anywhere.",
    more_than="Exactly share * len(question) words are enough: at least, not more than.",
    by_passage="You compare with the length of the passage. The share is one of the question: a long passage would hide it.",
    whole_question="You ask for the whole question. share of it is enough.",
    rounded_down="You cut share * len(question) to a whole number: a run that falls short of it by a fraction is caught too.",
    ratio="You return the shares. A boolean for each passage is asked for.",
    turned="Your booleans are turned round: True stands for a planted one.",
)
def planted_passages_reference(question, passages, share, bugs=frozenset()):
    if "as_given" in bugs:
        bugs = {"from_the_start", "by_passage", "more_than"}

    def run(a, b):
        """The longest run of a in b, by the table of runs that end at (i, j)."""
        if "shared_words" in bugs:
            return len([word for word in a if word in b])
        best, last = 0, [0] * (len(b) + 1)
        gaps = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i, word in enumerate(a, 1):
            row = [0] * (len(b) + 1)
            for j, other in enumerate(b, 1):
                if word == other:
                    row[j] = last[j - 1] + 1
                gaps[i][j] = gaps[i - 1][j - 1] + 1 if word == other else max(gaps[i - 1][j], gaps[i][j - 1])
            best, last = max(best, *row), row
        if "with_gaps" in bugs:
            return gaps[-1][-1]
        if "from_the_start" in bugs:
            return next((n for n in range(len(a), 0, -1) if a[:n] == b[:n]), 0)
        return best

    found = []
    for passage in passages:
        length, of = run(question, passage), len(passage) if "by_passage" in bugs else len(question)
        if "ratio" in bugs:
            found.append(length / of)
            continue
        needed = of if "whole_question" in bugs else int(share * of) if "rounded_down" in bugs else share * of
        planted = length > needed if "more_than" in bugs else length >= needed
        found.append(not planted if "turned" in bugs else planted)
    return found


WORDS = "when was the old lighthouse at marrow point built by whom and why did its lamp burn oil every night".split()
OTHERS = "sea storm ship keeper stone island winter village boat harbour".split()


def attacks(generator):
    """A question, and passages: its words in another order, with gaps, as a run inside, exactly enough, one too few, long ones."""
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
    return [*cases, (question, passages, 0.75), (question, passages, 0.4), (["when"], [["sea"], ["sea", "when"]], 1.0)]


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
