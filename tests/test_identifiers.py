"""Identifiers are spelled as torch spells its own, with -ize: who types a name from memory finds it. Prose may differ."""
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.imports import python_files

WORDS = ("binarize discretize equalize factorize finalize generalize initialize localize marginalize maximize memorize minimize "
         "normalize optimize organize parametrize penalize quantize randomize regularize serialize specialize standardize "
         "summarize symbolize tokenize vectorize visualize")
STEMS = "|".join(word.removesuffix("ize") for word in WORDS.split())
OTHERWISE = re.compile(rf"({STEMS})is(e[drs]?|ers|ing|ations?)(?![a-z])", re.IGNORECASE)
# Names inside checks of exercises: a class that was graded before would be graded anew for a letter.
GRADED = "course_lib/grading/bank/"


def identifiers(text: str) -> set[str]:
    """Every name that a file defines, uses, or passes as a keyword."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        for field in ("id", "attr", "name", "arg", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
    return found


@pytest.mark.parametrize("folder", ["course_lib", "tests", "benchmarks", "tools", "book/_ext"])
def test_identifiers_have_torchs_spelling(folder):
    other = {f"{path.relative_to(ROOT)}: {name}" for path in python_files(ROOT / folder)
             if not path.relative_to(ROOT).as_posix().startswith(GRADED)
             for name in identifiers(path.read_text("utf-8")) if OTHERWISE.search(name)}
    assert not other, f"write -ize: {', '.join(sorted(other))}"


@pytest.mark.parametrize("line, other", [
    ("def normalise(x): ...", {"normalise"}), ("f(standardised=1)", {"standardised"}), ("x.optimiser.step()", {"optimiser"}),
    ("class Unnormalised: ...", {"Unnormalised"}), ("from a import tokeniser as b", {"tokeniser"}),
    ("normalize(promise, noise, raise_, likelihood, precision, otherwise, factors)", set()),
])
def test_what_is_found(line, other):
    assert {name for name in identifiers(line) if OTHERWISE.search(name)} == other


def test_the_bank_is_where_it_is_said_to_be():
    assert Path(ROOT / GRADED).is_dir()
