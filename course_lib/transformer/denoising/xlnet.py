r"""XLNet: permutation language modeling, $p(x) = \prod_k p(x_{o_k} \mid x_{o_1}, \dots, x_{o_{k-1}})$ for any order.

The order o is the order of the *factors*. Words keep their positions, and attention masks implement the order.
"""

from __future__ import annotations

import copy
from typing import Iterable, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, check_order
from course_lib.conditional import Categorical
from course_lib.transformer.blocks import TransformerBlock
from course_lib.validation import check_sizes


def order_masks(order: Iterable[int] | Tensor) -> tuple[Bool[Tensor, "n n"], Bool[Tensor, "n n"]]:
    """Return the attention masks (n, n) of content stream and query stream, True at [i, j] if word i attends to word j.

    order  order[k] is the position, from 0, of the word that is predicted k-th

    In the content stream a word attends to itself and to the words before it in the order. In the query stream it
    attends only to the words before it, because the query stream predicts the word itself. In MADE, hidden layers have
    masks of the first kind, and the output layer has a mask of the second kind.

    >>> content, query = order_masks([2, 0, 1])
    >>> query.int()                                      # the third word, the first, the second
    tensor([[0, 0, 1],
            [1, 0, 1],
            [0, 0, 0]], dtype=torch.int32)
    """
    order = torch.as_tensor(order if isinstance(order, Tensor) else list(order))
    order = check_order(order, order.numel())
    turn = order.argsort()                                           # turn[i]: rank of word i in the order
    query = turn[None, :] < turn[:, None]
    return query | torch.eye(len(order), dtype=torch.bool, device=order.device), query


class State(NamedTuple):
    """Sampling state after k words: the content stream of these words in each layer."""

    k: int                                                           # number of known words
    contents: tuple[Tensor, ...]                                     # their inputs to each block, (B, k, D) each


class XLNet(AutoregressiveModel):
    r"""XLNet: two streams through the same blocks, $h$ with the content of a word and $g$ without,

    $$h^0_i = E[x_i] + P_i, \quad g^0_i = w + P_i, \qquad
      h^l_i = \mathrm{block}_l(h^{l-1}_i; h^{l-1}_{o \le i}), \quad g^l_i = \mathrm{block}_l(g^{l-1}_i; h^{l-1}_{o <
      i})$$

    and $p(x_i \mid x_{o < i}) = \mathrm{softmax}(E g^L_i + b)$, with word embeddings E, position embeddings P, and a
    learned vector w in place of a word; $o < i$ are the positions before i in the order. One pass returns all factors
    of an order. `reordered` is a model with the same weights and another order; training samples an order for every
    batch, as with MADE.

    Positions are learned embeddings. In the paper they are relative, with a memory of earlier segments from
    Transformer-XL; the objective and the two streams do not depend on this. Slides: the timeline's XLNet. Paper: Yang
    et al. 2019.

    vocab_size  V, number of words in the vocabulary
    n           number of words of a text
    order       order[k] is the position, from 0, that is predicted k-th; left to right by default
    d_model     D, dimension of the two streams
    heads       number of attention heads
    layers      L, number of blocks
    d_ff        units of the feed-forward networks; None: 4 D
    dropout     dropout probability within the blocks

    >>> model = XLNet(vocab_size=9, n=5, order=[3, 1, 4, 0, 2])
    >>> model.log_prob(torch.tensor([[1, 2, 3, 4, 5]])).shape
    torch.Size([1])
    >>> model.reordered(range(5)).tokens.weight is model.tokens.weight
    True
    """

    def __init__(self, vocab_size: int, n: int, order: Iterable[int] | Tensor | None = None, d_model: int = 32,
                 heads: int = 2, layers: int = 2, d_ff: int | None = None, dropout: float | int = 0.0):
        super().__init__(n, Categorical(vocab_size), order)
        check_sizes(layers=layers)
        self.size = {"d_model": d_model, "heads": heads, "layers": layers, "d_ff": d_ff or 4 * d_model, "dropout": dropout}
        self.tokens = nn.Embedding(vocab_size, d_model)              # E
        self.positions = nn.Embedding(n, d_model)                    # P
        self.asked = nn.Parameter(torch.zeros(d_model))              # w: a word to be predicted
        self.bias = nn.Parameter(torch.zeros(vocab_size))            # b
        self.blocks = nn.ModuleList(TransformerBlock(d_model, heads, self.size["d_ff"], dropout, "post", "gelu")
                                    for _ in range(layers))
        for p in (self.tokens.weight, self.positions.weight, self.asked):
            nn.init.normal_(p, 0, d_model ** -0.5)

    @property
    def config(self) -> dict:
        """Arguments of the constructor, {name: value}."""
        return {"vocab_size": self.conditional.num_values, "n": self.n, "order": self.order.tolist(), **self.size}

    def reordered(self, order: Iterable[int] | Tensor) -> XLNet:
        """Return a model that shares this model's parameters and has the given order; training one changes both."""
        other = copy.deepcopy(self, {id(p): p for p in self.parameters()})             # parameters are not copied
        other.order.copy_(check_order(order, self.n))
        return other

    # every factor at once: two streams
    def conditionals(self, x: Integer[Tensor, "B n"], context: None = None) -> Distribution:
        content, query = order_masks(self.order)
        h = self.tokens(x.long()) + self.positions.weight            # (B, n, D)
        g = (self.asked + self.positions.weight).expand_as(h)
        for block in self.blocks:
            g, h = self._read(block, g, h, query), self._read(block, h, h, content)
        return self._family(g)

    # one word at a time: its query attends to the contents so far, to which its content is then appended
    def start(self, batch: int, context: None = None) -> State:
        empty = self.asked.new_zeros(batch, 0, self.size["d_model"])
        return State(0, (empty,) * len(self.blocks))

    def predict(self, state: State) -> Distribution:
        i = self.variable_at(state.k)
        g = (self.asked + self.positions.weight[i]).expand(len(state.contents[0]), 1, -1)        # (B, 1, D)
        for block, contents in zip(self.blocks, state.contents):
            g = self._read(block, g, contents)
        return self._family(g[:, 0])

    def update(self, state: State, x_i: Integer[Tensor, "B"]) -> State:
        h = (self.tokens(x_i.long()) + self.positions.weight[self.variable_at(state.k)])[:, None]      # (B, 1, D)
        grown = []
        for block, contents in zip(self.blocks, state.contents):
            grown.append(torch.cat([contents, h], dim=1))            # (B, k + 1, D), itself included
            h = self._read(block, h, grown[-1])
        return State(state.k + 1, tuple(grown))

    # one block, for either stream
    def _read(self, block: TransformerBlock, x: Float[Tensor, "B T D"],
              contents: Float[Tensor, "B S D"],
              mask: Bool[Tensor, "T S"] | None = None) -> Float[Tensor, "B T D"]:
        # without contents the output is 0
        u = block.residual1(x, lambda y: block.attention(y, contents, mask=mask))
        return block.residual2(u, block.feed_forward)

    def _family(self, g: Float[Tensor, "... D"]) -> Distribution:
        return self.conditional(g @ self.tokens.weight.T + self.bias)

    def loss_in(self, x: Integer[Tensor, "B n"], order: Iterable[int] | Tensor,
                last: int | None = None) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per word for the given order, and the number of predicted words.

        order  order[k] is the position, from 0, that is predicted k-th
        last   number of words at the end of the order that are predicted, as in the paper (None: all); the first words
               have little context, so their loss is high and slows training
        """
        last = self.n if last is None else last
        if not 1 <= last <= self.n:
            raise ValueError(f"last is {last}; expected 1 to {self.n}, the number of words")
        model = self.reordered(order)
        targets = model.order[-last:]
        factors = model.conditionals(x).log_prob(model.conditional.check(x))[:, targets]
        return -factors.mean(), factors.numel()
