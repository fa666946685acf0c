r"""Dense retrieval: questions and documents are encoded separately, and ranked by the cosine of their vectors.

Paper: Karpukhin et al. 2020, Dense passage retrieval, with two BERT encoders. Here the vector of a text is a weighted mean
of trained word vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.using.retrieval import Index, Words

Batch = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


class DualEncoder(nn.Module):
    r"""Encoder of a text x as a unit vector $f(x) = s / \lVert s \rVert$ with $s = \sum_t a_{x_t} E_{x_t}$.

    $x_t$ are the words of the text. Questions and documents have the same word vectors E and word weights a.

    table        (V, D), initial word vectors E
    weights      (V,), initial word weights a above 0, such as idf; None: all 1
    temperature  $\tau$, by which the cosines are divided in the loss

    The loss of a batch of B pairs uses the other B - 1 documents as negatives:
    $-\frac{1}{B} \sum_i \ln \frac{\exp(f(q_i) \cdot f(d_i) / \tau)}{\sum_j \exp(f(q_i) \cdot f(d_j) / \tau)}$.

    >>> encoder = DualEncoder(torch.eye(3))
    >>> encoder(torch.tensor([[0, 1]]), torch.tensor([[True, False]]))
    tensor([[1., 0., 0.]], grad_fn=...)
    """

    def __init__(self, table: Float[Tensor, "V D"], weights: Float[Tensor, "V"] | None = None,
                 temperature: float | int = 0.05):
        super().__init__()
        weights = torch.ones(len(table)) if weights is None else weights
        if table.dim() != 2 or weights.shape != table.shape[:1]:
            raise ValueError(f"table has shape {tuple(table.shape)} and weights has shape {tuple(weights.shape)}; "
                             "expected (V, D) and (V,), a row of table and a weight for each word")
        if not (weights > 0).all():
            raise ValueError(f"weights contains {weights[~(weights > 0)][0].item()}; expected numbers above 0")
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; expected more than 0")
        self.vectors = nn.Parameter(table.detach().clone())          # E
        self.log_weights = nn.Parameter(weights.log().to(table.dtype))           # ln a
        self.temperature = temperature

    def forward(self, tokens: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
        """Encode texts, ids (B, T), as unit vectors (B, D); a text without words is encoded as zeros.

        mask  (B, T), True for words, False for padding
        """
        a = self.log_weights[tokens].exp() * mask                    # (B, T)
        return F.normalize(torch.einsum("bt,btd->bd", a, self.vectors[tokens]), dim=-1)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the contrastive loss of B pairs in nats per pair.

        batch  (questions, documents), each a pair of tokens (B, T) and mask (B, T); document i answers question i
        """
        questions, documents = (self(*side) for side in batch)       # (B, D) each
        logits = questions @ documents.T / self.temperature          # (B, B)
        return F.cross_entropy(logits, torch.arange(len(logits), device=logits.device))


class Dense(Index):
    """Index that ranks documents by the cosine similarity of the vectors of question and document.

    encode     function from N texts, lists of words, to vectors (N, D)
    documents  texts of the collection, which are encoded once

    >>> letters = lambda texts: torch.tensor([[float("a" in t), float("b" in t)] for t in texts])
    >>> Dense(letters, [["a"], ["b"]]).search(["b", "c"], k=1)
    [Hit(document=1, score=1.0)]
    """

    def __init__(self, encode: Callable[[Sequence[Words]], Float[Tensor, "N D"]], documents: Sequence[Words]):
        if not documents:
            raise ValueError("documents is empty; expected at least one document")
        self.encode, self.num_documents = encode, len(documents)
        self.rows = self._unit(documents)                            # (N, D)

    def scores(self, questions: Sequence[Words]) -> Float[Tensor, "Q N"]:
        return self._unit(questions) @ self.rows.T

    @torch.no_grad()
    def _unit(self, texts: Sequence[Words]) -> Float[Tensor, "N D"]:
        rows = self.encode(texts)
        if rows.dim() != 2 or len(rows) != len(texts):
            raise ValueError(f"encode returns shape {tuple(rows.shape)} for {len(texts)} texts; expected "
                             f"({len(texts)}, D), a row for each text")
        return F.normalize(rows, dim=1)
