"""Bags of words, TF-IDF, and co-occurrence counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.tokenizers import Vocabulary
from course_lib.validation import check_sizes


def ngrams(words: Sequence[str], n: int) -> list[str]:
    """The n-grams of a list of words in text order, each joined by spaces.

    >>> ngrams(["I", "love", "this", "movie"], 2)
    ['I love', 'love this', 'this movie']
    """
    check_sizes(n=n)
    return [" ".join(words[i:i + n]) for i in range(len(words) - n + 1)]


def count_words(docs: Iterable[Sequence[str]],
                vocabulary: Vocabulary) -> Float[Tensor, "N V"]:
    """Bag-of-words counts: how often each word of the vocabulary occurs in each document.

    docs        lists of words; words outside the vocabulary are ignored

    >>> docs = [["to", "be", "or", "not", "to", "be"], ["not", "now"]]
    >>> count_words(docs, Vocabulary(["be", "not", "to"]))
    tensor([[2., 1., 2.],
            [0., 1., 0.]])
    """
    docs = _documents(docs)
    counts = torch.zeros(len(docs), len(vocabulary))
    for row, doc in zip(counts, docs):
        known = [vocabulary.id(word) for word in doc if word in vocabulary]
        row += torch.bincount(torch.tensor(known, dtype=torch.long),
                              minlength=len(vocabulary))
    return counts


def inverse_document_frequency(counts: Tensor) -> Float[Tensor, "V"]:
    r"""Inverse document frequency of each word, $\mathrm{idf}(w) = \ln \frac{N + 1}{\mathrm{df}(w) + 1} + 1$.

    counts  (N, V), count of each word in each of the N documents, as `count_words` returns

    df(w) is the number of documents that contain w. The slide and scikit-learn's `smooth_idf` use the same formula.
    """
    _counts(counts)
    df = (counts > 0).sum(dim=0)                                     # (V,)
    return ((len(counts) + 1) / (df + 1).to(counts.dtype)).log() + 1


def weigh(counts: Tensor, lengths: Tensor | None = None, idf: Tensor | None = None) -> Float[Tensor, "N V"]:
    r"""TF-IDF: $\mathrm{tf}(w, d)\, \mathrm{idf}(w)$, where tf is the count of w in d divided by the length of d.

    counts   (N, V), as `count_words` returns
    lengths  (N,), number of words of each document d; None: the sums of the rows of `counts`
    idf      (V,), inverse document frequencies of the training documents; None: of the documents in `counts`

    scikit-learn's `TfidfVectorizer` returns the same rows, normalized to length 1. The row of an empty document is 0.
    """
    _counts(counts)
    lengths = counts.sum(dim=1) if lengths is None else lengths.to(counts.dtype)
    idf = inverse_document_frequency(counts) if idf is None else idf
    if lengths.shape != counts.shape[:1] or idf.shape != counts.shape[1:]:
        raise ValueError(f"lengths has shape {tuple(lengths.shape)} and idf has shape {tuple(idf.shape)}; expected "
                         f"{tuple(counts.shape[:1])}, one length per row of counts, and {tuple(counts.shape[1:])}, one "
                         "value per column")
    return counts / lengths.clamp(min=1)[:, None] * idf


class Corpus(NamedTuple):
    """A corpus of T words, as the concatenated ids of its sentences.

    >>> Corpus.of([["a", "b"], ["b", "z", "a"]], Vocabulary(["a", "b"]))
    Corpus(tokens=tensor([0, 1, 1, 0]), sentence=tensor([0, 0, 1, 1]), num_words=2)
    """

    tokens: Int[Tensor, "T"]                                         # id of each word
    sentence: Int[Tensor, "T"]                                       # index of the sentence of each word
    num_words: int                                                   # V, size of the vocabulary

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], vocabulary: Vocabulary) -> Corpus:
        """Encode sentences, lists of words. Words outside the vocabulary are omitted, as in word2vec."""
        tokens, sentence = [], []
        for number, words in enumerate(_documents(sentences)):
            known = [vocabulary.id(word) for word in words if word in vocabulary]
            tokens += known
            sentence += [number] * len(known)
        if not tokens:
            raise ValueError(f"sentences contains none of the {len(vocabulary)} words of the vocabulary; expected at "
                             "least one of them")
        return cls(torch.tensor(tokens), torch.tensor(sentence), len(vocabulary))

    @property
    def counts(self) -> Int[Tensor, "V"]:
        """Number of occurrences of each word in the corpus."""
        return torch.bincount(self.tokens, minlength=self.num_words)


def window_pairs(corpus: Corpus, window: int, reach: Int[Tensor, "T"] | None = None) -> tuple[
        Int[Tensor, "..."], Int[Tensor, "..."], Int[Tensor, "..."]]:
    """All pairs of a center word and a context word in the same sentence that are at most `window` words apart.

    reach  (T,), window of each center word, 1 to `window`; None: `window` for all

    Returns the ids of the center words, the ids of the context words, and their distances in words, (P,) each for P
    pairs. Two neighboring words form two pairs, in which each word is the center once.
    """
    check_sizes(window=window)
    tokens, sentence = corpus.tokens, corpus.sentence
    reach = torch.full_like(tokens, window) if reach is None else reach
    centres, contexts, apart = [], [], []
    for d in range(1, min(window, len(tokens) - 1) + 1):
        left = torch.arange(len(tokens) - d)[sentence[:-d] == sentence[d:]]
        for centre, context in ((left, left + d), (left + d, left)):
            kept = reach[centre] >= d
            centres.append(tokens[centre[kept]])
            contexts.append(tokens[context[kept]])
            apart.append(torch.full_like(centres[-1], d))
    if not centres:
        return tokens[:0], tokens[:0], tokens[:0]
    return torch.cat(centres), torch.cat(contexts), torch.cat(apart)


def cooccurrences(corpus: Corpus, window: int, by_distance: bool = False) -> Tensor:
    """Co-occurrence counts of words at most `window` words apart in a sentence: a sparse symmetric matrix (V, V).

    by_distance  whether a pair at a distance of d words counts 1/d, as in GloVe; otherwise it counts 1

    >>> corpus = Corpus.of([["a", "b", "a"]], Vocabulary(["a", "b"]))
    >>> cooccurrences(corpus, 2).to_dense()
    tensor([[2., 2.],
            [2., 0.]])
    """
    centre, context, apart = window_pairs(corpus, window)
    V = corpus.num_words
    pair, which = (centre * V + context).unique(return_inverse=True)
    weight = 1 / apart.double() if by_distance else torch.ones(len(apart), dtype=torch.float64)
    values = torch.zeros(len(pair), dtype=torch.float64).index_add_(0, which, weight)
    return torch.sparse_coo_tensor(torch.stack([pair // V, pair % V]), values.float(), (V, V), is_coalesced=True,
                                   check_invariants=True)


def _documents(docs: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    docs = list(docs)
    if not docs:
        raise ValueError("docs is empty; expected at least one document")
    for number, doc in enumerate(docs):
        if isinstance(doc, str):
            raise ValueError(f"document {number} is the text {doc[:20]!r}; expected a list of its words, such as "
                             "text.split()")
    return docs


def _counts(counts: Tensor) -> None:
    if counts.dim() != 2 or not len(counts):
        raise ValueError(f"counts has shape {tuple(counts.shape)}; expected (documents, words), with at least one document")
