"""Answers as learners write them: right in other words, and wrong in ways that no misconception names.

A module for each chapter, with the name of the chapter's folder in the bank.
"""
from __future__ import annotations

from importlib import import_module

from course_lib.grading.bank import CHAPTERS
from tests.grading.answers.register import BLIND, CALLED, RIGHT, WRONG

for chapter in CHAPTERS:
    name = chapter.__name__.rpartition(".")[2]
    import_module(f"tests.grading.answers.{name}")
    import_module(f"tests.grading.blind.{name}")

__all__ = ["BLIND", "CALLED", "RIGHT", "WRONG"]
