"""What a learner is shown: the line that stopped, with the shapes and the seed; the smallest case that fails."""
from __future__ import annotations

import math
from functools import partial

import pytest
import torch

from course_lib.grading import EXERCISES, Exercise, evaluate
from course_lib.grading.counterexample import (
    COLUMNS,
    find_counterexample,
    fits_screen,
    format_value,
)
from course_lib.grading.protocol.calls import Local
from course_lib.grading.verdict import grade
from tests.grading.sample_submissions import TABLE, graded, quick


def product(a, b):
    return a @ b


def fvsbn_conditionals(x, W, c):
    scores = product(W, x)
    return torch.sigmoid(scores + c)


def test_error_shows_line_shapes_and_seed():
    report = evaluate("fvsbn_conditionals", fvsbn_conditionals, 1)
    assert report.state == "error" and report.message.startswith("RuntimeError: mat1 and mat2")
    assert report.shown.splitlines() == [
        "At line 2 of product:", "    return a @ b", "Called with:",
        "  x: float32, shape (6, 4)", "  W: float32, shape (4, 4)", "  c: float32, shape (4,)"]
    assert report.again == '(the same inputs again: check("fvsbn_conditionals", seed=1))'


def bare_assert(joint, i):
    table = joint.sum(-1)
    assert table.ndim == 0 and i > 100


def comprehension(joint, i):
    return [joint[k, k, k, k, k, k]
            for k in range(i)]


def never_ends(joint, i):
    while True:
        i += 1


@pytest.mark.parametrize("answer, state, says, line", [
    (bare_assert, "error", "AssertionError", "At line 3 of bare_assert:\n    assert table.ndim == 0 and i > 100\n"),
    (comprehension, "error", "IndexError", ":\n    return [joint[k, k, k, k, k, k]\n"),
    (never_ends, "timeout", "No answer", "of never_ends:\n    "),
    (lambda joint, i: joint["x"], "error", "Error", "At line 1 of a function without a name:\n    (lambda joint, i:"),
])
def test_learner_line_for_every_stop(answer, state, says, line, monkeypatch):
    monkeypatch.setattr(EXERCISES["conditional_table"], "deadline", 0.2)
    report = evaluate("conditional_table", answer, 2)
    assert report.state == state and says in report.message and line in report.shown, report.shown
    first = "shape (2, 2, 2, 2)\n  i = 2" if answer is comprehension else "shape (2,)\n  i = 0"       # it stops at the first case or later
    assert f"\n  joint: float64, {first}" in report.shown
    assert not report.message.endswith(":")


def test_unsupported_operation_is_error():
    report = evaluate("fvsbn_conditionals", lambda x, W, c: x.long().softmax(-1), 0)
    assert report.state == "error" and "not implemented for" in report.message and "softmax" in report.shown


def test_learner_line_from_sandbox_is_bounded(tmp_path, worker):
    helper = "def half(x):\n    # of the columns\n    return x[:, 99]" + " + 0" * 100
    cell = "import torch\n\ndef bernoulli_chain_loglik(x, p):\n    return half(p) + '\\x1b[31m'"
    first, second = graded(tmp_path, worker, helper, cell, TABLE, exercises=quick()).reports
    assert first.state == "error" and first.message.startswith("IndexError: index 99")
    lines = first.shown.splitlines()
    assert lines[0] == "At line 3 of half (cell 1):"
    assert lines[1].startswith("    return x[:, 99] + 0") and lines[1].endswith("...") and len(lines[1]) <= COLUMNS
    assert lines[2:4] == ["Called with:", "  x: float32, shape (4, 6)"]
    assert second.state == "right"


# the case that is shown

def sums(shown=None):
    """The sum of x, over vectors of 2 to 9 entries."""
    exercise = Exercise("sums", "00", "Made up", "x (n,)", [], 1, 1)

    @exercise.reference()
    def reference(x):
        return x.sum()

    def cases(generator):
        sizes = torch.randint(2, 10, (6,), generator=generator).tolist()
        return [(torch.randint(0, 10**6, (size,), generator=generator).double(),) for size in sizes]

    exercise.compare("values", cases)
    exercise.checks[0].shown = shown
    return exercise


def test_counterexample_is_smallest():
    exercise = sums()
    answer = Local(lambda x: x.sum() + 1e5 * (len(x) > 3))
    check, counted = exercise.checks[0], []
    for seed in range(10):
        counted = check.records(exercise, answer.call, exercise.generator(seed, "values"))
        record = find_counterexample(exercise, check, answer.call, seed, counted)
        drawn = check.cases(exercise.generator(seed, "values, shown 0"))
        assert len(record.args[0]) == min(len(x) for x, in drawn if len(x) > 3)
        assert not any(torch.equal(record.args[0], other.args[0]) for other in counted)
        text = grade(exercise, answer.call, seed).shown
        assert not any(f"{float(other.expected):.8g}" in text for other in counted)


def test_counterexample_is_never_counted_case():
    exercise = sums()
    fixed = [(torch.tensor([1.0, 2.0]),)]
    exercise.checks[0].cases = lambda generator: fixed
    assert grade(exercise, Local(lambda x: x.sum() + 1).call, 0).shown == ""


def test_counterexample_not_found():
    exercise = sums(lambda generator: [(torch.zeros(2),)])
    report = grade(exercise, Local(lambda x: 2 * x.sum()).call, 3)
    assert report.shown == ""


def test_counterexample_of_gradient():
    report = evaluate("fvsbn_conditionals", lambda x, W, c: torch.sigmoid(x @ W.detach().tril(-1).T + c), 0)
    assert report.state == "wrong_gradient"
    assert "\n  yours gradient by W: float32" in report.shown and "\n  expected gradient by W: float32" in report.shown


def test_format_value():
    x = torch.arange(24.0).reshape(2, 3, 4)
    lines = format_value("yours", x, 4, x == 23)
    assert lines[0] == "  yours: float32, shape (2, 3, 4)" and len(lines) == 7
    assert lines[6].split() == ["[1,", "2]", "20", "21", "22", "23*"] and sum("*" in line for line in lines) == 1
    assert format_value("yours", torch.zeros(2, 3, 10, 10)) == ["  yours: float32, shape (2, 3, 10, 10)"]
    assert format_value("t", torch.arange(30))[1] == "     " + "".join(f"{i:>2}  " for i in range(18)).rstrip()
    assert format_value("mask", torch.tensor([[True, False]]))[1].split() == ["True", "False"]
    assert format_value("word", "a\x1bb") == ["  word = 'a\\x1bb'"]


def test_counterexample_is_whole():
    """An example that would be cut is not shown, and the message is about the cases of the verdict."""
    large = sums(lambda generator: [(torch.arange(500.0),)])
    report = grade(large, Local(lambda x: x.sum() + 1e5).call, 0)
    assert report.shown == "" and report.message and not fits_screen([list(range(500))])


@pytest.mark.thorough
@pytest.mark.parametrize("id", [id for id, exercise in EXERCISES.items() if not exercise.trains])
def test_screens_are_80_columns_wide(id, monkeypatch):
    monkeypatch.setattr("course_lib.grading.verdict.name_misconception", lambda exercise, check, records, fault, *_: fault)
    exercise = EXERCISES[id]
    for seed, name in enumerate(exercise.misconceptions):
        report = evaluate(id, lambda *args, name=name: exercise.solve(*args, bugs=[name]), seed)
        assert all(len(line) <= COLUMNS for line in report.shown.splitlines()), report.shown
    report = evaluate(id, lambda *args: {}["a"], 0)
    assert "Called with:" in report.shown and all(len(line) <= COLUMNS for line in report.shown.splitlines())


# answers to the exercises of kind "train" that cost no training


@pytest.mark.parametrize("fault", ["kept_by_p", "ended_hold", "from_score", "ended_lost"])
def test_counterexample_shows_rows_of_function(fault):
    exercise = EXERCISES["stochastic_beam"]
    report = evaluate("stochastic_beam", partial(exercise.solve, bugs=[fault]), 1)
    assert report.misconception == fault
    lines = report.shown.splitlines()
    tables = [lines.index(f"  {name}, by what it is given:") for name in ("step_fn", "noise_fn")]
    assert tables == [1, 5] and lines[2].startswith("    [0] ") and max(map(len, lines)) <= COLUMNS
    rows = [[float(one) for one in line.split("]")[1].split()] for line in lines[2:5]]
    assert all(abs(sum(math.exp(one) for one in row) - 1) < 1e-3 for row in rows)
