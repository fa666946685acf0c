"""check, hint and solution: what a learner reads."""
from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from course_lib.grading import EXERCISES, check, evaluate, hint, solution
from course_lib.grading import notebook as door
from course_lib.grading.checks import Compare
from tests.conftest import ROOT


def test_a_right_answer(capsys):
    fvsbn_conditionals = EXERCISES["fvsbn_conditionals"].solve
    check("fvsbn_conditionals")                                  # nothing of that name at the top of this module
    assert "missing" not in capsys.readouterr().out
    namespace = {"check": check, "fvsbn_conditionals": fvsbn_conditionals}
    exec('check("fvsbn_conditionals")', namespace)
    assert capsys.readouterr().out.splitlines() == [
        "fvsbn_conditionals: right (6 of 6 points)", "  passed  values", "  passed  gradient",
        "  passed  arguments left alone"]


def test_a_function_is_found_by_name_or_taken(capsys):
    check("fvsbn_conditionals")
    assert "There is no function fvsbn_conditionals here yet." in capsys.readouterr().out

    def fvsbn_conditionals(x, W, c):
        raise NotImplementedError

    check(fvsbn_conditionals)
    assert capsys.readouterr().out == "fvsbn_conditionals: not attempted yet (0 of 6 points)\n"
    with pytest.raises(KeyError, match="no exercise 'fvsbn_condition'"):
        check("fvsbn_condition")


def test_a_wrong_answer_is_explained_without_the_right_one(capsys):
    def fvsbn_conditionals(x, W, c):
        return torch.sigmoid(x @ W.tril(0).T + c)

    check(fvsbn_conditionals, seed=5)
    out = capsys.readouterr().out
    assert "fvsbn_conditionals: wrong value (0 of 6 points)\n  failed  values\n  not reached  gradient" in out
    assert "Factor i reads x_i" in out and "seed=5" in out
    assert max(map(len, out.splitlines())) <= 88
    assert not any(character.isdigit() and "." in out[max(0, i - 2):i] for i, character in enumerate(out))


def each(value, change):
    """The value with `change` made to every number in it, tensors among them; text and truth values stay."""
    if isinstance(value, torch.Tensor) or type(value) in (int, float):
        return change(torch.as_tensor(value).double())
    if isinstance(value, list | tuple):
        return type(value)(each(part, change) for part in value)
    return value


def numbers_in(exercise):
    """Every number of the expected answers of the first check that compares, as a message would print it."""
    found = set()
    check = next((one for one in exercise.checks if type(one) is Compare), None)
    for args in check.cases(exercise.generator(0, check.name)) if check else ():
        each(exercise.solve(*args), lambda x: found.update(f"{v:.3f}" for v in x.flatten().tolist()))
    return found


NUMERIC = {id: numbers for id, exercise in EXERCISES.items() if exercise.kind != "train" and (numbers := numbers_in(exercise))}


def test_most_exercises_ask_for_numbers():
    assert len(NUMERIC) > len(EXERCISES) / 2


@pytest.mark.parametrize("id", NUMERIC)
def test_no_message_holds_an_expected_value(id):
    """A learner who pastes what the messages say has no answer: no number of them is one of the expected."""
    exercise = EXERCISES[id]
    for change in (lambda y: y * 1.5 - 1, lambda y: y + 0.25, lambda y: y * 0 - 7):
        report = evaluate(id, lambda *args, change=change: each(exercise.solve(*args), change), 0)
        assert not report.state == "right"
        assert not any(number in report.message for number in NUMERIC[id] - {"0.000", "1.000"}), report.message


def test_hints_come_one_at_a_time(capsys, monkeypatch):
    monkeypatch.setattr(door, "_shown", {})
    count = len(EXERCISES["find_leaks"].hints)
    for turn in range(count + 1):
        hint("find_leaks")
        out = capsys.readouterr().out
        number = min(turn + 1, count)
        assert out.startswith(f"Hint {number} of {count}. {EXERCISES['find_leaks'].hints[number - 1].symptom}\n")
    hint("find_leaks", 1)
    assert capsys.readouterr().out.startswith("Hint 1 of")
    with pytest.raises(ValueError, match="number is 9; find_leaks has hints 1 to 3"):
        hint("find_leaks", 9)


def test_the_solution_is_shown_with_its_reason(capsys):
    solution("fvsbn_conditionals")
    out = capsys.readouterr().out
    assert out.startswith("def fvsbn_conditionals(x, W, c):") and "torch.tril" in out and "SOLUTION" not in out
    assert "Row `i` of `W`" in " ".join(out.split())


def test_works_where_there_is_no_ipython():
    code = """
import sys
sys.modules["IPython"] = None
from course_lib.grading import check, hint
def fvsbn_sample(u, W, c):
    raise NotImplementedError
check("fvsbn_sample")
hint("fvsbn_sample")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fvsbn_sample: not attempted yet (0 of 5 points)\nHint 1 of 3.")
