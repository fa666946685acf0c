"""GloVe: word vectors whose inner products approximate log co-occurrence counts."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def weight(counts: Tensor, maximum: float = 100.0, power: float = 0.75) -> Tensor:
    r"""Weight of each pair in the loss, $f(x) = \min\bigl(1, (x / x_{max})^{power}\bigr)$, for counts x of any shape.

    maximum  $x_{max}$: pairs with this count or more have weight 1
    """
    if maximum <= 0:
        raise ValueError(f"maximum is {maximum}; expected a number above 0")
    return (counts / maximum).clamp(max=1) ** power


class GloVe(nn.Module):
    r"""GloVe: word vectors $w_i$ and context vectors $\tilde w_j$ that minimize the weighted squared error

    $$J = \sum_{i, j : X_{ij} > 0} f(X_{ij}) \bigl(w_i^T \tilde w_j + b_i + \tilde b_j - \ln X_{ij}\bigr)^2.$$

    num_words  V, number of words
    width      D, dimension of the vectors

    X are co-occurrence counts, f is `weight`, and the b are biases. The final vector of word i is $w_i + \tilde w_i$.

    Slides: "Embeddings". Paper: Pennington, Socher and Manning 2014.

    >>> model = GloVe(2, 3)
    >>> losses = model.fit_counts(torch.tensor([[0.0, 8.0], [8.0, 2.0]]), updates=100)
    >>> losses[-1] < 0.01 * losses[0]
    True
    """

    def __init__(self, num_words: int, width: int):
        super().__init__()
        if num_words < 1 or width < 1:
            raise ValueError(f"num_words is {num_words} and width is {width}; expected at least 1 each")
        self.word, self.context = (nn.Parameter((torch.rand(num_words, width) - 0.5) / width) for _ in range(2))
        self.word_bias, self.context_bias = (nn.Parameter(torch.zeros(num_words)) for _ in range(2))

    @property
    def config(self) -> dict[str, int]:
        """The constructor's arguments."""
        return {"num_words": len(self.word), "width": self.word.shape[1]}

    @property
    def vectors(self) -> Float[Tensor, "V D"]:
        r"""The vector $w_i + \tilde w_i$ of each word."""
        return (self.word + self.context).detach()

    def loss(self, i: Int[Tensor, "..."], j: Int[Tensor, "..."],
             counts: Float[Tensor, "..."], maximum: float = 100.0,
             power: float = 0.75) -> Float[Tensor, ""]:
        """J, summed over pairs (i, j) with the co-occurrence counts `counts`."""
        if not (counts > 0).all():
            raise ValueError(f"counts contains {counts.min():g}; expected "
                             "counts above 0")
        product = torch.einsum("pd,pd->p", self.word[i], self.context[j])
        error = product + self.word_bias[i] + self.context_bias[j] - counts.log()
        return (weight(counts, maximum, power) * error**2).sum()

    def fit_counts(self, counts: Tensor, *, updates: int = 600, lr: float = 0.3, maximum: float = 100.0,
                   power: float = 0.75, after_update: Callable[[int, float], None] | None = None) -> list[float]:
        """Train with Adagrad on all pairs with a count above 0; return the loss J before each update.

        counts          (V, V), sparse or dense co-occurrence counts
        updates         number of updates, each with the gradient of all pairs
        lr              learning rate of Adagrad
        maximum, power  arguments of `weight`, the weight of a pair
        after_update    called after each update with the number of completed updates and the loss before it
        """
        if tuple(counts.shape) != (len(self.word), len(self.word)):
            raise ValueError(f"counts has shape {tuple(counts.shape)}; expected ({len(self.word)}, {len(self.word)}), "
                             "a row and a column for each word")
        sparse = counts.coalesce() if counts.is_sparse else counts.to_sparse()
        (i, j), x = sparse.indices(), sparse.values()
        optimizer = torch.optim.Adagrad(self.parameters(), lr)
        losses = []
        for number in range(updates):
            loss = self.loss(i, j, x, maximum, power)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if after_update:
                after_update(number + 1, losses[-1])
        return losses
