"""Attacks on the grey digits: what chapter 9 says of the record."""
from __future__ import annotations

from course_lib import records


def test_an_attack_on_ink_alone_through_the_repair_is_read_wrong_and_silent_on_some_images():
    rows = {row["model"]: row["test"] for row in records.read("attacks-digits")["rows"]}
    both = rows["PGD through the repair on ink alone, eps 2, repair within 2"]
    wrong = round(both["over"] * (1 - both["mean"] / 100))
    flagged = round(both["over"] * both["flagged"] / 100)
    unattacked = round(both["over"] * (1 - rows["repair within 2 levels, no attack"]["mean"] / 100))
    assert (wrong, flagged, unattacked) == (124, 93, 8), "figures that the chapter prints"
    assert wrong - flagged > unattacked, "more than are read wrong without an attack"


def test_what_chapter_09_says_of_attacks_through_the_repair():
    rows = {row["model"]: row["test"]["mean"] for row in records.read("attacks-digits")["rows"]}
    won = {}
    for eps in (1, 2, 3):
        repaired, through = (rows[f"{name}, eps {eps}, repair within {eps}"] for name in ("PGD", "PGD through the repair"))
        won[eps] = (repaired - through) / (repaired - rows[f"PGD, eps {eps}"])
    assert won[3] > 1 / 3 and rows["PGD, eps 2, repair within 2"] - rows["PGD through the repair, eps 2, repair within 2"] > 5
    assert rows["PGD, eps 1, repair within 1"] - rows["PGD through the repair, eps 1, repair within 1"] < 1
