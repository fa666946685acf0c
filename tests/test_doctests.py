"""Every example in a docstring of the library runs."""
from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest
import torch

import course_lib

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> list[str]:
    """Every module of the library, but for the exercises and what runs in the sandbox alone."""
    found = [each.name for each in pkgutil.walk_packages(course_lib.__path__, "course_lib.")]
    return [name for name in found if not {"exercises", "inside", "__main__"} & set(name.split("."))]


def own(value: object, module: ModuleType) -> bool:
    return inspect.isclass(value) and value.__module__ == module.__name__ and not value.__name__.startswith("_")


def failures(module: ModuleType) -> tuple[int, list[str]]:
    """How many examples a module has, and what was said of those that failed."""
    said, runner, tried = [], doctest.DocTestRunner(optionflags=OPTIONS), 0
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        torch.manual_seed(0)
        tried += runner.run(test, out=said.append).attempted
    return tried, said


@pytest.mark.parametrize("name", modules())
def test_examples_run(name):
    _, said = failures(importlib.import_module(name))
    assert not said, "\n".join(said)
