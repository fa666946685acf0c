"""What Python would make of a notebook is what is judged, in the sandbox too; what cannot be run there is said."""
import pytest

from tests.grading.sample_submissions import LOGLIK, TABLE, graded

STUB = "def bernoulli_chain_loglik(x, p):\n    raise NotImplementedError\n"


def indented(source):
    return "".join(f"    {line}\n" if line else "\n" for line in source.strip("\n").splitlines())


KEPT = {
    "a branch": ["import torch\nFAST = torch.ones(1).item() == 1", f"if FAST:\n{indented(LOGLIK)}else:\n{indented(STUB)}"],
    "a try": [f"try:\n    import torch, nowhere\n{indented(STUB)}except ImportError:\n{indented(LOGLIK)}"],
    "a walrus": ["(ONE := 1)", LOGLIK.replace("x == 1", "x == ONE")],
    "torch.compile": [LOGLIK.replace("def b", "@torch.compile\ndef b")],
    "torch.compile with options": [LOGLIK.replace("def b", "@torch.compile(fullgraph=True, dynamic=True)\ndef b")],
    "functools.cache": ["import functools", LOGLIK.replace("def b", "@functools.cache\ndef b")],
}


@pytest.mark.parametrize("what", KEPT)
def test_grade_notebook_as_python_runs_it(tmp_path, worker, what):
    found = graded(tmp_path, worker, *KEPT[what], TABLE)
    assert [report.state for report in found.reports] == ["right", "right"], found.reports[0].message
    assert not found.notes


def test_grade_reports_overwritten_name(tmp_path, worker):
    found = graded(tmp_path, worker, LOGLIK, TABLE, "import torch\ntry:\n    conditional_table = conditional_table("
                                                    "torch.ones(2, 2) / 4, 0)\nexcept ImportError:\n    pass")
    assert found.reports[1].message == ("After cell 3 conditional_table is not a function: give what you try out another name")


def test_grade_runs_loops_that_an_answer_needs(tmp_path, worker):
    found = graded(tmp_path, worker, "import torch\nfor one in [1]:\n    ONE = one\nfor two in [2]:\n    TWO = two",
                   LOGLIK.replace("x == 1", "x == ONE"), TABLE)
    assert [report.state for report in found.reports] == ["right", "right"]
    assert found.notes == ["Loops and calls on which no answer depends are not run: cell 1."]
