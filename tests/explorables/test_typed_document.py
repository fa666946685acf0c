"""The typed document: its numbers against scikit-learn, in the browser by typing and by keyboard."""
from __future__ import annotations

import math

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from course_lib.explorables import TypedDocument
from course_lib.explorables.typed_document import DOCUMENTS, START, weighed, words_of
from tests.explorables.figure import Figure, click, close, data, fill, keys

TEXTS = (START, "", "moon", "The sea! the SEA?", "bread " * 30, "'(' - a a, of; queen", "the evening on a boat in the sea")


@pytest.mark.parametrize("text", TEXTS)
def test_cosines_equal_sklearn(text):
    """Its rows are ours, scaled; so their inner products are our cosines."""
    learner = TfidfVectorizer(token_pattern=r"[^\s]+", smooth_idf=True).fit(DOCUMENTS)
    want = (learner.transform(DOCUMENTS) @ learner.transform([" ".join(words_of(text))]).T).toarray()[:, 0]
    torch.testing.assert_close(weighed(text, DOCUMENTS).cosines, torch.tensor(want))


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_package(modules):
    got = modules.evaluate("""async ([texts, documents]) => {
      const { weighed } = await import("./typed_document.js");
      const plain = v => Number.isNaN(v) ? null : v;
      return texts.flatMap(text => [0, 1].map(added => {
        const { words, cosines } = weighed(text, documents, added);
        return { cosines, words: words.map(w => [w.word, w.count, w.tf, w.df, plain(w.idf), plain(w.weight)]) };
      }));
    }""", [list(TEXTS), list(DOCUMENTS)])
    for (text, added), js in zip([(text, added) for text in TEXTS for added in (0, 1)], got, strict=True):
        want = weighed(text, DOCUMENTS, added)
        assert [row[0] for row in js["words"]] == want.words
        numbers = [math.nan if v is None else v for row in js["words"] for v in row[1:]]
        close(numbers, torch.stack([want.counts, want.tf, want.df, want.idf, want.weights], dim=1).flatten(), equal_nan=True)
        close(js["cosines"], want.cosines)


def agrees(page, w) -> None:
    want = w.result
    weights = [v for v in want.weights.sort(descending=True).values.tolist() if v == v]
    assert [v for v in data(page, "weight") if v is not None] == pytest.approx(weights, abs=1e-5)
    assert data(page, "cosine") == pytest.approx(want.cosines.tolist(), abs=1e-5)


BAD = [
    ({"typed": "a" * 201}, "typed has 201 characters; expected at most 200"),
    ({"added": 2}, "added is 2; expected 0 or 1"),
]
FIGURE = Figure(TypedDocument, agrees, bad=BAD, change={"typed": "bread"},
                says=("moon: count 1, tf 0.100, in 0 of 6 documents, so it has no column",), moves=[
    (keys("Space", at="[type=checkbox]"), {"added": 0}),
    *((fill("[type=text]", text), {"typed": text}) for text in ("a queen of the film", "the", " ", "")),
    (click("[type=checkbox]"), {"added": 1}),
    (keys("s", "e", "a", at="[type=text]"), {"typed": "sea"}),
])
