"""A call of a learner's function: plain data go in, an `Outcome` comes out, data or the reason why there are none."""
import contextlib
import copy
import functools
import inspect
import numbers
import random
import re
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from types import FrameType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_lib.grading.protocol.traceback import explain_not_implemented, learner_line

DEPTH = 20                      # of lists in lists
WRITABLE = Tensor | list | tuple | dict
OVERWRITTEN = "modified by an inplace operation"         # torch's words for a tensor that backward still needs
RETRY = 0.01                    # seconds until a deferred timeout is tried again


@dataclass
class Outcome:
    """`value` and `gradients` (by argument number) for the kind "value"; `detail` says why for the kinds not_attempted, missing, error,
    timeout, memory, no_gradient, forbidden. `changed`: the arguments written to. `where`: the learner's line that it stopped at."""

    kind: str
    value: Any = None
    gradients: dict[int, Tensor] = field(default_factory=dict)
    changed: tuple[int, ...] = ()
    detail: str = ""
    where: str = ""


class NotData(TypeError):
    """A value that is not plain data."""


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of `value` as plain data: tensors are detached, functions pass unchanged. Raises `NotData` for anything else."""
    if depth > DEPTH:
        raise NotData(f"lists within lists, more than {DEPTH} deep")
    if type(value) is int and not -2**63 <= value < 2**63:
        raise NotData("a whole number that does not fit in 64 bits")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Tensor):
        if value.layout != torch.strided:
            raise NotData("a sparse tensor")
        return value.detach().cpu().as_subclass(Tensor).clone()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        return torch.from_numpy(np.array(value, ndmin=np.ndim(value)))
    if type(value) in (list, tuple):
        return type(value)([plain(part, depth + 1) for part in value])
    if type(value) in (dict, OrderedDict):               # a state_dict is one of these
        return {plain(key, depth + 1): plain(part, depth + 1) for key, part in value.items()}
    if callable(value):
        return value
    raise NotData(f"an object of type {type(value).__name__}")


def fresh(value: torch.Generator | random.Random) -> torch.Generator | random.Random:
    """A generator in the same state, so that numbers drawn from it are not taken from the original."""
    return torch.Generator().set_state(value.get_state()) if isinstance(value, torch.Generator) else copy.copy(value)


def same(one: Any, two: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Whether two plain values agree; NaN equals NaN. Numbers and scalar tensors are one kind of thing, and so are lists and tuples."""
    if type(one) is type(two):                           # equal to the last bit, as most are: cheaper than bounds
        if type(one) in (str, int, float) and one == two:
            return True
        if type(one) is Tensor and one.dtype == two.dtype and torch.equal(one, two):
            return True
    if not (isinstance(one, Tensor) and isinstance(two, Tensor)) and is_number(one) and is_number(two):
        one, two = torch.as_tensor(one), torch.as_tensor(two)
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        if one.shape != two.shape:
            return False
        wide = torch.complex128 if one.is_complex() or two.is_complex() else torch.float64
        return torch.allclose(one.to(wide), two.to(wide), rtol=rtol, atol=atol, equal_nan=True)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all([same(a, b, rtol, atol) for a, b in zip(one, two, strict=True)])
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all([same(one[key], two[key], rtol, atol) for key in one])
    return bool(one == two)


def first_difference(got: Any, right: Any, rtol: float, atol: float) -> Any:
    """The first index or key at which two sequences of one length, or dicts with the same keys, differ; None if there is none."""
    keys = right if isinstance(right, dict) else range(len(right))
    return next((key for key in keys if not same(got[key], right[key], rtol, atol)), None)


def changed_arguments(before: Sequence[Any], after: dict[int, Any]) -> tuple[int, ...]:
    """The numbers of the arguments that a call wrote to; one of which nothing is known afterwards counts. The side that made them compares."""
    return tuple([i for i, arg in enumerate(before) if isinstance(arg, WRITABLE)
                  and not (i in after and same(after[i], arg if type(arg) is Tensor else plain(arg)))])


def is_number(value: Any) -> bool:
    """Whether this is a real number, or a tensor without dimensions that holds one; a boolean is not."""
    if isinstance(value, Tensor):
        return value.ndim == 0 and value.dtype != torch.bool and not value.is_complex()
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def describe(value: Any, counted: bool = True) -> str:
    """The type and shape of a plain value in words, without its numbers; of a list, if `counted`, its length."""
    if not counted and isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__}"
    if isinstance(value, Tensor):
        return f"a tensor of {str(value.dtype).removeprefix('torch.')}, of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}" if value else f"an empty {type(value).__name__}"
    if isinstance(value, dict):
        return f"a dict of {len(value)} keys"
    return "a function or module" if callable(value) else "None" if value is None else f"one {type(value).__name__}"


class Local:
    """Calls a function in this process, at most `deadline` seconds; a call that reaches one named in `forbid` is "forbidden"."""

    def __init__(self, fn: Callable, deadline: float = 10.0, forbid: Sequence[str] = ()):
        self.fn, self.deadline, self.forbid = fn, deadline, forbid

    def call(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> Outcome:
        """The outcome of fn(*args). With `wrt`, also the gradients of sum(weight * fn(*args)) by those arguments."""
        outcome, after = self.call_and_report_arguments(args, wrt, weight)
        return replace(outcome, changed=changed_arguments(args, after)) if outcome.kind == "value" else outcome

    def call_and_report_arguments(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> tuple[Outcome, dict]:
        """The outcome, and what each argument that can be written to holds after the call."""
        with watch_calls(self.forbid) as watch:          # around the timer, which ends before the watch does
            outcome, after = self.run(args, wrt, weight)
        return (Outcome("forbidden", detail=watch.reached), {}) if watch.reached else (outcome, after)

    def run(self, args: Sequence[Any], wrt: Sequence[int], weight: Tensor | None) -> tuple[Outcome, dict[int, Any]]:
        leaves = [fresh(arg) if isinstance(arg, torch.Generator | random.Random) else plain(arg) for arg in args]
        for i in wrt:
            leaves[i].requires_grad_()
        # A leaf that requires a gradient refuses to be written to; the function gets a copy that does not.
        inputs = [arg.clone() if i in wrt else arg for i, arg in enumerate(leaves)]
        try:
            with time_limit(self.deadline):
                value = self.fn(*inputs)
                if wrt and not (isinstance(value, Tensor) and value.requires_grad):
                    return Outcome("no_gradient", detail="the result does not carry a gradient"), {}
                gradients = differentiate(value, [leaves[i] for i in wrt], weight) if wrt else []
                result = plain(value)
        except NotData as problem:
            return Outcome("error", detail=f"it returned {problem}"), {}
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as problem:
            return outcome_of_error(problem, self.fn), {}
        after = {}
        for i, arg in enumerate(inputs):
            with contextlib.suppress(NotData):           # not among the data that were passed, so it counts as changed
                after |= {i: plain(arg)} if isinstance(arg, WRITABLE) else {}
        return Outcome("value", result, dict(zip(wrt, gradients, strict=True))), after


class BrokenRule(ValueError):
    """A function that an exercise hands out was called in a way that the statement does not allow; the text says so to the learner."""


def differentiate(value: Tensor, leaves: Sequence[Tensor], weight: Tensor | None = None) -> list[Tensor]:
    """The gradients of sum(weight * value) by each of the leaves; zeros where the value does not depend on one."""
    # Of the sum: with grad_outputs, torch first imports its symbolic shapes, which takes half a second.
    total = (value if weight is None or weight.shape != value.shape else weight.to(value) * value).sum()
    grads = torch.autograd.grad(total, list(leaves), allow_unused=True) if total.requires_grad else [None] * len(leaves)
    return [torch.zeros_like(leaf) if grad is None else grad.detach() for grad, leaf in zip(grads, leaves, strict=True)]


def outcome_of_error(problem: BaseException, fn: Callable) -> Outcome:
    """The outcome of a call of `fn` that raised."""
    text = str(problem) if isinstance(problem, BrokenRule) else f"{type(problem).__name__}: {problem}"[:500].rstrip(": ")
    if isinstance(problem, OutOfTime):
        return Outcome("timeout", detail=str(problem), where=learner_line(problem, fn))
    first = inspect.getfullargspec(fn).args[:1] if isinstance(fn, FunctionType) else []
    if isinstance(problem, TypeError) and first == ["self"] and "positional argument" in text:
        text = "The first argument of your function is self, as in a method of a class. A function alone has none: delete it."
    of_torch = "not implemented for '" in text or "Could not run '" in text     # an operation that it lacks for these numbers
    if isinstance(problem, NotImplementedError) and not of_torch:
        text = explain_not_implemented(problem, fn)
        return Outcome("error", detail=text, where=learner_line(problem, fn)) if text else Outcome("not_attempted")
    if isinstance(problem, RuntimeError) and OVERWRITTEN in text:
        return Outcome("no_gradient", detail=OVERWRITTEN)
    memory = isinstance(problem, MemoryError) or isinstance(problem, RuntimeError) and "allocate memory" in text
    return Outcome("memory" if memory else "error", detail=text, where=learner_line(problem, fn))


class OutOfTime(BaseException):
    """Raised by the timer; not an Exception, so that the learner's own handlers do not catch it."""


timer_state = threading.local()          # of the main thread: whether timeouts are deferred


@contextmanager
def defer_timeout():
    """No timeout interrupts the block: of a message that is sent or read in part, the rest would be taken for another one."""
    before, timer_state.deferred = getattr(timer_state, "deferred", False), True
    try:
        yield
    finally:
        timer_state.deferred = before


def raise_timeout(seconds: float, *_) -> None:
    """The handler of the timer."""
    if not getattr(timer_state, "deferred", False):
        raise OutOfTime(f"no answer within {seconds:g} seconds")
    signal.setitimer(signal.ITIMER_REAL, RETRY)


@contextmanager
def time_limit(seconds: float):
    """Interrupt the block after `seconds`, on the main thread of a system that has timers; elsewhere do nothing."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before, began = signal.signal(signal.SIGALRM, partial(raise_timeout, seconds)), time.monotonic()
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:                         # a timer that ran before continues where it was
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001), every)


NAME = re.compile(r"(\w+(?:\.\w+)*\.(\w+))(?:\((\w+)=\.\.\.\))?")


class Watch(TorchFunctionMode):
    """In its block, `reached` becomes the first of `names` that is called, also by a library: of a function ("F.layer_norm"), of one with an
    argument that is not false ("F.cross_entropy(label_smoothing=...)"), or of a class. Raises ValueError for a name that torch lacks."""

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self.reached = ""
        self.classes = {resolve(name): name for name in names if isinstance(resolve(name), type)}
        self.functions = {NAME.fullmatch(name)[2]: (name, NAME.fullmatch(name)[3]) for name in names if name not in self.classes.values()}

    def __torch_function__(self, function: Callable, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, argument = self.functions.get(torch_name(function), ("", None))
        if name and (argument is None or kwargs.get(argument)):
            self.note(name)
        return function(*args, **kwargs)

    def note(self, name: str) -> None:
        if not self.reached and not called_by_exercise(sys._getframe(2)):
            self.reached = name


@functools.cache
def torch_name(function: Callable) -> str:
    """The name under which torch documents a function: "log_softmax" of its method, its operator, its private form."""
    name = getattr(function, "__name__", "").partition(".")[0].strip("_")
    return name.removeprefix("special_").removeprefix("native_")


@functools.cache
def resolve(name: str) -> Callable:
    """The function or class that a name in `forbid` means. Raises ValueError if torch has none."""
    match = NAME.fullmatch(name)
    top, _, path = match[1].partition(".") if match else ("", "", "")
    try:
        return attrgetter(path)({"torch": torch, "F": torch.nn.functional}[top])
    except (AttributeError, KeyError):
        raise ValueError(f"forbid has {name!r}; expected a name such as F.softmax, torch.logsumexp or "
                         "F.cross_entropy(label_smoothing=...)") from None


def called_by_exercise(frame: FrameType | None) -> bool:
    """Whether a function of an exercise runs between the call of the learner's function and this frame."""
    while frame is not None and frame.f_code is not Local.run.__code__:
        if f"{frame.f_globals.get('__name__', '')}.".startswith("course_lib.exercises."):
            return True
        frame = frame.f_back
    return False


@contextmanager
def watch_calls(names: Sequence[str]):
    """Watch the block for `names`; gives an object with `reached`. All is as before when it ends."""
    watch = Watch(names)
    with contextlib.ExitStack() as stack:
        for cls, name in watch.classes.items():
            stack.callback(setattr, cls, "__init__", cls.__init__)
            cls.__init__ = note_calls(cls.__init__, partial(watch.note, name))
        if watch.functions:
            stack.enter_context(watch)
        yield watch


def note_calls(init: Callable, note: Callable[[], None]) -> Callable:
    """The constructor `init`, which calls `note` first."""
    @functools.wraps(init)
    def noted(*args, **kwargs):
        note()
        init(*args, **kwargs)

    return noted
