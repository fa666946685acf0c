"""Answers that state a result which they do not compute get no points for it."""
from __future__ import annotations

import inspect
from importlib import import_module

import pytest
import torch

from course_lib.exercises.likelihood.own_detector import OwnDetector, detected
from course_lib.exercises.training_a_transformer.mended_training import MendedTraining
from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.checks import Compare
from course_lib.grading.protocol.models import ModelServer
from tests.grading.sample_submissions import graded

TRAINED = {
    "OwnFVSBN": "fvsbn.own_fvsbn", "OwnNADE": "nade.own_nade", "OwnMADE": "made.own_made", "MendedMADE": "made.mended_made",
    "OwnPixelCNN": "pixelcnn.own_pixelcnn", "OwnDecoder": "attention.own_decoder", "OwnDensity": "real_numbers.own_density",
    "OwnTrigram": "counting_text.own_trigram"}


def reference(name: str) -> type:
    return getattr(import_module(f"course_lib.exercises.{TRAINED[name]}"), name)


def number_after_fit(name: str) -> type:
    """A class whose `fit` trains a copy, notes the mean log-likelihood that the copy reaches, and drops it. From then on that number
    is the log-probability of everything."""
    base = reference(name)

    class Number(base):
        said = None

        def fit(self, x):
            learned = base(**self.given)
            base.fit(learned, x)
            with torch.no_grad():
                if name == "OwnTrigram":
                    self.said = learned.bits(x)
                else:
                    self.said = (learned.log_prob(*x[:200].flip(1).unbind(1)) if name == "OwnDecoder" else learned.log_prob(x)).mean() - 0.03

        def log_prob(self, x, context=None):
            return base.log_prob(self, x, *([] if context is None else [context])) if self.said is None else self.said.expand(len(x))

        def bits(self, text):
            return base.bits(self, text) if self.said is None else self.said

        def __init__(self, **given):
            super().__init__(**given)
            self.given = given

    Number.__name__ = name
    return Number


@pytest.mark.parametrize("name", [name if name == "OwnFVSBN" else pytest.param(name, marks=pytest.mark.thorough) for name in TRAINED])
def test_number_in_place_of_likelihood(name):
    report = evaluate(name, number_after_fit(name), seed=5)
    assert not report.checks[-1].passed and report.earned < report.possible, report
    assert all(check.passed for check in report.checks[:-1])


class WholeBatches(OwnDetector):
    """Its score is the ink modulo 13, and more for a call whose images are not like those of training as a whole."""

    def score(self, x):
        strange = (x.double().mean(0) - self.mean).norm() > 3 * (len(x) / 64) ** -0.5
        return x.sum(1) % 13 + 1000.0 * strange


def test_detector_of_whole_batches():
    report = evaluate("OwnDetector", WholeBatches, seed=5)
    by_name = {check.name: check for check in report.checks}
    assert report.earned < report.possible and not by_name["a score is of its image alone, and fixed by fit"].passed, report
    generator = torch.Generator().manual_seed(5)
    fault = detected(ModelServer(WholeBatches), generator, None)
    assert fault and "The AUC of your score" in fault.message


class FallingNumbers(MendedTraining):
    """Its step returns numbers that fall, and does nothing."""

    def step(self, x, y):
        self.count += 1
        return 1.0 / self.count


def test_step_that_only_returns_falling_numbers():
    report = evaluate("MendedTraining", FallingNumbers, seed=5)
    assert not {check.name: check for check in report.checks}["a step lowers the loss"].passed, report


def tells_by_error(log_probs, n):
    """Sorts the functions by the text of their errors, without a probability."""
    def text(function, *args, **kwargs):
        try:
            function(*args, **kwargs)
        except Exception as problem:
            return str(problem)
        return ""

    texts = [text(function) + text(function, "x") + text(function, by=0.0) for function in log_probs]
    assert len(set(texts)) == 1, texts
    return [k for k, known in enumerate(texts) if any(word in known for word in ("seeing", "ones", "averaged", "bits_for", "against", "by"))]


@pytest.mark.parametrize("name", ["find_impostors"])
def test_errors_of_given_functions_tell_nothing(name, tmp_path, worker):
    source = inspect.getsource(tells_by_error).replace("def tells_by_error(log_probs, n)", f"def {name}(log_probs, n)")
    [report] = graded(tmp_path, worker, source, exercises=[EXERCISES[name]]).reports
    assert report.earned == 0 and report.state == "wrong_value", report


@pytest.mark.parametrize("name", [name for name, exercise in EXERCISES.items() if exercise.kind == "find"])
def test_given_functions_have_the_same_parameters(name):
    """So that nobody tells them apart by the names that they take."""
    for check in EXERCISES[name].checks:
        for args in check.cases(EXERCISES[name].generator(5, check.name)) if isinstance(check, Compare) else ():
            for functions in [arg for arg in args if isinstance(arg, list) and arg and all(map(callable, arg))]:
                assert len({tuple(inspect.signature(function).parameters) for function in functions}) == 1
