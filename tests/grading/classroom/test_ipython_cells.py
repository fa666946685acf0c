"""Answers that are right in a notebook are right when they are graded, whatever IPython and side effects have to do with them."""
from __future__ import annotations

import sys

import pytest

from course_lib.exercises import EXERCISES
from tests.grading.sample_submissions import LOGLIK, SHORT, TABLE, graded, quick

BODY = "return torch.where(x == 1, p, 1 - p).log().sum(dim=1)"
ANSWER = f"def bernoulli_chain_loglik(x, p):\n    {BODY}"
CELLS = {                       # cells around an answer, each of which runs in IPython
    "a line that begins with %": ["%load_ext autoreload\nimport torch\nn = (7\n% 4)\n" + ANSWER.replace("x == 1", "x == n - 2")],
    "a shell command over lines": ["!pip install \\\n    torch \\\n    einops\nimport torch\n" + ANSWER],
    "an indented cell": ["    import torch\n" + "\n".join("    " + line for line in ANSWER.split("\n"))],
    "prompts": [">>> import torch\n>>> " + ANSWER.replace("\n", "\n... ")],
    "numbered prompts": ["In [3]: import torch", "In [4]: " + ANSWER.replace("\n", "\n   ...: ")],
    "%time": ["import torch\n%time ONE = torch.ones(())", ANSWER.replace("x == 1", "x == ONE")],
    "%%time": ["%%time\nimport torch\nONE = torch.ones(())", ANSWER.replace("x == 1", "x == ONE")],
    "display": ["import torch\n" + ANSWER.replace("return", "display(x)\n    return")],
    "get_ipython": ["import torch\nIN_COLAB = 'google.colab' in str(get_ipython())\nDEVICE = 'cuda' if IN_COLAB else 'cpu'",
                    ANSWER.replace("return", "x = x.to(DEVICE)\n    return")],
    "an imported get_ipython": ["import torch\nfrom IPython import get_ipython\nshell = get_ipython()\nif shell is not None:\n"
                                "    shell.run_line_magic('matplotlib', 'inline')\nONE = len(In) + len(Out)",
                                ANSWER.replace("x == 1", "x == ONE")],
    "annotations of the future": ["from __future__ import annotations\nimport torch", ANSWER.replace("(x, p)", "(x: MaybeInt, p) -> Tensor")],
    "await": ["import torch, asyncio\nONE = await asyncio.sleep(0, 1)", ANSWER.replace("x == 1", "x == ONE")],
    "a registry": ["import torch\nTABLE = {}\ndef register(f):\n    TABLE[f.__name__] = f\n    return f",
                   "@register\ndef loglik(x, p):\n    " + BODY, "def bernoulli_chain_loglik(x, p):\n    return TABLE['loglik'](x, p)"],
    "a loop": ["import torch\nONE = 0\nfor _ in range(1):\n    ONE += 1", ANSWER.replace("x == 1", "x == ONE")],
    "wraps": ["import torch, functools\ndef logged(f):\n    @functools.wraps(f)\n    def call(*args):\n        return f(*args)\n    return call",
              "@logged\n" + ANSWER],
}


@pytest.mark.parametrize("what", CELLS)
def test_answer_that_runs_in_ipython_is_right(tmp_path, worker, what):
    result = graded(tmp_path, worker, *CELLS[what], exercises=[EXERCISES["bernoulli_chain_loglik"]])
    assert result.score == 1, (result.reports[0], result.notes)


def test_notes_name_magics_and_python(tmp_path, worker):
    result = graded(tmp_path, worker, "%matplotlib inline\n!ls", LOGLIK, TABLE, "def f[T: (int](x): return x")
    notes = " ".join(result.notes)
    assert "not run: %matplotlib in cell 1, !ls in cell 1" in notes
    assert f"in Python {sys.version_info[0]}.{sys.version_info[1]}, which grades" in notes


def test_calls_that_hang_cost_only_themselves(tmp_path, worker):
    """An answer reads what is trained in many cells, each of which takes too long."""
    training = [f"net.fit({i})" for i in range(6)]
    result = graded(tmp_path, worker, "import torch\nclass Net:\n    one = 1\n    def fit(self, i):\n        while True: pass\nnet = Net()", *training,
                    ANSWER.replace("x == 1", "x == net.one"), exercises=quick("bernoulli_chain_loglik"), limits=SHORT)
    assert result.score == 1, result.reports[0]
    assert "Something in cell 2 was left out: it did not end within" in " ".join(result.notes)
