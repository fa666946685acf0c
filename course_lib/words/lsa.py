"""A table of counts, compressed: latent semantic analysis, and vectors of words from positive mutual information."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

DENSE = 4096                                                         # up to so many rows or columns all singular values are computed


def truncated_svd(matrix: Tensor, k: int) -> tuple[Float[Tensor, "N k"], Float[Tensor, "..."], Float[Tensor, "V k"]]:
    r"""U, s, V of the largest k singular values: $U \,\mathrm{diag}(s)\, V^T$ is the nearest matrix of rank k.

    matrix  (N, V), dense or sparse

    The sign of each pair of columns is free; here the entry of V with the largest size is positive. Raises ValueError
    for a k outside 1..min(N, V).
    """
    if not 1 <= k <= min(matrix.shape):
        raise ValueError(f"k is {k}; a matrix of shape {tuple(matrix.shape)} has 1 to {min(matrix.shape)} singular values")
    if min(matrix.shape) <= DENSE or k >= min(matrix.shape):
        dense = matrix.to_dense() if matrix.is_sparse else matrix
        u, s, vt = torch.linalg.svd(dense, full_matrices=False)
        u, s, v = u[:, :k], s[:k], vt[:k].T                          # (N, k), (k,), (V, k)
    else:
        u, s, v = _largest(matrix, k)
    sign = v.gather(0, v.abs().argmax(dim=0, keepdim=True)).sign()   # (1, k)
    return u * sign, s, v * sign


def _largest(matrix: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """By Lanczos' method, which multiplies by the matrix and never writes out its zeros."""
    import numpy as np
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    matrix = matrix.coalesce() if matrix.is_sparse else matrix.to_sparse()
    rows, columns = matrix.indices().numpy()
    sparse = coo_matrix((matrix.values().double().numpy(), (rows, columns)), matrix.shape).tocsr()
    u, s, vt = svds(sparse, k, v0=np.ones(min(matrix.shape)))        # from the smallest of them to the largest
    return tuple(torch.from_numpy(part.copy()).to(matrix.dtype) for part in (u[:, ::-1], s[::-1], vt[::-1].T))


class LSA:
    r"""Documents and words in one space of k dimensions: counts
    $X \approx U \,\mathrm{diag}(s)\, V^T$.

    A document d of the table is the row $u_d \,\mathrm{diag}(s) = x_d V$, so a new one, a
    query, is $x V$ too. A word w is the row $v_w \,\mathrm{diag}(s)$.

    Slides: "Timeline: Language Modeling and Vector Semantics". Paper: Deerwester et al.
    1990.

    documents        (N, k), the rows of the table
    words            (V, k)
    singular_values  (k,)

    >>> space = LSA(torch.tensor([[2.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), 1)
    >>> space.place(torch.tensor([[1.0, 0.0, 0.0]]))         # the second word is not in it
    tensor([[0.7071]])
    """

    def __init__(self, table: Float[Tensor, "N V"], k: int):
        u, self.singular_values, self.directions = truncated_svd(table, k)
        self.documents = u * self.singular_values
        self.words = self.directions * self.singular_values

    def place(self, rows: Tensor) -> Float[Tensor, "B k"]:
        """Where documents (B, V) stand that the table does not hold, weighed as the table
        was."""
        if rows.shape[-1] != len(self.directions):
            raise ValueError(f"rows has {rows.shape[-1]} words; this space was made of "
                             f"{len(self.directions)}")
        return rows @ self.directions


def ppmi(counts: Tensor, power: float = 1.0) -> Tensor:
    r"""Positive pointwise mutual information: $\max\bigl(0, \ln \frac{p(w, c)}{p(w)\, p(c)}\bigr)$ of a table of counts.

    counts  (V, C), sparse or dense, how often word w and context c occurred together
    power   $p(c) \propto \mathrm{count}(c)^{power}$: 0.75 makes rare contexts less surprising, as in word2vec

    Pairs that were never seen have 0. Sparse in, sparse out. Paper: Levy, Goldberg and Dagan 2015.
    """
    sparse = counts.coalesce() if counts.is_sparse else counts.to_sparse()
    if not len(sparse.values()):
        raise ValueError("counts are all zero; expected at least one pair that was seen")
    if (sparse.values() < 0).any():
        raise ValueError(f"counts holds {sparse.values().min():g}; expected none below 0")
    (w, c), n = sparse.indices(), sparse.values().double()
    of_word = torch.zeros(counts.shape[0], dtype=n.dtype).index_add_(0, w, n)
    of_context = torch.zeros(counts.shape[1], dtype=n.dtype).index_add_(0, c, n) ** power
    information = (n / of_word[w] / (of_context / of_context.sum())[c]).log()    # ln p(c | w) / p(c)
    kept = information > 0
    result = torch.sparse_coo_tensor(sparse.indices()[:, kept], information[kept].to(counts.dtype), counts.shape,
                                     is_coalesced=True, check_invariants=True)
    return result if counts.is_sparse else result.to_dense()


def svd_vectors(matrix: Tensor, k: int, p: float = 0.5) -> Float[Tensor, "V k"]:
    r"""$U \,\mathrm{diag}(s)^p$: a row a word. p = 1 keeps the inner products of the rows, p = 0.5 does better as vectors."""
    u, s, _ = truncated_svd(matrix, k)
    return u * s**p
