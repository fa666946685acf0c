"""What stands in the wrong place is named: a text for a vocabulary, a prompt for a length, nothing for a card.

The other tests check the types of signatures in every call, so that these calls would not reach the library's own words:
here they are made in a Python that does not check.
"""
from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

CALLS = {
    "CharTokenizer('a text')":
        "TypeError: vocabulary is of type str; expected a Vocabulary: CharTokenizer.fit(text) learns one from a text",
    "WordTokenizer(['a', 'b'])": "TypeError: vocabulary is of type list; expected a Vocabulary: WordTokenizer.fit(text)",
    "BytePairTokenizer('a text', [])": "TypeError: vocabulary is of type str; expected a Vocabulary: BytePairTokenizer.fit(text)",
    "CharTokenizer.fit(['hello', 'world'])": "TypeError: text is of type list; expected a string: join several texts into one",
    "WordPieceTokenizer.fit(['hello'])": "TypeError: text is of type list; expected a string",
    "BytePairTokenizer.fit(b'hello')": "TypeError: text is of type bytes; expected a string",
    "greedy(FVSBN(4), torch.tensor([[0, 1]]))":
        "TypeError: length is a tensor; expected a number of variables: a prompt is the argument context",
    "beam_search(FVSBN(4), torch.tensor([[0, 1]]), beams=2)": "TypeError: length is a tensor",
    "hub.save(FVSBN(4), FOLDER, 'x', None)": "ValueError: card is None; expected a hub.Card",
    "hub.save(FVSBN(4), FOLDER, 'x', {'model': 'm'})": "ValueError: card is of type dict; expected a hub.Card",
    "hub.save(FVSBN(4), FOLDER, 'x', hub.Card('m', 'd', None, 'c'))": "ValueError: card.licence is empty",
    "hub.Card('m', 'd')": "TypeError: Card.__init__() missing 2 required positional arguments: 'licence' and 'citation'",
    "fit(FVSBN(4), DataLoader([(torch.zeros(4), 'label')] * 3, 2), epochs=1, progress=False)":
        "TypeError: a batch of train holds a str; expected tensors",
}
SCRIPT = """
import json, sys
import torch
from torch.utils.data import DataLoader
from course_lib import *
from course_lib import hub
FOLDER = sys.argv[2]
said = {}
for call in json.loads(sys.argv[1]):
    try:
        eval(call)
        said[call] = "nothing"
    except Exception as error:
        said[call] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(list(CALLS)), str(folder)], capture_output=True,
                          text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_the_argument_is_named(said, call):
    assert said[call].startswith(CALLS[call])
