"""Pairs of students whose answers share more than chance and the exercise explain.

What the exercises hand out is left out, and so is what many have. A pair is a question to two people, never a verdict.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from course_lib.grading.classroom.fingerprints import Prints

THRESHOLD = 0.6                                           # of the smaller answer's fingerprints
LEAST = 8                                                 # shared fingerprints below which nothing is said
COMMON = 5                                                # students who may share one; a tenth in a large class
STORED = ("Names and code are in this folder alone. Nothing was sent anywhere, and nothing else was kept: delete the "
          "folder, and all of it is gone.")
NO_PROOF = ("Similarity is no proof. Short tasks have few answers, and people learn together, from the same pages and "
            "from the same tools. Look at what is marked, and ask both before you conclude anything.")


@dataclass(frozen=True)
class Answers:
    """One student's answers: the fingerprints of each exercise, and the digests of the files handed in."""

    student: str
    prints: Mapping[str, Prints]
    digests: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pair:
    """Two students, the fingerprints that they share in each exercise, and the share of the smaller answers that this
    is."""

    one: Answers
    other: Answers
    shared: Mapping[str, frozenset[int]]
    share: float
    same_file: bool = False

    @property
    def count(self) -> int:
        """Shared fingerprints, over all exercises."""
        return sum(map(len, self.shared.values()))


def pairs(people: Sequence[Answers], threshold: float = THRESHOLD, common: int | None = None) -> list[Pair]:
    """The pairs that share so much, the most alike first. `common`: what more students than this have counts for
    nobody."""
    most = max(COMMON, -(-len(people) // 10)) if common is None else common
    having: dict[tuple[str, int], list[int]] = defaultdict(list)
    for i, one in enumerate(people):
        for exercise, prints in one.prints.items():
            for each in prints.places:
                having[exercise, each].append(i)
    own = [{exercise: {each for each in prints.places if len(having[exercise, each]) <= most}
            for exercise, prints in one.prints.items()} for one in people]
    touched = Counter(two for who in having.values() if 2 <= len(who) <= most for two in combinations(who, 2))
    same = {two for who in by_digest(people).values() for two in combinations(who, 2)}
    found = []
    for i, j in sorted({two for two, count in touched.items() if count >= LEAST} | same):
        shared = {exercise: frozenset(own[i][exercise] & own[j][exercise]) for exercise in own[i] if exercise in own[j]}
        smaller = sum(min(len(own[i][exercise]), len(own[j][exercise])) for exercise in shared)
        shared = {exercise: each for exercise, each in shared.items() if each}
        share = sum(map(len, shared.values())) / smaller if smaller else 0.0
        if (i, j) in same or share >= threshold and sum(map(len, shared.values())) >= LEAST:
            found.append(Pair(people[i], people[j], shared, 1.0 if (i, j) in same else share, (i, j) in same))
    return sorted(found, key=lambda pair: (-pair.share, -pair.count, pair.one.student, pair.other.student))


def by_digest(people: Sequence[Answers]) -> dict[str, list[int]]:
    """The students who handed in each file, by its digest; without files in which nothing was answered."""
    found: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(people):
        if any(prints.places for prints in one.prints.values()):
            for digest in sorted(one.digests):
                found[digest].append(i)
    return found
