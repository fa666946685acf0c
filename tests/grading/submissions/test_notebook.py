"""What is read out of a notebook, and what is said when nothing can be."""
import json
import os
import random
import sys
import time
from pathlib import Path

import pytest

from book._tools import setup_cell
from course_lib.grading.submissions import files
from course_lib.grading.submissions import notebook as notebook_module
from course_lib.grading.submissions.files import Unreadable, read_file
from course_lib.grading.submissions.notebook import Entangled, parse
from tests.grading.sample_submissions import code, notebook, save


def read(*sources):
    return parse(json.dumps(notebook(*sources)).encode())


def run(found, name):
    """What `name` is after the statements it needs have run, and nothing else."""
    space = {}
    for one in found.needed(name):
        exec(one.text, space)
    return space[name]


def lines_not_run(found, *names):
    """The cell and the line of each loop or call that none of these names needs."""
    return [(one.cell, one.line) for one in found.not_run(names)]


def test_needed_takes_names_read():
    found = read("import math, json\nimport os", "SCALE = 2\nOTHER = boom()", "def helper(x):\n    return SCALE * x",
                 "def f(x, y=math.pi):\n    return helper(x) + y", "OTHER2 = f(1)")
    assert [one.text for one in found.needed("f")] == [
        "import math, json", "SCALE = 2", "def helper(x):\n    return SCALE * x",
        "def f(x, y=math.pi):\n    return helper(x) + y"]


@pytest.mark.parametrize("cell", [
    "%matplotlib inline\ndef f():\n    return 7", "%%time\ndef f():\n    return 7", "!pip install x\ndef f(): return 7",
    "files = !ls\ndef f(): return 7", "%pip install x\n%load_ext y\nf = lambda: 7", "f = lambda: 7\nf?\n?f",
    "if True:\n    !ls\n    %cd x\ndef f(): return 7", "%%unknown_magic\ndef f(): return 7",
    "r = await thing()\ndef f(): return 7"])
def test_parse_skips_magics(cell):
    found = read(cell)
    assert not found.broken and run(found, "f")() == 7


def test_parse_lists_loops_and_calls():
    found = read("import sys\nsys.exit(1)", "while True:\n    pass", "print(2)\n'text'\ncheck('f')", "def f(): pass")
    assert lines_not_run(found, "f") == [(1, 2), (2, 1)] and [one.cell for one in found.needed("f")] == [4]


def test_parse_drops_grader_imports_in_blocks():
    found = read("try:\n    from course_lib.grading import check\n    import math\nexcept ImportError:\n"
                 "    from course_lib.exercises import get\n    math = None", "if math:\n    import course_lib.grading as g, json\n"
                 "else:\n    def f():\n        from course_lib.grading import check")
    assert [one.text for one in found.statements] == [
        "try:\n    import math\nexcept ImportError:\n    math = None",
        "if math:\n    import json\nelse:\n\n    def f():\n        from course_lib.grading import check"]


def test_parse_broken_cell():
    found = read("def f(:\n    pass", "def g():\n    return 1")
    assert list(found.broken) == [1] and "line 1" in found.broken[1][1] and found.names == ["g"]
    assert found.why_missing("f") == ("error", f"Cell 1, which defines f, is not valid Python: {found.broken[1][1]}.")


@pytest.mark.parametrize("source", ["-" * 200_000 + "1", "(" * 50_000, "x" + "[0]" * 20_000, "f(" * 3000 + ")" * 3000,
                                    "\0", "lambda: " * 5000 + "0", "1" * 10_000, "'\\ud800'", "\ud800 = 1",
                                    "x=" * 3000 + "1", "a" + ".b" * 30_000, "not " * 100_000 + "1"])
def test_parse_hostile_code(source):
    found = read(source, "def g():\n    return 1")
    assert found.needed("g")


def test_why_missing_suggests_name():
    found = read("def attention_2(q):\n    return q")
    state, message = found.why_missing("attention")
    assert state == "missing" and "attention_2" in message
    assert "attention_2" not in found.why_missing("mlm_mask")[1]


def test_why_missing_names_foreign_letter():
    assert "аttention, with a letter of another alphabet: rename it" in read("def \u0430ttention(): pass").why_missing("attention")[1]


@pytest.mark.parametrize("kind, word", [("markdown", "text"), ("raw", "raw")])
def test_why_missing_text_cell(kind, word):
    found = read(code("def f(x):\n    return x", kind))
    assert found.why_missing("f") == ("missing", f"f stands in cell 1, which is a {word} cell. Turn it into a code cell.")


@pytest.mark.parametrize("cell", [None, 3, [], {}, {"source": 4}, {"source": ["a", 1]}, {"cell_type": "code"},
                                  {"cell_type": ["x"], "source": "f = 2"}, {"cell_type": 3, "source": "f = 2"}])
def test_parse_odd_cells(cell):
    found = parse(json.dumps({"cells": [cell, code("def g(): return 1")]}).encode())
    assert found.names == ["g"] or found.names == ["f", "g"]


DEEP = b'{"cells": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("data, words", [
    (b"", "empty"), (b" \n", "empty"), (b"\xff\xfe\x00", "UTF-8"), ("käse".encode("latin-1"), "UTF-8"),
    (b"print('a')", "not a notebook"), (b'{"cells": [{"source": "x', "breaks off"), (DEEP, "too deeply"),
    (b'{"cells": [], "x": ' + b"[" * 80 + b"]" * 80 + b"}", "too deeply"), (b"[]", "no list of cells"), (b"7", "no list"),
    (b'{"worksheets": []}', "no list of cells"), (json.dumps({"cells": [{}] * 5001}).encode(), "5001 cells"),
    (b'{"cells": ' + b"1" * 5000 + b"}", "not a notebook")])
def test_parse_refuses_other_files(tmp_path, data, words):
    path = save(tmp_path / "x.ipynb", data)
    with pytest.raises(Unreadable, match=words) as problem:
        parse(read_file(path))
    assert any(word in str(problem.value) for word in ("Save", "Hand", "Delete"))     # what to do


def test_parse_refuses_too_much_code():
    with pytest.raises(Unreadable, match="million characters"):
        read("#" * 1_500_000, "#" * 1_500_000)


def test_read_file_refuses_links_and_devices(tmp_path, monkeypatch):
    target = save(tmp_path / "target.ipynb", notebook("f = 1"))
    os.symlink(target, tmp_path / "link.ipynb")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name, words in (("link", "a link"), ("pipe", "not a file"), ("folder", "not a file"), ("gone", "no such file")):
        with pytest.raises(Unreadable, match=words):
            read_file(tmp_path / f"{name}.ipynb")
    monkeypatch.setattr(files, "BYTES", 100)
    with pytest.raises(Unreadable, match="more than 0 MB"):
        read_file(target)


def test_long_outputs_are_read(tmp_path):
    content = notebook("f = 1")
    content["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [100 * "x" + "\n"] * 440_000}]
    data = read_file(save(tmp_path / "hw.ipynb", content))
    assert len(data) > 46_000_000 and parse(data).names == ["f"]


def test_parse_script():
    script = "import math\n\n\ndef f(x):\n    return math.sqrt(x)\n"
    found = parse(b"\xef\xbb\xbf" + script.replace("\n", "\r\n").encode(), "hw.py")
    assert run(found, "f")(4) == 2 and notebook_module.read(script.encode(), "x.zip/HW.PY").names == ["f"]
    assert list(parse(b"def f(:\n    pass\n", "hw.py").broken) == [1]
    with pytest.raises(Unreadable, match="UTF-8"):
        parse("x = 'é'".encode("latin-1"), "hw.py")


BRANCHES = {                    # what a notebook says, and what f() gives after it
    "the first of two branches": (["FAST = True", "if FAST:\n    def f():\n        return 1\nelse:\n    def f():\n"
                                                  "        raise NotImplementedError"], 1),
    "the second of two": (["FAST = False\nif FAST:\n    def f():\n        return 1\nelif not FAST:\n    f = lambda: 2\nelse:\n"
                           "    f = None"], 2),
    "a branch that is not taken": (["def f():\n    return 1", "if False:\n    def f():\n        return 2"], 1),
    "a branch on what is called there": (["import math", "if math.sqrt(4) == 2:\n    f = lambda: 1\nelse:\n    f = lambda: 2"], 1),
    "an import that is not there": (["try:\n    import nowhere\n    def f():\n        return 1\nexcept ImportError:\n"
                                     "    def f():\n        return 2"], 2),
    "one that is": (["try:\n    import math as m\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n    m = None",
                     "def f():\n    return HAVE and m.sqrt(4)"], 2),
    "else and finally of a try": (["try:\n    x = int('y')\nexcept ValueError:\n    x = 1\nelse:\n    x = 2\nfinally:\n    y = x + 5",
                                   "f = lambda: (x, y)"], (1, 6)),
    "a step that fails in a try": (["x = 1", "try:\n    len(5)\n    x = 2\nexcept TypeError:\n    pass", "f = lambda: x"], 1),
    "a name changed in a branch": (["t = [1]", "if t:\n    t[0] = 7\n    for i in range(2):\n        t.append(i)", "f = lambda: t"],
                                   [7, 0, 1]),
    "a context": (["from contextlib import *\nlog = []",
                   "with redirect_stdout(None) as out, suppress(ValueError):\n    x = 1\n    raise ValueError\n    x = 2",
                   "f = lambda: x"], 1),
    "a match": (["match [1, 2]:\n    case [a, *rest]:\n        f = lambda: (a, rest)\n    case _:\n        f = None"], (1, [2])),
    "a walrus": (["(N := 3)", "print(M := N + 1)", "assert (K := 5)", "if (L := 2) > 1:\n    pass", "f = lambda: (N, M, K, L)"],
                 (3, 4, 5, 2)),
    "a walrus in a list": (["squares = [last := i * i for i in range(4)]", "f = lambda: last"], 9),
    "decorators": (["import functools\nlog = []\ndef twice(g):\n    return lambda: 2 * g()", "@twice\n@functools.cache\n"
                    "def f():\n    log.append(1)\n    return len(log)"], 2),
    "the grader's import in a try": (["try:\n    from course_lib.grading import check\n    import math\nexcept ImportError:\n"
                                      "    math = None", "f = lambda: math.sqrt(4)"], 2),
}


@pytest.mark.parametrize("what", BRANCHES)
def test_needed_runs_as_python(what):
    """The whole notebook, run as it stands, gives the same."""
    sources, expected = BRANCHES[what]
    assert run(read(*sources), "f")() == expected
    space = {}
    exec("\n".join(sources), space)
    assert space["f"]() == expected


EFFECTS = {                     # what changes a value by a call, and what f() gives after it
    "a decorator that adds a method": (["def add_to_class(Class):\n    def add(f):\n        setattr(Class, f.__name__, f)\n        return f\n    return add",
                                        "class Own:\n    pass", "@add_to_class(Own)\ndef go(self):\n    return 7", "f = lambda: Own().go()"], 7),
    "a registry": (["TABLE = {}\ndef register(g):\n    TABLE[g.__name__] = g\n    return g", "@register\ndef go():\n    return 7",
                    "def f():\n    return TABLE['go']()"], 7),
    "a registry with names": (["class Registry:\n    def __init__(self):\n        self.table = {}\n    def register(self, name):\n"
                               "        return lambda g: self.table.setdefault(name, g)\nparts = Registry()",
                               "@parts.register('go')\ndef _(x):\n    return x + 1", "def f():\n    return parts.table['go'](6)"], 7),
    "setattr": (["class Own:\n    pass\nOwn.a = 1", "setattr(Own, 'b', 2)\nfor name in 'cd':\n    setattr(Own, name, 3)",
                 "f = lambda: (Own.a, Own.b, Own.c, Own.d)"], (1, 2, 3, 3)),
    "a call of a decorator": (["class Own:\n    pass\ndef patch(Class):\n    return lambda g: setattr(Class, 'go', g)", "patch(Own)(lambda self: 7)",
                               "f = lambda: Own().go()"], 7),
    "a helper that stores": (["class Own:\n    pass\ndef put(where, what):\n    where.go = what\ndef patch(Class, g):\n    put(Class, g)",
                              "patch(Own, lambda self: 7)", "f = lambda: Own().go()"], 7),
    "methods of a list": (["t = [3, 1, 2]", "t.append(0)\nt.sort()", "last = t.pop()", "f = lambda: (t, last)"], ([0, 1, 2], 3)),
    "a function of a module": (["import heapq\nt = [3, 1, 2]", "heapq.heapify(t)", "f = lambda: t[0]"], 1),
    "a global that a call counts": (["n = 1\ndef count():\n    global n\n    n += 1", "count()\ncount()", "f = lambda: n"], 3),
    "singledispatch": (["import functools\n@functools.singledispatch\ndef g(x):\n    return 1", "@g.register\ndef _(x: int):\n    return 2",
                        "f = lambda: (g(1), g('a'))"], (2, 1)),
    "wraps": (["import functools\ndef twice(g):\n    @functools.wraps(g)\n    def call():\n        return 2 * g()\n    return call",
               "@twice\ndef f():\n    return 7"], 14),
    "a loop": (["total = 0", "for i in range(4):\n    total += i", "while total < 9:\n    total += 1", "f = lambda: total"], 9),
    "a loop among others": (["t = []", "for i in []:\n    boom(i)\nfor i in range(3):\n    for j in [i]:\n        t.append(i + j)", "f = lambda: t"], [0, 2, 4]),
    "a deleted element": (["t = {1: 2, 3: 4}", "del t[1]", "f = lambda: t"], {3: 4}),
    "globals()": (["globals()['f'] = lambda: 7"], 7),
    "a seed": (["import random", "random.seed(3)\nn = random.random()", "f = lambda: n"], random.Random(3).random()),
    "several targets": (["t = [0, 0]\nclass Own: pass", "t[1], Own.a = 5, 6", "f = lambda: (t, Own.a)"], ([0, 5], 6)),
}


@pytest.mark.parametrize("what", EFFECTS)
def test_needed_takes_what_changes_a_value(what):
    """As run in a notebook; nothing that does not matter to `f` comes with it."""
    sources, expected = EFFECTS[what]
    found = read(*sources, "import time", "time.sleep(100)\nother = []\nother.append(1)\nfor x in []:\n    boom()")
    assert run(found, "f")() == expected
    assert not any("boom" in one.text or "sleep" in one.text for one in found.needed("f"))


def test_parse_names_what_is_left_out():
    found = read("%load_ext x\n!ls -l\nfiles = !ls\nprint?\n%time a = 1", "%%bash\nls", "%%time\n%timeit f()\nb = 2")
    assert found.left_out == [(1, "%load_ext"), (1, "!ls"), (1, "!ls"), (2, "%%bash"), (3, "%timeit")] and found.names == ["files", "a", "b"]


def test_needed_gives_up_on_tangle(monkeypatch):
    monkeypatch.setattr(notebook_module, "STEPS", 2000)
    chain = "\n".join(f"def c{i}(): return c{i + 1}" for i in range(100))
    uses = "\n".join(f"u{i} = c0" for i in range(100))
    found = read(chain, uses, "f = [" + ", ".join(f"u{i}" for i in range(100)) + "]")
    with pytest.raises(Entangled, match="more than 2000 steps"):
        found.needed("f")
    assert found.needed("c50")


@pytest.mark.parametrize("blanks", ["\n" * 200_000, " " * 200_000, ("\n" + " " * 1000) * 200], ids=["lines", "one line", "both"])
def test_why_missing_takes_one_pass(blanks):
    began = time.process_time()
    found = read("def f(:" + blanks, "x = 1\n" + blanks + "%\n?" + blanks, code(blanks + "nothing", "markdown"))
    assert found.why_missing("f")[0] == "error" and found.why_missing("nowhere")[0] == "missing"
    assert time.process_time() - began < 5               # a pass that starts at each blank takes longer


def test_parse_refuses_too_many_definitions(monkeypatch):
    monkeypatch.setattr(notebook_module, "STATEMENTS", 10)
    assert len(read(";".join(f"a{i}=1" for i in range(10))).names) == 10
    with pytest.raises(Unreadable, match="more than 10 definitions"):
        read(";".join(f"a{i}=1" for i in range(6)), ";".join(f"a{i}=1" for i in range(6)))


def test_read_equals_parse():
    data = json.dumps(notebook("from math import *\nimport os", "x = '\\ud800'\ndef f(a): return g(a) + x", "y = (", "while 1: 2",
                               code("def g(): x", "markdown"))).encode()
    assert notebook_module.read(data) == parse(data)
    with pytest.raises(Unreadable, match="no list of cells"):
        notebook_module.read(b"[]")


@pytest.mark.skipif(sys.platform != "linux", reason="the bounds are Linux's")
def test_read_is_bounded(monkeypatch):
    def forever(*_):
        while True:
            pass

    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text()
    monkeypatch.setattr(notebook_module, "parse", forever)
    began = time.monotonic()
    with pytest.raises(Unreadable, match="more than 0.3 seconds to read"):
        notebook_module.read(b"{}", seconds=0.3)
    assert time.monotonic() - began < 10
    for way in (lambda *_: bytearray(10**12), lambda *_: os._exit(3), lambda *_: os.kill(os.getpid(), 9)):
        monkeypatch.setattr(notebook_module, "parse", way)
        with pytest.raises(Unreadable, match="more memory than there is"):
            notebook_module.read(b"{}")
    assert children.read_text() == before, "a reader is left"


def test_magics_are_named_but_those_of_the_set_up_cell():
    set_up = setup_cell.text({"url": "https://git.example/org/course"})
    assert "%pip" in set_up and read(set_up, "!ls").left_out == [(2, "!ls")]
