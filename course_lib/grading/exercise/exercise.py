"""An exercise is one object: its contract, its checks, and a reference that can also be wrong on purpose.

From that object come the expected values, the names of misconceptions, the hints, and the proof in the tests that
every misconception is caught.
"""
from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from course_lib.grading.exercise.checks import Check, Compare, Gradient, Property, Slopes, Unchanged, largest
from course_lib.grading.exercise.steps import Step, replaced
from course_lib.grading.exercise.version import code
from course_lib.grading.sandbox.inside.models import Ask
from course_lib.grading.sandbox.inside.outcome import fresh, plain
from course_lib.grading.sandbox.inside.watch import Watch

Cases = Callable[[torch.Generator], list[tuple]]


@dataclass(frozen=True)
class Hint:
    """`symptom` says what you see; `text` what to do about it."""

    symptom: str
    text: str


@dataclass
class Exercise:
    """One function to write, or one class where `kind` is "build" or "repair".

    id: also the name of the function. contract: what it takes and returns, in a sentence or two.
    points: the teaching points it covers. difficulty: 1 to 5. minutes: to solve it. forbid: the ready-made functions
    that the solution may not reach, named as `watch.Watch` says. deadline: seconds for one call.

    >>> from course_lib.grading import EXERCISES
    >>> exercise = EXERCISES["conditional_table"]
    >>> exercise.chapter, exercise.possible, len(exercise.hints) > 1
    ('01', 5, True)
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

    def __post_init__(self):
        if not 1 <= self.difficulty <= 5:
            raise ValueError(f"difficulty is {self.difficulty}; it goes from 1 to 5")
        Watch(self.forbid)                               # each name must mean something

    @property
    def possible(self) -> int:
        """The points of all checks."""
        return sum(check.points for check in self.checks)

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
        """What the arguments of the function are called."""
        return tuple(name for name in inspect.signature(self.function).parameters if name != "bugs")

    def named(self, args: Sequence[Any]) -> tuple[str, ...]:
        """What these arguments are called: where a class is asked for a method, by the names that the method gives them."""
        if self.model is None or len(args) < 3:
            return self.names
        method, called = (args[3], ("method", "weighted with")) if args[0] == "slopes" else (args[0], ())
        return ("what", "config", "weights", *called, *self.method_names(method))

    def method_names(self, method: str) -> tuple[str, ...]:
        """What a method of the class, or one that `Ask` adds to it, calls its arguments."""
        function, skipped = getattr(self.model, method, None), 1                        # self
        if function is None:
            function, skipped = getattr(Ask, f"_{method}", None), 2                     # self, model
        found = list(inspect.signature(function).parameters.values())[skipped:] if callable(function) else []
        return tuple(one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))

    @property
    def version(self) -> str:
        """A digest of the checks, their points and their code. Results of another version are not comparable."""
        parts = [self.id, *(f"{check.name} {check.points}" for check in self.checks)]
        with contextlib.suppress(OSError, KeyError):     # typed in: there is not a file, or no module
            parts += code(self.function.__module__)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def generator(self, seed: int, name: str) -> torch.Generator:
        """The generator that draws the inputs of the check `name`: the same for the same seed, on any machine."""
        digest = hashlib.sha256(f"{seed} {self.id} {name}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def solve(self, *args: Any, bugs: Sequence[str] = ()) -> Any:
        """What the reference answers; with `bugs`, what somebody with these misconceptions would."""
        by = dict(self.replacements[name] for name in bugs) if self.replacements else {}
        if self.replacements and len(by) < len(bugs):
            raise ValueError(f"bugs is {list(bugs)}: two of them replace the same step")
        options = {} if self.replacements and self.model is None else {"bugs": frozenset(bugs)}
        with replaced(by):
            return self.function(*map(fresh, args), **options)

    def expected(self, *args: Any) -> Any:
        """What the reference answers, as plain data that belongs to nobody else."""
        return plain(self.solve(*args))

    @property
    def rules(self) -> str:
        """The two rules that stand above every exercise: what may be used, and whether gradients are judged."""
        names = [f"`{name}`" for name in self.forbid]
        but = f" but {', '.join(names[:-1])}{' and ' * (len(names) > 1)}{names[-1]}" if names else ""
        judged = any(isinstance(check, Gradient | Slopes) for check in self.checks)
        return f"Ready-made: everything{but}. Gradients are {'' if judged else 'not '}judged."

    # declaring

    def step(self, function: Callable) -> Step:
        """Decorate a function that the reference calls, or a method of its class, that a misconception may replace."""
        return Step(function)

    def misconception(self, step: Callable, sentence: str):
        """Decorate what somebody with a misconception does in the place of `step`: the misconception has the name of this
        function. sentence: sets it right. Within the function, `step.original` is the right step."""
        while not isinstance(step, Step):                # a method of a model is wrapped where its arguments are checked
            step = step.__wrapped__

        def keep(function):
            self.replacements[function.__name__] = step, function
            self.misconceptions[function.__name__] = sentence
            return function

        return keep

    def reference(self, **misconceptions: str):
        """Decorate the function that answers. An exercise without steps names its misconceptions here and decorates
        `f(*args, bugs=frozenset())`, right when `bugs` is empty, else wrong in the ways that it names."""
        def keep(function):
            self.function = function
            self.misconceptions |= misconceptions
            return function

        return keep

    def class_reference(self, **misconceptions: str):
        """Decorate the class that answers, whose methods are steps or call them. The exercise's function is the class as
        `Ask` gives it, so cases are (what, config, weights, x, ...). An exercise without steps names its misconceptions
        here and decorates `factory(bugs)`, which returns the class, wrong in the ways that `bugs` names."""
        def keep(answer):
            asks: dict[frozenset, Ask] = {}

            def function(what, config, weights, *x, bugs=frozenset()):
                if bugs not in asks:                     # each has models and states of its own
                    asks[bugs] = Ask(answer if isinstance(answer, type) else answer(bugs))
                return asks[bugs](what, config, weights, *x)

            function.__module__ = answer.__module__
            self.function, self.model = function, answer if isinstance(answer, type) else answer(frozenset())
            self.misconceptions |= misconceptions
            return answer

        return keep

    def compare(self, name: str, cases: Cases, points: int = 3, rtol: float = 1e-4, atol: float = 1e-5) -> Exercise:
        """The values are the reference's, on drawn inputs. Type and shape are looked at first, for no points."""
        self.checks.append(Compare(name, points, cases, rtol, atol))
        return self

    def gradient(self, name: str, cases: Cases, wrt: Sequence[int], points: int = 1) -> Exercise:
        """The gradients by the arguments numbered `wrt` are the reference's."""
        self.checks.append(Gradient(name, points, cases, wrt=tuple(wrt)))
        return self

    def slopes(self, name: str, cases: Cases, points: int = 1) -> Exercise:
        """Of a class: the gradients of a random weighting of the result, by the parameters and by what a method is given, are
        the reference's. The cases are those of its values, (method, config, weights, x, ...)."""
        def weighted(generator):
            return [("slopes", config, weights, what, self.weights_for((what, config, weights, *x), generator), *x)
                    for what, config, weights, *x in cases(generator)]

        self.checks.append(Slopes(name, points, weighted))
        return self

    def weights_for(self, args: tuple, generator: torch.Generator) -> torch.Tensor:
        """Normal numbers of the shape that the reference answers with, times a factor: its largest gradient is 1."""
        what, config, weights, *x = args
        drawn = torch.randn(self.expected(*args).shape, generator=generator)
        return drawn / largest(self.expected("slopes", config, weights, what, drawn, *x))

    def property(self, name: str, points: int = 1):
        """Decorate `judge(run, generator, solve)`, which returns None, or a `Fault`; `run(*args)` calls the learner's
        function, `solve(*args)` the reference."""
        def keep(judge):
            self.checks.append(Property(name, points, judge))
            return judge

        return keep

    def unchanged(self, cases: Cases, points: int = 1) -> Exercise:
        """The function leaves the arguments as it found them."""
        self.checks.append(Unchanged("arguments left alone", points, cases))
        return self

    def hint(self, symptom: str, text: str) -> Exercise:
        """Add a hint, titled by the symptom that it helps with. Returns self."""
        self.hints.append(Hint(symptom, text))
        return self
