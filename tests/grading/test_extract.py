"""What is read out of a notebook, and what is said when nothing can be."""
import json
import os

import pytest

from course_lib.grading import extract
from course_lib.grading.extract import Unreadable, parse, read_bytes
from tests.grading.submissions import code, notebook, save


def read(*cells):
    return parse(json.dumps(notebook(*cells)).encode())


def run(found, name):
    """What `name` is after the statements it needs have run, and nothing else."""
    space = {}
    for one in found.needed(name):
        exec(one.text, space)
    return space[name]


def test_only_what_the_function_reads_is_taken():
    found = read("import math, json\nimport os", "SCALE = 2\nOTHER = boom()", "def helper(x):\n    return SCALE * x",
                 "def f(x, y=math.pi):\n    return helper(x) + y", "OTHER2 = f(1)")
    assert [one.text for one in found.needed("f")] == [
        "import math, json", "SCALE = 2", "def helper(x):\n    return SCALE * x",
        "def f(x, y=math.pi):\n    return helper(x) + y"]


def test_a_local_name_brings_no_global_with_it():
    found = read("loss = train_for_an_hour()", "def f(x):\n    loss = x\n    return [loss for loss in [loss]]")
    assert len(found.needed("f")) == 1


def test_the_last_definition_wins_and_earlier_ones_do_not_run():
    found = read("@boom\ndef f():\n    return 1", "def f():\n    return 2")
    assert run(found, "f")() == 2 and len(found.needed("f")) == 1


def test_a_definition_in_steps_is_taken_whole():
    found = read("a = [1]", "a += [2]", "a[0] = 5\nb = {}\nb['k'] = a", "def f():\n    return a, b")
    assert run(found, "f")() == ([5, 2], {"k": [5, 2]})


def test_what_a_statement_reads_is_what_was_there_before_it():
    found = read("def g():\n    return 1", "y = g()", "def g():\n    return 2", "def f():\n    return y, g()")
    assert run(found, "f")() == (1, 2)


@pytest.mark.parametrize("definition", [
    "f = lambda: 7", "def other():\n    return 7\nf = other", "if True:\n    def f():\n        return 7",
    "try:\n    import nowhere\nexcept ImportError:\n    pass\ndef f(): return 7", "x = 1; f = lambda: 7",
    "async_ = 3\nf, g = (lambda: 7), 2", "class C:\n    def __call__(self): return 7\nf = C()",
    "def f():\n    '''a string\n%time in it\n!ls'''\n    return 7"])
def test_definitions_of_every_kind(definition):
    found = read(definition)
    space = {}
    for one in found.needed("f"):
        try:
            exec(one.text, space)
        except ImportError:
            pass
    assert space["f"]() == 7


@pytest.mark.parametrize("cell", [
    "%matplotlib inline\ndef f():\n    return 7", "%%time\ndef f():\n    return 7", "!pip install x\ndef f(): return 7",
    "files = !ls\ndef f(): return 7", "%pip install x\n%load_ext y\nf = lambda: 7", "f = lambda: 7\nf?\n?f",
    "if True:\n    !ls\n    %cd x\ndef f(): return 7", "%%unknown_magic\ndef f(): return 7",
    "r = await thing()\ndef f(): return 7"])
def test_magics_do_not_hide_a_definition(cell):
    found = read(cell)
    assert not found.broken and run(found, "f")() == 7


def test_cells_of_another_language_are_passed_over():
    found = read("%%bash\nfor i in 1 2; do echo $i; done", "%%html\n<b>x</b>", "f = lambda: 7")
    assert not found.broken and found.names == ["f"]


def test_loops_and_calls_are_not_taken_and_named():
    found = read("import sys\nsys.exit(1)", "while True:\n    pass", "print(2)\n'text'\ncheck('f')", "def f(): pass")
    assert found.idle == [1, 2] and [one.cell for one in found.needed("f")] == [4]


def test_the_graders_own_imports_are_left_out():
    found = read("from course_lib.grading import check\nimport course_lib.grading.bank as bank, math\n"
                 "from course_lib import grading, density", "def f():\n    return check, bank, math, grading, density")
    assert sorted(one.text for one in found.needed("f") if one.imports) == \
        ["from course_lib import density", "import math"]


def test_imports_with_a_star_are_kept_for_all():
    found = read("from math import *", "def f():\n    return sqrt(4)")
    assert run(found, "f")() == 2


def test_a_broken_cell_costs_only_itself():
    found = read("def f(:\n    pass", "def g():\n    return 1")
    assert list(found.broken) == [1] and "line 1" in found.broken[1][1] and found.names == ["g"]
    assert found.why_missing("f") == ("error", f"Cell 1, which defines f, is no valid Python: {found.broken[1][1]}.")


@pytest.mark.parametrize("source", ["-" * 200_000 + "1", "(" * 50_000, "x" + "[0]" * 20_000, "f(" * 3000 + ")" * 3000,
                                    "\0", "lambda: " * 5000 + "0", "1" * 10_000, "'\\ud800'", "\ud800 = 1",
                                    "x=" * 3000 + "1", "a" + ".b" * 30_000, "not " * 100_000 + "1"])
def test_code_made_to_break_the_parser_does_not(source):
    found = read(source, "def g():\n    return 1")
    assert found.needed("g")


def test_the_nearest_name_is_suggested():
    found = read("def attention_2(q):\n    return q")
    state, message = found.why_missing("attention")
    assert state == "missing" and "attention_2" in message
    assert "attention_2" not in found.why_missing("mlm_mask")[1]


@pytest.mark.parametrize("kind, word", [("markdown", "text"), ("raw", "raw")])
def test_a_definition_in_a_text_cell_is_pointed_out(kind, word):
    found = read(code("def f(x):\n    return x", kind))
    assert found.why_missing("f") == ("missing", f"f stands in cell 1, which is a {word} cell. Turn it into a code cell.")


def test_the_exercises_are_in_the_metadata():
    assert read("x = 1").exercises == ["bernoulli_chain_loglik", "conditional_table"]
    for metadata in (None, [], {"course": 3}, {"course": {"exercises": "abc"}}, {"course": {"exercises": [1, {}]}}):
        assert parse(json.dumps({"cells": [], "metadata": metadata}).encode()).exercises == []


@pytest.mark.parametrize("cell", [None, 3, [], {}, {"source": 4}, {"source": ["a", 1]}, {"cell_type": "code"},
                                  {"cell_type": ["x"], "source": "f = 2"}, {"cell_type": 3, "source": "f = 2"}])
def test_odd_cells_cost_only_themselves(cell):
    found = parse(json.dumps({"cells": [cell, code("def g(): return 1")]}).encode())
    assert found.names == ["g"] or found.names == ["f", "g"]


DEEP = b'{"cells": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("data, words", [
    (b"", "empty"), (b" \n", "empty"), (b"\xff\xfe\x00", "UTF-8"), ("käse".encode("latin-1"), "UTF-8"),
    (b"print('a')", "no notebook"), (b'{"cells": [{"source": "x', "breaks off"), (DEEP, "too deeply"),
    (b'{"cells": [], "x": ' + b"[" * 80 + b"]" * 80 + b"}", "too deeply"), (b"[]", "no list of cells"), (b"7", "no list"),
    (b'{"worksheets": []}', "no list of cells"), (json.dumps({"cells": [{}] * 5001}).encode(), "5001 cells"),
    (b'{"cells": ' + b"1" * 5000 + b"}", "no notebook")])
def test_what_is_no_notebook_is_unreadable(tmp_path, data, words):
    path = save(tmp_path / "x.ipynb", data)
    with pytest.raises(Unreadable, match=words) as problem:
        parse(read_bytes(path))
    assert any(word in str(problem.value) for word in ("Save", "Hand", "Delete"))     # what to do


def test_too_much_code_is_unreadable():
    with pytest.raises(Unreadable, match="million characters"):
        read("#" * 1_500_000, "#" * 1_500_000)


def test_files_that_are_no_files_are_unreadable(tmp_path, monkeypatch):
    target = save(tmp_path / "target.ipynb", notebook("f = 1"))
    os.symlink(target, tmp_path / "link.ipynb")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name, words in (("link", "a link"), ("pipe", "no file"), ("folder", "no file"), ("gone", "no such file")):
        with pytest.raises(Unreadable, match=words):
            read_bytes(tmp_path / f"{name}.ipynb")
    monkeypatch.setattr(extract, "BYTES", 100)
    with pytest.raises(Unreadable, match="MB are read at most"):
        read_bytes(target)


def test_a_notebook_with_a_byte_order_mark_is_read():
    assert parse(b"\xef\xbb\xbf" + json.dumps(notebook("f = 1")).encode()).names == ["f"]
