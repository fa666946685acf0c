"""The order of the library: a file imports from its own line and from those before it, and never in a circle.

Imports inside functions and under TYPE_CHECKING count like the others. A class that is named by a string, as the models
that `hub` can load, is no import. `course_lib/__init__.py` is the door: it offers what lies behind it, and nothing behind
it goes through it.
"""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT
from tests.support.imports import imports_of, python_files

LINES = [                                                            # the ground floor first
    "autoregressive checked conditional contract former",            # the idea: base, families, proofs
    "files tokenizers",
    "data training hub records",
    "decoding",                                                      # for a table as for GPT
    "basics",                                                        # the chapters' models, in their order
    "counting",
    "density",
    "recurrent",
    "pixels",
    "words",
    "transformer",
    "using",
    "show",                                                          # what the reader touches
    "explorables",
    "grading",
]
# Imports inside functions that may point upward: from one file to another, as dotted names. None is needed.
MAY_POINT_UPWARD: set[tuple[str, str]] = set()


class Edge(NamedTuple):
    """One file of the package imports another."""

    source: str                                                      # dotted names of files
    target: str
    line: int
    names: tuple[str, ...]
    late: bool                                                       # inside a function


def edges_of(folder: Path) -> list[Edge]:
    """Every import between two files of the package in `folder`."""
    package = folder.name
    files = {dotted(path, folder): path for path in python_files(folder)}
    edges = []
    for name, path in files.items():
        inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for line, module, names, late in imports_of(path, inside):
            if module.split(".")[0] != package:
                continue
            below = [f"{module}.{each}" for each in names if f"{module}.{each}" in files]
            rest = tuple(each for each in names if f"{module}.{each}" not in files)
            edges += [Edge(name, target, line, (), late) for target in below]
            if rest or not names:
                edges.append(Edge(name, module, line, rest, late))
    return edges


def dotted(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def upward(folder: Path, lines: list[str] = LINES, allowed: set[tuple[str, str]] = MAY_POINT_UPWARD) -> list[str]:
    """A sentence for each import that points upward, goes through the door, or comes from a file without a line."""
    package = folder.name
    floor = {room: number for number, line in enumerate(lines) for room in line.split()}
    said = [f"{package}/{room} has no line in the table" for room in rooms(folder) if room not in floor]
    for source, target, line, names, late in edges_of(folder):
        if source == package:                                        # the door itself
            continue
        where, room, other = f"{source}, line {line}:", source.split(".")[1], (*target.split("."), "")[1]
        if not other:
            if set(names) - {"__version__"}:
                said.append(f"{where} {', '.join(names)} from the door; name the module that has it")
            elif not names:
                said.append(f"{where} the door is imported; name the module that is meant")
        elif floor.get(other, 0) > floor.get(room, len(lines)) and not (late and (source, target) in allowed):
            said.append(f"{where} {target} lies above {room}")
    return said


def rooms(folder: Path) -> list[str]:
    """Files and folders directly in the package, the door aside."""
    return sorted({path.relative_to(folder).parts[0].removesuffix(".py") for path in python_files(folder)} - {"__init__"})


def circles(folder: Path) -> list[str]:
    """A sentence for each set of files that import one another, one round of it written out."""
    reach: dict[str, set[str]] = {}
    for edge in edges_of(folder):
        if folder.name in edge[:2]:                                  # the door: what goes through it is found by `upward`
            continue
        reach.setdefault(edge.source, set()).add(edge.target)
    found, done = [], set()
    for start in sorted(reach):
        if start in done or not (way := shortest_round(reach, start)):
            continue
        done.update(way)
        found.append(" imports ".join([*way, start]))
    return found


def shortest_round(reach: dict[str, set[str]], start: str) -> list[str]:
    """The shortest way from a file back to itself; empty if there is none."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop(0)
        for target in sorted(reach.get(way[-1], ())):
            if target == start:
                return way
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return []


# --- the library -----------------------------------------------------------------------------------------------------


def test_no_import_points_upward():
    assert upward(ROOT / "course_lib") == []


def test_no_files_import_each_other_in_a_circle():
    assert circles(ROOT / "course_lib") == []


def test_what_may_point_upward_does():
    """An exception that no file makes use of any more is taken off the list."""
    made = {(edge.source, edge.target) for edge in edges_of(ROOT / "course_lib")}
    assert made >= MAY_POINT_UPWARD


def test_the_table_names_each_room_once():
    listed = " ".join(LINES).split()
    assert len(set(listed)) == len(listed)


# --- planted trees ---------------------------------------------------------------------------------------------------

TREE = {
    "__init__.py": "from course_lib.density.made import MADE\n",
    "autoregressive.py": "from course_lib.conditional import Bernoulli\nimport torch\n",
    "conditional.py": "import math\n",
    "hub.py": "from course_lib import conditional\nMODULES = {'MADE': 'course_lib.density.made'}\n",
    "density/__init__.py": "from course_lib.density.made import MADE\nfrom course_lib.density import made\n",
    "density/made.py": "from __future__ import annotations\nfrom course_lib.autoregressive import Base\n"
                       "from course_lib import __version__, hub\nfrom .drawing import draw\nfrom .. import conditional\n",
    "density/drawing.py": "from course_lib import conditional\n",
    "show/source.py": "import course_lib.density.made\n",
}
LATE = "def f():\n    from course_lib.density.made import MADE\n"
TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from course_lib.density.made import MADE\n"


@pytest.fixture
def planted(tmp_path):
    """planted({file: source}): a package with these files besides those of TREE, or in their place."""
    def planted(files=()):
        folder = tmp_path / "course_lib"
        for name, source in {**TREE, **dict(files)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(source, "utf-8")
        return folder
    return planted


def test_a_right_tree_is_right(planted):
    assert upward(planted()) == [] and circles(planted()) == []


@pytest.mark.parametrize("file, source, sentence", [
    ("autoregressive.py", "import os\nfrom course_lib.density.made import MADE\n",
     "course_lib.autoregressive, line 2: course_lib.density.made lies above autoregressive"),
    ("autoregressive.py", "import course_lib.density.made as m\n",
     "course_lib.autoregressive, line 1: course_lib.density.made lies above autoregressive"),
    ("autoregressive.py", "from course_lib.density import MADE\n",
     "course_lib.autoregressive, line 1: course_lib.density lies above autoregressive"),
    ("autoregressive.py", "from course_lib import hub\n",
     "course_lib.autoregressive, line 1: course_lib.hub lies above autoregressive"),
    ("density/drawing.py", "from ..show import source\n",
     "course_lib.density.drawing, line 1: course_lib.show.source lies above density"),
    ("hub.py", LATE, "course_lib.hub, line 2: course_lib.density.made lies above hub"),
    ("hub.py", TYPES, "course_lib.hub, line 3: course_lib.density.made lies above hub"),
    ("hub.py", "class A:\n    def f(self):\n        import course_lib.show.source\n",
     "course_lib.hub, line 3: course_lib.show.source lies above hub"),
    ("show/source.py", "from course_lib import MADE\n",
     "course_lib.show.source, line 1: MADE from the door; name the module that has it"),
    ("show/source.py", "import course_lib\n",
     "course_lib.show.source, line 1: the door is imported; name the module that is meant"),
    ("attic/box.py", "", "course_lib/attic has no line in the table"),
    ("attic.py", "", "course_lib/attic has no line in the table"),
])
def test_an_import_that_points_upward_is_found(planted, file, source, sentence):
    assert upward(planted({file: source})) == [sentence]


def test_an_exception_is_one_import_and_no_more(planted):
    folder, allowed = planted({"hub.py": LATE, "records.py": LATE}), {("course_lib.hub", "course_lib.density.made")}
    assert upward(folder, allowed=allowed) == ["course_lib.records, line 2: course_lib.density.made lies above records"]
    folder = planted({"hub.py": "from course_lib.density.made import MADE\n", "records.py": ""})
    assert upward(folder, allowed=allowed) == ["course_lib.hub, line 1: course_lib.density.made lies above hub"]


def test_the_table_decides(planted):
    lines = ["show", *(line for line in LINES if line != "show")]
    assert upward(planted(), lines) == ["course_lib.show.source, line 1: course_lib.density.made lies above show"]


@pytest.mark.parametrize("source", ["from course_lib.density import made\n", LATE, TYPES],
                         ids=["plain", "in a function", "for types"])
def test_a_circle_of_two_is_found(planted, source):
    assert circles(planted({"density/drawing.py": source})) == [
        "course_lib.density.drawing imports course_lib.density.made imports course_lib.density.drawing"]


def test_longer_circles_are_found_each_once(planted):
    folder = planted({"files.py": "from course_lib.tokenizers import words\n",
                      "tokenizers/words.py": "from course_lib.tokenizers.chars import C\n",
                      "tokenizers/chars.py": "import course_lib.files\n",
                      "density/drawing.py": "from course_lib.density import Made\n"})
    rounds = [("density", "density.made", "density.drawing", "density"),
              ("files", "tokenizers.words", "tokenizers.chars", "files")]
    assert circles(folder) == [" imports ".join(f"course_lib.{name}" for name in each) for each in rounds]


def test_a_file_that_imports_itself_is_found(planted):
    assert circles(planted({"hub.py": "import course_lib.hub\n"})) == ["course_lib.hub imports course_lib.hub"]
