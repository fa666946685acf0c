"""Attention scores of a query h_t and a key h_tau: dot product, scaled dot product, bilinear and additive.

`score(queries, keys)` maps queries (..., T, H) and keys (..., S, K) to scores (..., T, S). `prepare` computes the part
that depends on the keys only, once for all queries. `weights_of` normalizes scores to attention weights, and
`context_of` computes the context vectors.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.validation import check_sizes


class Score(nn.Module):
    """Base class of attention scores s(h_t, h_tau) of a query h_t and a key h_tau.

    query  H, size of h_t
    key    K, size of h_tau; None: H

    A subclass defines `match(queries, prepared)`, which maps queries (..., T, H) and the result (..., S, E) of `prepare`,
    by default the keys (..., S, K), to scores (..., T, S).

    >>> class Distance(Score):
    ...     def match(self, queries, keys):
    ...         return -torch.cdist(queries, keys)
    >>> Distance(4)(torch.ones(2, 3, 4), torch.zeros(2, 5, 4)).shape
    torch.Size([2, 3, 5])
    """

    def __init__(self, query: int, key: int | None = None):
        super().__init__()
        key = query if key is None else key
        check_sizes(query=query, key=key)
        self.query, self.key = query, key

    def forward(self, queries: Float[Tensor, "... T H"], keys: Float[Tensor, "... S K"]) -> Float[Tensor, "... T S"]:
        """Score of every query with every key. Raises ValueError unless queries are (..., T, H), keys (..., S, K)."""
        for name, x, width in (("queries", queries, self.query), ("keys", keys, self.key)):
            if x.dim() < 2 or x.shape[-1] != width:
                raise ValueError(f"{name} has shape {tuple(x.shape)}; expected (..., number of vectors, {width})")
        return self.match(queries, self.prepare(keys))

    def prepare(self, keys: Float[Tensor, "... S K"]) -> Float[Tensor, "... S E"]:
        """Part of the score that depends on the keys only, of a size E: by default the keys themselves, E = K."""
        return keys

    def match(self, queries: Float[Tensor, "... T H"], prepared: Float[Tensor, "... S E"]) -> Float[Tensor, "... T S"]:
        """Scores (..., T, S), from the queries and the result of `prepare`."""
        raise NotImplementedError(f"{type(self).__name__} does not define match(queries, prepared)")

    def multiplications(self, T: int, S: int) -> int:
        """Number of multiplications for T queries and S keys; divisions by constants and tanh are not counted."""
        return T * S * self.query

    def extra_repr(self) -> str:
        return f"query={self.query}, key={self.key}"


class DotScore(Score):
    r"""Dot product, $s_{t,\tau} = h_t^\top h_\tau$, a `Score` without parameters; queries and keys have the same size.

    >>> DotScore(2)(torch.tensor([[1., 2.]]), torch.tensor([[3., 4.], [0., 1.]]))
    tensor([[11.,  2.]])
    """

    def __init__(self, query: int, key: int | None = None):
        super().__init__(query, key)
        if self.key != self.query:
            raise ValueError(f"key is {self.key} and query is {self.query}; expected equal sizes for a dot product, "
                             "or the score 'bilinear' or 'additive'")

    def match(self, queries: Float[Tensor, "... T H"], prepared: Float[Tensor, "... S H"]) -> Float[Tensor, "... T S"]:
        return queries @ prepared.transpose(-2, -1)                  # (..., T, S)


class ScaledDotScore(DotScore):
    r"""Scaled dot product, $s_{t,\tau} = h_t^\top h_\tau / \sqrt H$, whose variance does not grow with H.

    Slides: "Four Common Similarity (Score) Functions". Paper: Vaswani et al. 2017.

    >>> ScaledDotScore(4)(torch.ones(1, 4), torch.ones(3, 4))
    tensor([[2., 2., 2.]])
    """

    def match(self, queries: Float[Tensor, "... T H"], prepared: Float[Tensor, "... S H"]) -> Float[Tensor, "... T S"]:
        return super().match(queries, prepared) / math.sqrt(self.query)


class BilinearScore(Score):
    r"""Bilinear score, $s_{t,\tau} = h_t^\top W_{\mathrm{attn}} h_\tau$ with W (H, K), so H and K may differ.

    Slides: "Bilinear (Luong Attention)". Paper: Luong et al. 2015, where it is called "general".

    >>> score = BilinearScore(query=4, key=6)
    >>> score(torch.ones(2, 3, 4), torch.ones(2, 5, 6)).shape, score.W.shape
    (torch.Size([2, 3, 5]), torch.Size([4, 6]))
    """

    def __init__(self, query: int, key: int | None = None):
        super().__init__(query, key)
        self.W = nn.Parameter(torch.empty(self.query, self.key))     # W_attn
        nn.init.xavier_uniform_(self.W)

    def prepare(self, keys: Float[Tensor, "... S K"]) -> Float[Tensor, "... S H"]:
        return keys @ self.W.T                                       # W h_tau, (..., S, H)

    def match(self, queries: Float[Tensor, "... T H"], prepared: Float[Tensor, "... S H"]) -> Float[Tensor, "... T S"]:
        return queries @ prepared.transpose(-2, -1)                  # (..., T, S)

    def multiplications(self, T: int, S: int) -> int:
        return S * self.query * self.key + T * S * self.query


class AdditiveScore(Score):
    r"""Additive score, $s_{t,\tau} = v_a^\top \tanh(W_a h_t + U_a h_\tau)$: a network with
    one hidden layer.

    width  A, units of the hidden layer; None: the size of the query, as on the slide

    Slides: "MLP (Additive / Bahdanau Attention)". Paper: Bahdanau et al. 2015.

    >>> score = AdditiveScore(4, 6)
    >>> score(torch.ones(2, 3, 4), torch.ones(2, 5, 6)).shape
    torch.Size([2, 3, 5])
    >>> sum(p.numel() for p in score.parameters())
    44
    """

    def __init__(self, query: int, key: int | None = None, width: int | None = None):
        super().__init__(query, key)
        self.width = self.query if width is None else width
        if self.width < 1:
            raise ValueError(f"width is {width}; expected at least 1")
        self.W = nn.Parameter(torch.empty(self.width, self.query))   # W_a
        self.U = nn.Parameter(torch.empty(self.width, self.key))     # U_a
        # v_a
        self.v = nn.Parameter(torch.empty(self.width).uniform_(-self.width ** -0.5,
                                                               self.width ** -0.5))
        nn.init.xavier_uniform_(self.W)
        nn.init.xavier_uniform_(self.U)

    def prepare(self, keys: Float[Tensor, "... S K"]) -> Float[Tensor, "... S A"]:
        return keys @ self.U.T  # U_a h_tau, (..., S, A)

    def match(self, queries: Float[Tensor, "... T H"],
              prepared: Float[Tensor, "... S A"]) -> Float[Tensor, "... T S"]:
        projected = queries @ self.W.T                               # W_a h_t, (..., T, A)
        # (..., T, S, A) @ (A,)
        return torch.tanh(projected.unsqueeze(-2) + prepared.unsqueeze(-3)) @ self.v

    def multiplications(self, T: int, S: int) -> int:
        return T * self.query * self.width + S * self.key * self.width + T * S * self.width


SCORES: dict[str, type[Score]] = {"dot": DotScore, "scaled dot": ScaledDotScore, "bilinear": BilinearScore,
                                  "additive": AdditiveScore}


def make_score(name: str, query: int, key: int | None = None) -> Score:
    """Create the score called `name` in `SCORES` for queries of size `query` and keys of size `key`; None: `query`.

    Raises ValueError if the name is not in `SCORES`.
    """
    if name not in SCORES:
        raise ValueError(f"score is {name!r}; expected one of {', '.join(map(repr, SCORES))}")
    return SCORES[name](query, key)


# --- from scores to a context vector ---------------------------------------------------------------------------------


def weights_of(scores: Float[Tensor, "... S"], mask: Bool[Tensor, "... S"] | None = None) -> Float[Tensor, "... S"]:
    r"""Attention weights $\alpha_{t,\tau} = \exp(s_{t,\tau}) / \sum_k \exp(s_{t,k})$ over unmasked positions.

    mask  True where a position may be attended to; None: everywhere. If a row of the mask is False everywhere, all its
          weights are 0, for example at the first step, which has no earlier position
    """
    if mask is None:
        return scores.softmax(dim=-1)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; expected torch.bool, True where a position may be attended to")
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)  # NaN in a row that is all -inf
    return weights.masked_fill(~mask, 0)                             # removes the NaN and its gradient


def context_of(weights: Float[Tensor, "... T S"], memory: Float[Tensor, "... S H"]) -> Float[Tensor, "... T H"]:
    r"""Context vectors $c_t = \sum_\tau \alpha_{t,\tau} h_\tau$, given attention weights alpha and `memory` rows h."""
    return weights @ memory
