"""Notices that an answer reaches a ready-made function which its exercise asks for.

Where it is reached, not how it is spelt: torch tells a `TorchFunctionMode` of each of its functions and methods that is
called from Python, by its own name, from inside `nn` modules and other libraries too. A function of the learner's that
has such a name is none of torch's. It is for the honest: a process can be talked out of watching itself.
"""
from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from types import FrameType

import torch
from torch.overrides import TorchFunctionMode

OWN = "course_lib.exercises"                          # what the judge hands out is not the learner's doing
NAME = re.compile(r"(\w+(?:\.\w+)*\.(\w+))(?:\((\w+)=\.\.\.\))?")


class Watch(TorchFunctionMode):
    """In its block, `reached` becomes the first of `names` that is called; "" if none is.

    A name is that of a function ("F.layer_norm", "torch.logsumexp"), of one with an argument that is not false
    ("F.cross_entropy(label_smoothing=...)"), or of a class of torch's ("torch.distributions.MixtureSameFamily").
    Raises ValueError for a name that torch does not have.
    """

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self.reached, self.functions, self.classes = "", {}, {}
        for name in names:
            found = resolved(name)
            if isinstance(found, type):
                self.classes[found] = name
            else:
                self.functions[NAME.fullmatch(name)[2]] = name, NAME.fullmatch(name)[3]

    def __torch_function__(self, function: Callable, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, argument = self.functions.get(plain_name(function), ("", None))
        if name and (argument is None or kwargs.get(argument)):
            self.note(name)
        return function(*args, **kwargs)

    def note(self, name: str) -> None:
        """This one was reached: by the learner's code, unless a function of the judge's own stands between."""
        if not self.reached and not of_the_judge(sys._getframe(2)):
            self.reached = name


def plain_name(function: Callable) -> str:
    """The name under which torch documents a function: "log_softmax" of its method, its operator, its private form."""
    name = getattr(function, "__name__", "").partition(".")[0].strip("_")
    for prefix in ("special_", "native_"):
        name = name.removeprefix(prefix)
    return name


def resolved(name: str) -> Callable:
    """The function or class that a name of an exercise's `forbid` means. Raises ValueError if torch has none."""
    match = NAME.fullmatch(name)
    top, _, path = match[1].partition(".") if match else ("", "", "")
    try:
        return attrgetter(path)({"torch": torch, "F": torch.nn.functional}[top])
    except (AttributeError, KeyError):
        raise ValueError(f"forbid has {name!r}; expected a name such as F.softmax, torch.logsumexp or "
                         "F.cross_entropy(label_smoothing=...)") from None


def of_the_judge(frame: FrameType | None) -> bool:
    """Whether a function of the judge's own is at work, between the call of the learner's function and this frame."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == "course_lib.grading.sandbox.inside.local":
            return False
        if module == OWN or module.startswith(OWN + "."):
            return True
        frame = frame.f_back
    return False


@contextmanager
def watched(names: Sequence[str]):
    """The block, watched for `names`; gives an object with `reached`. All is as before when it ends."""
    watch = Watch(names)
    with ExitStack() as stack:
        for kind, name in watch.classes.items():
            stack.enter_context(told(kind, functools.partial(watch.note, name)))
        if watch.functions:
            stack.enter_context(watch)
        yield watch


@contextmanager
def told(kind: type, note: Callable[[], None]):
    """In the block, `note` is called whenever an object of this class, or of one below it, is made."""
    own, before = "__init__" in vars(kind), kind.__init__

    @functools.wraps(before)
    def made(self, *args, **kwargs):
        note()
        before(self, *args, **kwargs)

    kind.__init__ = made
    try:
        yield
    finally:
        if own:
            kind.__init__ = before
        else:
            del kind.__init__
