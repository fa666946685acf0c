"""An exercise is one object: its contract, its checks, and a reference that can also be wrong on purpose.

From that object come the expected values, the names of misconceptions, the hints, and the proof in the tests that
every misconception is caught.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from course_lib.grading.checks import Check, Compare, Gradient, Property, Unchanged
from course_lib.grading.outcome import fresh

Cases = Callable[[torch.Generator], list[tuple]]


@dataclass(frozen=True)
class Hint:
    """`symptom` says what you see; `text` what to do about it."""

    symptom: str
    text: str


@dataclass
class Exercise:
    """One function to write.

    id: also the name of the function. contract: what it takes and returns, in a sentence or two.
    points: the teaching points it covers. difficulty: 1 to 5. minutes: to solve it. forbid: dotted names that the
    solution may not use. deadline: seconds for one call.
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
    kind: str = "write"                     # or "find", "measure", "train"
    checks: list[Check] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)
    misconceptions: dict[str, str] = field(default_factory=dict)      # name -> the sentence that sets it right
    function: Callable | None = None                                  # the reference

    def __post_init__(self):
        if not 1 <= self.difficulty <= 5:
            raise ValueError(f"difficulty is {self.difficulty}; it goes from 1 to 5")

    @property
    def possible(self) -> int:
        return sum(check.points for check in self.checks)

    @property
    def version(self) -> str:
        """A digest of the checks, their points and their code. Results of another version are not comparable."""
        import inspect

        parts = [self.id, *(f"{check.name} {check.points}" for check in self.checks)]
        try:
            parts.append(inspect.getsource(inspect.getmodule(self.function)))
        except OSError:
            pass
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def generator(self, seed: int, name: str) -> torch.Generator:
        """The generator that draws the inputs of the check `name`: the same for the same seed, on any machine."""
        digest = hashlib.sha256(f"{seed} {self.id} {name}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def solve(self, *args: Any, bugs: Sequence[str] = ()) -> Any:
        """What the reference answers; with `bugs`, what somebody with these misconceptions would."""
        return self.function(*map(fresh, args), bugs=frozenset(bugs))

    # declaring

    def reference(self, **misconceptions: str):
        """Decorate `f(*args, bugs=frozenset())`, right when `bugs` is empty, else wrong in the ways that it names."""
        def keep(function):
            self.function, self.misconceptions = function, misconceptions
            return function

        return keep

    def compare(self, name: str, cases: Cases, points: int = 3, rtol: float = 1e-4, atol: float = 1e-5) -> Exercise:
        """The values are the reference's, on drawn inputs. Type and shape are looked at first, for no points."""
        self.checks.append(Compare(name, points, cases, rtol, atol))
        return self

    def gradient(self, name: str, cases: Cases, wrt: Sequence[int], points: int = 1) -> Exercise:
        """The gradients by the arguments numbered `wrt` are the reference's."""
        self.checks.append(Gradient(name, points, cases, wrt=tuple(wrt)))
        return self

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
        self.hints.append(Hint(symptom, text))
        return self
