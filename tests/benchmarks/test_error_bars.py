"""The drawing of a comparison: every mean and every bar where its number says, and the same numbers in words."""
from __future__ import annotations

import copy
from xml.etree import ElementTree

import pytest

from tools import error_bars, results_page

SVG = "{http://www.w3.org/2000/svg}"
FIGURES = {"pre-trained": [(60.0, 1.5), (68.0, 0.5), (76.0, 0.25)], "from scratch": [(52.0, 2.0), (63.0, 1.0), (75.0, 0.5)]}
MANY = ("100", "1,000", "all")
RECORD = {"name": "small", "unit": "% right", "rows": [
    {"model": f"{way}, {many} labels", "test": {"mean": FIGURES[way][i][0], "standard_error": FIGURES[way][i][1]}}
    for i, many in enumerate(MANY) for way in FIGURES]}


def scale(tree):
    """From a height in the drawing to a value, by the two outer lines of the grid and what stands beside them."""
    numbers = [(int(text.text), float(text.get("y")) - 4) for text in tree.findall(f"{SVG}text") if text.get("text-anchor") == "end"]
    (low, bottom), (high, top) = min(numbers), max(numbers)
    return lambda y: low + (bottom - y) * (high - low) / (bottom - top)


@pytest.mark.parametrize("shift", [0, -54.0])
def test_every_mean_and_every_bar_is_where_its_number_says(shift):
    record = copy.deepcopy(RECORD)
    for row in record["rows"]:
        row["test"]["mean"] += shift
    tree = ElementTree.fromstring(error_bars.drawing(record))
    value = scale(tree)
    lines = tree.findall(f"{SVG}polyline")
    bars = [path.get("d").split("M")[1] for path in tree.findall(f"{SVG}path") if path.get("d").count("M") == 3]
    assert len(lines) == 2 and len(bars) == 6
    places = set()
    for k, (points, line) in enumerate(zip(FIGURES.values(), lines)):
        for i, ((mean, error), point) in enumerate(zip(points, line.get("points").split())):
            x, y = map(float, point.split(","))
            assert value(y) == pytest.approx(mean + shift, abs=0.02)
            start, bottom = bars[3 * k + i].split("V")
            at, top = start.split(" ")
            assert (value(float(top)), value(float(bottom))) == pytest.approx((mean + shift + error, mean + shift - error), abs=0.02)
            assert float(at) == x and error_bars.LEFT < x < error_bars.WIDTH - error_bars.RIGHT
            places.add(x)
    assert len(places) == 6                                           # no bar hides another


def test_the_words_have_every_number():
    words = error_bars.alternative(RECORD)
    for way, points in FIGURES.items():
        assert f"{way} {', '.join(f'{mean:.1f} ± {error:.1f}' for mean, error in points)}" in words
    assert words.startswith("% right at 100, 1,000 and all labels") and words in error_bars.drawing(RECORD)


def test_a_missing_row_is_said():
    with pytest.raises(ValueError, match="small has rows for pre-trained, from scratch at 100, 1,000, all labels, and not every"):
        error_bars.drawing({**RECORD, "rows": RECORD["rows"][:-1]})


def test_the_page_shows_each_drawing_and_a_changed_record_makes_it_stale(monkeypatch, capsys):
    records, papers = copy.deepcopy(results_page.read())
    drawn = [record for record in records if record["name"] in error_bars.DRAWN]
    assert {record["name"] for record in drawn} == set(error_bars.DRAWN)
    page = results_page.page(records, papers)
    for record in drawn:
        assert f"![{error_bars.alternative(record)}](drawings/{record['name']}.svg)" in page
    drawn[0]["rows"][0]["test"]["standard_error"] += 0.04             # too little for the words
    monkeypatch.setattr(results_page, "read", lambda: (records, papers))
    assert results_page.main(["--check"]) == 1
    assert f"{drawn[0]['name']}.svg is stale" in capsys.readouterr().err
