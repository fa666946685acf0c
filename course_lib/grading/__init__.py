"""Exercises that grade themselves: `check`, `hint`, `solution`, `gap`, `progress` and `next_exercise` in a notebook, and `evaluate`, for
learning; for credit `python -m course_lib.grading`, which runs each answer in a sandbox that does not hold the references."""
from importlib import import_module

__all__ = ["EXERCISES", "Exercise", "Report", "case", "check", "evaluate", "gap", "hint", "next_exercise", "progress", "score", "solution"]
_HOMES = {"EXERCISES": "course_lib.exercises"} | {name: f"{__name__}.{module}" for name, module in {
    "Exercise": "exercise", "Report": "verdict", "case": "notebook", "check": "notebook", "evaluate": "notebook", "gap": "prediction", "hint": "notebook",
    "next_exercise": "progress_file", "progress": "progress_file", "score": "open_questions", "solution": "notebook"}.items()}


def __getattr__(name):
    """Imports torch when something of the package is first used: the command line starts its sandbox before that."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__():
    return sorted({*globals(), *__all__})
