"""Call a learner's function where it cannot reach the judge: arguments go to the worker, an outcome comes back.

What comes back is taken as an answer, never as a verdict: each part of it is checked for its kind and its size.
"""
from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from course_lib.grading.checks import Stop
from course_lib.grading.extract import Statement
from course_lib.grading.outcome import Outcome
from course_lib.grading.sandbox import Limits, Worker
from course_lib.grading.wire import Border, Broken, Channel, TooSlow

ATTEMPTS = 5                    # fresh starts, each without one more statement that hangs or crashes
DETAIL = 500                    # characters of what the other end says
KINDS = ("value", "not_attempted", "error", "timeout", "memory")


class Remote:
    """One learner's function in the worker. `call` has the shape of `Local.call`.

    statements: what the function is made of. left_out: text of statements that hang or crash -> (kind, reason), known
    from before and added to. until: when the submission's time is up. After `open`, `problems` maps cells to what went
    wrong in them.
    """

    def __init__(self, worker: Worker, statements: Sequence[Statement], name: str, deadline: float, limits: Limits,
                 left_out: dict[str, tuple[str, str]], until: float):
        self.worker, self.statements, self.name, self.deadline = worker, statements, name, deadline
        self.limits, self.left_out, self.until = limits, left_out, until
        self.problems: dict[int, str] = {}
        self.kinds: dict[int, str] = {}
        self.failed: Outcome | None = None
        self.border: Border | None = None
        self.socket = None

    def open(self) -> None:
        """Run the statements in a fresh child. Where that gives no function, every call will say why."""
        for _ in range(ATTEMPTS):
            self.close()
            self.socket = self.worker.start(self.limits, preload(self.statements))
            self.border = Calls(self)
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
                    problem = self.border.ask("define", {"source": one.text, "cell": one.cell,
                                                         "seconds": self.limits.statement},
                                              self.soon(self.limits.statement))
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
            found = self.border.ask("find", {"name": self.name, "seconds": self.deadline}, self.soon(1.0))
        except (Broken, TooSlow):
            found = None
        if found is True:
            self.failed = None
        elif self.failed is None:
            self.failed = Outcome("error", detail=f"{self.name} is not a function")
        return True

    def call(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> Outcome:
        if self.failed is not None:
            return self.failed
        try:
            reply = self.border.ask("call", {"args": list(args), "wrt": list(wrt), "weight": weight},
                                    self.soon(self.deadline))
        except TooSlow:
            self.failed = self.late()
            self.worker.end()
            return self.failed
        except Broken:
            self.failed = self.ended()
            return self.failed
        return checked(reply, len(args), wrt)

    def soon(self, seconds: float) -> float:
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
            return Outcome("error", detail="The system stopped it, as it does when memory runs out.")
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
        self.socket = self.border = None

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.close()


def preload(statements: Sequence[Statement]) -> list[str]:
    """Modules that torch imports late, for seconds: a child that does so itself pays for it each time."""
    return ["torch._dynamo"] if any("optim" in one.text for one in statements) else []


class Calls(Border):
    """The judge's end. A function that the learner returned can be called; if that fails, the check stops."""

    def __init__(self, remote: Remote):
        super().__init__(Channel(remote.socket))
        self.remote = remote

    def apply(self, number: int, args: tuple, kwargs: dict) -> Any:
        if self.remote.failed is not None:
            raise Stop(self.remote.failed)
        try:
            reply = self.ask("apply", [number, list(args), kwargs], self.remote.soon(self.remote.deadline))
        except TooSlow:
            self.remote.failed = self.remote.late()
            raise Stop(self.remote.failed) from None
        except Broken:
            self.remote.failed = self.remote.ended()
            raise Stop(self.remote.failed) from None
        outcome = checked(reply, 0, ())
        if outcome.kind != "value":
            raise Stop(outcome)
        return outcome.value


def checked(reply: Any, count: int, wrt: Sequence[int]) -> Outcome:
    """The reply as an Outcome of a call with `count` arguments, whatever it holds."""
    if not isinstance(reply, dict):
        return Outcome("error", detail="It sent something that is no answer.")
    kind, detail = reply.get("kind"), reply.get("detail", "")
    detail = detail[:DETAIL] if isinstance(detail, str) else ""
    if kind == "no_gradient" and wrt:
        return Outcome("no_gradient", detail=detail)
    if kind not in KINDS:
        return Outcome("error", detail="It sent something that is no answer.")
    if kind != "value":
        return Outcome(kind, detail=detail)
    gradients, changed = reply.get("gradients"), reply.get("changed")
    gradients = gradients if isinstance(gradients, dict) else {}
    changed = changed if isinstance(changed, tuple) else ()
    return Outcome("value", reply.get("value"),
                   {i: gradients[i] for i in wrt if isinstance(gradients.get(i), Tensor)},
                   tuple(i for i in range(count) if i in changed))


def name_of(number: int) -> str:
    known = {"SIGSEGV": "segmentation fault", "SIGABRT": "abort", "SIGBUS": "bus error", "SIGFPE": "arithmetic error"}
    with_name = signal.Signals(number).name if number in {one.value for one in signal.Signals} else f"signal {number}"
    return known.get(with_name, with_name)
