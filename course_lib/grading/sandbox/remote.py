"""Call a learner's function in the worker: an outcome comes back, whose parts are checked; the grader's own work on it is bounded too."""
import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from course_lib.grading.checks import Stop
from course_lib.grading.protocol.calls import Outcome, OutOfTime, changed_arguments, time_limit
from course_lib.grading.protocol.process import size_now
from course_lib.grading.protocol.wire import Broken, Channel, Endpoint, TooSlow, run_function
from course_lib.grading.sandbox.sandbox import Limits, Worker
from course_lib.grading.submissions.cells import Statement

ATTEMPTS = 5                    # fresh starts, each without one more statement that hangs or crashes
CALLS = 100_000                 # calls of the functions that a learner is given, for one exercise
DETAIL = 500                    # characters of a message from the worker
RETRY = 1.0                     # seconds of processor after which the grader is interrupted once more, if that was caught
NO_ANSWER = "It sent something that is no answer."
KINDS = ("value", "not_attempted", "error", "timeout", "memory", "forbidden")


@dataclass
class Remote:
    """One learner's function, or class if `build`, in the worker, made of `statements`; `call` has the shape of `Local.call`. `left_out`: text of
    statements that hang or crash -> (kind, reason). `until`: when the submission's time is up. `problems`: what went wrong, by cell."""

    worker: Worker
    statements: Sequence[Statement]
    name: str
    deadline: float
    limits: Limits
    left_out: dict[str, tuple[str, str]]
    until: float
    forbid: Sequence[str] = ()
    build: bool = False
    problems: dict[int, str] = field(default_factory=dict)
    failed: Outcome | None = None
    endpoint: Endpoint | None = None
    socket: Any = None

    def open(self) -> None:
        """Run the statements in a fresh child. Where that gives no function, every call will say why."""
        for _ in range(ATTEMPTS):
            self.close()
            late = any("optim" in statement.text or "compile" in statement.text for statement in self.statements)
            self.socket = self.worker.start(self.limits, ["torch._dynamo"] * late)             # it takes seconds to import
            self.endpoint = GraderEnd(self)
            if self.define():
                return
        self.failed = Outcome("timeout", detail="Too many of its cells hang or crash")

    def define(self) -> bool:
        """Run the statements one by one; False if one of them took the child with it."""
        self.problems = {}
        for statement in self.statements:
            kind, problem = self.left_out.get(statement.text, ("", None))
            if problem is None:
                data = {"source": statement.text, "cell": statement.cell, "seconds": self.limits.statement}
                try:
                    problem = self.endpoint.ask("define", data, self.give_up_at(self.limits.statement))
                except TooSlow:
                    self.left_out[statement.text] = "timeout", f"it did not end within {self.limits.statement:g} seconds"
                    return False
                except Broken:
                    outcome = self.end_of_child()
                    self.left_out[statement.text] = outcome.kind, outcome.detail
                    return False
                if problem is None:
                    continue
                problem = problem[:DETAIL] if isinstance(problem, str) else NO_ANSWER
                kind = "timeout" if problem.startswith("it did not end") else "error"
            self.problems.setdefault(statement.cell, problem)
            if self.name in statement.binds:
                self.failed = Outcome(kind, detail=f"Cell {statement.cell}, which defines {self.name}, was left out: {problem}")
        exists, data = False, {"name": self.name, "seconds": self.deadline, "forbid": list(self.forbid), "build": self.build}
        with contextlib.suppress(Broken, TooSlow):
            exists = self.endpoint.ask("find", data, self.give_up_at(1.0)) is True
        if exists:
            self.failed = None
        elif self.failed is None:
            cell = max((statement.cell for statement in self.statements if self.name in statement.binds), default=0)
            self.failed = Outcome("error", detail=f"After cell {cell} {self.name} is not a {'class' if self.build else 'function'}: give "
                                                  "what you try out another name")
        return True

    def call(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> Outcome:
        """Call the learner's function; `wrt` and `weight` ask for a gradient too. Never raises for what the learner did."""
        try:
            return validate(self.ask("call", {"args": list(args), "wrt": list(wrt), "weight": weight}), args, wrt)
        except Stop as stop:
            self.worker.end()
            return stop.outcome

    def ask(self, kind: str, data: Any) -> Any:
        """The child's answer within the deadline. Raises Stop with what has `failed`, from the first time on."""
        if self.failed is None:
            try:
                return self.endpoint.ask(kind, data, self.give_up_at(self.deadline))
            except TooSlow:
                over = f"The {self.limits.submission:g} seconds for the whole notebook are over"
                self.failed = Outcome("timeout", detail=over if time.monotonic() >= self.until else f"no answer within {self.deadline:g} seconds")
            except Broken:
                self.failed = self.end_of_child()
        raise Stop(self.failed)

    def give_up_at(self, seconds: float) -> float:
        """The time at which an answer that may take `seconds` is no longer waited for."""
        return min(time.monotonic() + seconds + self.limits.grace, self.until)

    def end_of_child(self) -> Outcome:
        """The outcome where the child has gone, or sent something that is not a message."""
        status = self.worker.end(wait=0.25)
        if status is None:
            return Outcome("error", detail="It sent something that is no answer, or cut the connection to the grader.")
        if status == -signal.SIGKILL:
            return Outcome("error", detail=self.worker.stopped or "The system stopped it, as it does when memory runs out.")
        if status == -getattr(signal, "SIGXCPU", 0):
            return Outcome("timeout", detail="its processor time is used up")
        if status < 0:
            return Outcome("error", detail=f"It crashed Python itself ({signal.Signals(-status).name if -status in set(signal.Signals) else f'signal {-status}'}).")
        return Outcome("error", detail=f"It ended Python (exit code {status}).")

    def close(self) -> None:
        """Stop the child."""
        if self.socket is not None:
            self.socket.close()
            self.worker.end()
        self.socket = self.endpoint = None

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.close()


class GraderEnd(Endpoint):
    """The grader's end. A function that the learner returned can be called; if that fails, the check stops."""

    def __init__(self, remote: Remote):
        super().__init__(Channel(remote.socket), run=self.run_function)
        self.remote, self.calls = remote, 0

    def run_function(self, function: Callable, args: list, kwargs: dict) -> dict:
        """Call a function that the learner was given, within the deadline of the learner's own call, and a limited number of times."""
        self.calls += 1
        if self.calls > CALLS:
            return {"kind": "error", "detail": f"RuntimeError: more than {CALLS} calls of the functions that it was given"}
        seconds = math.inf if self.until is None else self.until - time.monotonic()
        try:
            with unbounded(), time_limit(max(0.001, min(seconds, self.remote.limits.submission))):
                reply = run_function(function, args, kwargs)
        except OutOfTime:
            raise TooSlow from None
        if reply["kind"] == "error" and "rule" not in reply:        # its text may name the function, which can be what the exercise asks for
            large = "allocate memory" in reply["detail"] or reply["detail"].startswith("MemoryError")
            reply["detail"] = ("a function that it was given cannot allocate memory for its result" if large else
                               "a function that it was given does not take these arguments")
        return reply

    def apply(self, number: int, args: tuple, kwargs: dict) -> Any:
        outcome = validate(self.remote.ask("apply", [number, list(args), kwargs]), (), ())
        if outcome.kind != "value":
            raise Stop(outcome)
        return outcome.value


def validate(reply: Any, args: Sequence[Any], wrt: Sequence[int]) -> Outcome:
    """The reply as an Outcome of a call with these arguments, whatever it holds."""
    if not isinstance(reply, dict):
        return Outcome("error", detail=NO_ANSWER)
    kind, detail = reply.get("kind"), reply.get("detail", "")
    detail = detail[:DETAIL] if isinstance(detail, str) else ""
    if kind == "no_gradient" and wrt:
        return Outcome("no_gradient", detail=detail)
    if kind not in KINDS:
        return Outcome("error", detail=NO_ANSWER)
    if kind != "value":
        where = reply.get("where", "")
        return Outcome(kind, detail=detail, where=where[:DETAIL] if isinstance(where, str) else "")
    gradients, after = (part if isinstance(part, dict) else {} for part in (reply.get("gradients"), reply.get("after")))
    return Outcome("value", reply.get("value"), {i: gradients[i] for i in wrt if isinstance(gradients.get(i), Tensor)},
                   changed_arguments(args, after))


class Overworked(BaseException):
    """The grader's seconds of processor are used up; not an Exception, so that no check takes it for a fault."""


def can_bound() -> bool:
    """Whether this system and this thread can be bounded: Linux, and the main one."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


@contextmanager
def bounded(seconds: float, memory: int):
    """The block gets these seconds of processor, then Overworked, and `memory` more bytes, then a MemoryError; on Linux."""
    if not can_bound():
        yield
        return
    import resource

    def raise_overworked(*_):
        raise Overworked(f"more than {seconds:g} seconds of the grader's processor")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = size_now() + memory
    before = signal.signal(signal.SIGPROF, raise_overworked)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard))
        signal.setitimer(signal.ITIMER_PROF, seconds, RETRY)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def unbounded():
    """In a bounded block: this part has a deadline of its own, and its processor time is not the block's."""
    if not can_bound():
        yield
        return
    left = signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *left)
