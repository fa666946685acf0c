"""What of the course is there when an answer is graded: the contract's ground floor. An allow-list; the rest of the
library answers exercises."""
from __future__ import annotations

import importlib.abc
import sys

NAMED = ("autoregressive", "conditional")                        # what an answer may want
FILES = ("__init__", "autoregressive", "conditional", "validation")      # those, and what they import
INSIDE = "grading.sandbox.inside"
THERE = {"course_lib", *(f"course_lib.{name}" for name in FILES[1:]),
         *(f"course_lib.{INSIDE}".rsplit(".", above)[0] for above in range(3))}


def is_there(module: str) -> bool:
    """Whether a module of this name can be imported when an answer is graded, if it is one of the course's."""
    return (module.partition(".")[0] != "course_lib" or module in THERE
            or module.startswith(f"course_lib.{INSIDE}."))


def absent(module: str) -> str:
    """The sentence about a module of the course that is not there."""
    room = ".".join(module.split(".")[:2])
    return (f"{room} is not there when an answer is graded; the contract's ground floor is: "
            + ", ".join(f"course_lib.{name}" for name in NAMED))


class Ground(importlib.abc.MetaPathFinder):
    """Asked before all other finders: the import of another part of the course says why it fails."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> None:
        """Leaves what is there to the other finders. Raises ModuleNotFoundError for the rest of the course."""
        if not is_there(name):
            raise ModuleNotFoundError(absent(name), name=name)


def keep_to_the_ground() -> None:
    """From now on, this process imports of the course what is there."""
    if Ground not in sys.meta_path:
        sys.meta_path.insert(0, Ground)
