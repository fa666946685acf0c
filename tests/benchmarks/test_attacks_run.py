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
