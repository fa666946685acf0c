"""Exercises that grade themselves: `check`, `hint` and `solution` in a notebook, `evaluate` from Python,
`python -m course_lib.grading` for classes. One definition of each exercise stands behind them all.

The package itself holds the references, in the open: `check` and `evaluate` are for learning. Marks for credit come
from the command line, which runs each answer in a sandbox that does not hold them.
"""
from course_lib.grading.bank import EXERCISES
from course_lib.grading.evaluate import evaluate
from course_lib.grading.exercise import Exercise
from course_lib.grading.notebook import check, hint, solution
from course_lib.grading.report import Report

__all__ = ["EXERCISES", "Exercise", "Report", "check", "evaluate", "hint", "solution"]
