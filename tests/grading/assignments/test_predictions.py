"""What the pages compare a prediction with is the measurement that their text speaks of."""
from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT

MEASURED = {"01-chain-rule": ["smaller"], "08-made": ["one"], "11-pixelcnn": [6], "18-positions": [["half speed"]],
            "20-training-a-transformer": [[2000, 16_000]], "21-gpt": [94.1], "22-decoding": [18, 243], "24-bert": [["two", "three"]]}


def cells(path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_all_pages_with_a_prediction_are_here():
    found = {path.stem: sum("gap(prediction" in cell for cell in cells(path)) for path in (ROOT / "solutions").glob("*.ipynb")}
    assert {name: number for name, number in found.items() if number} == {name: len(row) for name, row in MEASURED.items()}


@pytest.mark.parametrize("name", MEASURED)
def test_a_prediction_meets_what_was_measured(name):
    found, space = [], {}
    for cell in cells(ROOT / "solutions" / f"{name}.ipynb"):
        if not any(line.startswith(("check(", "    %pip")) for line in cell.splitlines()):
            exec(compile(cell, name, "exec"), space)
        if "gap" in space:
            space["gap"] = lambda prediction, measured, *rest: found.append(measured)
    assert found == MEASURED[name]
