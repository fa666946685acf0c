"""DeBERTa's disentangled attention, with separate terms for content and relative position."""

from __future__ import annotations

import math
from typing import Iterable

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.transformer.masks import check_mask
from course_lib.validation import check_sizes

TERMS = ("content-to-content", "content-to-position", "position-to-content")


def relative_index(T: int, span: int, device: torch.device | str | None = None) -> Int[Tensor, "T T"]:
    r"""Relative positions $\delta(i, j)$, (T, T): i - j + `span` for query i and key j of T tokens.

    They are clamped to 0..2 `span` - 1, the rows of the table of distance embeddings, so distances of `span` or more
    share the first or the last row.

    >>> relative_index(4, span=2)
    tensor([[2, 1, 0, 0],
            [3, 2, 1, 0],
            [3, 3, 2, 1],
            [3, 3, 3, 2]])
    """
    check_sizes(span=span)
    i = torch.arange(T, device=device)
    return (i[:, None] - i[None, :] + span).clamp(0, 2 * span - 1)


class DisentangledAttention(nn.Module):
    r"""Multi-head attention whose scores have content-to-content, content-to-position and position-to-content terms:

    $$s_{ij} = Q_i K_j^\top + Q_i K^r_{\delta(i,j)}{}^\top + K_j Q^r_{\delta(j,i)}{}^\top, \qquad
      \alpha = \mathrm{softmax}(s / \sqrt{3 d})$$

    Q and K are the queries and keys of the tokens; $Q^r$ and $K^r$ are queries and keys of a table of 2k distance
    embeddings. $\delta(i, j)$ is the row of this table for tokens i and j, i - j + k clamped to 0..2k - 1, as
    `relative_index` computes it. The 3 in the root is the number of terms. Scores depend on relative positions only.
    This is the paper's equation; the authors' code has $\delta(i, j)$ in the third term too.

    d_model  D, dimension of the token representations
    heads    H, number of heads, each of size d = D / H
    span     k: distances from -k + 1 to k - 1 have their own embeddings
    terms    names of the terms of the score, one or more of `TERMS`

    Slides: "Other models". Paper: He et al. 2020, section 3.

    >>> attend = DisentangledAttention(d_model=8, heads=2, span=3)
    >>> attend(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, heads: int, span: int, terms: Iterable[str] = TERMS):
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(f"d_model is {d_model}; expected a multiple of heads, {heads}, where heads is at least 1")
        terms = tuple(terms)
        if not terms or len(set(terms)) < len(terms) or not set(terms) <= set(TERMS):
            raise ValueError(f"terms is {terms}; expected one or more of {', '.join(map(repr, TERMS))}, each once")
        check_sizes(span=span)
        self.d_model, self.heads, self.span, self.terms = d_model, heads, span, terms
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model) for _ in range(4))
        self.distances = nn.Embedding(2 * span, d_model)             # R
        self.q_r, self.k_r = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model, bias=False)

    @property
    def config(self) -> dict:
        """Arguments of the constructor, {name: value}."""
        return {"d_model": self.d_model, "heads": self.heads, "span": self.span, "terms": self.terms}

    def scores(self, x: Float[Tensor, "B T D"]) -> dict[str, Float[Tensor, "B H T S"]]:
        """Unscaled scores of each term, {name: (B, H, T, T)}."""
        q, k = self._heads(self.q(x)), self._heads(self.k(x))        # (B, H, T, K)
        # (1, H, 2k, K)
        q_r, k_r = (self._heads(layer(self.distances.weight)[None])
                    for layer in (self.q_r, self.k_r))
        delta = relative_index(x.shape[1], self.span, x.device)      # (T, T)
        delta = delta.expand(len(x), self.heads, -1, -1)
        found = {}
        for term in self.terms:
            if term == TERMS[0]:
                found[term] = q @ k.mT
            elif term == TERMS[1]:
                # row i, column j: entry delta(i, j)
                found[term] = (q @ k_r.mT).gather(-1, delta)
            else:
                # row j, column i: entry delta(j, i); then transposed
                found[term] = (k @ q_r.mT).gather(-1, delta).mT
        return found

    def weights(self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "... #T #T"] | None = None
                ) -> Float[Tensor, "B H T T"]:
        """Attention weights (B, H, T, T); `mask` (T, T), (B, T, T) or (B, H, T, T), True where a query may attend."""
        s = sum(self.scores(x).values()) / math.sqrt(len(self.terms) * self.d_model / self.heads)
        if mask is None:
            return s.softmax(dim=-1)
        check_mask(mask, (s.shape[0], *s.shape[2:]) if mask.dim() < 4 else s.shape)
        mask = mask[:, None] if mask.dim() == 3 else mask
        return s.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0)

    def forward(self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "... #T #T"] | None = None) -> Float[Tensor, "B T D"]:
        if x.dim() != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, T, D) with D = {self.d_model}")
        heads = self.weights(x, mask) @ self._heads(self.v(x))       # (B, H, T, K)
        return self.out(rearrange(heads, "B H T K -> B T (H K)"))

    def _heads(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T K"]:
        return rearrange(x, "B T (H K) -> B H T K", H=self.heads)
