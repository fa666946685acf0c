"""check, hint and solution: what a notebook reads."""
from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from course_lib.grading import (
    EXERCISES,
    case,
    check,
    evaluate,
    gap,
    hint,
    next_exercise,
    notebook,
    progress_file,
    solution,
)
from course_lib.grading.checks import Compare
from course_lib.grading.protocol.calls import plain, same
from tests.conftest import ROOT


def test_check_right_answer(capsys):
    fvsbn_conditionals = EXERCISES["fvsbn_conditionals"].solve
    check("fvsbn_conditionals")                                  # nothing of that name at the top of this module
    assert "missing" not in capsys.readouterr().out
    namespace = {"check": check, "fvsbn_conditionals": fvsbn_conditionals}
    exec('check("fvsbn_conditionals")', namespace)
    assert capsys.readouterr().out.splitlines() == [
        "fvsbn_conditionals: right (6 of 6 points)", "  passed  values",
        "  passed  arguments left alone", "  passed  gradient"]


def test_check_finds_function(capsys):
    check("fvsbn_conditionals")
    assert "There is no function fvsbn_conditionals here yet." in capsys.readouterr().out

    def fvsbn_conditionals(x, W, c):
        raise NotImplementedError

    check(fvsbn_conditionals)
    assert capsys.readouterr().out == "fvsbn_conditionals: not attempted yet (0 of 6 points)\n"
    with pytest.raises(KeyError, match="no exercise 'fvsbn_condition'"):
        check("fvsbn_condition")


def test_check_wrong_answer(capsys):
    def fvsbn_conditionals(x, W, c):
        return torch.sigmoid(x @ W.tril(0).T + c)

    check(fvsbn_conditionals, seed=5)
    out = capsys.readouterr().out
    assert "fvsbn_conditionals: wrong value (0 of 6 points)\n  failed  values\n"\
           "  not reached  arguments left alone\n  not reached  gradient" in out
    assert "Factor i depends on x_i" in out and "\n  yours: float32" in out and "\n  expected: float32" in out
    assert out.endswith('(the same inputs again: check("fvsbn_conditionals", seed=5))\n')
    assert max(map(len, out.splitlines())) <= 80


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


NUMERIC = {id: numbers for id, exercise in EXERCISES.items() if not exercise.trains and (numbers := numbers_in(exercise))}


@pytest.mark.parametrize("id", NUMERIC)
def test_messages_hold_no_expected_value(id):
    """A notebook who pastes what the messages say has no answer: no number of them is one of the expected."""
    exercise = EXERCISES[id]
    for change in (lambda y: y * 1.5 - 1, lambda y: y + 0.25, lambda y: y * 0 - 7):
        report = evaluate(id, lambda *args, change=change: each(exercise.solve(*args), change), 0)
        assert not report.state == "right"
        assert not any(number in report.message for number in NUMERIC[id] - {"0.000", "1.000"}), report.message


@pytest.fixture
def fresh(monkeypatch):
    """No hint given yet."""
    monkeypatch.setattr(notebook, "_given", {})


def test_hint_one_at_a_time(capsys, fresh):
    hints = EXERCISES["find_leaks"].hints
    for number, one in enumerate(hints, 1):
        hint("find_leaks")
        out = capsys.readouterr().out
        assert " ".join(out.split()).startswith(f"Hint {number} of {len(hints)}, for this case: {one.symptom} ")
        assert ('solution("find_leaks")' in out) == (number == len(hints))
    hint("find_leaks")
    out = capsys.readouterr().out
    assert out.startswith("You have seen all 3 hints") and 'solution("find_leaks")' in out
    hint("find_leaks", 1)
    assert capsys.readouterr().out.startswith("Hint 1 of")
    with pytest.raises(ValueError, match="number is 9; find_leaks has hints 1 to 3"):
        hint("find_leaks", 9)


@pytest.mark.parametrize("prediction, measured, says", [
    ("", 3, "nothing yet"), ((), (2000, 16000), "nothing yet"), (None, 94.1, "nothing yet"),
    (0, 0, "You predicted 0; measured: 0. That is what was measured, within 2 %."), (0.0, 94.1, "You predicted 0; measured: 94.1. Your prediction is off by -94.1."),
    (20, 94.1, "You predicted 20; measured: 94.1. Your prediction is too small by a factor of 4.7."),
    (94, torch.tensor(94.1), "That is what was measured, within 2 %."), (0.5, -0.5, "off by +1"), (1.2, 1.0, "off by +0.2"),
    ((16000, 2000), (2000, 16000), "That is what was measured"), ((1000, 16000), (2000, 16000), "too small by a factor of 2"),
    ("x_1", "x_1", "That is what was measured."), ("'X1'", "x_1", "That is what was measured."), ("x_2", "x_1", "Left out: x_1. Not measured: x_2. Why?"),
    ("swapped, half speed", ["half speed"], "measured: half speed. Not measured: swapped. Why?"), ("one", [], "measured: none. Not measured: one."),
    ("none", [], "That is what was measured."),
])
def test_gap(prediction, measured, says, capsys):
    gap(prediction, measured)
    assert says in " ".join(capsys.readouterr().out.split())


def test_solution(capsys):
    solution("fvsbn_conditionals")
    out = capsys.readouterr().out
    assert out.startswith("def fvsbn_conditionals(x, W, c):") and "torch.tril" in out and "SOLUTION" not in out
    assert "Row `i` of `W`" in " ".join(out.split())


def test_check_without_ipython():
    code = """
import sys
from types import SimpleNamespace
sys.modules["IPython"] = None
from course_lib.grading import check, hint
def fvsbn_sample(u, W, c):
    raise NotImplementedError
check("fvsbn_sample")
hint("fvsbn_sample")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fvsbn_sample: not attempted yet (0 of 5 points)\nHint 1 of 3, ")


def test_gap_stores_first_prediction(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_file, "enabled", lambda: True)
    gap("", 94.1, "work")
    assert "nothing yet" in capsys.readouterr().out and not progress_file.read()
    gap(20, 94.1, "work")
    assert "Before" not in capsys.readouterr().out
    gap(90, 94.1, "work")
    out = capsys.readouterr().out
    assert "You predicted 90" in out and "Before you had measured you predicted 20." in out
    assert progress_file.read()["predictions"] == {"work": {"predicted": "20", "measured": "94.1"}}
    gap(20, 94.1)
    assert "Before" not in capsys.readouterr().out


def leftover(x, W, c):
    p = torch.sigmoid(x @ W.tril(-1).T + c)
    raise NotImplementedError
    return p


def handed_out(x, W, c):
    """Conditionals of an FVSBN."""
    raise NotImplementedError


def asks(x, W, c):
    raise type("StdinNotImplementedError", (NotImplementedError,), {})


@pytest.mark.parametrize("fn, state, says", [
    (leftover, "error", "`raise NotImplementedError` is still there, below your code"), (handed_out, "not_attempted", ""),
    (asks, "error", "The function input() cannot be answered here")])
def test_state_comes_from_the_code(fn, state, says):
    report = evaluate("fvsbn_conditionals", fn, 1)
    assert report.state == state and report.earned == 0 and says in report.message


def test_misspelled_forward():
    class OwnMultiHeadAttention(torch.nn.Module):
        def __init__(self, d_model, heads):
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(d_model, 3 * d_model), torch.nn.Linear(d_model, d_model)

        def foward(self, x, memory=None, mask=None):
            return x

    report = evaluate("OwnMultiHeadAttention", OwnMultiHeadAttention, 1)
    assert report.state == "error" and "Your class has no method forward; it has foward." in report.message


@pytest.mark.parametrize("name", [each.id for each in EXERCISES.values() if not each.of_class and each.kind == "write"])
def test_case(name):
    """The reference gives what is expected, and the same seed the same case."""
    exercise = EXERCISES[name]
    if not any(isinstance(check, Compare) for check in exercise.checks):
        with pytest.raises(ValueError, match="has no single case"):
            case(name)
        return
    arguments, expected = case(name, seed=3)
    assert list(arguments) == list(exercise.names)[:len(arguments)]
    assert same(plain(exercise.solve(*case(name, seed=3).arguments.values())), plain(expected))


def test_check_names_cell_that_did_not_run(capsys):
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    said = []
    try:
        for cell in ("from course_lib.grading import check", "def fvsbn_conditionals(x, W, c):\n    return x", "check('fvsbn_conditionals')",
                     "def fvsbn_conditionals(x, W, c)\n    return x + 1", "check('fvsbn_conditionals')",
                     "def fvsbn_conditionals(x, W, c):\n    return x + 2", "1 / 0\ndef fvsbn_conditionals(x, W, c): return x + 3",
                     "check('fvsbn_conditionals')", "class OwnNADE:\n    def logits(self, x): return x", "1 / 0\nclass OwnNADE: pass",
                     "check('OwnNADE')"):
            capsys.readouterr()
            shell.run_cell(cell, store_history=True)
            said += [" ".join(capsys.readouterr().out.split())] * cell.startswith("check")
    finally:
        shell.clear_instance()
    text = "Cell {}, the last one that defines {}, {}. What follows is about the {} of an earlier cell."
    name = "fvsbn_conditionals"
    assert "the last one" not in said[0]
    for out, values in zip(said[1:], [(4, name, "did not run: SyntaxError in line 1", name), (7, name, "stopped before it", name),
                                      (10, "OwnNADE", "stopped before it", "OwnNADE")], strict=True):
        assert out.startswith(text.format(*values)), out


def test_check_names_values_from_outside_the_function(capsys):
    namespace = {"check": check, "torch": torch, "__name__": "__main__", "h": 4, "bias": torch.zeros(3), "help": lambda x: x}
    exec('def fvsbn_conditionals(x, W, c): return help(torch.sigmoid(x @ W.T + h + bias.sum()))\ncheck("fvsbn_conditionals")', namespace)
    said = " ".join(capsys.readouterr().out.split())
    assert "Your code uses h = 4 and bias, a tensor of float32, of shape (3,) from outside of it." in said
    exec('def fvsbn_conditionals(x, W, c): h = 4; return x @ W.T + h\ncheck("fvsbn_conditionals")', namespace)
    assert "from outside" not in capsys.readouterr().out


def in_a_notebook(monkeypatch):
    shown = []
    monkeypatch.setattr(progress_file, "in_notebook", lambda: True)
    import IPython.display
    monkeypatch.setattr(IPython.display, "display", lambda data, raw: shown.append(data))
    return shown


def test_check_is_html_in_a_notebook(monkeypatch, capsys):
    def fvsbn_conditionals(x, W, c):
        return torch.sigmoid(x @ W.tril(0).T + c)

    shown = in_a_notebook(monkeypatch)
    check(fvsbn_conditionals, seed=5)
    html = shown[0]["text/html"]
    assert "wrong value</b> <b>0 of 6 points" in html and "<details><summary>A small example:</summary>" in html
    assert "Factor i depends on x_i" in html and shown[0]["text/plain"].startswith("fvsbn_conditionals: wrong value")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("call, says", [
    (lambda: check(), "check: missing a required argument"), (lambda: hint("foo"), "hint: there is no exercise 'foo'"),
    (lambda: check("fvsbn_conditional"), "check: there is no exercise 'fvsbn_conditional'; did you mean fvsbn_conditionals"),
    (lambda: next_exercise(13), "next_exercise: folder is 13; expected the path of a folder")])
def test_wrong_use_is_one_sentence_in_a_notebook(monkeypatch, capsys, call, says):
    with pytest.raises((KeyError, TypeError)):
        call()
    in_a_notebook(monkeypatch)
    call()
    assert capsys.readouterr().out.startswith(says)


def test_interrupt_is_one_sentence_in_a_notebook(monkeypatch, capsys):
    def fvsbn_conditionals(x, W, c):
        raise KeyboardInterrupt

    in_a_notebook(monkeypatch)
    check(fvsbn_conditionals)
    assert capsys.readouterr().out == "check: interrupted; nothing was stored\n"


def test_prints_are_bounded(capsys):
    def fvsbn_conditionals(x, W, c):
        print("tick\n" * 30)
        raise NotImplementedError

    check(fvsbn_conditionals)
    out = capsys.readouterr().out
    assert out.count("tick\n") == notebook.PRINTED and "(your function printed 31 lines; the first 20 are shown)" in out
    long = notebook.FirstLines(sys.stdout)
    long.write("a" * 600)
    long.write("a" * 600 + "\nb")
    assert capsys.readouterr().out == "a" * 1000 + "\nb"


def test_warnings_do_not_point_into_the_grader(recwarn):
    def attention(q, k, v, mask=None):
        return q @ k.T

    check(attention, seed=3)
    assert not [warning for warning in recwarn if "course_lib" in warning.filename]
