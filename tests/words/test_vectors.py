"""Compressed tables, vectors of words, and what is asked of them."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.decomposition import TruncatedSVD

from course_lib.words import (
    LSA,
    GloVe,
    TopicModel,
    WordVectors,
    agreement,
    analogies_right,
    cooccurrences,
    lsa,
    ppmi,
    svd_vectors,
    truncated_svd,
)
from course_lib.words.glove import weight
from tests.support.random import normal, rng
from tests.words import checks as check


def test_truncated_svd_eckart_young():
    x = normal(7, 5)
    u, s, v = truncated_svd(x, 3)
    whole = torch.linalg.svdvals(x)
    torch.testing.assert_close(s, whole[:3])
    error = ((u * s) @ v.T - x).square().sum()
    torch.testing.assert_close(error, whole[3:].square().sum())      # Eckart and Young
    assert (v.gather(0, v.abs().argmax(dim=0, keepdim=True)) > 0).all()


def test_truncated_svd_sparse(monkeypatch):
    x = normal(40, 30) * (torch.rand(40, 30, generator=rng(1)) < 0.2)
    wanted = truncated_svd(x, 4)
    monkeypatch.setattr(lsa, "DENSE", 8)
    for matrix in (x, x.to_sparse()):
        for got, right in zip(truncated_svd(matrix, 4), wanted):
            torch.testing.assert_close(got, right)


def test_lsa_equals_sklearn():
    x = normal(12, 8).abs()
    theirs = TruncatedSVD(3, algorithm="arpack", random_state=0).fit(x.numpy())
    space = LSA(x, 3)
    got, wanted = space.documents, torch.from_numpy(theirs.transform(x.numpy()))
    torch.testing.assert_close(got.abs(), wanted.abs())
    torch.testing.assert_close(space.singular_values, torch.from_numpy(np.array(theirs.singular_values_)))
    torch.testing.assert_close(space.place(x), space.documents)      # a document of the table is placed where it stands
    torch.testing.assert_close(space.words @ space.words.T, space.directions @ space.singular_values.diag() ** 2
                               @ space.directions.T)


def test_svd_vectors_inner_products():
    table = ppmi(cooccurrences(check.corpus(60)[0], 2)).to_dense().double()
    full = svd_vectors(table, 7, p=1.0)
    torch.testing.assert_close(full @ full.T, table @ table.T)
    torch.testing.assert_close(svd_vectors(table, 3, p=0.5).square().sum(dim=0), torch.linalg.svdvals(table)[:3])


def test_glove_after_update():
    table, seen, vectors = cooccurrences(check.corpus(40)[0], 2), [], []
    torch.manual_seed(0)
    model = GloVe(7, 3)

    def told(*row):
        seen.append(row)
        vectors.append(model.vectors)

    losses = model.fit_counts(table, updates=4, after_update=told)
    assert seen == list(enumerate(losses, 1)) and torch.equal(vectors[-1], model.vectors)
    torch.manual_seed(0)
    shorter = GloVe(7, 3)
    assert shorter.fit_counts(table, updates=2) == losses[:2] and torch.equal(shorter.vectors, vectors[1])


def test_topic_model():
    g, words = rng(0), list("abcdefgh")
    topics = torch.zeros(2, 8)
    topics[0, :4], topics[1, 4:] = 0.25, 0.25
    share = torch.rand(60, 1, generator=g).round() * 0.9 + 0.05
    counts = torch.poisson(60 * (share * topics[0] + (1 - share) * topics[1]), generator=g)
    model = TopicModel(counts, 2, alpha=0.1, iterations=20)
    assert sorted(sorted(top) for top in model.top_words(words, 4)) == [list("abcd"), list("efgh")]
    half = torch.zeros_like(counts)
    half[:, ::2] = counts[:, ::2]
    rest = counts - half
    mixture = model.mixtures(half)
    torch.testing.assert_close(mixture.sum(dim=1), torch.ones(60, dtype=mixture.dtype))
    by_hand = 0.0
    for d in range(60):
        for w in range(8):
            if rest[d, w]:
                by_hand -= rest[d, w].item() * math.log(float(mixture[d] @ model.topics[:, w]))
    assert math.isclose(model.perplexity(half, rest), math.exp(by_hand / rest.sum().item()), rel_tol=1e-6)
    assert model.perplexity(half, rest) < TopicModel(counts, 1).perplexity(half, rest)


def test_analogies_right_batched():
    words = [f"w{i}" for i in range(40)]
    vectors = WordVectors(words, normal(40, 3, seed=2).float())
    questions = [tuple(words[i] for i in torch.randperm(40, generator=rng(q))[:4]) for q in range(300)]
    wanted = sum(vectors.analogy(a, b, c)[0][0] == d for a, b, c, d in questions)
    assert analogies_right(vectors, [*questions, ("w1", "w2", "w3", "unknown")]) == (wanted, 300) and wanted > 0
    assert analogies_right(vectors, [("x", "y", "z", "w")]) == (0, 0)


def test_agreement_equals_scipy():
    words = list("abcdefgh")
    vectors = WordVectors(words, normal(8, 3, seed=4).float())
    pairs = [(words[i], words[(3 * i + 1) % 8], float(i % 5)) for i in range(8)]
    cosines = [vectors.cosine(a, b) for a, b, _ in pairs]
    wanted = spearmanr(cosines, [score for *_, score in pairs]).statistic
    got, known = agreement(vectors, [*pairs, ("a", "unknown", 3.0)])
    assert math.isclose(got, wanted) and known == 8


def test_axis():
    vectors = WordVectors(["bad", "poor", "so", "good"], torch.tensor([[-2.0, 1.0], [-1.0, 2.0], [0.0, 1.0], [2.0, 1.0]]))
    axis = vectors.axis(["good"], ["bad"])
    torch.testing.assert_close(axis, torch.tensor([1.0, 0.0]))
    assert (vectors.unit() @ axis).argsort().tolist() == [0, 1, 2, 3]


def test_average_unknown_words():
    vectors = WordVectors(["a", "b"], torch.tensor([[1.0, 3.0], [3.0, 1.0]]))
    assert vectors.average(["a", "z", "b"]).tolist() == [2, 2] and vectors.average(["z"]).tolist() == [0, 0]


ABC = WordVectors(list("abc"), torch.eye(3))


@pytest.mark.parametrize("call, said", [
    (lambda: truncated_svd(torch.ones(3, 4), 5), r"k is 5; expected 1 to 3 for a matrix of shape \(3, 4\)"),
    (lambda: LSA(torch.ones(3, 4), 1).place(torch.ones(1, 3)), "rows has 3 columns; expected 4"),
    (lambda: ppmi(torch.zeros(2, 2)), "counts is zero everywhere; expected at least one count above 0"),
    (lambda: ppmi(torch.tensor([[1.0, -1.0]])), "counts contains -1; expected counts of at least 0"),
    (lambda: GloVe(3, 0), "num_words is 3 and width is 0; expected at least 1 each"),
    (lambda: GloVe(3, 2).fit_counts(torch.ones(2, 2)), r"counts has shape \(2, 2\); expected \(3, 3\)"),
    (lambda: GloVe(1, 1).loss(torch.tensor([0]), torch.tensor([0]), torch.tensor([0.0])), "counts contains 0; expected counts above 0"),
    (lambda: weight(torch.ones(1), 0.0), "maximum is 0.0; expected a number above 0"),
    (lambda: TopicModel(torch.zeros(2, 2), 2),
     r"counts has shape \(2, 2\) and sum 0; expected \(documents, words\) with at least one count above 0"),
    (lambda: WordVectors(list("abc"), torch.eye(2)), r"table has shape \(2, 2\); expected 3 rows, one per word"),
    (lambda: ABC["z"], "word is 'z'; expected one of the 3 words that have a vector"),
    (lambda: ABC.axis([], ["a"]), "`one` has 0 words and `other` has 1 words; expected at least one word in each"),
    (lambda: agreement(ABC, [("a", "b", 1.0)]), "pairs has 1 pairs in which both words have a vector; expected at least 3"),
], ids=["k too large", "other width", "nothing seen", "below 0", "no width", "another table", "a count of 0", "no maximum",
        "no words", "another table of vectors", "unknown word", "no end", "few pairs"])
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()
