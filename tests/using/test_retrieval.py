"""Finding documents: by counts, in few dimensions, by learned vectors; and the measures."""
from __future__ import annotations

import pytest
import torch

from course_lib.using import (
    BM25,
    Dense,
    DualEncoder,
    Latent,
    TfIdf,
    mean_reciprocal_rank,
    ranks,
    recall_at,
)
from tests.support.random import normal
from tests.using import checks as check


@pytest.mark.parametrize("make", [TfIdf, BM25, lambda docs: Latent(docs, 3)], ids=["TF-IDF", "BM25", "LSA"])
def test_search_order(make):
    index = make(check.DOCUMENTS)
    for question in check.QUESTIONS:
        scores = index.scores([question])[0]
        hits = index.search(question, k=4)
        assert [hit.score for hit in hits] == scores.sort(descending=True).values[:4].tolist()
        assert all(scores[hit.document] == hit.score for hit in hits)
    unknown = index.search(["z"], k=3)                               # no word is known: all alike, the first ones
    assert [tuple(hit) for hit in unknown] == [(0, 0.0), (1, 0.0), (2, 0.0)]


def test_measures():
    found = torch.tensor([1, 2, 4])
    assert recall_at(found, 1) == pytest.approx(1 / 3) and recall_at(found, 2) == pytest.approx(2 / 3)
    assert mean_reciprocal_rank(found) == pytest.approx((1 + 0.5 + 0.25) / 3)
    check.counts_those_before(ranks)


def test_dense_cosine():
    table = normal(5, 3)
    rows = {str(i): table[i] for i in range(5)}
    index = Dense(lambda texts: torch.stack([rows[text[0]] for text in texts]), [[str(i)] for i in range(4)])
    wanted = torch.cosine_similarity(table[4], table[:4], dim=1)
    torch.testing.assert_close(index.scores([["4"]])[0], wanted)


@pytest.mark.parametrize("call, message", [
    (lambda: TfIdf([]), "documents has 0 documents and no word; expected at least one word"),
    (lambda: TfIdf(["a text"]), "document 0 is the text 'a text'; expected a list of its words"),
    (lambda: BM25([["a"]], k1=-1), "k1 is -1 and b is 0.75; expected k1 of 0 or more, and b from 0 to 1"),
    (lambda: Latent([["a"], ["b"]], 3), "k is 3; expected 1 to 2 for a matrix of shape (2, 2)"),
    (lambda: TfIdf([["a"]]).search(["a"], k=2), "k is 2; expected 1 to 1, the number of documents"),
    (lambda: Dense(lambda texts: torch.zeros(1, 2), []), "documents is empty; expected at least one"),
    (lambda: Dense(lambda texts: torch.zeros(1, 2), [["a"], ["b"]]),
     "encode gave shape (1, 2) for 2 texts; expected (2, D)"),
    (lambda: DualEncoder(torch.zeros(3, 2), torch.zeros(3)), "expected (V, D), and (V,), with weights above 0"),
    (lambda: DualEncoder(torch.zeros(3, 2), temperature=0), "temperature is 0; expected more than 0"),
    (lambda: ranks(torch.zeros(2, 3), torch.tensor([0])), "scores has shape (2, 3) and wanted (1,); expected (Q, N) and (Q,)"),
    (lambda: ranks(torch.zeros(1, 3), torch.tensor([3])), "wanted goes from 3 to 3; expected 0 to 2"),
    (lambda: recall_at(torch.tensor([1]), 0), "k is 0; expected at least 1"),
    (lambda: mean_reciprocal_rank(torch.tensor([], dtype=torch.long)), "found is empty"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
