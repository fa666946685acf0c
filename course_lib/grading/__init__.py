"""Exercises that grade themselves: `check`, `hint` and `solution` in a notebook, `evaluate` from Python,
`python -m course_lib.grading` for classes. One definition of each exercise stands behind them all.

The package itself holds the references, in the open: `check` and `evaluate` are for learning. Marks for credit come
from the command line, which runs each answer in a sandbox that does not hold them.
"""
import sys
import types
from importlib import import_module

__all__ = ["EXERCISES", "Exercise", "Report", "check", "evaluate", "hint", "solution"]
_HOMES = {"EXERCISES": "bank", "Exercise": "exercise", "Report": "report", "check": "notebook", "hint": "notebook",
          "solution": "notebook"}


class _Package(types.ModuleType):
    """Imports torch when something of the package is first used: the command line starts its sandbox before that.

    `evaluate` is the function, although a module of that name lies in the package.
    """

    def __getattr__(self, name):
        if name not in _HOMES:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{self.__name__}.{_HOMES[name]}"), name)

    @property
    def evaluate(self):
        return import_module(f"{self.__name__}.evaluate").evaluate

    @evaluate.setter
    def evaluate(self, _):
        """The import system's attempt to put the module here."""

    def __dir__(self):
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
