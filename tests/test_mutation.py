"""The framework that plants faults: what it replaces, what it says when it cannot, and that no fault is lost."""
from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch

from course_lib import autoregressive
from course_lib.contract import check_causal
from course_lib.density import FVSBN, _block_solver, fvsbn, made
from tests.mutation import TESTS, Mutant, Stale, built, changed, faults, plant, tables, verdict

TABLES = tables()
MUTANTS = [mutant for table in TABLES.values() for mutant in table]
EARLIER = "position[None, :] < position[:, None]"
[FAULT] = faults(fvsbn, lambda m: m.FVSBN(5), check_causal, ("the diagonal", EARLIER, EARLIER.replace("<", "<=")))


# --- the tables ------------------------------------------------------------------------------------------------------


def test_every_line_that_a_fault_replaces_is_there():
    """All that a change of the library has made stale, in one list."""
    stale = []
    for name, table in TABLES.items():
        for mutant in table:
            try:
                mutant.replaces and changed(*mutant.replaces)
            except (Stale, ValueError) as error:
                stale.append(f"{name}: {mutant}: {error}")
    assert not stale, "\n".join(stale)


def test_no_fault_is_lost_and_all_are_told_apart():
    traps = [mutant.trap for mutant in MUTANTS]
    assert len(traps) >= 304 and not {trap for trap in traps if traps.count(trap) > 1}
    assert all(trap and trap[-1] != "." for trap in traps)


def test_every_table_is_asked_for_its_verdicts():
    for name in TABLES:
        beside = TESTS.joinpath(*name.split(".")[1:-1], "test_mutants.py")
        assert f"from {name} import MUTANTS\n" in beside.read_text("utf-8"), f"no test asks for the faults of {name}"


# --- planting --------------------------------------------------------------------------------------------------------


def test_a_planted_module_is_beside_the_library():
    before = sys.modules.copy()
    broken = plant(fvsbn, EARLIER, EARLIER.replace("<", "<="))
    assert broken.FVSBN(3).earlier.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert FVSBN(3).earlier.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert sys.modules == before and broken.FVSBN is not FVSBN


def test_a_fault_is_seen_from_the_module_that_imports_it():
    seen = plant(autoregressive, "return select_rows(state, rows)", "return state", seen_from=fvsbn)
    rows = torch.tensor([0, 0, 0])
    assert len(seen.FVSBN(3).select(seen.FVSBN(3).start(2), rows).logits) == 2
    assert len(FVSBN(3).select(FVSBN(3).start(2), rows).logits) == 3
    assert sys.modules["course_lib.autoregressive"] is autoregressive
    assert plant(_block_solver, "BLOCK = 112", "BLOCK = 7", seen_from=_block_solver).BLOCK == 7


def test_the_module_comes_back_when_what_imports_it_fails():
    with pytest.raises(ImportError):
        plant(autoregressive, "def check_order", "def other_order", seen_from=made)
    assert sys.modules["course_lib.autoregressive"] is autoregressive


@pytest.mark.parametrize("old, new, error, says", [
    ("no such source", "", Stale, r"the line this fault replaces is no longer in course_lib.density.fvsbn: "
                                  r"'no such source'. Plant the fault"),
    ("column = self.wieght[:, i] * self.earlier[:, i]", "", Stale, r"is no longer in course_lib.density.fvsbn: .* Line \d+ comes "
                                              r"nearest: 'column = self.weight\[:, i\]"),
    ("self.bias", "", Stale, r"the line this fault replaces is \d times in course_lib.density.fvsbn: 'self.bias'. "
                             "Name more of what stands around it"),
    (EARLIER, EARLIER, ValueError, "this fault changes nothing in course_lib.density.fvsbn: 'position"),
])
def test_a_text_that_cannot_be_replaced_once_is_an_error(old, new, error, says):
    with pytest.raises(error, match=says):
        plant(fvsbn, old, new)
    with pytest.raises(error, match=says):
        verdict(Mutant.planted("a fault", fvsbn, old, new, check_causal, lambda m: m.FVSBN(5)))


def test_what_the_check_is_given():
    for given, want in ((None, ModuleType), ("FVSBN", type), (lambda m: m.FVSBN(2), torch.nn.Module)):
        mutant = Mutant.planted("a fault", fvsbn, EARLIER, EARLIER.replace("<", "<="), check_causal, given)
        assert isinstance(mutant.right(), want) and isinstance(mutant.broken(), want)


# --- verdicts --------------------------------------------------------------------------------------------------------


def always_fails(_):
    raise AssertionError("always")


def has_five_variables(model):
    assert model.n == 5


def test_a_fault_that_is_seen():
    assert verdict(FAULT) == "" and str(FAULT) == "the diagonal"


def test_a_blind_check_would_be_noticed():
    assert verdict(replace(FAULT, caught_by=lambda _: None)) == "the diagonal: not caught"


def test_a_check_that_always_fails_would_be_noticed():
    assert "the diagonal: the right one fails too" in verdict(replace(FAULT, caught_by=always_fails))


def test_an_accident_is_no_catch_unless_it_is_declared():
    broken = replace(FAULT, broken=object, caught_by=has_five_variables)
    assert "stopped by an accident, not by the check: AttributeError" in verdict(broken)
    assert verdict(replace(broken, accident=(AttributeError,))) == ""


def test_what_is_built_goes_on_the_table():
    table = []

    @built(table, "an edge too many", lambda: FVSBN(3), check_causal)
    def edited():
        model = FVSBN(3)
        model.earlier[0, 2] = 1
        return model

    [mutant] = table
    assert verdict(mutant) == "" and mutant.replaces is None and mutant.broken is edited
