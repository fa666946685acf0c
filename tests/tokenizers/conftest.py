"""The prose of the course, on which the tests train tokenizers, and the files that were published."""
from __future__ import annotations

import pytest

from course_lib.data.corpus import load_prose


@pytest.fixture(scope="session")
def prose():
    return load_prose()


@pytest.fixture(scope="session")
def published_files(course_data):
    """The folder with GPT-2's merges and BERT's vocabulary."""
    return course_data / "tokenizers"
