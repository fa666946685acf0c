"""A model given by a table with the distribution of the next symbol for every prefix."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical


class State(NamedTuple):
    """State of each row: the node of the tree, which stands for the prefix so far."""

    node: Tensor                                                     # (B,): row of `PrefixTree.p`; last: after the end


class PrefixTree(AutoregressiveModel):
    r"""Sequence model whose conditional $p(x_i \mid x_{<i})$ is the row of a table for the prefix $x_{<i}$.

    symbols  the V symbols; the last symbol ends a sequence
    table    prefix -> V probabilities of the next symbol. A prefix is written as its symbols separated by spaces, and
             the empty prefix as "": {"": [0.5, 0.4, 0.1], "yes": [0.4, 0.3, 0.3]}

    After a prefix that is not in the table, and after the end, the end symbol has probability 1. The probabilities of all
    sequences up to the first end symbol therefore sum to 1.

    Slides: "Greedy search", the search tree over yes, ok and the end symbol.

    Raises ValueError if a row is not a distribution over the symbols, if a prefix is unreachable, or if "" has no row.

    >>> tree = PrefixTree(["a", "end"], {"": [0.75, 0.25], "a": [0.5, 0.5]})
    >>> tree.log_prob(torch.tensor([[0, 1]])).exp()                        # "a end"
    tensor([0.3750], dtype=torch.float64)
    """

    def __init__(self, symbols: Sequence[str], table: Mapping[str, Sequence[float]]):
        super().__init__(None, Categorical(len(symbols)))
        self.symbols, self.eos_id = list(symbols), len(symbols) - 1
        if "" not in table:
            raise ValueError('table has no row for ""; expected a row for the empty prefix')
        self.prefixes = [tuple(map(self._id, prefix.split())) for prefix in table]
        row = {prefix: i for i, prefix in enumerate(self.prefixes)}
        for prefix, p in table.items():
            if len(p) != len(symbols) or min(p) < 0 or abs(sum(p) - 1) > 1e-6:
                raise ValueError(f"table[{prefix!r}] is {list(p)}; expected {len(symbols)} probabilities that sum "
                                 "to 1")
        for prefix in self.prefixes:
            if prefix and (prefix[:-1] not in row or self.eos_id in prefix):
                raise ValueError(f"table contains {self.write(prefix)!r}, which is unreachable; expected rows for its "
                                 "prefixes, and no end symbol in a prefix")
        over, V = len(row), len(symbols)
        p = torch.zeros(over + 1, V, dtype=torch.float64)            # the last row: after the end
        p[:over] = torch.tensor(list(table.values()), dtype=torch.float64)
        p[over, self.eos_id] = 1
        child = [[row.get((*prefix, v), over) for v in range(V)] for prefix in self.prefixes]
        self.register_buffer("p", p)                                 # (N + 1, V)
        self.register_buffer("child", torch.tensor(child + [[over] * V]))            # (N + 1, V), rows of p
        self.root = row[()]

    # every factor at once
    def conditionals(self, x: Integer[Tensor, "B n"], context: None = None) -> Distribution:
        state, rows = self.start(len(x)), []
        for x_i in x.T:
            rows.append(state.node)
            state = self.update(state, x_i)
        return self.conditional(self.p[torch.stack(rows, dim=1)].log())              # (B, n, V)

    # one symbol at a time
    def start(self, batch: int, context: None = None) -> State:
        return State(torch.full((batch,), self.root, device=self.p.device))

    def predict(self, state: State) -> Distribution:
        return self.conditional(self.p[state.node].log())            # (B, V)

    def update(self, state: State, x_i: Tensor) -> State:
        return State(self.child[state.node, x_i.long()])

    @torch.no_grad()
    def randomize(self, generator: torch.Generator | None = None) -> None:
        """Set every row of the table to a random distribution with positive probabilities."""
        p = 0.05 + torch.rand(len(self.prefixes), len(self.symbols), generator=generator, dtype=torch.float64)
        self.p[:-1] = (p / p.sum(dim=1, keepdim=True)).to(self.p)

    # names
    def write(self, x: Iterable[int] | Tensor) -> str:
        """Symbols of a sequence of ids (T,), separated by spaces, up to and including the first end symbol."""
        ids = x.tolist() if isinstance(x, Tensor) else list(x)
        ids = ids[: ids.index(self.eos_id) + 1] if self.eos_id in ids else ids
        return " ".join(self.symbols[i] for i in ids)

    def _id(self, symbol: str) -> int:
        if symbol not in self.symbols:
            raise ValueError(f"table contains the symbol {symbol!r}; expected one of {', '.join(self.symbols)}")
        return self.symbols.index(symbol)


def yes_or_ok() -> PrefixTree:
    """Search tree of the slide "Greedy search" over "yes", "ok" and "</s>".

    Greedy search returns "yes yes </s>", but the most probable sequence is "ok ok </s>". The vocabulary contains the
    end symbol instead of the slide's start symbol.
    """
    return PrefixTree(["yes", "ok", "</s>"], {
        "": [0.5, 0.4, 0.1],
        "yes": [0.4, 0.3, 0.3],
        "ok": [0.2, 0.7, 0.1],
        "yes yes": [0.0, 0.0, 1.0],
        "yes ok": [0.0, 0.0, 1.0],
        "ok yes": [0.0, 0.0, 1.0],
        "ok ok": [0.0, 0.0, 1.0],
    })
