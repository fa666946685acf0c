"""The answer in a cell: the lines between the comment lines `### BEGIN SOLUTION` and `### END SOLUTION`."""
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


def find_fault(source: str, name: str) -> str:
    """What prevents a cell from being the answer to the exercise `name`; empty if nothing does."""
    try:
        ast.parse(without_marks(source))
        body = ast.parse(stub(source)).body
    except (SyntaxError, ValueError) as problem:
        return f"is not Python, with the answer or without it: {problem}"
    definitions = [node for node in body if isinstance(node, DEFINITIONS) and node.name == name]
    if len(definitions) != 1 or not ast.get_docstring(definitions[0]) or STUB not in ast.unparse(definitions[0]):
        return (f"must define {name} once, at the top level; its docstring stands outside the lines {BEGIN!r} and {END!r}, and its answer "
                "between them")
    return ""
