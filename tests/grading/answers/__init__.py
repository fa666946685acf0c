"""Answers as learners write them: right in other words, and wrong in ways that no misconception names.

A module for each chapter, with the name of the chapter's module in the bank.
"""
from __future__ import annotations

from importlib import import_module

from course_lib.grading.bank import MODULES
from tests.grading.answers.register import RIGHT, WRONG

for module in MODULES:
    import_module(f"tests.grading.answers.{module.__name__.rpartition('.')[2]}")

__all__ = ["RIGHT", "WRONG"]
