"""The kinds of checks. Each draws its inputs from a generator and compares data with data."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.exercise.facts import fact, one_gap
from course_lib.grading.exercise.tensor_facts import counted
from course_lib.grading.sandbox.inside.local import OVERWRITTEN, Local
from course_lib.grading.sandbox.inside.outcome import Outcome, described, is_number, same

Call = Callable[..., Outcome]        # call(args, wrt=(), weight=None)


@dataclass(frozen=True)
class Fault:
    """Why a check failed. `misconception` where the check itself can tell; `state` if it is not "wrong_value"."""

    message: str
    misconception: str | None = None
    state: str = "wrong_value"


class Stop(Exception):
    """A call gave no value; the check ends there. `inputs` went in, if that is known."""

    def __init__(self, outcome: Outcome, inputs: tuple | None = None):
        super().__init__(outcome.kind)
        self.outcome, self.inputs = outcome, inputs


@dataclass
class Record:
    """One case: what went in, what should come out, what came out; and what the arguments are called."""

    args: tuple
    expected: Any
    outcome: Outcome
    names: tuple[str, ...] = ()

    def name(self, i: int) -> str:
        """What argument i (from 0) is called."""
        return self.names[i] if i < len(self.names) else f"argument {i + 1}"


@dataclass
class Check:
    """`cases(generator)` draws the list of argument tuples; `shown(generator)`, if there is one, smaller ones of which
    a learner sees one that fails."""

    name: str
    points: int
    cases: Callable[[torch.Generator], list[tuple]]
    rtol: float = 1e-4
    atol: float = 1e-5
    shown: Callable[[torch.Generator], list[tuple]] | None = None

    def drawn(self, exercise, generator: torch.Generator) -> list[tuple]:
        """The cases that this generator gives."""
        return self.cases(generator)

    def records(self, exercise, call: Call, generator: torch.Generator) -> list[Record]:
        """Every case answered by the reference and by the learner. Raises Stop at the first without a value."""
        found = []
        for args in self.drawn(exercise, generator):
            outcome = call(args)
            if outcome.kind != "value":
                raise Stop(outcome, args)
            found.append(Record(args, exercise.expected(*args), outcome, exercise.named(args)))
        return found

    def fault(self, record: Record) -> Fault | None:
        """What is wrong with this record, or None."""
        raise NotImplementedError

    def fault_kind(self, record: Record) -> tuple[str, str] | None:
        """What two faults must have in common to be the same: the state and, of a wrong shape or type, which it is. None if
        there is no fault."""
        fault = self.fault(record)
        return fault and (fault.state, fault.message if fault.state == "wrong_shape" else "")

    def alike(self, record: Record, outcome: Outcome) -> bool:
        """Whether another function's outcome on the record's case is the learner's."""
        return outcome.kind == "value" and same(record.outcome.value, outcome.value, self.rtol, self.atol)


@dataclass
class Compare(Check):
    """Values equal the reference's; before that, type and shape (a gate without points)."""

    def fault(self, record: Record) -> Fault | None:
        return shape_fault(record.outcome.value, record.expected) or self.value_fault(record)

    def fault_kind(self, record: Record) -> tuple[str, str] | None:
        if type(self).value_fault is not Compare.value_fault:        # another idea of a right value
            return super().fault_kind(record)
        if fault := shape_fault(record.outcome.value, record.expected):
            return fault.state, fault.message
        # as of `fault`, but what a wrong value is told is not written
        return None if same(record.outcome.value, record.expected, self.rtol, self.atol) else ("wrong_value", "")

    def value_fault(self, record: Record) -> Fault | None:
        """What is wrong with the value, or None if it is the expected one within the tolerances."""
        if same(record.outcome.value, record.expected, self.rtol, self.atol):
            return None
        return Fault(fact(record.outcome.value, record.expected, self.rtol, self.atol))


@dataclass
class Gradient(Check):
    """The gradients of a random weighting of the result equal the reference's."""

    wrt: tuple[int, ...] = ()

    def records(self, exercise, call: Call, generator: torch.Generator) -> list[Record]:
        found = []
        for args in self.drawn(exercise, generator):
            shape = exercise.expected(*args).shape
            weight = torch.randn(shape, generator=generator, dtype=torch.float64)
            weight = weight / largest(self.expected(exercise, args, weight))
            expected = self.expected(exercise, args, weight)
            outcome = call(args, wrt=self.wrt, weight=weight)
            if outcome.kind not in ("value", "no_gradient"):
                raise Stop(outcome, args)
            found.append(Record((*args, weight), expected, outcome, exercise.names))
        return found

    def expected(self, exercise, args: tuple, weight: Tensor) -> dict[int, Tensor]:
        """The reference's gradients of sum(weight * result), by argument number."""
        return Local(exercise.solve).call(args, self.wrt, weight).gradients

    def fault(self, record: Record) -> Fault | None:
        if record.outcome.kind == "no_gradient" and OVERWRITTEN in record.outcome.detail:
            return Fault("No gradient can be computed: your function writes over a tensor (-=, +=, x[...] = ..., or a method "
                         "whose name ends in _) that the way back still needs. Make a new tensor instead.", None,
                         "wrong_gradient")
        if record.outcome.kind == "no_gradient":
            return Fault("No gradient flows back through your result: something on the way detaches it (.detach(), "
                         ".item(), .data, numpy, torch.no_grad, or a new tensor made of numbers).", None,
                         "wrong_gradient")
        got = record.outcome.gradients
        for i in self.wrt:
            if not same(got.get(i), record.expected[i], self.rtol, self.atol):
                return Fault(f"The values are right, the gradient by {record.name(i)} is not. "
                             + of_gradients(got.get(i), record.expected[i], self.rtol, self.atol), None, "wrong_gradient")
        return None

    def alike(self, record: Record, outcome: Outcome) -> bool:
        if record.outcome.kind != "value":
            return (outcome.kind, outcome.detail) == (record.outcome.kind, record.outcome.detail)
        return outcome.kind == "value" and same(record.outcome.gradients, outcome.gradients, self.rtol, self.atol)


def largest(gradients: Mapping[Any, Tensor | None]) -> float:
    """The largest entry of all gradients, 1 if there is none but 0. A weighting that is divided by it asks for gradients of
    size 1: rounding is a share of the largest term and the tolerance a number, which now is one share of large and small."""
    return max((float(one.abs().max()) for one in gradients.values() if one is not None and one.numel()), default=0.0) or 1.0


@dataclass
class Slopes(Compare):
    """The gradients that a class gives, by name: of its parameters, and "0", "1" ... of what a method is given."""

    fault_kind = Check.fault_kind

    def fault(self, record: Record) -> Fault | None:
        got, right = record.outcome.value, record.expected
        if not isinstance(got, dict) or got.keys() != right.keys():
            return shape_fault(got, right)
        wrong = [name for name in right if not same(got[name], right[name], self.rtol, self.atol)]
        if not wrong:
            return None
        return Fault(f"The values are right, the gradient by {self.by(record, wrong[0])} is not. "
                     + of_gradients(got[wrong[0]], right[wrong[0]], self.rtol, self.atol), None, "wrong_gradient")

    def by(self, record: Record, name: str) -> str:
        """What the gradient of this name is taken by: a parameter, or an argument of the method by the name it has there."""
        return record.name(5 + int(name)) if name.isdigit() else name        # ("slopes", config, weights, method, weight, *x)


@dataclass
class Unchanged(Check):
    """No argument is written to."""

    def fault(self, record: Record) -> Fault | None:
        if record.outcome.changed:
            *first, last = [record.name(i) for i in record.outcome.changed]
            them = f"{', '.join(first)} and {last}" if first else last
            return Fault(f"Your function writes into {them}. Whoever passed that in finds it changed: work on a copy.",
                         state="changed_arguments")
        return None

    def alike(self, record: Record, outcome: Outcome) -> bool:
        return super().alike(record, outcome) and outcome.changed == record.outcome.changed


@dataclass
class Property(Check):
    """Anything else: judge(run, generator, solve) returns None, or a Fault."""

    cases: Callable = field(default=None)                    # the judge

    def judge(self, exercise, call: Call, generator: torch.Generator) -> Fault | None:
        """Runs the property on the learner's function; a call that gives no value stops it."""
        def run(*args):
            outcome = call(args)
            if outcome.kind != "value":
                raise Stop(outcome, args)
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
            whole = got.ndim == expected.ndim == 1 and kind_of_numbers(got) == kind_of_numbers(expected) == "integers"
            return wrong(f"{where} returns a tensor of shape {tuple(got.shape)}; it should have shape "
                         f"{tuple(expected.shape)}." + (one_gap(got.tolist(), expected.tolist()) if whole else ""))
        if kind_of_numbers(got) != kind_of_numbers(expected):
            return wrong(f"{where} returns {described(got)}; its entries should be {kind_of_numbers(expected)}.")
        return None
    if type(got) is not type(expected) and not (isinstance(got, list | tuple) and isinstance(expected, list | tuple)):
        return wrong(f"{where} returns {described(got)}; it should return {wanted}.")
    if isinstance(expected, list | tuple):
        if isinstance(expected, tuple) and len(got) != len(expected):
            return wrong(f"{where} returns {len(got)} things; it should return {len(expected)}.")
        for i, (mine, right) in enumerate(zip(got, expected, strict=False)):
            fault = shape_fault(mine, right, f"As result[{i}], your function")
            if fault:
                return fault
    return None


def of_gradients(got: Tensor | None, expected: Tensor, rtol: float, atol: float) -> str:
    """How a gradient differs from the right one, as a sentence."""
    if not isinstance(got, Tensor) or got.shape != expected.shape or not got.any():
        return "It is 0: the way from your result back to it is cut (.detach(), .item(), .data, numpy or a rounding)."
    if got.isnan().any() and not expected.isnan().any():
        return f"{counted(got.isnan(), 'NaN')}: a value that is masked or not used is NaN or infinite on the way; fill it in " \
               "before, not after."
    lost = (got == 0) & ~torch.isclose(expected, torch.zeros_like(expected), rtol=rtol, atol=10 * atol)
    if lost.any():
        return f"It is 0 at {int(lost.sum())} of {got.numel()} entries where it should not be: a part of the computation does " \
               "not reach it."
    return fact(got, expected, rtol, atol)


def kind_of_numbers(tensor: Tensor) -> str:
    """The kind of number that a tensor holds."""
    if tensor.dtype == torch.bool:
        return "booleans"
    return "floats" if tensor.is_floating_point() else "complex" if tensor.is_complex() else "integers"
