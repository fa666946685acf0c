"""The kinds of checks. Each draws its inputs from a generator and compares data with data."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.outcome import Outcome, described, is_number, plain, same

Call = Callable[..., Outcome]        # call(args, wrt=(), weight=None)


@dataclass(frozen=True)
class Fault:
    """Why a check failed. `misconception` where the check itself can tell; `state` if it is not "wrong_value"."""

    message: str
    misconception: str | None = None
    state: str = "wrong_value"


class Stop(Exception):
    """A call gave no value; the check ends there."""

    def __init__(self, outcome: Outcome):
        super().__init__(outcome.kind)
        self.outcome = outcome


@dataclass
class Record:
    """One case: what went in, what should come out, what came out."""

    args: tuple
    expected: Any
    outcome: Outcome


@dataclass
class Check:
    """`cases(generator)` draws the list of argument tuples."""

    name: str
    points: int
    cases: Callable[[torch.Generator], list[tuple]]
    rtol: float = 1e-4
    atol: float = 1e-5

    def records(self, exercise, call: Call, generator: torch.Generator) -> list[Record]:
        """Every case answered by the reference and by the learner. Raises Stop at the first without a value."""
        found = []
        for args in self.cases(generator):
            outcome = call(args)
            if outcome.kind != "value":
                raise Stop(outcome)
            found.append(Record(args, plain(exercise.solve(*args)), outcome))
        return found

    def fault(self, record: Record) -> Fault | None:
        """What is wrong with this record, or None."""
        raise NotImplementedError

    def alike(self, record: Record, outcome: Outcome) -> bool:
        """Whether another function's outcome on the record's case is the learner's."""
        return outcome.kind == "value" and same(record.outcome.value, outcome.value, self.rtol, self.atol)


@dataclass
class Compare(Check):
    """Values equal the reference's; before that, type and shape (a gate without points)."""

    def fault(self, record: Record) -> Fault | None:
        return shape_fault(record.outcome.value, record.expected) or self.value_fault(record)

    def value_fault(self, record: Record) -> Fault | None:
        if same(record.outcome.value, record.expected, self.rtol, self.atol):
            return None
        from course_lib.grading.facts import fact

        return Fault(fact(record.outcome.value, record.expected, self.rtol, self.atol))


@dataclass
class Gradient(Check):
    """The gradients of a random weighting of the result equal the reference's."""

    wrt: tuple[int, ...] = ()

    def records(self, exercise, call: Call, generator: torch.Generator) -> list[Record]:
        from course_lib.grading.local import Local

        found = []
        for args in self.cases(generator):
            shape = plain(exercise.solve(*args)).shape
            weight = torch.randn(shape, generator=generator, dtype=torch.float64)
            expected = Local(exercise.solve).call(args, self.wrt, weight)
            outcome = call(args, wrt=self.wrt, weight=weight)
            if outcome.kind not in ("value", "no_gradient"):
                raise Stop(outcome)
            found.append(Record((*args, weight), expected.gradients, outcome))
        return found

    def fault(self, record: Record) -> Fault | None:
        if record.outcome.kind == "no_gradient":
            return Fault("No gradient flows back through your result: something on the way detaches it (.detach(), "
                         ".item(), .data, numpy, torch.no_grad, or a new tensor made of numbers).", None,
                         "wrong_gradient")
        got = record.outcome.gradients
        for i in self.wrt:
            if not same(got.get(i), record.expected[i], self.rtol, self.atol):
                return Fault(f"The values are right, the gradient with respect to argument {i + 1} is not: a part of "
                             "the computation does not reach it.", None, "wrong_gradient")
        return None

    def alike(self, record: Record, outcome: Outcome) -> bool:
        if record.outcome.kind != "value":
            return outcome.kind == record.outcome.kind
        return outcome.kind == "value" and same(record.outcome.gradients, outcome.gradients, self.rtol, self.atol)


@dataclass
class Unchanged(Check):
    """No argument is written to."""

    def fault(self, record: Record) -> Fault | None:
        if record.outcome.changed:
            places = ", ".join(str(i + 1) for i in record.outcome.changed)
            return Fault(f"Your function writes into its argument {places}. Whoever passed it in will find it changed: "
                         "work on a copy.")
        return None

    def alike(self, record: Record, outcome: Outcome) -> bool:
        return super().alike(record, outcome) and outcome.changed == record.outcome.changed


@dataclass
class Property(Check):
    """Anything else: judge(run, generator, solve) returns None, or a Fault."""

    cases: Callable = field(default=None)                    # the judge

    def judge(self, exercise, call: Call, generator: torch.Generator) -> Fault | None:
        def run(*args):
            outcome = call(args)
            if outcome.kind != "value":
                raise Stop(outcome)
            return outcome.value

        return self.cases(run, generator, exercise.solve)


def shape_fault(got: Any, expected: Any, where: str = "Your function") -> Fault | None:
    """What is wrong with the type or shape of `got`: a Fault, or None."""
    wrong = partial(Fault, state="wrong_shape")
    wanted = "a list" if isinstance(expected, list) else described(expected)     # how long it is, is part of the answer
    if got is None and expected is not None:
        return wrong(f"{where} returns None; it should return {wanted}. Is the return statement missing?")
    if is_number(expected):
        return None if is_number(got) else wrong(f"{where} returns {described(got)}; it should return one number.")
    if isinstance(expected, Tensor):
        if not isinstance(got, Tensor):
            return wrong(f"{where} returns {described(got)}; it should return {wanted}.")
        if got.shape != expected.shape:
            return wrong(f"{where} returns a tensor of shape {tuple(got.shape)}; it should have shape "
                         f"{tuple(expected.shape)}.")
        if sort(got) != sort(expected):
            return wrong(f"{where} returns {described(got)}; its entries should be {sort(expected)}.")
        return None
    if type(got) is not type(expected) and not (isinstance(got, list | tuple) and isinstance(expected, list | tuple)):
        return wrong(f"{where} returns {described(got)}; it should return {wanted}.")
    if isinstance(expected, list | tuple):
        if isinstance(expected, tuple) and len(got) != len(expected):
            return wrong(f"{where} returns {len(got)} things; it should return {len(expected)}.")
        for i, (mine, right) in enumerate(zip(got, expected, strict=False), 1):
            fault = shape_fault(mine, right, f"In part {i} of the result, your function")
            if fault:
                return fault
    return None


def sort(tensor: Tensor) -> str:
    """The kind of number that a tensor holds."""
    if tensor.dtype == torch.bool:
        return "booleans"
    return "floats" if tensor.is_floating_point() else "complex" if tensor.is_complex() else "integers"
