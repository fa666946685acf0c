"""Answers as learners write them: right in other words, and wrong in ways that no misconception names.

A module for each chapter, with the name of the chapter's folder.
"""
from __future__ import annotations

from importlib import import_module

from course_lib.exercises import chapters
from tests.exercises.answers.register import BLIND, CALLED, RIGHT, WRONG

for slug in chapters():
    name = slug.replace("-", "_")
    import_module(f"tests.exercises.answers.{name}")
    import_module(f"tests.exercises.blind.{name}")

__all__ = ["BLIND", "CALLED", "RIGHT", "WRONG"]
