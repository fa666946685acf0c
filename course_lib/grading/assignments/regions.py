"""The answer in a cell: the lines between the comment lines `### BEGIN SOLUTION` and `### END SOLUTION`."""
from __future__ import annotations

import ast

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)            # what an exercise asks for; a class holds an answer in each method


def split(source: str) -> list[tuple[bool, list[str]]]:
    """A cell in pieces (answer or not, lines), without the marks. Raises ValueError where marks do not pair."""
    pieces: list[tuple[bool, list[str]]] = [(False, [])]
    for number, line in enumerate(source.splitlines(), 1):
        inside, mark = pieces[-1][0], line.strip()
        if mark not in (BEGIN, END):
            if mark.lstrip("# ").upper() in (BEGIN.lstrip("# "), END.lstrip("# ")):
                raise ValueError(f"line {number} is {mark!r}; a mark is a line {BEGIN!r} or {END!r}")
            pieces[-1][1].append(line)
        elif (mark == BEGIN) == inside:
            raise ValueError(f"line {number} is {mark!r}, and {'the answer is open' if inside else 'none is open'}")
        else:
            pieces.append((not inside, []))
    if pieces[-1][0]:
        raise ValueError(f"the answer is not closed: a line {END!r} is missing")
    return pieces


def answers(source: str) -> list[str]:
    """The lines of the answer alone."""
    return [line for inside, lines in split(source) if inside for line in lines]


def without_marks(source: str) -> str:
    """The cell as somebody would write it."""
    return "\n".join(line for _, lines in split(source) for line in lines)


def stub(source: str) -> str:
    """The cell with `raise NotImplementedError` where the answer stands, as deep as its first line."""
    left: list[str] = []
    for inside, lines in split(source):
        first = next((line for line in lines if line.strip()), "")
        left += [first[:len(first) - len(first.lstrip())] + STUB] if inside else lines
    return "\n".join(left)


def find_faults(source: str, name: str) -> list[str]:
    """What prevents a cell from being the answer to the exercise `name`; one sentence each."""
    try:
        pieces = split(source)
    except ValueError as problem:
        return [str(problem)]
    if not any(line.strip() for inside, lines in pieces if inside for line in lines):
        return [f"holds no answer: put it between the lines {BEGIN!r} and {END!r}"]
    try:
        tree = ast.parse(without_marks(source))
    except SyntaxError as problem:
        return [f"is not Python: {problem.msg}, line {problem.lineno} without the marks"]
    definitions = [node for node in tree.body if isinstance(node, DEFINITIONS) and node.name == name]
    if len(definitions) != 1:
        return [f"defines {name} {len(definitions)} times; it must define it once, at the top level"]
    try:
        left = ast.parse(stub(source))
    except SyntaxError:
        return ["is not Python once the answer is taken out: the marks must stand inside the function, around whole statements"]
    function = next((node for node in left.body if isinstance(node, DEFINITIONS) and node.name == name), None)
    if function is None:
        word = "class" if isinstance(definitions[0], ast.ClassDef) else "def"
        return [f"has the line `{word} {name}(...)` between the marks; it must stay outside, with the docstring"]
    if not ast.get_docstring(function):
        return [f"has no docstring of {name} outside the marks: learners need it"]
    stubs = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and ast.unparse(node) == STUB]
    return [] if stubs else [f"has its answer outside of {name}; it belongs into the function"]
