"""The contract catches its faults whatever the seed."""
from __future__ import annotations

import pytest

from tests.mutation import tables

SEEDS = 25
WHATEVER_THE_SEED = {
    "a mask that keeps its diagonal: variable i helps to predict itself",
    "a leak in some states only: variable 1 looks ahead where variable 0 is set",
    "a leak whose weights cancel where they start: a test at the initial weights sees nothing",
    "given values pasted over a free draw: what follows does not know them",
    "one uniform for all variables: each is right, together they are not",
    "the same for continuous variables",
    "one parent of many is missing",
    "samples left in drawing order: column k is not variable k",
    "a mixture that always draws from its first component",
}


@pytest.mark.thorough
@pytest.mark.parametrize("trap", sorted(WHATEVER_THE_SEED))
def test_faults_caught_any_seed(trap):
    [mutant] = [each for table in tables().values() for each in table if each.trap == trap]
    missed = []
    for seed in range(SEEDS):
        try:
            mutant.caught_by(mutant.broken(), seed=seed)
            missed.append(seed)
        except AssertionError:
            pass
    assert not missed
