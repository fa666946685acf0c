"""Each planted fault is caught, by the check that claims to; the right source passes the same check."""
from __future__ import annotations

import pytest

from tests.mutation import tables, verdict

FAULTS = [(name.removeprefix("tests.").removesuffix("mutants"), mutant) for name, table in tables().items() for mutant in table]
RIGHT = {(mutant.caught_by, mutant.right): folder for folder, mutant in FAULTS}


@pytest.mark.parametrize("check, right", [
    pytest.param(*proof, id=f"{folder}{proof[0].__name__}", marks=pytest.mark.xdist_group(f"right {folder}"))
    for proof, folder in RIGHT.items()])
def test_right_thing_passes(check, right):
    """The tests of the first tier for what the checks prove; each folder's `checks.py` says what that is."""
    check(right())


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=f"{folder}{mutant}") for folder, mutant in FAULTS])
def test_a_fault_is_caught(mutant):
    wrong = verdict(mutant)
    assert not wrong, wrong
