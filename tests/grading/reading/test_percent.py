"""Scripts in cells."""
import pytest

from course_lib.grading.reading import bounded
from course_lib.grading.reading.extract import parse
from course_lib.grading.reading.files import Unreadable
from course_lib.grading.reading.percent import cells, is_percent

SCRIPT = '''# ---
# jupyter: {}
# ---

# %% [markdown]
# # A title
# def g(): in the text

# %% a title of its own
import math
# %magic in a comment

#%%
def f(x):
    return math.sqrt(x)

# %%
def broken(:

# %% [raw]
not Python
'''


def test_the_cells_of_a_script():
    found = [(cell["cell_type"], cell["source"].split("\n")[0]) for cell in cells(SCRIPT.encode())]
    assert found == [("code", "# ---"), ("markdown", "# # A title"), ("code", "import math"), ("code", "def f(x):"),
                     ("code", "def broken(:"), ("raw", "not Python")]
    assert [cell["source"] for cell in cells(b"# %%\nx = 1\r\n# %%\r\ny = 2")] == ["x = 1", "y = 2"]


def test_a_script_is_read_as_a_notebook_is():
    found = parse(SCRIPT.encode(), "hw.py")
    assert found == bounded.read(SCRIPT.encode(), "x.zip/HW.PY") and found.names == ["f"] and list(found.broken) == [5]
    space = {}
    for one in found.needed("f"):
        exec(one.text, space)
    assert space["f"](4) == 2
    assert found.why_missing("broken")[0] == "error"


def test_a_script_without_cells_is_one():
    assert parse(b"def f():\n    return 1\n", "hw.py").names == ["f"]
    assert not is_percent(b"x = 1\n# a % comment\n## %%\n# %%%\n") and is_percent(b"x = 1\r\n# %%\r\n")


def test_a_script_that_is_not_text_is_unreadable():
    with pytest.raises(Unreadable, match="UTF-8"):
        parse("# %%\nx = 'é'".encode("latin-1"), "hw.py")
