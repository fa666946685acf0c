"""Parse a notebook into its statements, without running any of it: a function needs its definition and, name by name, what that reads."""
import contextlib
import difflib
import json
import re
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from course_lib.grading.submissions.cells import Statement, parse_cell, transformer
from course_lib.grading.submissions.effects import bind_effects
from course_lib.grading.submissions.files import MEMORY, SECONDS, Unreadable, run_limited

CELLS = 5_000
CODE = 2_000_000            # characters of code in all cells
STATEMENTS = 20_000         # in all cells, of those that bind names
DEPTH = 60                  # of the JSON
STEPS = 100_000             # from a name to a statement that binds it, for one function
PYTHON = ".".join(map(str, sys.version_info[:2]))
MAGIC = re.compile(rb'(["\n]|\\n)[ \t]*([%!?>]|In \[)|\?\\n')          # in a file: a cell that IPython has to rewrite
LONGEST = 100               # characters of a name that may be suggested
SETUP = "# Set-up: on Colab this installs"          # the first cell of a notebook of the course; its %pip concerns no answer


class Entangled(ValueError):
    """What a function is made of takes too many steps to follow."""


@dataclass
class Notebook:
    """The statements of all code cells in order, what could not be parsed, and the text of the other cells."""

    statements: list[Statement] = field(default_factory=list)
    broken: dict[int, tuple[str, str]] = field(default_factory=dict)     # cell -> (source, what is wrong with it)
    prose: dict[int, tuple[str, str]] = field(default_factory=dict)      # cell -> (source, its type)
    left_out: list[tuple[int, str]] = field(default_factory=list)        # cell, magic or shell command that is not run

    @property
    def names(self) -> list[str]:
        """The functions, classes and values that it defines; names that are only imported are left out."""
        return list(dict.fromkeys(name for statement in self.statements if not statement.imports for name in sorted(statement.binds)))

    def not_run(self, ids: Sequence[str]) -> list[Statement]:
        """The loops and the calls at the top level of a cell that none of these functions needs."""
        used = set()
        for name in ids:
            with contextlib.suppress(Entangled):
                used |= set(self.needed(name))
        return [statement for statement in self.statements if statement.effect and statement not in used]

    @cached_property
    def binding(self) -> dict[str, list[int]]:
        """Each name with the places of the statements that bind it, in order."""
        places: dict[str, list[int]] = {}
        for i, statement in enumerate(self.statements):
            for name in statement.binds:
                places.setdefault(name, []).append(i)
        return places

    def needed(self, name: str) -> list[Statement]:
        """The statements that `name` is made of, in order; the last definition wins. Raises Entangled after STEPS steps."""
        binding, steps = self.binding, 0
        if name not in binding:
            return []
        chosen, seen, todo = set(binding.get("*", ())), set(), [(name, len(self.statements))]
        while todo:
            wanted, before = todo.pop()
            places = binding.get(wanted)
            if (wanted, before) in seen or not places:
                continue
            seen.add((wanted, before))
            place = places[bisect_left(places, before) - 1]      # the last one before; the last of all if there is none
            chosen.add(place)
            now, later = self.statements[place].now, self.statements[place].later
            steps += 1 + len(now) + len(later)
            if steps > STEPS:
                raise Entangled(f"what {name} is made of takes more than {STEPS} steps to follow from name to name")
            todo += [*((read, place) for read in now), *((read, before) for read in later)]
        return [self.statements[i] for i in sorted(chosen)]

    def why_missing(self, name: str) -> tuple[str, str]:
        """The state ("missing" or "error") and what to tell somebody whose notebook does not define `name`."""
        blanks = r"^[^\S\n]*"                            # of this line only: a regular expression that takes one pass
        definition = re.compile(rf"{blanks}(async\s+)?(def|class)\s+{re.escape(name)}\b|{blanks}{re.escape(name)}\s*=[^=]", re.M)
        for cell, (source, problem) in self.broken.items():
            if definition.search(source):
                return "error", f"Cell {cell}, which defines {name}, is not valid Python: {problem}."
        for cell, (source, kind) in self.prose.items():
            if definition.search(source):
                return "missing", f"{name} stands in cell {cell}, which is a {kind} cell. Turn it into a code cell."
        names = [known for known in self.names if len(known) <= LONGEST][:2000]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
        foreign = ", with a letter of another alphabet" if near and not near[0].isascii() else ""
        hint = f" There is a function {near[0]}{foreign}: rename it if it is meant." if near else ""
        return "missing", f"No cell defines {name}.{hint}"


def parse(data: bytes, name: str = "") -> Notebook:
    """The notebook in `data`, the content of a file of this `name`; a script (.py) is one cell. Raises Unreadable if there is none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("The file is not UTF-8 text. Save it again as UTF-8 and hand in that file.") from None
    if name.lower().endswith(".py"):
        return parse_cells([{"cell_type": "code", "source": text}])
    try:
        content = json.loads(text)
    except (RecursionError, MemoryError):
        raise Unreadable("The file is nested too deeply for a notebook. Save it again in Jupyter.") from None
    except ValueError as problem:
        place = f" (line {problem.lineno})" if isinstance(problem, json.JSONDecodeError) else ""
        raise Unreadable(f"The file is not a notebook, or a part of one: its JSON breaks off or is wrong{place}. Save it again in Jupyter.") from None
    if is_deep(content):
        raise Unreadable("The file is nested too deeply for a notebook. Save it again in Jupyter.")
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("The file is JSON, but no notebook of format 4: it has no list of cells. Save it again in Jupyter.")
    return parse_cells(cells)


def parse_cells(cells: list) -> Notebook:
    """The notebook with these cells. Raises Unreadable if there is too much in them."""
    if len(cells) > CELLS:
        raise Unreadable(f"The notebook has {len(cells)} cells; {CELLS} are read at most. Delete those that are not needed.")
    notebook, parsed, code = Notebook(), [], 0
    for number, cell in enumerate(cells, 1):
        source = cell.get("source", "") if isinstance(cell, dict) else None
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            notebook.broken[number] = ("", "it holds no text")
            continue
        code += len(source)
        if code > CODE:
            raise Unreadable(f"The cells hold more than {CODE / 1e6:.0f} million characters. Delete what is not needed.")
        if cell.get("cell_type", "code") != "code":
            notebook.prose[number] = (source, "text" if cell["cell_type"] == "markdown" else str(cell["cell_type"])[:20])
            continue
        try:
            statements, left_out = parse_cell(source, number)
            parsed += statements
            if not source.startswith(SETUP):
                notebook.left_out += [(number, magic) for magic in left_out]
            if len(parsed) > STATEMENTS:
                raise Unreadable(f"The cells hold more than {STATEMENTS} definitions. Delete what is not needed.")
        except SyntaxError as problem:
            notebook.broken[number] = (source, f"{problem.msg} (line {problem.lineno} in Python {PYTHON}, which grades)")
        except (ValueError, RuntimeError, MemoryError) as problem:        # RecursionError, and too many magics for IPython
            notebook.broken[number] = (source, "it is too complex" if not isinstance(problem, ValueError) else str(problem))
    notebook.statements = bind_effects(parsed)
    return notebook


def is_deep(value, left: int = DEPTH) -> bool:
    """Whether lists and dicts are nested so deeply that something is on level DEPTH + 1."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left or any(is_deep(part, left - 1) for part in inner)


def read(data: bytes, name: str = "", seconds: float = SECONDS, memory: int = MEMORY) -> Notebook:
    """As `parse`, in a process of its own within these bounds. Raises Unreadable."""
    if MAGIC.search(data):
        transformer()                                    # imported here once, not in each process
    return from_dict(json.loads(run_limited(lambda: json.dumps(to_dict(parse(data, name))).encode(), seconds, memory)))


def to_dict(notebook: Notebook) -> dict:
    """The notebook as JSON holds it."""
    statements = [[sorted(value) if isinstance(value, frozenset) else value for value in vars(statement).values()]
                  for statement in notebook.statements]
    return {**vars(notebook), "statements": statements}


def from_dict(data: dict) -> Notebook:
    """The inverse of `to_dict`."""
    statements = [Statement(*(frozenset(value) if isinstance(value, list) else value for value in values)) for values in data["statements"]]
    return Notebook(statements, {int(cell): tuple(pair) for cell, pair in data["broken"].items()},
                    {int(cell): tuple(pair) for cell, pair in data["prose"].items()}, [tuple(pair) for pair in data["left_out"]])
