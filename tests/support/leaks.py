"""Search for lines of solutions in what students get: spaced otherwise, in comments, in outputs, wrapped."""
from __future__ import annotations

import ast
import io
import json
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator

from course_lib.exercises import chapters
from course_lib.grading.assignments import form, regions
from course_lib.grading.assignments.form import exercise, role

SENTENCE = 24                                                             # letters; shorter ones say nothing


def answer_lines(source: str) -> list[str]:
    """The lines of the answer in a cell."""
    return [line for inside, lines in regions.split(source) if inside for line in lines]


def find_leaks(pages: Iterable[dict], texts: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of solutions and reasons that stand in the texts, each with where it was found."""
    pages = list(pages)
    lines = dict(secrets(pages))
    leaks = []
    for name, text in texts:
        parts = list(iterate_texts(name, text))
        seen = {normalize_line(line) for part in parts for line in part.splitlines()}
        running = " ".join(" ".join(parts).split())
        for secret, where in lines.items():
            if secret in seen:
                leaks.append(f"{name} holds a line of {where}: {secret}")
        for sentence, where in reasons(pages):
            if sentence in running:
                leaks.append(f"{name} holds a sentence of {where}: {sentence}")
    return leaks


def secrets(pages: Iterable[dict]) -> Iterator[tuple[str, str]]:
    """The lines that students may not get, normalized, with their origin; without those that a stub, or the
    code that a task shows, gives on purpose: a later exercise may hand out what an earlier one asked for. A line
    that the answers of three exercises share, such as `optimizer.zero_grad()`, is an idiom and reveals nothing."""
    pages = list(pages)
    answers = [{normalize_line(line) for line in answer_lines(cell["source"])}
               for page in pages for cell in page["cells"] if role(cell) == "answer"]
    idioms = {line for line, times in Counter(line for lines in answers for line in lines).items() if times >= 3}
    given = {normalize_line(line) for page in pages for cell in page["cells"] if role(cell) == "task"
             for block in re.findall(r"```python\n(.*?)```", cell["source"], re.S) for line in block.splitlines()}
    place = {slug: number for number, slug in enumerate(chapters())}
    stubs = [(place.get(page["metadata"].get("course", {}).get("chapter"), -1), cell, {normalize_line(line) for line in regions.stub(cell["source"]).splitlines()})
             for page in pages for cell in page["cells"] if role(cell) == "answer"]
    for page in pages:
        chapter = place.get(page["metadata"].get("course", {}).get("chapter"), -1)
        later = set().union(given, idioms, *(lines for other, _, lines in stubs if other > chapter))
        for cell in page["cells"]:
            hidden: list[str] = []
            if role(cell) == "answer":
                hidden = answer_lines(cell["source"])
            elif role(cell) == "why":
                hidden = form.why(cell["source"]).splitlines()
            elif role(cell) == "solution-only":
                hidden = cell["source"].splitlines()
            own = next((lines for _, other, lines in stubs if other is cell), set())
            where = f"the {role(cell)} of {exercise(cell)}" if exercise(cell) else "a cell for the solutions only"
            for line in hidden:
                if has_content(line) and normalize_line(line) not in later | own:
                    yield normalize_line(line), where


def reasons(pages: Iterable[dict]) -> Iterator[tuple[str, str]]:
    """The sentences of the reasons, in one line each: wrapped otherwise, they would still be the same."""
    for page in pages:
        for cell in page["cells"]:
            if role(cell) == "why":
                for sentence in re.split(r"(?<=[.:;?])\s+", " ".join(form.why(cell["source"]).split())):
                    if len(sentence) >= SENTENCE:
                        yield sentence, f"the why of {exercise(cell)}"


def iterate_texts(name: str, text: str) -> Iterator[str]:
    """Every text in a file: all that a notebook holds, sources, outputs and metadata."""
    if not name.endswith(".ipynb"):
        yield text
        return

    def walk(part):
        if isinstance(part, str):
            yield part
        elif isinstance(part, list) and part and all(isinstance(line, str) for line in part):
            yield "".join(part)
        elif isinstance(part, list | dict):
            for each in part.values() if isinstance(part, dict) else part:
                yield from walk(each)

    yield from walk(json.loads(text))


def normalize_line(line: str) -> str:
    """A line without spaces, a comment at its end, and marks of comments and quotations before it."""
    line = line.strip().lstrip("#>*` ").rstrip("`")
    try:
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(line).readline)
                  if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        tokens = []
    if tokens:
        line = line[:tokens[0].start[1]]
    return "".join(line.split())


def has_content(line: str) -> bool:
    """Whether a line holds a name that is no keyword: braces, `else:` and `return None` reveal nothing."""
    names = re.findall(r"[^\W\d]\w*", line.split("#")[0] if is_code(line) else line)
    return any(not keyword.iskeyword(name) for name in names)


def is_code(line: str) -> bool:
    """True if a line parses as Python, the colon of a block left out."""
    try:
        ast.parse(line.strip().removesuffix(":"))
    except (SyntaxError, ValueError):
        return False
    return True
