"""Answers as learners write them: right in other words, and wrong in ways that no misconception names.

A module for each chapter, with the name of the chapter's folder.
"""
from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.exercises.answers.register import BLIND, CALLED, RIGHT, WRONG

for folder in ("answers", "blind"):
    for path in sorted((Path(__file__).parents[1] / folder).glob("[a-z]*.py")):
        import_module(f"tests.exercises.{folder}.{path.stem}")

__all__ = ["BLIND", "CALLED", "RIGHT", "WRONG"]
