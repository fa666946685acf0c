"""What became of one exercise: its state, its points, what to say about it."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field

NO_INPUTS = ("not_attempted", "missing", "forbidden", "unreadable", "not_graded", "right")

STATES = {
    "not_attempted": "not attempted yet",
    "missing": "no such function",
    "error": "stopped with an error",
    "timeout": "took too long",
    "memory": "needed too much memory",
    "wrong_shape": "wrong shape or type",
    "wrong_value": "wrong value",
    "wrong_gradient": "right values, wrong gradient",
    "changed_arguments": "an argument is changed",
    "forbidden": "uses what is to be written",
    "unreadable": "could not be read",
    "not_graded": "not graded: the grader stopped",
    "right": "right",
}


@dataclass(frozen=True)
class CheckResult:
    """One check: gates are worth 0 points; `passed` is None when the check was not reached."""

    name: str
    passed: bool | None
    earned: int
    possible: int
    message: str = ""


@dataclass(frozen=True)
class Report:
    """The verdict on one exercise. `state` is a key of STATES; `misconception` a name, or None; `shown` some lines to
    look at, 80 columns wide: where it stopped, or a case that fails.

    >>> print(Report("made_masks", "wrong_value", earned=2, possible=7))
    made_masks: wrong value (2 of 7 points)
    """

    exercise: str
    state: str
    earned: int = 0
    possible: int = 0
    misconception: str | None = None
    message: str = ""
    checks: list[CheckResult] = field(default_factory=list)
    seed: int | None = None
    shown: str = ""

    def __post_init__(self):
        if self.state not in STATES:
            raise ValueError(f"state is {self.state!r}; it is one of {', '.join(STATES)}")

    @property
    def score(self) -> float:
        """Earned over possible, 0 to 1."""
        return self.earned / self.possible if self.possible else 0.0

    @property
    def points(self) -> tuple[int, int]:
        """(earned, possible)."""
        return self.earned, self.possible

    def __str__(self) -> str:
        return "\n".join(part for part in (self.head, self.message, self.shown) if part)

    @property
    def head(self) -> str:
        """The state and the points, and what became of each check."""
        lines = [f"{self.exercise}: {STATES[self.state]} ({self.earned} of {self.possible} points)"]
        if self.state != "not_attempted":            # a gate is told only when it stops the answer
            lines += [f"  {mark(check)}  {check.name}" for check in self.checks if check.possible or not check.passed]
        return "\n".join(lines)

    @property
    def again(self) -> str:
        """How the same inputs are drawn again, in a line; empty where none were drawn."""
        if self.seed is None or self.state in NO_INPUTS:
            return ""
        return f'(the same inputs again: check("{self.exercise}", seed={self.seed}))'

    def to_dict(self) -> dict:
        """As plain data; `from_dict` gives the report back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Report:
        """The way back from a dict of JSON."""
        return cls(**{**data, "checks": [CheckResult(**check) for check in data["checks"]]})


def mark(check: CheckResult) -> str:
    """A check's outcome in words; None was not reached."""
    return {True: "passed", False: "failed", None: "not reached"}[check.passed]
