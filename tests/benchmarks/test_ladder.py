"""The ladder holds every record and every paper's figure of its sets, in one unit, at the right places."""
from __future__ import annotations

import copy
import math
import re

import pytest

from tests.conftest import ROOT
from tools import ladder

MARK = re.compile(r'<circle class="cd-f-data" cx="([\d.]+)"[^>]*r="5"|'
                  r'<polygon class="cd-f-paper cd-s-learn" points="[\d.]+,[\d.]+ ([\d.]+),')


@pytest.fixture(scope="module")
def read():
    return ladder.read()


def entries(papers):
    return [entry for entry in papers["set"] if "ladder" in entry]


def test_page_and_pictures_are_up_to_date(capsys):
    assert ladder.main(["--check"]) == 0, capsys.readouterr().err


def test_the_four_sets_of_the_course_have_a_ladder(read):
    units = {entry["data"]: entry["ladder"] for entry in entries(read[1])}
    assert units.items() >= {"binarized_mnist": "nats", "digits": "nats", "tiny_shakespeare": "bits a character",
                             "multi30k": "BLEU"}.items()


def test_a_new_record_is_a_new_rung_and_a_changed_one_moves(read, monkeypatch, capsys):
    records, papers = copy.deepcopy(read)
    new = copy.deepcopy(next(r for r in records if r["name"] == "nade-binarized-mnist"))
    new["name"] = "made-binarized-mnist-32-masks"
    new["rows"][0].update(model="MADE, 32 masks", test={"mean": 81.3, "standard_error": 0.2, "over": 10000})
    pages = ladder.wanted([*records, new], papers)
    assert "| MADE, 32 masks | 81.30\u00a0±\u00a00.20 | measured here |" in pages[ladder.PAGE]
    assert ">MADE, 32 masks<" in pages[ladder.DRAWINGS / "ladder-binarized-mnist.svg"]
    monkeypatch.setattr(ladder, "read", lambda: ([*records, new], papers))
    assert ladder.main(["--check"]) == 1
    err = capsys.readouterr().err
    assert "book/ladder.md is stale" in err and "ladder-binarized-mnist.svg is stale" in err and "digits" not in err


def test_every_record_and_every_figure_of_a_set_stands_in_its_table(read):
    records, papers = read
    parts = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", ladder.PAGE.read_text("utf-8"), re.M | re.S))
    assert list(parts) == [entry["title"] for entry in entries(papers)]
    for entry in entries(papers):
        lines = [line for line in parts[entry["title"]].splitlines() if line.startswith("| ")][1:]
        count = 0
        for record in records:
            if record["kind"] != "result" or record["data"]["name"] != entry["data"]:
                continue
            if record["name"] in entry.get("besides", ()):
                assert all(row["model"] not in parts[entry["title"]] for row in record["rows"] if row["model"] != "classifier")
                continue
            nats = 1 / math.log(2) if (record["unit"], entry["ladder"]) == ("nats a character", "bits a character") else 1
            for row in record["rows"]:
                if ", order " in row["model"]:
                    continue
                figure = f"{row['test']['mean'] * nats:.2f}\u00a0±\u00a0{row['test']['standard_error'] * nats:.2f}"
                assert any(row["model"] in line and f"| {figure} | measured here |" in line for line in lines), (row["model"], figure)
                count += 1
        for figure in papers["figure"] + papers["beside"]:
            if figure["data"] == entry["data"] and "value" in figure:
                assert any(line.startswith(f"| {figure['model']} |") and f"({figure['source']} \"{figure['where']}\")" in line
                           and f"{{cite:t}}`{figure['key']}`" in line for line in lines), figure["model"]
                count += 1
        assert len(lines) == count + sum(" orders |" in line for line in lines)
        figures = [float(re.match(r" \[?([\d.]+)", line.split("|")[2])[1]) for line in lines]
        assert figures == sorted(figures, reverse=entry["ladder"] == "BLEU")


def test_the_orders_of_one_model_are_one_rung(read):
    (digits,) = [entry for entry in entries(read[1]) if entry["data"] == "digits"]
    (rung,) = [rung for rung in ladder.rungs(*read, digits) if rung.model == "MADE, 8 orders"]
    (record,) = [r for r in read[0] if r["name"] == "made-digits"]
    assert rung.values == tuple(row["test"]["mean"] for row in record["rows"][:8])
    assert rung.figure == f"{min(rung.values):.2f} to {max(rung.values):.2f}"


def test_marks_stand_where_the_axis_says(read):
    """Discs for what was measured here, diamonds for papers; places are linear in the figures."""
    for entry in entries(read[1]):
        found = ladder.rungs(*read, entry)
        svg = ladder.address(entry).read_text("utf-8").split("reported by a paper")[1]
        marks = MARK.findall(svg)                                     # of a disc its centre, of a diamond its upper corner
        assert [bool(disc) for disc, _ in marks] == [not rung.who for rung in found for _ in rung.values]
        places = [float(disc or corner) for disc, corner in marks]
        ticks = [(float(t), float(p)) for p, t in re.findall(
            r'class="cd-f-soft" x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([\d.]+)</text>', svg)]
        (t0, p0), (t1, p1) = ticks[0], ticks[-1]
        for place, value in zip(places, [value for rung in found for value in rung.values]):
            assert place == pytest.approx(p0 + (value - t0) / (t1 - t0) * (p1 - p0), abs=0.1), entry["data"]


def test_a_figure_measured_in_another_way_says_how(read):
    page = ladder.PAGE.read_text("utf-8")
    for figure in read[1]["beside"]:
        assert f"{figure['authors']}: {figure['differs']}." in page


def test_a_unit_that_the_ladder_does_not_know_is_refused(read):
    records, papers = copy.deepcopy(read)
    next(r for r in records if r["name"] == "nade-binarized-mnist")["unit"] = "bits"
    with pytest.raises(ValueError, match="nade-binarized-mnist is in bits, and its ladder in nats; the ladder knows nats as nats"):
        ladder.wanted(records, papers)


def test_no_picture_is_left_of_a_set_without_a_ladder():
    assert {path.name for path in ladder.DRAWINGS.glob("ladder-*.svg")} == {
        ladder.address(entry).name for entry in entries(ladder.read()[1])}
    assert (ROOT / "book" / "drawings") == ladder.DRAWINGS


def test_no_text_leaves_its_picture_or_lies_on_another(browser_path):
    from tests.support.browser import launched

    with launched(browser_path) as browser:
        page = browser.new_page()
        for file in sorted(ladder.DRAWINGS.glob("*.svg")):
            if not file.name.startswith(("ladder-", "front-")):
                continue
            page.set_content(file.read_text("utf-8"))
            boxes = page.evaluate("""() => [...document.querySelectorAll('svg text')].map(e => {
                const b = e.getBoundingClientRect(); return [e.textContent, b.left, b.top, b.right, b.bottom, !!e.closest('g[transform]')]})""")
            left, top, right, bottom = page.evaluate(
                "() => { const b = document.querySelector('svg').getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] }")
            for text, a, b, c, d, _ in boxes:
                assert left <= a and c <= right and top <= b and d <= bottom, (file.name, text)
            straight = [box for box in boxes if not box[5]]
            for k, (one, a, b, c, d, _) in enumerate(straight):
                for other, p, q, r, s, _ in straight[k + 1:]:
                    assert min(c, r) - max(a, p) < 1 or min(d, s) - max(b, q) < 4, (file.name, one, other)
