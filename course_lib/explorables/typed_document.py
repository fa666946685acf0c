r"""TF-IDF weights of a document that the reader types, with a collection of six short documents.

`weighed` computes the weights by `count_words`, `inverse_document_frequency` and `weigh` of `course_lib.words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.explorables.base import Explorable, OneOf, script, style
from course_lib.tokenizers import Vocabulary
from course_lib.words import count_words, inverse_document_frequency, weigh

DOCUMENTS = ("the film is slow and the story is old", "the story of a queen and a film of the sea",
             "the sea is cold and the boat is old", "a boat on the sea in the evening",
             "bread and cheese on the table in the evening", "the baker is at the table with the bread")
START = "the bread and the sea, the bread and the moon"
SIGNS = ".,:;?!\"'()"                                                # punctuation that is removed
LONGEST = 200                                                        # maximum number of characters


class Weighed(NamedTuple):
    """The W distinct words of a document with their weights, and its similarity to N documents of a collection."""

    words: list[str]                                                 # in the order of first occurrence
    counts: Float[Tensor, " W"]                                      # occurrences in the document
    tf: Float[Tensor, " W"]                                          # counts divided by document length
    df: Float[Tensor, " W"]                                          # number of documents with the word
    idf: Float[Tensor, " W"]                                         # inverse document frequency; NaN if df is 0
    weights: Float[Tensor, " W"]                                     # tf * idf; NaN if df is 0
    cosines: Float[Tensor, " N"]                                     # cosine similarity to each document


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation at their beginning and end.

    >>> words_of("The sea, the 'moon'.")
    ['the', 'sea', 'the', 'moon']
    """
    return [word for word in (each.strip(SIGNS).lower() for each in text.split()) if word]


def weighed(text: str, documents: Sequence[str], added: int = 1) -> Weighed:
    r"""Compute TF-IDF weights of a text, with the idf $\ln \frac{N + 1}{df + 1}$ + `added` from N documents."""
    docs, typed = [words_of(doc) for doc in documents], words_of(text)
    vocabulary = Vocabulary.of(word for doc in docs for word in doc)
    counts = count_words(docs, vocabulary).double()                  # (N, V)
    idf = inverse_document_frequency(counts) - 1 + added             # (V,)
    row = count_words([typed], vocabulary).double()
    lengths = torch.tensor([len(typed)])                             # includes words outside the collection
    mine, theirs = weigh(row, lengths, idf)[0], weigh(counts, idf=idf)
    norms = theirs.norm(dim=1) * mine.norm()
    cosines = torch.where(norms > 0, theirs @ mine / norms.clamp(min=1e-300), 0)
    words = list(dict.fromkeys(typed))
    columns = torch.tensor([vocabulary.id(word) if word in vocabulary else -1 for word in words], dtype=torch.long)
    number = torch.tensor([float(typed.count(word)) for word in words], dtype=torch.float64)

    def of(values: Tensor, missing: float) -> Tensor:
        return torch.where(columns >= 0, values[columns], missing)

    return Weighed(words, number, number / max(len(typed), 1), of((counts > 0).sum(dim=0).double(), 0.0),
                   of(idf, torch.nan), of(mine, torch.nan), cosines)


class TypedDocument(Explorable):
    """TF-IDF weights of a typed document, and the nearest document of a small fixed collection.

    typed  the document, at most 200 characters
    added  the number that is added to the logarithm of the idf: 1, as in equation (13.1), or 0

    Raises ValueError for other values.

    >>> print(TypedDocument().text().splitlines()[1])
    the: count 4, tf 0.400, in 6 of 6 documents, idf 1.000, weight 0.400
    """

    _esm = script("typed_document")
    _css = style("typed_document")
    documents = traitlets.List(traitlets.Unicode()).tag(sync=True)
    typed = traitlets.Unicode(START).tag(sync=True)
    added = OneOf(1, (0, 1), "0 or 1").tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**{"documents": list(DOCUMENTS), "alt": "A document, weighed word by word", **traits})

    @property
    def result(self) -> Weighed:
        """The words of the typed document with their weights, and its similarity to each document of the collection."""
        return weighed(self.typed, self.documents, self.added)

    def text(self) -> str:
        w, N = self.result, len(self.documents)
        lines = [f"Interactive figure: {self.typed!r}, weighed against {N} documents."]
        for i in w.weights.nan_to_num(-1).sort(descending=True, stable=True).indices.tolist():
            known = f"idf {w.idf[i]:.3f}, weight {w.weights[i]:.3f}" if w.df[i] else "so it has no column"
            lines.append(f"{w.words[i]}: count {w.counts[i]:.0f}, tf {w.tf[i]:.3f}, in {w.df[i]:.0f} of {N} documents, {known}")
        if w.cosines.max() > 0:
            best = int(w.cosines.argmax())
            lines.append(f"nearest document, cosine {w.cosines[best]:.2f}: {self.documents[best]}")
        return "\n".join(lines)

    @traitlets.validate("typed")
    def _valid_text(self, proposal):
        if len(proposal["value"]) > LONGEST:
            raise ValueError(f"typed has {len(proposal['value'])} characters; expected at most {LONGEST}")
        return proposal["value"]
