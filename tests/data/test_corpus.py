"""The corpus of prose: frozen, cut into parts that share nothing, and plain."""
from __future__ import annotations

import hashlib
import re

import pytest

from course_lib.data.corpus import load_prose


def test_prose_hash():
    """Figures in the book depend on every character. A change here is a change of all of them."""
    digest = hashlib.sha256(load_prose().encode()).hexdigest()
    assert digest == "6c5d46251ae2b4a81e7bacde5e4931a3488695a75980934a7b5ce9e23dddadfa"


def test_prose_parts():
    parts = {part: load_prose(part).splitlines() for part in ("train", "valid", "test")}
    assert [len(lines) for lines in parts.values()] == [72, 9, 9]
    assert sorted(sum(parts.values(), [])) == sorted(load_prose().splitlines())
    assert len(set(sum(parts.values(), []))) == 90
    train, valid, test = ({s for line in lines for s in re.split(r"(?<=[.?!]) ", line) if len(s) > 30}
                          for lines in parts.values())
    assert not (train & valid or train & test or valid & test)


def test_bad_input():
    with pytest.raises(ValueError, match="part is 'dev'; expected one of train, valid, test"):
        load_prose("dev")
