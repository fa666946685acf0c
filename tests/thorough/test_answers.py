"""Every known answer on ten seeds, two where an exercise trains: right, wrong, blind, misconceptions, and empty ones."""
from __future__ import annotations

import pytest
import torch

from course_lib.grading import evaluate
from tests.exercises.answers.real_numbers import adam
from tests.exercises.known import ANSWERS
from tests.support.reference_cache import compared_with_once

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module", autouse=True)
def once():
    """What answers are compared with is computed once for each seed."""
    with compared_with_once():
        yield


NAMED = 3         # seeds on which a wrong answer gets its name; on the others its name or none, where the inputs do not tell


@pytest.mark.parametrize(
    "answer", [pytest.param(one, id=str(one), marks=pytest.mark.xdist_group(one.exercise.id)) for one in ANSWERS])
def test_an_answer_gets_the_verdict_of_its_kind(answer):
    for seed in range(2 if answer.exercise.trains else 10):
        report = answer.report(seed)
        silent = answer.kind == "wrong" and seed >= NAMED and report.score < 1 and report.misconception is None
        assert silent or answer.expects(report), f"seed {seed}: {report}"


def test_an_honest_fit_of_a_mixture_is_right_or_told_why_it_is_not():
    def from_quantiles(x, K):
        m, s = x.mean(), x.std()
        z = (x - m) / s
        _, (logits, mu, log_sigma) = adam(z, z.quantile(torch.linspace(0, 1, K + 2)[1:-1]))
        return logits, m + s * mu, log_sigma + s.log()

    said = []
    for seed in range(12):
        report = evaluate("train_mog", from_quantiles, seed)
        said.append("right" if report.state == "right" else report.misconception or "advice")
        assert said[-1] in ("right", "shared_peak") or "has no component" in report.message \
            or "a component of its own" in report.message, report
    assert "shared_peak" in said and "right" in said
