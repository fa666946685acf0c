"""Each planted fault is caught, by the check that claims to; the right source passes the same check."""
from __future__ import annotations

import pytest

from tests.mutation import verdict
from tests.pixels.mutants import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_fault_is_caught(mutant):
    wrong = verdict(mutant)
    assert not wrong, wrong
