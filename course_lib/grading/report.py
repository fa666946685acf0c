"""What became of one exercise: its state, its points, what to say about it."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field

STATES = {
    "not_attempted": "not attempted yet",
    "missing": "no such function",
    "error": "stopped with an error",
    "timeout": "took too long",
    "memory": "needed too much memory",
    "wrong_shape": "wrong shape or type",
    "wrong_value": "wrong value",
    "wrong_gradient": "right values, wrong gradient",
    "unreadable": "could not be read",
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
    """The verdict on one exercise. `state` is a key of STATES; `misconception` a name, or None."""

    exercise: str
    state: str
    earned: int = 0
    possible: int = 0
    misconception: str | None = None
    message: str = ""
    checks: list[CheckResult] = field(default_factory=list)
    seed: int | None = None

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
        lines = [f"{self.exercise}: {STATES[self.state]} ({self.earned} of {self.possible} points)"]
        if self.state != "not_attempted":            # a gate is told only when it stops the answer
            lines += [f"  {mark(check)}  {check.name}" for check in self.checks if check.possible or not check.passed]
        return "\n".join(lines + ([self.message] if self.message else []))

    def to_dict(self) -> dict:
        """As plain data; `from_dict` gives the report back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Report:
        return cls(**{**data, "checks": [CheckResult(**check) for check in data["checks"]]})


def mark(check: CheckResult) -> str:
    return {True: "passed", False: "failed", None: "not reached"}[check.passed]
