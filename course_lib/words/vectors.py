"""Word vectors: nearest neighbors, analogies, semantic axes, correlation with human similarity scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.tokenizers import Vocabulary


class WordVectors(nn.Module):
    """Static word vectors: a table with one vector per word.

    words  the V words, usually the most frequent first
    table  (V, D), row i is the vector of words[i]; or the integer D, for zeros until weights are loaded

    >>> vectors = WordVectors(["a", "b", "c"], torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, -1.0]]))
    >>> vectors.neighbours("a", 2)
    [('b', 0.7071067690849304), ('c', 0.0)]
    """

    def __init__(self, words: Sequence[str], table: Tensor | int):
        super().__init__()
        self.vocabulary = Vocabulary(list(words))
        if isinstance(table, int):
            table = torch.zeros(len(self.vocabulary), table)
        if table.dim() != 2 or len(table) != len(self.vocabulary):
            raise ValueError(f"table has shape {tuple(table.shape)}; expected {len(self.vocabulary)} rows, one per word")
        self.register_buffer("table", table.detach().clone())

    @property
    def words(self) -> list[str]:
        """The V words, in the order of the rows of `table`."""
        return self.vocabulary.symbols

    @property
    def width(self) -> int:
        """Dimension D of the vectors."""
        return self.table.shape[1]

    @property
    def config(self) -> dict:
        """The constructor's arguments, with D instead of the table, which belongs to the weights."""
        return {"words": self.words, "table": self.width}

    def extra_repr(self) -> str:
        """The arguments in `print(vectors)`."""
        return f"{len(self.words)} words, {self.width} numbers each"

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.vocabulary

    def __getitem__(self, word: str) -> Float[Tensor, "D"]:
        return self.table[self._id(word)]

    def forward(self, words: Sequence[str]) -> Float[Tensor, "T D"]:
        """Vectors of T words. Raises ValueError if a word has no vector."""
        return self.table[[self._id(word) for word in words]]

    def unit(self) -> Float[Tensor, "V D"]:
        """All vectors, normalized to length 1."""
        return F.normalize(self.table, dim=1)

    def cosine(self, a: str, b: str) -> float:
        """The cosine similarity of the words a and b."""
        return F.cosine_similarity(self[a], self[b], dim=0).item()

    def neighbours(self, word: str | Float[Tensor, "D"], num: int = 8,
                   without: Iterable[str] = ()) -> list[tuple[str, float]]:
        """The `num` words with the largest cosine similarity to a word or a vector: pairs (word, similarity).

        without  words to exclude, in addition to `word` itself
        """
        if isinstance(word, str):
            without, word = [*without, word], self[word]
        cosines = self.unit() @ F.normalize(word, dim=0)             # (V,)
        cosines[[self._id(each) for each in without]] = -torch.inf
        values, rows = cosines.topk(min(num, len(self) - len(set(without))))
        return [(self.words[row], value) for row, value in zip(rows.tolist(), values.tolist())]

    def analogy(self, a: str, b: str, c: str, num: int = 1) -> list[tuple[str, float]]:
        r"""Solve "a is to b as c is to ...": the words with the largest cosine similarity to $\hat b - \hat a + \hat c$.

        $\hat a$ is the normalized vector of a. Returns `num` pairs (word, cosine similarity), the most similar first.
        The words a, b and c are excluded, because the most similar word is often one of them.
        """
        unit = F.normalize(self([a, b, c]), dim=1)
        return self.neighbours(unit[1] - unit[0] + unit[2], num, {a, b, c})

    def axis(self, one: Sequence[str], other: Sequence[str]) -> Float[Tensor, "D"]:
        """Semantic axis: a unit vector that points from the words `other`, such as ["bad"], to `one`, such as ["good"].

        It points from the mean of the normalized vectors of `other` to the mean of the normalized vectors of `one`.
        """
        if not one or not other:
            raise ValueError(f"`one` has {len(one)} words and `other` has {len(other)} words; expected at least one "
                             "word in each")
        ends = [F.normalize(self(words), dim=1).mean(dim=0) for words in (one, other)]
        return F.normalize(ends[0] - ends[1], dim=0)

    def average(self, words: Sequence[str]) -> Float[Tensor, "D"]:
        """The mean vector of those `words` that have a vector; zeros if none has."""
        known = [word for word in words if word in self]
        return self(known).mean(dim=0) if known else torch.zeros_like(self.table[0])

    def _id(self, word: str) -> int:
        if word not in self.vocabulary:
            raise ValueError(f"word is {word!r}; expected one of the {len(self)} words that have a vector")
        return self.vocabulary.id(word)


def analogies_right(vectors: WordVectors, questions: Iterable[tuple[str, str, str, str]]) -> tuple[int, int]:
    """Number of analogy questions that `WordVectors.analogy` answers correctly, and number of questions.

    questions  tuples (a, b, c, d), "a is to b as c is to d"; correct if `vectors.analogy(a, b, c)` returns d. Questions
               with a word that has no vector are excluded from both numbers
    """
    known = [question for question in questions if all(word in vectors for word in question)]
    if not known:
        return 0, 0
    unit = vectors.unit()
    a, b, c, d = torch.tensor([[vectors.vocabulary.id(word) for word in question] for question in known]).T
    right = 0
    for rows in torch.arange(len(known)).split(512):
        cosines = (unit[b[rows]] - unit[a[rows]] + unit[c[rows]]) @ unit.T       # (512, V)
        for asked in (a, b, c):
            cosines[torch.arange(len(rows)), asked[rows]] = -torch.inf
        right += int((cosines.argmax(dim=1) == d[rows]).sum())
    return right, len(known)


def agreement(vectors: WordVectors, pairs: Iterable[tuple[str, str, float]]) -> tuple[float, int]:
    """Spearman's rank correlation of cosine similarities with human similarity scores, and the number of pairs.

    pairs  tuples (word, word, human score); pairs with a word that has no vector are excluded

    Raises ValueError if fewer than 3 pairs remain.
    """
    from scipy.stats import spearmanr

    known = [(a, b, score) for a, b, score in pairs if a in vectors and b in vectors]
    if len(known) < 3:
        raise ValueError(f"pairs has {len(known)} pairs in which both words have a vector; expected at least 3")
    cosines = [vectors.cosine(a, b) for a, b, _ in known]
    return float(spearmanr(cosines, [score for _, _, score in known]).statistic), len(known)
