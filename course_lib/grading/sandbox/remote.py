"""Call a learner's function where it cannot reach the judge: arguments go to the worker, an outcome comes back.

What comes back is taken as an answer, never as a verdict: each part of it is checked for its kind and its size.
"""
from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from course_lib.grading.exercise.checks import Stop
from course_lib.grading.judge.bounds import not_counted
from course_lib.grading.reading.extract import Statement
from course_lib.grading.sandbox.inside.local import OutOfTime, time_limit
from course_lib.grading.sandbox.inside.outcome import Outcome, written_to
from course_lib.grading.sandbox.inside.wire import Broken, Channel, Endpoint, TooSlow, attempt
from course_lib.grading.sandbox.sandbox import Limits, Worker

ATTEMPTS = 5                    # fresh starts, each without one more statement that hangs or crashes
WORKS = 100_000                 # calls of the functions that a learner is given, for one exercise
DETAIL = 500                    # characters of what the other end says
KINDS = ("value", "not_attempted", "error", "timeout", "memory", "forbidden")


class Remote:
    """One learner's function in the worker. `call` has the shape of `Local.call`.

    statements: what the function is made of. forbid: names of functions that it may not reach. build: whether the name is
    that of a class, which is then asked as `models.Ask` says. left_out: text of statements that hang or crash -> (kind,
    reason), known from before and added to. until: when the submission's time is up. After `open`, `problems` maps cells to what went
    wrong in them.
    """

    def __init__(self, worker: Worker, statements: Sequence[Statement], name: str, deadline: float, limits: Limits,
                 left_out: dict[str, tuple[str, str]], until: float, forbid: Sequence[str] = (),
                 build: bool = False):
        self.worker, self.statements, self.name, self.deadline = worker, statements, name, deadline
        self.limits, self.left_out, self.until, self.forbid = limits, left_out, until, forbid
        self.build = build
        self.problems: dict[int, str] = {}
        self.kinds: dict[int, str] = {}
        self.failed: Outcome | None = None
        self.endpoint: Endpoint | None = None
        self.socket = None

    def open(self) -> None:
        """Run the statements in a fresh child. Where that gives no function, every call will say why."""
        for _ in range(ATTEMPTS):
            self.close()
            self.socket = self.worker.start(self.limits, preload(self.statements))
            self.endpoint = JudgeEnd(self)
            if self.defined():
                return
        self.failed = Outcome("timeout", detail="Too many of its cells hang or crash")

    def defined(self) -> bool:
        """Run the statements one by one; False if one of them took the child with it."""
        self.problems, self.kinds = {}, {}
        for one in self.statements:
            kind, problem = self.left_out.get(one.text, ("", None))
            if problem is None:
                try:
                    problem = self.endpoint.ask(
                        "define", {"source": one.text, "cell": one.cell, "seconds": self.limits.statement},
                        self.give_up_at(self.limits.statement))
                except TooSlow:
                    self.left_out[one.text] = "timeout", f"it did not end within {self.limits.statement:g} seconds"
                    return False
                except Broken:
                    outcome = self.ended()
                    self.left_out[one.text] = outcome.kind, outcome.detail
                    return False
                kind = "timeout" if str(problem).startswith("it did not end") else "error"
            if problem is not None:
                self.problems.setdefault(one.cell, str(problem)[:DETAIL])
                if self.name in one.binds:
                    self.failed = Outcome(kind, detail=f"Cell {one.cell}, which defines {self.name}, was left out: "
                                                       f"{str(problem)[:DETAIL]}")
        try:
            found = self.endpoint.ask("find", {"name": self.name, "seconds": self.deadline, "forbid": list(self.forbid),
                                               "build": self.build}, self.give_up_at(1.0))
        except (Broken, TooSlow):
            found = None
        if found is True:
            self.failed = None
        elif self.failed is None:
            cell = max((one.cell for one in self.statements if self.name in one.binds), default=0)
            self.failed = Outcome("error", detail=f"After cell {cell} {self.name} is not a "
                                                  f"{'class' if self.build else 'function'}: give what you try out another "
                                                  "name")
        return True

    def call(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> Outcome:
        """Call the learner's function; `wrt` and `weight` ask for a gradient too. Never raises for what the learner did."""
        if self.failed is not None:
            return self.failed
        try:
            reply = self.endpoint.ask("call", {"args": list(args), "wrt": list(wrt), "weight": weight},
                                      self.give_up_at(self.deadline))
        except TooSlow:
            self.failed = self.late()
            self.worker.end()
            return self.failed
        except Broken:
            self.failed = self.ended()
            return self.failed
        return checked(reply, args, wrt)

    def give_up_at(self, seconds: float) -> float:
        """The time at which an answer that may take `seconds` is no longer waited for."""
        return min(time.monotonic() + seconds + self.limits.grace, self.until)

    def late(self) -> Outcome:
        """No answer came in time."""
        if time.monotonic() >= self.until:
            return Outcome("timeout", detail=f"The {self.limits.submission:g} seconds for the whole notebook are over")
        return Outcome("timeout", detail=f"no answer within {self.deadline:g} seconds")

    def ended(self) -> Outcome:
        """The child has gone, or talks nonsense."""
        status = self.worker.end(wait=0.25)
        if status is None:
            return Outcome("error", detail="It sent something that is no answer, or cut the connection to the grader.")
        if status == -signal.SIGKILL:
            return Outcome("error", detail=self.worker.stopped
                           or "The system stopped it, as it does when memory runs out.")
        if status == -getattr(signal, "SIGXCPU", 0):
            return Outcome("timeout", detail="its processor time is used up")
        if status < 0:
            return Outcome("error", detail=f"It crashed Python itself ({name_of(-status)}).")
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


def preload(statements: Sequence[Statement]) -> list[str]:
    """Modules that torch imports late, for seconds: a child that does so itself pays for it each time."""
    return ["torch._dynamo"] if any("optim" in one.text or "compile" in one.text for one in statements) else []


class JudgeEnd(Endpoint):
    """The judge's end. A function that the learner returned can be called; if that fails, the check stops."""

    def __init__(self, remote: Remote):
        super().__init__(Channel(remote.socket), run=self.work)
        self.remote, self.works = remote, 0

    def work(self, function: Callable, args: list, kwargs: dict) -> dict:
        """Call a function that the learner was given, on what the learner made up: within the deadline of the
        learner's own call, and not without end."""
        self.works += 1
        if self.works > WORKS:
            return {"kind": "error", "detail": f"RuntimeError: more than {WORKS} calls of the functions that it was given"}
        seconds = math.inf if self.until is None else self.until - time.monotonic()
        try:
            with not_counted(), time_limit(max(0.001, min(seconds, self.remote.limits.submission))):
                return attempt(function, args, kwargs)
        except OutOfTime:
            raise TooSlow from None

    def apply(self, number: int, args: tuple, kwargs: dict) -> Any:
        if self.remote.failed is not None:
            raise Stop(self.remote.failed)
        try:
            reply = self.ask("apply", [number, list(args), kwargs], self.remote.give_up_at(self.remote.deadline))
        except TooSlow:
            self.remote.failed = self.remote.late()
            raise Stop(self.remote.failed) from None
        except Broken:
            self.remote.failed = self.remote.ended()
            raise Stop(self.remote.failed) from None
        outcome = checked(reply, (), ())
        if outcome.kind != "value":
            raise Stop(outcome)
        return outcome.value


def checked(reply: Any, args: Sequence[Any], wrt: Sequence[int]) -> Outcome:
    """The reply as an Outcome of a call with these arguments, whatever it holds."""
    if not isinstance(reply, dict):
        return Outcome("error", detail="It sent something that is no answer.")
    kind, detail = reply.get("kind"), reply.get("detail", "")
    detail = detail[:DETAIL] if isinstance(detail, str) else ""
    if kind == "no_gradient" and wrt:
        return Outcome("no_gradient", detail=detail)
    if kind not in KINDS:
        return Outcome("error", detail="It sent something that is no answer.")
    if kind != "value":
        where = reply.get("where", "")
        return Outcome(kind, detail=detail, where=where[:DETAIL] if isinstance(where, str) else "")
    gradients, after = reply.get("gradients"), reply.get("after")
    gradients = gradients if isinstance(gradients, dict) else {}
    after = after if isinstance(after, dict) else {}
    return Outcome("value", reply.get("value"),
                   {i: gradients[i] for i in wrt if isinstance(gradients.get(i), Tensor)},
                   written_to(args, after))


def name_of(number: int) -> str:
    """A signal by its name, in words where it has common ones."""
    known = {"SIGSEGV": "segmentation fault", "SIGABRT": "abort", "SIGBUS": "bus error", "SIGFPE": "arithmetic error"}
    with_name = signal.Signals(number).name if number in {one.value for one in signal.Signals} else f"signal {number}"
    return known.get(with_name, with_name)
