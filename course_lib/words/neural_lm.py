r"""The neural probabilistic language model (Bengio et al. 2003): word vectors and a feed-forward network.

Unlike an n-gram, it generalizes across histories: words that occur in similar contexts get similar vectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.tokenizers.sequences import check_prompt, check_symbols
from course_lib.validation import check_sizes


class State(NamedTuple):
    """State of each row: its history."""

    history: Tensor                                                  # (B, m): ids of the last m words, oldest first


class NeuralLM(AutoregressiveModel):
    r"""$p(w_t \mid w_{t-m}, \dots, w_{t-1})
    = \mathrm{softmax}(b + W x + U \tanh(d + H x))$.

    x concatenates the vectors of the last m words:
    $x = [C(w_{t-m}); \dots; C(w_{t-1})]$.

    n           order, as for an n-gram: the history is the last m = n - 1 words
    vocab_size  V, number of words
    width       D, of the word vectors: C is (V, D)
    hidden      H, hidden units
    direct      whether W connects x directly to the logits; otherwise W = 0
    bos_id      start word, prepended m times; None: the model conditions on a prompt,
                `context` (B, P), P at least m

    Every position of the window has its own weights in H and W, and all share the table C,
    so the number of parameters grows linearly with m.

    Slides: the timeline, "Neural-net based embeddings". Paper: Bengio, Ducharme, Vincent
    and Jauvin 2003, A neural probabilistic language model.

    >>> model = NeuralLM(3, 10, width=4, hidden=8, bos_id=0)
    >>> model.log_prob(torch.tensor([[3, 5]])).shape, model.sample(2, length=6).shape
    (torch.Size([1]), torch.Size([2, 6]))
    """

    def __init__(self, n: int, vocab_size: int, width: int, hidden: int,
                 direct: bool = False, bos_id: int | None = None):
        check_sizes(2, n=n, vocab_size=vocab_size)
        check_sizes(width=width, hidden=hidden)
        if bos_id is not None and not 0 <= bos_id < vocab_size:
            raise ValueError(f"bos_id is {bos_id}; expected 0 to {vocab_size - 1}, the ids "
                             "of this vocabulary")
        super().__init__(None, Categorical(vocab_size))
        self.memory, self.vocab_size, self.bos_id = n - 1, vocab_size, bos_id
        self._sizes = {"width": width, "hidden": hidden, "direct": direct}
        self.C = nn.Embedding(vocab_size, width)
        self.H = nn.Linear(self.memory * width, hidden)              # H and d
        self.U = nn.Linear(hidden, vocab_size)                       # U and b
        self.W = nn.Linear(self.memory * width, vocab_size, bias=False) if direct else None

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"n": self.memory + 1, "vocab_size": self.vocab_size, **self._sizes,
                "bos_id": self.bos_id}

    def scores(self, history: Integer[Tensor, "... m"]) -> Float[Tensor, "... V"]:
        """Logits of the next word, b + W x + U tanh(d + H x)."""
        x = self.C(history).flatten(-2)                              # (..., m D)
        y = self.U(torch.tanh(self.H(x)))                            # (..., V)
        return y if self.W is None else y + self.W(x)

    # every factor at once
    def conditionals(self, x: Integer[Tensor, "B n"],
                     context: Tensor | None = None) -> Distribution:
        padded = torch.cat([self._before(len(x), context), x.long()], dim=1)  # (B, m + n)
        # (B, n, V)
        return self.conditional(self.scores(padded[:, :-1].unfold(1, self.memory, 1)))

    # one word at a time
    def start(self, batch: int, context: Tensor | None = None) -> State:
        return State(self._before(batch, context))

    def predict(self, state: State) -> Distribution:
        return self.conditional(self.scores(state.history))          # (B, V)

    def update(self, state: State, x_i: Tensor) -> State:
        return State(torch.cat([state.history, x_i[:, None].long()], dim=1)[:, 1:])

    def parents(self, i: int) -> list[int]:
        return list(range(max(0, i - self.memory), i))

    def loss(self, batch: Tensor | tuple[Tensor, Tensor]) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per word, and the number of words.

        batch  texts (B, T), or a pair with their mask (B, T), True for real words, with
               padding on the right
        """
        x, mask = batch if isinstance(batch, tuple) else (batch, None)
        logits, target = self.conditionals(self.check_input(x)).logits, x
        if mask is not None:
            logits, target = logits[mask], target[mask]
        return F.cross_entropy(logits.flatten(0, -2), target.flatten()), target.numel()

    def _before(self, batch: int, context: Tensor | None) -> Integer[Tensor, "B m"]:
        """The history of the first word: the last m words of bos_id, repeated, and the
        prompt."""
        device = self.C.weight.device
        if context is None and self.bos_id is None:
            raise ValueError("context is None; without a bos_id this model needs a "
                             f"prompt, (B, P) with P at least {self.memory}")
        parts = [torch.full((batch, self.memory if self.bos_id is not None else 0),
                            self.bos_id or 0, device=device)]
        if context is not None:
            least = self.memory if self.bos_id is None else 0
            parts.append(check_prompt(self, context, batch, least).to(device).long())
        whole = torch.cat(parts, dim=1)
        return whole[:, whole.shape[1] - self.memory:]

    def check_input(self, x: Tensor,
                    context: Tensor | None = None) -> Integer[Tensor, "B n"]:
        return super().check_input(check_symbols(x), context)

    def check_context(self, context: Tensor, batch: int) -> None:
        self._before(batch, context)
