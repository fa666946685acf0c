"""Counting words in documents, and words near words."""
from __future__ import annotations

import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from course_lib.tokenizers import Vocabulary
from course_lib.words import Corpus, count_words, inverse_document_frequency, ngrams, weigh, window_pairs
from tests.words import checks as check

V = Vocabulary(check.WORDS)


def test_count_words_equals_sklearn():
    docs = check.documents()
    vectorizer = CountVectorizer(vocabulary=check.WORDS, token_pattern=r"\S+", ngram_range=(1, 1))
    wanted = vectorizer.transform([" ".join(doc) for doc in docs]).toarray()
    assert count_words(docs, V).tolist() == wanted.tolist()
    pairs = sorted({pair for doc in docs for pair in ngrams(doc, 2)})
    vectorizer = CountVectorizer(vocabulary=pairs, token_pattern=r"\S+", ngram_range=(2, 2))
    wanted = vectorizer.transform([" ".join(doc) for doc in docs]).toarray()
    assert count_words([ngrams(doc, 2) for doc in docs], Vocabulary(pairs)).tolist() == wanted.tolist()


def test_weigh_equals_sklearn():
    counts = count_words(check.documents()[:-1], V).double()
    theirs = torch.from_numpy(TfidfTransformer().fit_transform(counts.numpy()).toarray())
    ours = weigh(counts)
    torch.testing.assert_close(ours / ours.norm(dim=1, keepdim=True), theirs)
    assert not torch.allclose(ours, theirs)
    unscaled = TfidfTransformer(norm=None).fit(counts.numpy())
    torch.testing.assert_close(inverse_document_frequency(counts), torch.from_numpy(unscaled.idf_))


def test_weigh_new_documents():
    old, new = count_words(check.documents(), V), count_words([["a", "b", "unknown", "b"]], V)
    idf = inverse_document_frequency(old)
    got = weigh(new, torch.tensor([4.0]), idf)
    torch.testing.assert_close(got[0, :2], torch.stack([idf[0] / 4, 2 * idf[1] / 4]))


@pytest.mark.parametrize("call, said", [
    (lambda: count_words([], V), "docs is empty; expected at least one document"),
    (lambda: count_words(["a text"], V), "document 0 is the text 'a text'; expected a list of its words"),
    (lambda: ngrams(["a"], 0), "n is 0; expected at least 1"),
    (lambda: Corpus.of([["x"], ["y"]], V), "sentences contains none of the 7 words of the vocabulary; expected at"),
    (lambda: window_pairs(check.corpus()[0], 0), "window is 0; expected at least 1"),
    (lambda: weigh(torch.ones(2, 3), torch.ones(3)), r"lengths has shape \(3,\) and idf has shape \(3,\); expected \(2,\)"),
    (lambda: weigh(torch.ones(3)), r"counts has shape \(3,\); expected \(documents, words\)"),
], ids=["no documents", "a text", "n of 0", "unknown words", "window of 0", "other lengths", "one row"])
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()
