"""Notebooks as learners hand them in, right and otherwise."""
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.grading import Graded, grade_file
from course_lib.grading.sandbox.sandbox import Limits

SHORT = Limits(statement=0.6, grace=0.4, memory=500_000_000)      # for answers that hang or swell

LOGLIK = """
import torch

def bernoulli_chain_loglik(x, p):
    # 0 for the variables that are 1
    return torch.where(x == 1, p, 1 - p).log().sum(dim=1)
"""
TABLE = """
def conditional_table(joint, i):
    later = tuple(range(i + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    return joint[..., 1] / joint.sum(dim=-1)
"""
LEAKS = """
import itertools

def find_leaks(conditionals, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    before, found = conditionals(states), set()
    for j in range(n):
        other = states.clone()
        other[:, j] = 1 - other[:, j]
        moved = ((conditionals(other) - before).abs() > 1e-6).any(dim=0)
        found |= {(i, j) for i in range(j + 1) if moved[i]}
    return sorted(found)
"""
IDS = ["bernoulli_chain_loglik", "conditional_table"]
ASKED = [EXERCISES[one] for one in IDS]


def code(source: str, kind: str = "code") -> dict:
    cell = {"cell_type": kind, "metadata": {}, "source": source.strip("\n").splitlines(keepends=True)}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def notebook(*cells, exercises=IDS) -> dict:
    metadata = {"course": {"exercises": list(exercises)}} if exercises else {}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata,
            "cells": [cell if isinstance(cell, dict) else code(cell) for cell in cells]}


def save(path: Path, content: dict | str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def quick(*ids: str, deadline: float = 5.0) -> list:
    """The exercises with less patience: little for answers that hang, enough for others on a busy machine."""
    return [replace(EXERCISES[one], deadline=float(deadline)) for one in ids or IDS]


def graded(tmp_path: Path, worker, *cells, exercises=None, limits=Limits(), seed: int = 5) -> Graded:
    """The record of a notebook with these cells."""
    path = save(tmp_path / "hw.ipynb", notebook(*cells))
    return grade_file(path, worker, seed, limits=limits, exercises=exercises or ASKED)
