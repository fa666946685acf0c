"""`course_lib.records`: what chapters show of the records. That the copy is up to date is checked with the generated pages."""
from __future__ import annotations

import pytest

from course_lib import records


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="name is 'rnade'; the records are .*rnade-red-wine"):
        records.read("rnade")


def test_figures_beside_those_of_papers():
    text = records.beside_the_papers("made-binarized-mnist-8000", of="MADE").splitlines()
    made = records.read("made-binarized-mnist-8000")
    (row,), nats = made["rows"], made["rows"][0]["test"]
    assert text[0].startswith(f"{nats['mean']:.2f} ± {nats['standard_error']:.2f}   {row['model']}, measured here")
    papers = [paper for paper in made["papers"] if paper["model"].startswith("MADE")]
    assert len(text) == 1 + len(papers) < 1 + len(made["papers"])
    for line, paper in zip(text[1:], papers):
        assert line.startswith(f"{paper['value']:.2f}  ") and f"  {paper['model']}, {paper['authors']}" in line
        assert line.endswith(f"quoted by {paper['by']}" if "by" in paper else paper["authors"])
