"""Two misconceptions in one answer: what the report names is true of it, and most pairs get the name of one of the two."""
from __future__ import annotations

import itertools
from functools import cache, partial

import pytest

from course_lib.grading import EXERCISES
from course_lib.grading.checks import Compare
from course_lib.grading.protocol.calls import same
from tests.exercises.known import Answer
from tests.support.reference_cache import compared_with_once

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("pairs")]
IDS = [exercise.id for exercise in EXERCISES.values() if not exercise.trains]
SHARE = 0.7
Pair = tuple[str, str]


@pytest.fixture(scope="module", autouse=True)
def once():
    """What answers are compared with is computed once."""
    with compared_with_once():
        yield


@cache
def reports(exercise_id: str) -> dict[Pair, tuple[set[str], str]]:
    """For each pair of misconceptions that replace different steps and do not cancel: the names in the report, and its text."""
    exercise, named = EXERCISES[exercise_id], {}
    sentences = exercise.misconceptions
    for pair in itertools.combinations(sentences, 2):
        if exercise.replacements[pair[0]][0] is exercise.replacements[pair[1]][0]:
            continue
        report = Answer(exercise, "wrong", "", partial(exercise.solve, bugs=pair)).report(0)
        said = {name for name, sentence in sentences.items() if sentence in report.message}
        of_pair = {sentences[name] for name in said & {*pair}}               # a second name may have the same sentence
        if report.state != "right":
            named[pair] = {name for name in said if name in pair or sentences[name] not in of_pair}, str(report)
    return named


def explains(exercise, names: set[str], pair: Pair) -> bool:
    """Whether the reference with the misconceptions `names` gives the results of the one with `pair` wherever it is compared."""
    cases = [args for check in exercise.checks if isinstance(check, Compare) for seed in range(2)
             for args in check.cases(exercise.generator(seed, check.name))]
    return all(same(exercise.solve(*args, bugs=names), exercise.solve(*args, bugs=pair), 1e-4, 1e-5) for args in cases)


@pytest.mark.parametrize("exercise_id", IDS)
def test_what_is_named_is_true_of_the_answer(exercise_id):
    false = [f"{pair}, named {names}: {text}" for pair, (names, text) in reports(exercise_id).items()
             if not names <= {*pair} and not explains(EXERCISES[exercise_id], names, pair)]
    assert not false, "\n\n".join(false)


def test_most_pairs_are_named():
    named = [bool(names & {*pair}) for exercise_id in IDS for pair, (names, _) in reports(exercise_id).items()]
    assert sum(named) >= SHARE * len(named), f"{sum(named)} of {len(named)}"
