"""What a learner calls in a notebook: check, hint, solution. What an answer uses of the library is noticed: for marks it may not."""
from __future__ import annotations

import ast
import builtins
import contextlib
import difflib
import dis
import inspect
import io
import json
import linecache
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from torch import Tensor

from course_lib.exercises import get
from course_lib.grading import progress_file
from course_lib.grading.counterexample import draw_example
from course_lib.grading.exercise import Exercise
from course_lib.grading.progress_file import WIDTH, one_line
from course_lib.grading.protocol.allowlist import is_allowed
from course_lib.grading.protocol.calls import Local, Outcome, called_by_exercise, describe
from course_lib.grading.protocol.models import ModelServer
from course_lib.grading.verdict import Report, grade

MOST = 1000                     # functions that are searched for uses of the library
PRINTED = 20                    # lines that a function may print during a check

_given: dict[str, list[int]] = {}          # the hints of each exercise that were given


@one_line
def check(answer: str | Callable, seed: int | None = None) -> None:
    """Grade your answer, print the result, and store it for `progress`.

    answer: the exercise's id, then your function is found by that name where you call; or the function itself.
    seed: draws the inputs; a message about a wrong answer names the one that was used.
    """
    if callable(answer):
        name, fn = getattr(answer, "__name__", type(answer).__name__), answer
    else:
        name, fn = answer, find_in_callers(answer, sys._getframe(2))
    exercise, stale = get(name), describe_stale_cell(name, fn)
    if fn is None:
        message = stale or f"There is no function {name} here yet. Run the cell that defines it first.{name_near(name, sys._getframe(2))}"
        print(wrap(Report(name, "missing", 0, exercise.possible, message=message)))
        return
    if stale:
        print(textwrap.fill(f"{stale} What follows is about the {name} of an earlier cell.", WIDTH))
    printed = FirstLines(sys.stdout)
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.filterwarnings("ignore", module=r"course_lib\.")         # those about the learner's own lines are kept
        report = evaluate(name, fn, seed)
    if printed.lines > PRINTED:
        print(f"(your function printed {printed.lines} lines; the first {PRINTED} are shown)")
    if report.state != "right" and (outside := describe_outside_values(fn)):
        report = replace(report, message=f"{report.message} {outside}".lstrip())
    if progress_file.in_notebook() and report.state not in ("right", "not_attempted"):       # these two are stored as text in the book
        sys.modules["IPython"].display.display({"text/plain": wrap(report), "text/html": report._repr_html_()}, raw=True)
    else:
        print(wrap(report))
    try:
        record = progress_file.record(report)
    except (OSError, ValueError) as problem:
        print(textwrap.fill(f"This is not in your progress: {problem}", WIDTH))
        return
    if record and record["state"] == "right":
        print("next_exercise() says what is worth doing next.")
    elif record and record["tries"] >= progress_file.STUCK:
        print("next_exercise() suggests another exercise for now.")


class FirstLines(io.TextIOBase):
    """A stream of which only the first lines are written, and only the first 1,000 characters of a line."""

    def __init__(self, stream):
        self.stream, self.lines, self.room = stream, 0, 1000

    def write(self, text: str) -> int:
        for line in text.splitlines(keepends=True):
            ends = line.endswith("\n")
            if self.lines < PRINTED:
                self.stream.write(line[:-1 if ends else None][:self.room] + "\n" * ends)
            self.lines, self.room = self.lines + ends, 1000 if ends else max(0, self.room - len(line))
        return len(text)


def evaluate(exercise_id: str, fn: Callable, seed: int | None = None, explain: bool = True) -> Report:
    """Grade `fn` as an answer to the exercise, in this process: for learning, never for credit.

    If the exercise asks for a class, `fn` is that class, or a function that is called as a `ModelServer` is. The inputs are drawn
    from `seed`; a new one each time if None. Without `explain` the report has the verdict alone, in a fraction of the time:
    without a misconception and without a case to look at. Raises KeyError for an unknown exercise and TypeError if `fn` cannot be
    called or `seed` is not a whole number.
    """
    exercise = get(exercise_id)
    if not callable(fn):
        raise TypeError(f"fn is {type(fn).__name__}; evaluate grades a function")
    if seed is not None and not isinstance(seed, int):
        raise TypeError(f"seed is of type {type(seed).__name__}; expected a whole number. To grade a function: check(function)")
    return grade(exercise, local_call(exercise, fn), seed, explain)


def find_in_callers(name: str, frame: FrameType) -> Callable | None:
    """The value of `name` where the learner works: in the nearest caller whose module has it."""
    return next((caller.f_globals[name] for caller, _ in traceback.walk_stack(frame) if name in caller.f_globals), None)


class Case(NamedTuple):
    """An example of an exercise: `arguments` by their names, in order, and the `expected` result."""

    arguments: dict[str, Any]
    expected: Any


@one_line
def case(exercise_id: str, seed: int = 0) -> Case:
    """An example of an exercise, to step through: `attention(*case("attention").arguments.values())`.

    seed: another one gives another example. None of them counts. Raises KeyError for an unknown exercise, ValueError for one that
    asks for a class, or for no result that can be compared.
    """
    record = draw_example(get(exercise_id), seed)
    return Case(dict(zip(record.names, record.args, strict=False)), record.expected)


def describe_stale_cell(name: str, fn: Callable | None) -> str:
    """A sentence if the last cell of the session that defines `name` did not run, or stopped before it; "" otherwise."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = [] if shell is None else [cell.strip() for cell in shell.user_ns.get("In", ())]
    last = max((i for i, cell in enumerate(cells) if re.search(rf"^(def|class)\s+{re.escape(name)}\b", cell, re.M)), default=0)
    files = [one.__code__.co_filename for one in functions_of(fn)[:1]]
    ran = max((i for i, cell in enumerate(cells) for file in files if i and cell == "".join(linecache.getlines(file)).strip()), default=last)
    try:
        ast.parse(cells[last] if last else "")
        why = "stopped before it" if ran < last else ""
    except SyntaxError as problem:
        why = f"did not run: {type(problem).__name__} in line {problem.lineno}"
    return f"Cell {last}, the last one that defines {name}, {why}." if why else ""


def functions_of(fn: Callable | None) -> list[FunctionType]:
    """The function without its decorators, or the methods of the class."""
    return [one for one in (vars(fn).values() if isinstance(fn, type) else [inspect.unwrap(fn)] if callable(fn) else []) if isinstance(one, FunctionType)]


def describe_outside_values(fn: Callable) -> str:
    """A sentence on the numbers and tensors that a function, or a method of a class, takes from outside it; "" if there are none."""
    values = {step.argval: function.__globals__.get(step.argval) for function in functions_of(fn) for code in nested_code(function.__code__)
              for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    named = [f"{name} = {value}" if isinstance(value, int | float) else f"{name}, {describe(value)}"
             for name, value in values.items() if isinstance(value, int | float | Tensor)]
    return f"Your code uses {' and '.join(named[:3])} from outside of it." if named else ""


def name_near(name: str, frame) -> str:
    """A sentence on a function of the learner's whose name is nearly `name`; "" if there is none."""
    own = [key for key, value in frame.f_globals.items() if getattr(value, "__module__", None) == frame.f_globals.get("__name__")]
    near = difflib.get_close_matches(name, own, n=1, cutoff=0.75)
    return f" There is a function {near[0]}: rename it if it is meant." if near else ""


def wrap(report: Report) -> str:
    """The report as text of at most WIDTH columns, and how to draw the same inputs again."""
    parts = [report.head, textwrap.fill(report.message, WIDTH), report.shown, report.again]
    return "\n".join([part for part in parts if part])


@one_line
def solution(exercise_id: str) -> None:
    """Print the model solution and the reason for it."""
    get(exercise_id)
    stored = json.loads((files("course_lib.exercises") / "solutions.json").read_text("utf-8"))[exercise_id]
    print(stored["source"].rstrip() + "\n\n" + textwrap.fill(stored["why"], WIDTH))


@one_line
def hint(exercise_id: str, number: int | None = None) -> None:
    """Print the next hint; or the one with this `number` (from 1)."""
    exercise, given = get(exercise_id), _given.setdefault(exercise_id, [])
    count = len(exercise.hints)
    after = f'solution("{exercise_id}") shows a solution with an explanation.'
    if number is None:
        number = next((i for i in range(1, count + 1) if i not in given), None)
        if number is None:
            print(textwrap.fill(f'You have seen all {count} hints; hint("{exercise_id}", 1) shows the first again. {after}', WIDTH))
            return
        given.append(number)
    if not 1 <= number <= count:
        raise ValueError(f"number is {number}; {exercise_id} has hints 1 to {count}")
    chosen = exercise.hints[number - 1]
    print(textwrap.fill(f"Hint {number} of {count}, for this case: {chosen.symptom}", WIDTH))
    print(textwrap.fill(chosen.text, WIDTH))
    if len(given) == count:
        print(textwrap.fill(f"That was the last hint. {after}", WIDTH))


# Calls in this process, and the library that an answer may not use

def local_call(exercise: Exercise, fn: Callable) -> Callable[..., Outcome]:
    """The call of `fn`, a function or a class, in this process; if it reaches something of the library, its outcome is "forbidden"."""
    if exercise.trains:
        import torch._dynamo  # noqa: F401               the first optimizer imports it, which takes seconds
    answer = ModelServer(fn) if exercise.of_class and isinstance(fn, type) else fn
    call = Local(answer, exercise.deadline, exercise.forbid).call

    def traced_call(*args, **kwargs):
        with trace_calls() as names:
            outcome = call(*args, **kwargs)
        return Outcome("forbidden", detail=names[0]) if names else outcome

    return traced_call if may_use_library(fn) else call


@contextlib.contextmanager
def trace_calls():
    """The dotted names of what code outside the course calls or imports of the library in this block."""
    names: list[str] = []
    tracer, importer = sys.getprofile(), builtins.__import__

    def profile(frame, event, _):
        module = frame.f_globals.get("__name__") or ""
        if event == "call" and not names and is_denied(module) and not called_by_exercise(frame.f_back):
            names.append(f"{module}.{getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)}")

    def import_module(name, globals=None, *rest, **named):
        if is_denied(name) and not ((globals or {}).get("__name__") or "").startswith("course_lib."):
            names.append(name)
        return importer(name, globals, *rest, **named)

    builtins.__import__ = import_module
    sys.setprofile(profile)
    try:
        yield names
    finally:
        sys.setprofile(tracer)
        builtins.__import__ = importer


def may_use_library(fn: Callable) -> bool:
    """Whether `fn`, or what it names of the same notebook, names something of the library; a call has to confirm that it is reached."""
    todo, seen = [inspect.unwrap(fn)], set()
    home = getattr(todo[0], "__module__", "")
    while todo and len(seen) < MOST:
        value = todo.pop()
        kind = value if isinstance(value, FunctionType | type) else type(value)          # an object is its class
        module = value.__name__ if isinstance(value, ModuleType) else kind.__module__ or ""
        if module == "course_lib" or is_denied(module):
            return True
        if id(kind) in seen or module != home:
            continue
        seen.add(id(kind))
        if isinstance(kind, type):
            todo += vars(kind).values()
            continue
        names = [name for code in nested_code(kind.__code__) for name in code.co_names]
        if "course_lib" in names or any(map(is_denied, names)):          # of an import in the function
            return True
        todo += [kind.__globals__[name] for name in names if name in kind.__globals__]
        with contextlib.suppress(ValueError):            # of a cell with nothing in it yet
            todo += [cell.cell_contents for cell in kind.__closure__ or ()]
    return False


def nested_code(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_code(constant)


def is_denied(module: str) -> bool:
    """Whether this is a module of the library that does not exist where an answer is graded for marks."""
    return (module.startswith("course_lib.") and not f"{module}.".startswith(("course_lib.grading.", "course_lib.exercises."))
            and not is_allowed(module))
