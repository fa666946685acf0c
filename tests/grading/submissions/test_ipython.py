"""Cells that run in IPython run in the grader: random notebooks of what IPython adds to Python, with the names and values after them."""
from __future__ import annotations

import copy
import io
import json
import random
import re
import types

import pytest
from IPython.core.interactiveshell import InteractiveShell

from course_lib.grading.sandbox.inside.session import Session
from course_lib.grading.submissions.notebook import parse
from tests.grading.sample_submissions import notebook

FIRST = """\
import functools
table, log, a, b, c = {"a": 1}, [], 1, 2, 3
class Own:
    pass
def add_to_class(Class):
    def add(function):
        setattr(Class, function.__name__, function)
        return function
    return add
def register(function):
    table[function.__name__] = function()
    return function
def count():
    global a
    a += 1
async def give(value):
    return value"""


def draw_value(r: random.Random) -> str:
    return r.choice([str(r.randint(0, 9)), f"{r.choice('abc')} + {r.randint(1, 5)}", f"len(log) + {r.randint(1, 5)}", "sum(table.values())",
                     f"({r.choice('abc')}\n% {r.randint(2, 7)})", '"""x\n%time a = 5\n!ls\n  ?"""', "'50%'", "[1,\n   2]"])


def draw_line(r: random.Random) -> str:
    """A statement, some of them only IPython's."""
    name, value, small = r.choice("abc"), draw_value(r), r.randint(1, 9)
    word = r.choice(["one", "two", "three"])
    return r.choice([
        f"{name} = {value if '%time' not in value else small}", f"{name} = {small}", f"%time {name} = {small} + len(log)",
        f"%time log.append({small})", f"x{small} = %time {small} * 2", f"%timeit -n1 -r1 {name} = 99", "!true \\\n  and \\\n  more", "!true",
        f"{name} = {small} + \\\n    2", f"{name}?", f"?{name}", "%lsmagic", "%pdb off",
        f"log.append({small})", f"table['{word}'] = {small}", f"table.update({word}={small})", "last = log.pop() if log else 0",
        f"@add_to_class(Own)\ndef {word}(self):\n    return {small}", f"@register\ndef {word}():\n    return {small}",
        f"setattr(Own, '{word}', {small})", "count()", f"{name} = await give({small})", f"await give({small})",
        f"if {name} != {small}:\n    %time {r.choice('abc')} = {small}\n    !true\nelse:\n    b = 0",
        f"for i in range({small}):\n    a += i\n    log.append(i)", f"def f{small}(x=({name}\n% {small})):\n    # a comment\n    return x",
        f"@functools.lru_cache\ndef g{small}():\n    return {small}", f"with open('/dev/null') as null:\n    %time b = {small}",
        f"try:\n    {name} = {small} // 0\nexcept ZeroDivisionError:\n    %pdb off\n    c = {small}", f"s = '''\n%cd x\n{small}'''", "",
        f"{name} = int(get_ipython() is None) + {small}", "display(log)", f"inputs = len(In) * 0 + {small}", f"{name} = {small};  # 5 % 2",
        f"{name} += {small}"])


def draw_cell(r: random.Random) -> str:
    """A cell: some lines, in one of the forms that IPython reads."""
    cell = "\n".join(draw_line(r) for _ in range(r.randint(1, 5)))
    form = r.choice(["plain"] * 6 + ["indented", "prompts", "numbered", "time", "capture", "bash"])
    if '"""' in cell or "'''" in cell or "\\\n" in cell:
        form = "plain"                                   # a string would be another
    lines = cell.split("\n")
    match form:
        case "indented":
            return "\n".join("    " + line for line in lines)
        case "prompts" if not any(line.startswith(tuple("%!?")) for line in lines):
            return "\n".join((">>> " if i == 0 or not line.startswith((" ", "%")) else "... ") + line for i, line in enumerate(lines))
        case "numbered":
            return "\n".join((f"In [{len(lines)}]: " if i == 0 else "   ...: ") + line for i, line in enumerate(lines))
        case "time" | "capture":
            return f"%%{form}\n{cell}"
        case "bash":
            return "%%bash\ntrue; a=5"
    return cell


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A shell of IPython's own, with no history, that runs no command of the system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        shell = InteractiveShell.instance()
        shell.history_manager.enabled = False
        patch.setattr(shell, "system", lambda _: None)
        yield shell
        InteractiveShell.clear_instance()


def run_in_ipython(shell, cells: list[str], done: int = 0) -> bool:
    """Run these cells, in an empty name space but for the first `done`, which were run. False if one fails."""
    if not done:
        for name in set(shell.user_ns) - set(shell.user_ns_hidden):
            del shell.user_ns[name]
    return all(shell.run_cell(cell).success for cell in cells[done:])


def run_in_grader(cells: list[str], name: str) -> object:
    """The value of a name, of the statements alone that it needs."""
    found = parse(json.dumps(notebook(*cells)).encode())
    assert not found.broken, (found.broken, cells)
    session = Session()
    for statement in found.needed(name):
        session.run(statement.text, f"<cell {statement.cell}>")
    return session.module.__dict__.get(name)


def describe(value: object) -> object:
    """A value to compare: a class by its attributes, a function by what it returns."""
    if isinstance(value, type):
        return {name: describe(part) for name, part in vars(value).items() if not name.startswith("__")}
    if callable(value) and re.fullmatch(r"[fg]\d", value.__name__):
        return describe(value())
    if isinstance(value, dict):
        return {key: describe(part) for key, part in value.items()}
    return "function" if callable(value) else copy.deepcopy(value)


@pytest.mark.parametrize("seed", [*range(25), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(25, 125))])
def test_cells_give_what_they_give_in_ipython(shell, seed):
    """Each name of a notebook of four random cells has the value that it has in IPython."""
    r = random.Random(seed)
    cells, space = [FIRST], shell.user_ns
    assert run_in_ipython(shell, cells)
    while len(cells) < 5:                                # a cell that fails in IPython says nothing
        cells.append(draw_cell(r))
        if not run_in_ipython(shell, cells, len(cells) - 1):
            cells.pop()
            assert run_in_ipython(shell, cells)
    names = sorted(name for name, value in space.items() if name not in shell.user_ns_hidden and not name.startswith("_")
                   and not isinstance(value, types.ModuleType | io.IOBase) and name not in ("In", "Out"))
    expected = {name: describe(space[name]) for name in names}
    assert {name: describe(run_in_grader(cells, name)) for name in names} == expected, "\n---\n".join(cells)
    assert set(parse(json.dumps(notebook(*cells)).encode()).names) - set(names) <= {"null"}, cells
