"""The wrong answers of somebody who did not know the checks: none earns all points on ten seeds (one where an exercise trains)."""
from __future__ import annotations

from dataclasses import replace

import pytest

from tests.grading.known import ANSWERS

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("answer", [one for one in ANSWERS if one.kind == "blind"], ids=str)
def test_a_blind_answer_is_wrong(answer):
    patient = replace(answer, exercise=replace(answer.exercise, deadline=120.0))
    for seed in range(1 if answer.exercise.trains else 10):
        report = patient.report(seed)
        assert patient.expects(report), f"seed {seed}: {report}"
