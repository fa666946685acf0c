"""Each fault planted in the source is caught by the check that claims to; the right source passes the same check."""
from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.transformer import mutants, mutants_translation
from tests.transformer.mutants import Mutant, planted

MUTANTS = mutants.MUTANTS + mutants_translation.MUTANTS


@cache
def the_right_one(caught_by, module, name) -> str:
    """Empty if the library passes the check; asked once for all mutants that share it."""
    try:
        caught_by(module if name is None else getattr(module, name))
    except (Exception, pytest.fail.Exception) as error:
        return f"the right one fails too: {error!r}"
    return ""


def verdict(mutant: Mutant) -> str:
    """Empty if the mutant is caught and the right source passes; else what went wrong."""
    if wrong := the_right_one(mutant.caught_by, mutant.module, mutant.name):
        return f"{mutant.trap}: {wrong}"
    broken = mutant.broken()
    try:
        mutant.caught_by(broken)
    except (AssertionError, pytest.fail.Exception):
        return ""
    except tuple(mutant.accident):
        return ""
    except Exception as error:
        return f"{mutant.trap}: stopped by an accident, not by the check: {error!r}"
    return f"{mutant.trap}: not caught"


def test_traps_are_told_apart():
    assert len({m.trap for m in MUTANTS}) == len(MUTANTS) and all(m.trap[-1] != "." for m in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[m.trap for m in MUTANTS])
def test_a_mutant_is_caught(mutant):
    assert not verdict(mutant), verdict(mutant)


def test_a_blind_check_would_be_noticed():
    first = MUTANTS[0]
    blind = replace(first, caught_by=lambda thing: None)
    assert verdict(blind).endswith("not caught")
    with pytest.raises(LookupError, match="0 times"):
        planted(first.module, "no such source", "")
