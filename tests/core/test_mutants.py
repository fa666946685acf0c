"""Each planted fault is caught, by the check that claims to; the right model passes the same check."""
from __future__ import annotations

import pytest

from tests.core.mutants import MODELS
from tests.core.mutants_density import DENSITY
from tests.core.mutants_families import FAMILIES

MUTANTS = [*MODELS, *FAMILIES, *DENSITY]
IDS = [m.name for m in MUTANTS]


def verdict(mutant) -> str:
    """Empty if the mutant is caught and its right counterpart passes; else what went wrong."""
    try:
        mutant.caught_by(mutant.right())
    except Exception as error:
        return f"{mutant.name}: the right one fails too: {error}"
    try:
        mutant.caught_by(mutant.broken())
    except mutant.error:
        return ""
    except Exception as error:
        return f"{mutant.name}: stopped by an accident, not by the check: {error!r}"
    return f"{mutant.name}: not caught ({mutant.trap})"


def test_names_and_traps_are_told_apart():
    assert len(set(IDS)) == len(IDS) and len({m.trap for m in MUTANTS}) == len(MUTANTS) >= 120
    assert all(m.trap and m.trap[-1] != "." for m in MUTANTS)


@pytest.fixture(scope="module")
def verdicts():
    return {m.name: verdict(m) for m in MUTANTS}


@pytest.mark.parametrize("name", IDS)
def test_a_mutant_is_caught(name, verdicts):
    assert not verdicts[name], verdicts[name]


def test_the_score(verdicts, capsys):
    caught = sum(not v for v in verdicts.values())
    with capsys.disabled():
        print(f"\nmutants caught: {caught} of {len(MUTANTS)}")
    assert caught == len(MUTANTS), "\n".join(v for v in verdicts.values() if v)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diagonal", "conditional leak", "cancelling leak", "given pasted afterwards",
                                  "one uniform for all", "one uniform for all gaussians", "one missing parent",
                                  "samples in drawing order", "mixture of the first"])
def test_a_mutant_is_caught_whatever_the_seed(name):
    mutant = next(m for m in MUTANTS if m.name == name)
    missed = []
    for seed in range(25):
        try:
            mutant.caught_by(mutant.broken(), seed=seed)
            missed.append(seed)
        except AssertionError:
            pass
    assert not missed


def test_a_blind_check_would_be_noticed():
    """The verdict is worth something: a check that passes all, and one that fails all, are both found out."""
    from dataclasses import replace

    def always_fails(_):
        raise AssertionError("always")

    first = MUTANTS[0]
    assert "not caught" in verdict(replace(first, caught_by=lambda _: None))
    assert "the right one fails too" in verdict(replace(first, caught_by=always_fails))
    assert "an accident" in verdict(replace(first, broken=lambda: None))
