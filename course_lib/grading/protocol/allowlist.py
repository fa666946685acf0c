"""The modules of the course that exist when an answer is graded: the contract and its families. The rest answers exercises."""
import importlib.abc
import sys

NAMED = ("autoregressive", "conditional")                        # what an answer may want
FILES = ("__init__", "autoregressive", "conditional", "validation")      # those, and what they import
FOLDERS = ("grading.protocol", "grading.sandbox.inside")         # of the grader
ALLOWED = {"course_lib", "course_lib.grading", "course_lib.grading.sandbox", *(f"course_lib.{name}" for name in FILES[1:])}


def is_allowed(module: str) -> bool:
    """Whether a module of this name, if it is one of the course's, can be imported when an answer is graded."""
    return (module.partition(".")[0] != "course_lib" or module in ALLOWED
            or f"{module}.".startswith(tuple(f"course_lib.{folder}." for folder in FOLDERS)))


def denied_message(module: str) -> str:
    """The sentence about a module of the course that does not exist there."""
    package = ".".join(module.split(".")[:2])
    return (f"{package} does not exist when an answer is graded; of the course an answer can import "
            + ", ".join(f"course_lib.{name}" for name in NAMED))


class AllowlistFinder(importlib.abc.MetaPathFinder):
    """Asked before all other finders: the import of another part of the course says why it fails."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> None:
        """Leave what is allowed to the other finders. Raises ModuleNotFoundError for the rest of the course."""
        if not is_allowed(name):
            raise ModuleNotFoundError(denied_message(name), name=name)


def install() -> None:
    """From now on, this process imports of the course only what is allowed."""
    if AllowlistFinder not in sys.meta_path:
        sys.meta_path.insert(0, AllowlistFinder)
