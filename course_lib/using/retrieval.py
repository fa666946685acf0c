r"""Retrieval: rank documents for a question by TF-IDF, BM25 or LSA, and measure recall and rank.

Documents and questions are lists of words. N is the number of documents of an index, and Q the number of questions. In
formulas q is a question and d a document of $\lvert d \rvert$ words, on average $\overline{\lvert d \rvert}$; $n_t(d)$
is the count of word t in d, and df the number of documents that contain t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.tokenizers import Vocabulary
from course_lib.validation import check_sizes
from course_lib.words import LSA, count_words, inverse_document_frequency

Words = Sequence[str]


class Hit(NamedTuple):
    """A retrieved document: its index in the collection, and its score.

    >>> Hit(document=3, score=0.5).document
    3
    """

    document: int                                                    # index, from 0
    score: float                                                     # higher for more similar documents


class Index:
    """Base class of indexes over a collection of documents. A subclass defines `scores` and sets `num_documents`.

    >>> class Shortest(Index):
    ...     num_documents = 2
    ...     def scores(self, questions):
    ...         return torch.tensor([[-3.0, -1.0]]).expand(len(questions), 2)
    >>> Shortest().search(["anything"], k=2)
    [Hit(document=1, score=-1.0), Hit(document=0, score=-3.0)]
    """

    num_documents: int

    def scores(self, questions: Sequence[Words]) -> Float[Tensor, "Q N"]:
        """Return the scores (Q, N) of all documents for each question, higher for more similar documents.

        Words of a question that occur in no document are ignored.
        """
        raise NotImplementedError

    def search(self, question: Words, k: int = 3) -> list[Hit]:
        """Return the k documents of largest score for a question, best first; ties in the order of the collection."""
        if not 1 <= k <= self.num_documents:
            raise ValueError(f"k is {k}; expected 1 to {self.num_documents}, the number of documents")
        scores = self.scores([question])[0]                          # (N,)
        best = scores.argsort(descending=True, stable=True)[:k]
        return [Hit(number, scores[number].item()) for number in best.tolist()]


class TfIdf(Index):
    r"""Index by the cosine of TF-IDF vectors, $w_t(d) = (1 + \ln n_t(d))\, \mathrm{idf}(t)$, 0 for an absent word.

    $\mathrm{idf}(t) = \ln \frac{N + 1}{\mathrm{df} + 1} + 1$, as on the slide. Equal to scikit-learn's
    `TfidfVectorizer`.

    sublinear  whether $1 + \ln n_t(d)$ replaces the count $n_t(d)$
    normalize  whether vectors are scaled to length 1; otherwise scores are dot products, which favor long documents

    >>> index = TfIdf(["the cat sat".split(), "the dog ran and ran".split()])
    >>> index.search("where is the dog".split(), k=1)[0].document
    1
    """

    def __init__(self, documents: Sequence[Words], sublinear: bool = True, normalize: bool = True):
        self.vocabulary, counts = counted(documents)
        self.num_documents, self.sublinear, self.normalize = len(counts), sublinear, normalize
        self.idf = inverse_document_frequency(counts)                # (V,)
        self.rows = self.weighed(counts)                             # (N, V)

    def weighed(self, counts: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
        """Return the TF-IDF vectors (..., V) of documents or questions, given their counts of words (..., V)."""
        if self.sublinear:
            counts = torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0.0)
        rows = counts * self.idf
        return F.normalize(rows, dim=-1) if self.normalize else rows

    def scores(self, questions: Sequence[Words]) -> Float[Tensor, "Q N"]:
        return self.weighed(count_words(questions, self.vocabulary)) @ self.rows.T


class BM25(Index):
    r"""$\sum_{t \in q} \mathrm{idf}(t)\,
    \frac{n_t(d)\,(k_1 + 1)}{n_t(d) + k_1 (1 - b + b\,|d| / \overline{|d|})}$.

    k1  saturation of the count n, 0 or more: at 0 only the presence of a word matters
    b   strength of the normalization by document length, 0 to 1

    $\mathrm{idf}(t) = \ln\bigl(1 + \frac{N - \mathrm{df} + 0.5}{\mathrm{df} + 0.5}\bigr)$
    is never negative. A word that occurs twice in the question counts twice. Paper:
    Robertson and Zaragoza 2009.

    >>> index = BM25(["the cat sat".split(), "the dog ran and ran".split()])
    >>> index.search("where is the dog".split(), k=1)[0].document
    1
    """

    def __init__(self, documents: Sequence[Words], k1: float | int = 1.2,
                 b: float | int = 0.75):
        if k1 < 0 or not 0 <= b <= 1:
            raise ValueError(f"k1 is {k1} and b is {b}; expected k1 of 0 or more, and b "
                             "from 0 to 1")
        self.vocabulary, counts = counted(documents)
        self.num_documents = N = len(counts)
        df = (counts > 0).sum(dim=0)                                 # (V,)
        self.idf = (1 + (N - df + 0.5) / (df + 0.5)).log()
        # (N, 1)
        lengths = torch.tensor([float(len(document)) for document in documents])[:, None]
        length_norm = 1 - b + b * lengths / lengths.mean()
        saturated = counts * (k1 + 1) / (counts + k1 * length_norm)
        self.rows = self.idf * torch.where(counts > 0, saturated, 0.0)  # (N, V)

    def scores(self, questions: Sequence[Words]) -> Float[Tensor, "Q N"]:
        return count_words(questions, self.vocabulary) @ self.rows.T


class Latent(Index):
    """Index by the cosine in the space of latent semantic analysis (LSA), which may find documents that share no word
    with the question.

    documents  texts, each a list of words
    k          number of dimensions; the space is computed from the rows of `TfIdf`

    >>> docs = ["a ship at sea", "a boat at sea", "a cat at home", "a dog at home"]
    >>> index = Latent([doc.split() for doc in docs], k=2)
    >>> sorted(hit.document for hit in index.search(["ship"], k=2))  # 1 has no "ship"
    [0, 1]
    """

    def __init__(self, documents: Sequence[Words], k: int = 100):
        self.counted = TfIdf(documents)
        self.num_documents = self.counted.num_documents
        self.space = LSA(self.counted.rows, k)                       # raises for a k that is too large
        self.rows = F.normalize(self.space.documents, dim=1)         # (N, k)

    def scores(self, questions: Sequence[Words]) -> Float[Tensor, "Q N"]:
        rows = self.counted.weighed(count_words(questions, self.counted.vocabulary))
        return F.normalize(self.space.place(rows), dim=1) @ self.rows.T


def counted(documents: Sequence[Words]) -> tuple[Vocabulary, Float[Tensor, "N V"]]:
    """Return the vocabulary of the documents, V words, and the counts (N, V) of these words in each document."""
    if not any(len(document) for document in documents):
        raise ValueError(f"documents has {len(documents)} documents and no word; expected at least one word")
    vocabulary = Vocabulary(sorted({word for document in documents for word in document}))
    return vocabulary, count_words(documents, vocabulary)


# --- metrics ----------------------------------------------------------------------------------------------------------


def ranks(scores: Tensor, wanted: Tensor) -> Int[Tensor, "..."]:
    """Return the rank of the relevant document of each question, (Q,), counted from 1.

    scores  (Q, N), scores of N documents for each of Q questions
    wanted  (Q,), index of the relevant document of each question, from 0

    Other documents with the same score count as ranked before it, so that constant scores give the last rank.

    >>> ranks(torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.3, 0.3]]), torch.tensor([2, 0]))
    tensor([2, 3])
    """
    if scores.dim() != 2 or wanted.shape != scores.shape[:1]:
        raise ValueError(f"scores has shape {tuple(scores.shape)} and wanted {tuple(wanted.shape)}; expected (Q, N) and (Q,)")
    if len(wanted) and not 0 <= int(wanted.min()) <= int(wanted.max()) < scores.shape[1]:
        raise ValueError(f"wanted goes from {wanted.min()} to {wanted.max()}; expected indices of documents, 0 to "
                         f"{scores.shape[1] - 1}")
    own = scores.gather(1, wanted[:, None])                          # (Q, 1)
    return (scores >= own).sum(dim=1)


def recall_at(found: Int[Tensor, "..."], k: int) -> float:
    """Recall at k: the fraction of questions whose relevant document has a rank of at most k.

    found  (Q,), rank of the relevant document of each question, from 1, as `ranks` returns it
    """
    check_sizes(k=k)
    _some(found)
    return (found <= k).double().mean().item()


def mean_reciprocal_rank(found: Int[Tensor, "..."]) -> float:
    """Mean reciprocal rank (MRR): the mean over questions of 1 / rank of the relevant document.

    found  (Q,), rank of the relevant document of each question, from 1, as `ranks` returns it
    """
    _some(found)
    return (1 / found.double()).mean().item()


def _some(found: Tensor) -> None:
    if not len(found):
        raise ValueError("found is empty; expected the rank of at least one question")
