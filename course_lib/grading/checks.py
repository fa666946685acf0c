"""The kinds of checks. Each draws its inputs from a generator and compares data with data."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.facts import describe_count, describe_difference, describe_first_difference
from course_lib.grading.protocol.calls import OVERWRITTEN, Local, Outcome, describe, first_difference, is_number, same

Call = Callable[..., Outcome]        # call(args, wrt=(), weight=None)


@dataclass(frozen=True)
class Fault:
    """Why a check failed. `misconception` where the check itself can tell; `state` if it is not "wrong_value"."""

    message: str
    misconception: str | None = None
    state: str = "wrong_value"


class Stop(Exception):
    """A call gave no value, so the check ends. `inputs` are the arguments of the call, if they are known."""

    def __init__(self, outcome: Outcome, inputs: tuple | None = None):
        super().__init__(outcome.kind)
        self.outcome, self.inputs = outcome, inputs


@dataclass
class Record:
    """One case: arguments, expected value, outcome, and the names of the arguments."""

    args: tuple
    expected: Any
    outcome: Outcome
    names: tuple[str, ...] = ()

    def name(self, i: int) -> str:
        """The name of argument i (from 0)."""
        return self.names[i] if i < len(self.names) else f"argument {i + 1}"


@dataclass
class Check:
    """`cases(generator)` draws argument tuples; `shown(generator)`, if given, smaller ones, of which the learner sees one that fails."""

    name: str
    points: int
    cases: Callable[[torch.Generator], list[tuple]]
    rtol: float = 1e-4
    atol: float = 1e-5
    shown: Callable[[torch.Generator], list[tuple]] | None = None

    def draw(self, exercise, generator: torch.Generator) -> list[tuple]:
        return self.cases(generator)

    def records(self, exercise, call: Call, generator: torch.Generator) -> list[Record]:
        """Every case with the results of the reference and of the learner. Raises Stop at the first without a value."""
        records = []
        for args in self.draw(exercise, generator):
            outcome = call(args)
            if outcome.kind != "value":
                raise Stop(outcome, args)
            records.append(Record(args, exercise.expected(*args), outcome, exercise.argument_names(args)))
        return records

    def fault(self, record: Record) -> Fault | None:
        """What is wrong with this record, or None."""
        raise NotImplementedError

    def fault_kind(self, record: Record) -> tuple[str, str] | None:
        """What two equal faults have in common: the state and, for a wrong shape or type, the message. None without a fault."""
        fault = self.fault(record)
        return fault and (fault.state, fault.message if fault.state == "wrong_shape" else "")

    def alike(self, record: Record, outcome: Outcome) -> bool:
        """Whether another function's outcome on the record's case is the same as the learner's."""
        return outcome.kind == "value" and same(record.outcome.value, outcome.value, self.rtol, self.atol)

    def gradient_fault(self, name: str, got: Tensor | None, right: Tensor) -> Fault:
        """The fault of a wrong gradient by what is called `name`."""
        error = describe_gradient_error(got, right, self.rtol, self.atol)
        return Fault(f"The values are right, the gradient by {name} is not. {error}", state="wrong_gradient")


@dataclass
class Compare(Check):
    """Values equal the reference's; before that, type and shape (a gate without points)."""

    def fault(self, record: Record) -> Fault | None:
        return shape_fault(record.outcome.value, record.expected) or self.value_fault(record)

    def value_fault(self, record: Record) -> Fault | None:
        """What is wrong with the value, or None if it is the expected one within the tolerances."""
        if same(record.outcome.value, record.expected, self.rtol, self.atol):
            return None
        return Fault(describe_difference(record.outcome.value, record.expected, self.rtol, self.atol))


@dataclass
class Gradient(Check):
    """The gradients of a random weighting of the result equal the reference's."""

    wrt: tuple[int, ...] = ()

    def records(self, exercise, call: Call, generator: torch.Generator) -> list[Record]:
        records = []
        for args in self.draw(exercise, generator):
            weight = torch.randn(exercise.expected(*args).shape, generator=generator, dtype=torch.float64)
            weight = weight / largest_entry(self.expected(exercise, args, weight))
            expected = self.expected(exercise, args, weight)
            outcome = call(args, wrt=self.wrt, weight=weight)
            if outcome.kind not in ("value", "no_gradient"):
                raise Stop(outcome, args)
            records.append(Record((*args, weight), expected, outcome, exercise.names))
        return records

    def expected(self, exercise, args: tuple, weight: Tensor) -> dict[int, Tensor]:
        """The reference's gradients of sum(weight * result), by argument number."""
        return Local(exercise.solve).call(args, self.wrt, weight).gradients

    def fault(self, record: Record) -> Fault | None:
        if record.outcome.kind == "no_gradient" and OVERWRITTEN in record.outcome.detail:
            return Fault("No gradient can be computed: your function writes over a tensor (-=, +=, x[...] = ..., or a method whose name ends in _) "
                         "that the backward pass still needs. Make a new tensor instead.", None, "wrong_gradient")
        if record.outcome.kind == "no_gradient":
            return Fault("No gradient flows back through your result: something detaches it (.detach(), .item(), .data, numpy, torch.no_grad, "
                         "or a new tensor made of numbers).", None, "wrong_gradient")
        got = {i: record.outcome.gradients.get(i) for i in self.wrt}
        i = first_difference(got, record.expected, self.rtol, self.atol)
        return None if i is None else self.gradient_fault(record.name(i), got[i], record.expected[i])

    def alike(self, record: Record, outcome: Outcome) -> bool:
        if record.outcome.kind != "value":
            return (outcome.kind, outcome.detail) == (record.outcome.kind, record.outcome.detail)
        return outcome.kind == "value" and same(record.outcome.gradients, outcome.gradients, self.rtol, self.atol)


def largest_entry(gradients: Mapping[Any, Tensor | None]) -> float:
    """The largest magnitude in all gradients, or 1 if all are 0. Divided by it, a weighting gives gradients that one tolerance fits."""
    return max([float(gradient.abs().max()) for gradient in gradients.values() if gradient is not None and gradient.numel()],
               default=0.0) or 1.0


@dataclass
class ClassGradient(Compare):
    """The gradients of a class by name: by its parameters, and by the arguments of a method, "0", "1" ..."""

    def fault(self, record: Record) -> Fault | None:
        got, right = record.outcome.value, record.expected
        if not isinstance(got, dict) or got.keys() != right.keys():
            return shape_fault(got, right)
        name = first_difference(got, right, self.rtol, self.atol)
        return None if name is None else self.gradient_fault(self.argument_name(record, name), got[name], right[name])

    def argument_name(self, record: Record, name: str) -> str:
        """The name of what a gradient is taken by: a parameter, or an argument as the method calls it."""
        return record.name(5 + int(name)) if name.isdigit() else name        # ("slopes", config, weights, method, weight, *x)


@dataclass
class Unchanged(Check):
    """No argument is written to."""

    def fault(self, record: Record) -> Fault | None:
        if not record.outcome.changed:
            return None
        *first, last = [record.name(i) for i in record.outcome.changed]
        them = f"{', '.join(first)} and {last}" if first else last
        return Fault(f"Your function writes into {them}, so the caller finds it changed. Work on a copy.", state="changed_arguments")

    def alike(self, record: Record, outcome: Outcome) -> bool:
        return super().alike(record, outcome) and outcome.changed == record.outcome.changed


@dataclass
class Property(Check):
    """Any other condition: test(run, generator, solve) returns None, or a Fault."""

    cases: Callable = field(default=None)                    # the test

    def test(self, exercise, call: Call, generator: torch.Generator) -> Fault | None:
        """Test the learner's function; a call that gives no value stops the test."""
        def run(*args):
            outcome = call(args)
            if outcome.kind != "value":
                raise Stop(outcome, args)
            return outcome.value

        return self.cases(run, generator, exercise.solve)


def shape_fault(got: Any, expected: Any, where: str = "Your function") -> Fault | None:
    """What is wrong with the type or shape of `got`: a Fault, or None."""
    wrong = partial(Fault, state="wrong_shape")
    wanted = "a list" if isinstance(expected, list) else describe(expected)      # its length is part of the answer
    if got is None and expected is not None:
        return wrong(f"{where} returns None; it should return {wanted}. Is the return statement missing?")
    if is_number(expected):
        return None if is_number(got) else wrong(f"{where} returns {describe(got)}; it should return one number.")
    if isinstance(expected, Tensor):
        if not isinstance(got, Tensor):
            return wrong(f"{where} returns {describe(got)}; it should return {wanted}.")
        if got.shape != expected.shape:
            return wrong(f"{where} returns a tensor of shape {tuple(got.shape)}; it should have shape {tuple(expected.shape)}.")
        if number_kind(got) != number_kind(expected):
            return wrong(f"{where} returns {describe(got)}; its entries should be {number_kind(expected)}.")
        return None
    if type(got) is not type(expected) and not (isinstance(got, list | tuple) and isinstance(expected, list | tuple)):
        return wrong(f"{where} returns {describe(got)}; it should return {wanted}.")
    if isinstance(expected, list | tuple):
        if isinstance(expected, tuple) and len(got) != len(expected):
            return wrong(f"{where} returns {len(got)} things; it should return {len(expected)}.")
        for i, (value, right) in enumerate(zip(got, expected, strict=False)):
            if fault := shape_fault(value, right, f"As result[{i}], your function"):
                return fault
    return None


def describe_gradient_error(got: Tensor | None, expected: Tensor, rtol: float, atol: float) -> str:
    """How a gradient differs from the right one, as a sentence."""
    if not isinstance(got, Tensor) or got.shape != expected.shape or not got.any():
        return "It is 0: your result is cut off from it (.detach(), .item(), .data, numpy or a rounding)."
    if got.isnan().any() and not expected.isnan().any():
        return f"{describe_count(got.isnan(), 'NaN')}: a value that is masked or not used is NaN or infinite on the way; fill it in " \
               "before, not after."
    missing = (got == 0) & ~torch.isclose(expected, torch.zeros_like(expected), rtol=rtol, atol=10 * atol)
    if missing.any():
        return f"It is 0 at {int(missing.sum())} of {got.numel()} entries where it should not be: a part of the computation does " \
               "not reach it."
    if same(got, -expected, rtol, atol):
        return "It has the wrong sign."
    return describe_first_difference(torch.isclose(got, expected, rtol=rtol, atol=atol))


def number_kind(tensor: Tensor) -> str:
    """The kind of number that a tensor holds."""
    if tensor.dtype == torch.bool:
        return "booleans"
    return "floats" if tensor.is_floating_point() else "complex" if tensor.is_complex() else "integers"
