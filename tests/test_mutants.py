"""Each planted fault is caught, by the check that claims to; the right source passes the same check."""
from __future__ import annotations

import pytest

from tests.mutation import tables, verdict

FAULTS = [pytest.param(mutant, id=f"{name.removeprefix('tests.').removesuffix('mutants')}{mutant}")
          for name, table in tables().items() for mutant in table]


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", FAULTS)
def test_a_fault_is_caught(mutant):
    wrong = verdict(mutant)
    assert not wrong, wrong
