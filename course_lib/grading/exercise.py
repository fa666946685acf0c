"""An exercise is one object: its contract, its checks, its hints, and a reference in steps that misconceptions replace."""
from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch

from course_lib.grading.checks import Check, ClassGradient, Compare, Gradient, Property, Unchanged, largest_entry
from course_lib.grading.protocol.calls import Watch, fresh, plain
from course_lib.grading.protocol.models import ModelServer

Cases = Callable[[torch.Generator], list[tuple]]
EXERCISES = "course_lib.exercises."

_replacements: ContextVar[Mapping[Step, Callable]] = ContextVar("replacements", default={})


class Step:
    """A function that a reference calls, or a method of its class, which a misconception may replace. `original` is what it does itself."""

    def __init__(self, original: Callable):
        self.original = original
        functools.update_wrapper(self, original)

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else functools.partial(self, owner)       # a method of a class

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _replacements.get().get(self, self.original)(*args, **options)


@contextlib.contextmanager
def replace_steps(replacements: Mapping[Step, Callable]) -> Iterator[None]:
    """Within the block, each of these steps does what the function beside it does."""
    token = _replacements.set(replacements)
    try:
        yield
    finally:
        _replacements.reset(token)


@dataclass(frozen=True)
class Hint:
    """`symptom` says what the learner sees; `text` what to do about it."""

    symptom: str
    text: str


@dataclass
class Exercise:
    """One function to write, or one class where `kind` is "build" or "repair".

    id: also the name of the function. contract: what it takes and returns, in a sentence or two.
    points: the teaching points it covers. difficulty: 1 to 5. minutes: to solve it. forbid: the ready-made functions
    that the solution may not reach, named as `Watch` says. deadline: seconds for one call.

    >>> from course_lib.grading import EXERCISES
    >>> exercise = EXERCISES["conditional_table"]
    >>> exercise.chapter, exercise.possible, len(exercise.hints) > 1
    ('chain-rule', 5, True)
    """

    id: str
    chapter: str
    title: str
    contract: str
    points: Sequence[str]
    difficulty: int
    minutes: int
    forbid: Sequence[str] = ()
    deadline: float = 10.0
    place: int = 0                          # among the exercises of its chapter
    kind: str = "write"                     # or "find", "measure", "train", "build", "repair"
    checks: list[Check] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)
    misconceptions: dict[str, str] = field(default_factory=dict)      # name -> the sentence that sets it right
    replacements: dict[str, tuple[Step, Callable]] = field(default_factory=dict)     # name -> what replaces which step
    function: Callable | None = None                                  # the reference
    model: type | None = None                                         # and its class, where one is asked for
    step = Step                             # decorates what the reference calls, or a method of its class, which a misconception may replace

    def __post_init__(self):
        if not 1 <= self.difficulty <= 5:
            raise ValueError(f"difficulty is {self.difficulty}; it goes from 1 to 5")
        Watch(self.forbid)                               # each name must mean something

    @property
    def possible(self) -> int:
        """The points of all checks."""
        return sum([check.points for check in self.checks])

    @property
    def of_class(self) -> bool:
        """Whether a class is asked for."""
        return self.kind in ("build", "repair")

    @property
    def trains(self) -> bool:
        """Whether a verdict takes a training, or a proof of the contract."""
        return self.kind == "train" or self.of_class

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arguments of the function."""
        return parameter_names(self.function)

    def argument_names(self, args: Sequence[Any]) -> tuple[str, ...]:
        """The names of these arguments: where a method of a class is called, those that the method gives them."""
        if self.model is None or len(args) < 3:
            return self.names
        method, more = (args[3], ("method", "weighted with")) if args[0] == "slopes" else (args[0], ())
        function, skip = getattr(self.model, method, None), 1                          # self
        if function is None:
            function, skip = getattr(ModelServer, f"_{method}", None), 2               # self, model
        return ("what", "config", "weights", *more, *(parameter_names(function)[skip:] if callable(function) else ()))

    @property
    def version(self) -> str:
        """A digest of the checks, their points and their code. Results of another version are not comparable."""
        parts = [self.id, *[f"{check.name} {check.points}" for check in self.checks]]
        with contextlib.suppress(OSError, KeyError):     # typed in: it has no file, or no module
            parts += source_texts(self.function.__module__)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def generator(self, seed: int, name: str) -> torch.Generator:
        """The generator that draws the inputs of the check `name`: the same for the same seed, on any machine."""
        digest = hashlib.sha256(f"{seed} {self.id} {name}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def solve(self, *args: Any, bugs: Sequence[str] = ()) -> Any:
        """What the reference answers; with `bugs`, what somebody with these misconceptions would."""
        args = [fresh(arg) if isinstance(arg, torch.Generator | random.Random) else arg for arg in args]
        if not bugs:
            return self.function(*args)
        replacements = dict([self.replacements[name] for name in bugs])
        if len(replacements) < len(bugs):
            raise ValueError(f"bugs is {list(bugs)}: two of them replace the same step")
        with replace_steps(replacements):
            return self.function(*args)

    def expected(self, *args: Any) -> Any:
        """What the reference answers, as plain data."""
        return plain(self.solve(*args))

    @property
    def rules(self) -> str:
        """The two rules that stand above every exercise: what may be used, and whether gradients are tested."""
        names = [f"`{name}`" for name in self.forbid]
        but = f" except {', '.join(names[:-1])}{' and ' * (len(names) > 1)}{names[-1]}" if names else ""
        tested = any(isinstance(check, Gradient | ClassGradient) for check in self.checks)
        return f"You may use any library function{but}. Gradients through your function are {'tested too' if tested else 'not tested'}."

    def misconception(self, step: Callable, sentence: str, name: str = ""):
        """Decorate what somebody with a misconception does in the place of `step`; `sentence` sets it right."""
        while not isinstance(step, Step):                # a method of a model is wrapped where its arguments are checked
            step = step.__wrapped__

        def declare(function):
            self.replacements[name or function.__name__] = step, function
            self.misconceptions[name or function.__name__] = sentence
            return function

        return declare

    def reference(self):
        """Decorate the function that answers, which is a step or calls steps."""
        def declare(function):
            self.function = function
            return function

        return declare

    def class_reference(self):
        """Decorate the class that answers, whose methods are steps or call them. Cases are (what, config, weights, x, ...)."""
        def declare(cls):
            servers: dict[frozenset, ModelServer] = {}

            def function(what, config, weights, *x):
                replacements = frozenset(_replacements.get().items())
                if replacements not in servers:          # each set of misconceptions has models and states of its own
                    servers[replacements] = ModelServer(cls)
                return servers[replacements](what, config, weights, *x)

            function.__module__ = cls.__module__
            self.function, self.model = function, cls
            return cls

        return declare

    def compare(self, name: str, cases: Cases, points: int = 3, rtol: float = 1e-4, atol: float = 1e-5) -> Exercise:
        """Compare values with the reference's, on drawn inputs. Type and shape are compared first, for no points."""
        self.checks.append(Compare(name, points, cases, rtol, atol))
        return self

    def gradient(self, name: str, cases: Cases, wrt: Sequence[int], points: int = 1) -> Exercise:
        """Compare the gradients by the arguments numbered `wrt` with the reference's."""
        self.checks.append(Gradient(name, points, cases, wrt=tuple(wrt)))
        return self

    def slopes(self, name: str, cases: Cases, points: int = 1) -> Exercise:
        """Compare the gradients of a class, by its parameters and by a method's arguments; cases are (method, config, weights, x, ...)."""
        def weighted(generator):
            weighted = []
            for what, config, weights, *x in cases(generator):
                drawn = torch.randn(self.expected(what, config, weights, *x).shape, generator=generator)
                drawn = drawn / largest_entry(self.expected("slopes", config, weights, what, drawn, *x))       # so that this is 1
                weighted.append(("slopes", config, weights, what, drawn, *x))
            return weighted

        self.checks.append(ClassGradient(name, points, weighted))
        return self

    def property(self, name: str, points: int = 1):
        """Decorate `test(run, generator, solve)`, which returns None or a `Fault`; `run` calls the learner's function, `solve` the reference."""
        def declare(test):
            self.checks.append(Property(name, points, test))
            return test

        return declare

    def unchanged(self, cases: Cases, points: int = 1) -> Exercise:
        """Check that the function does not write into its arguments."""
        self.checks.append(Unchanged("arguments left alone", points, cases))
        return self

    def hint(self, symptom: str, text: str) -> Exercise:
        """Add a hint, titled by the symptom that it helps with. Returns self."""
        self.hints.append(Hint(symptom, text))
        return self


@functools.cache
def parameter_names(function: Callable) -> tuple[str, ...]:
    """The names of the positional parameters of a function."""
    return tuple([parameter.name for parameter in inspect.signature(function).parameters.values()
                  if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)])


@functools.cache
def source_texts(module: str) -> tuple[str, ...]:
    """The texts of this module and of all modules of exercises that it imports, without imports. Raises OSError where one has none."""
    texts: dict[str, str] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name in texts:
            continue
        source = inspect.getsource(sys.modules[name])
        lines = source.splitlines()
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                lines[node.lineno - 1:node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
                home = getattr(node, "module", None)
                names = [f"{home}.{alias.name}" if home else alias.name for alias in node.names]
                imported = [each if each in sys.modules else home or each for each in names]
                todo += [each for each in imported if each.startswith(EXERCISES)]
        texts[name] = "\n".join(line for line in lines if line)
    return tuple(sorted(texts.values()))
