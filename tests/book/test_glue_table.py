"""The GLUE table that chapter 18 quotes: nine columns a row, one printed average that is not the mean."""
from __future__ import annotations

import ast
import json

from tests.conftest import ROOT


def test_the_averages_are_the_means_but_for_elmo():
    cells = json.loads((ROOT / "book" / "18-bert.ipynb").read_text("utf-8"))["cells"]
    cell = next(cell for cell in cells if "".join(cell["source"]).startswith("glue = "))
    table = ast.literal_eval(ast.parse("".join(cell["source"])).body[0].value)
    means = {name: sum(scores) / len(scores) for name, (*scores, _) in table.items() if len(scores) == 9}
    assert [round(mean, 2) for mean in means.values()] == [74.0, 70.94, 75.13, 79.6, 82.08]
    assert [name for name in means if round(means[name], 1) != table[name][-1]] == ["ELMo"]
    assert round(82.1 / 75.1 - 1, 3) == 0.093 and "+9.3%" in "".join(cell["outputs"][0]["text"])
