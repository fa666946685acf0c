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
        "TypeError: vocabulary is of type str; expected a Vocabulary. To learn a vocabulary from a text, call CharTokenizer.fit(text)",
    "WordTokenizer(['a', 'b'])": "TypeError: vocabulary is of type list; expected a Vocabulary. To learn a vocabulary from a text, call WordTokenizer.fit(text)",
    "BytePairTokenizer('a text', [])": "TypeError: vocabulary is of type str; expected a Vocabulary. To learn a vocabulary from a text, call BytePairTokenizer.fit(text)",
    "CharTokenizer.fit(['hello', 'world'])": "TypeError: text is of type list; expected a string: join several texts into one",
    "WordPieceTokenizer.fit(['hello'])": "TypeError: text is of type list; expected a string",
    "BytePairTokenizer.fit(b'hello')": "TypeError: text is of type bytes; expected a string",
    "greedy(FVSBN(4), torch.tensor([[0, 1]]))":
        "TypeError: length is a tensor; expected a number of variables: a prompt is the argument context",
    "beam_search(FVSBN(4), torch.tensor([[0, 1]]), beams=2)": "TypeError: length is a tensor",
    "greedy(TINY, [1, 2])": "TypeError: length is of type list; expected a number of variables: a prompt is the argument context",
    "greedy(TINY, 'ab')": "TypeError: length is of type str; expected a number of variables",
    "TINY.sample(2, length=3.0)": "TypeError: length is 3.0; expected a number of variables",
    "FVSBN(4).sample(2.5)": "TypeError: num is 2.5; expected a number of rows",
    "NADE(4, 3)([[0, 1, 0, 1]])": "TypeError: x is of type list; expected a tensor (torch.as_tensor converts numbers)",
    "FVSBN(4).log_prob(torch.zeros(1, 4).numpy())": "TypeError: x is of type ndarray; expected a tensor",
    "TINY.log_prob([[1, 2]])": "TypeError: x is of type list; expected a tensor",
    "check_all(TINY, length='a')": "TypeError: length is of type str; expected a number of variables",
    "PixelCNN((2, 2), 4, 1, 3).update(PixelCNN((2, 2), 4, 1, 3).start(2), 7.0)":
        "ValueError: x_i is 7.0; expected a tensor of shape (2,), a value for each row of the state",
    "hub.save(FVSBN(4), FOLDER, 'x', None)": "ValueError: card is None; expected hub.Card(model, data, licence, citation)",
    "hub.save(FVSBN(4), FOLDER, 'x', {'model': 'm'})": "ValueError: card is of type dict; expected hub.Card(model, data, licence, citation)",
    "hub.save(FVSBN(4), FOLDER, 'x', hub.Card('m', 'd', None, 'c'))": "ValueError: card.licence is None; expected a text, the license of the data",
    "hub.Card('m', 'd')": "TypeError: Card.__init__() missing 2 required positional arguments: 'licence' and 'citation'",
    "fit(FVSBN(4), DataLoader([(torch.zeros(4), 'label')] * 3, 2), epochs=1, progress=False)":
        "TypeError: a batch of train contains a str; expected tensors",
    "grading.check(greedy, greedy)": "KeyError: \"there is no exercise 'greedy'",
    "grading.evaluate('attention', greedy, greedy)":
        "TypeError: seed is of type function; expected a whole number. To grade a function: check(function)",
}
SCRIPT = """
import json, sys
import torch
from torch.utils.data import DataLoader
from course_lib import *
from course_lib import grading, hub
from course_lib.transformer import GPTConfig
FOLDER = sys.argv[2]
TINY = GPT(GPTConfig(vocab_size=5, window=8, layers=1, heads=2, d_model=8))
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
def test_argument_named(said, call):
    assert said[call].startswith(CALLS[call])
