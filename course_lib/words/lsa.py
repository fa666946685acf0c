"""Latent semantic analysis, and word vectors from positive pointwise mutual information."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

DENSE = 4096                                                         # matrices up to this size use the full SVD


def truncated_svd(matrix: Tensor, k: int) -> tuple[Float[Tensor, "N k"], Float[Tensor, "..."], Float[Tensor, "V k"]]:
    r"""Truncated singular value decomposition: the k largest singular values s (k,), largest first, and their vectors.

    matrix  (N, V), dense or sparse

    Returns U (N, k), s and V (V, k). $U \,\mathrm{diag}(s)\, V^T$ is the best approximation of rank k. In each column
    of V the entry of largest absolute value is positive. Raises ValueError if k is outside 1..min(N, V).
    """
    if not 1 <= k <= min(matrix.shape):
        raise ValueError(f"k is {k}; expected 1 to {min(matrix.shape)} for a matrix of shape {tuple(matrix.shape)}")
    if min(matrix.shape) <= DENSE or k >= min(matrix.shape):
        dense = matrix.to_dense() if matrix.is_sparse else matrix
        u, s, vt = torch.linalg.svd(dense, full_matrices=False)
        u, s, v = u[:, :k], s[:k], vt[:k].T                          # (N, k), (k,), (V, k)
    else:
        u, s, v = _largest(matrix, k)
    sign = v.gather(0, v.abs().argmax(dim=0, keepdim=True)).sign()   # (1, k)
    return u * sign, s, v * sign


def _largest(matrix: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """`truncated_svd` by the Lanczos method for sparse matrices, with arbitrary signs of the columns."""
    import numpy as np
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    matrix = matrix.coalesce() if matrix.is_sparse else matrix.to_sparse()
    rows, columns = matrix.indices().numpy()
    sparse = coo_matrix((matrix.values().double().numpy(), (rows, columns)), matrix.shape).tocsr()
    u, s, vt = svds(sparse, k, v0=np.ones(min(matrix.shape)))        # in ascending order
    return tuple(torch.from_numpy(part.copy()).to(matrix.dtype) for part in (u[:, ::-1], s[::-1], vt[::-1].T))


class LSA:
    r"""Latent semantic analysis: a rank-k approximation of the counts,
    $X \approx U \,\mathrm{diag}(s)\, V^T$.

    The vector of document d is $u_d \,\mathrm{diag}(s) = x_d V$, and that of a new document
    or query $x V$. The vector of word w is $v_w \,\mathrm{diag}(s)$.

    Slides: "Timeline: Language Modeling and Vector Semantics". Paper: Deerwester et al.
    1990.

    table  (N, V), weighted counts, a row for each document
    k      dimension of the vectors

    Attributes: the vectors `documents` (N, k) and `words` (V, k); `singular_values` (k,).

    >>> space = LSA(torch.tensor([[2.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), 1)
    >>> space.place(torch.tensor([[1.0, 0.0, 0.0]]))         # without the second word
    tensor([[0.7071]])
    """

    def __init__(self, table: Float[Tensor, "N V"], k: int):
        u, self.singular_values, self.directions = truncated_svd(table, k)
        self.documents = u * self.singular_values
        self.words = self.directions * self.singular_values

    def place(self, rows: Tensor) -> Float[Tensor, "B k"]:
        """Vectors of new documents, given their rows (B, V), weighted like the table."""
        if rows.shape[-1] != len(self.directions):
            raise ValueError(f"rows has {rows.shape[-1]} columns; expected "
                             f"{len(self.directions)}")
        return rows @ self.directions


def ppmi(counts: Tensor, power: float = 1.0) -> Tensor:
    r"""Positive pointwise mutual information of counts, $\max\bigl(0, \ln \frac{p(w, c)}{p(w)\, p(c)}\bigr)$.

    counts  (V, C), sparse or dense, co-occurrence count of each pair of a word w and a context c
    power   exponent in $p(c) \propto \mathrm{count}(c)^{power}$: 1 for relative frequencies, 0.75 as in word2vec

    Returns a matrix (V, C), sparse if `counts` is sparse; pairs with count 0 have value 0. Paper: Levy, Goldberg and
    Dagan 2015.
    """
    sparse = counts.coalesce() if counts.is_sparse else counts.to_sparse()
    if not len(sparse.values()):
        raise ValueError("counts is zero everywhere; expected at least one count above 0")
    if (sparse.values() < 0).any():
        raise ValueError(f"counts contains {sparse.values().min():g}; expected counts of at least 0")
    (w, c), n = sparse.indices(), sparse.values().double()
    of_word = torch.zeros(counts.shape[0], dtype=n.dtype).index_add_(0, w, n)
    of_context = torch.zeros(counts.shape[1], dtype=n.dtype).index_add_(0, c, n) ** power
    information = (n / of_word[w] / (of_context / of_context.sum())[c]).log()    # ln p(c | w) / p(c)
    kept = information > 0
    result = torch.sparse_coo_tensor(sparse.indices()[:, kept], information[kept].to(counts.dtype), counts.shape,
                                     is_coalesced=True, check_invariants=True)
    return result if counts.is_sparse else result.to_dense()


def svd_vectors(matrix: Tensor, k: int, p: float = 0.5) -> Float[Tensor, "V k"]:
    r"""Word vectors $U \,\mathrm{diag}(s)^p$ from the `truncated_svd` of a matrix with one row per word.

    k  size of the vectors, number of singular values
    p  exponent of the singular values

    With p = 1 the inner products of the vectors approximate the inner products of the rows of the matrix.
    """
    u, s, _ = truncated_svd(matrix, k)
    return u * s**p
