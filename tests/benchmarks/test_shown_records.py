"""`course_lib.records`: what chapters show of the records. That the copy is up to date is checked with the generated pages."""
from __future__ import annotations

import pytest

from course_lib import records


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="name is 'rnade'; expected one of .*rnade-red-wine"):
        records.read("rnade")
