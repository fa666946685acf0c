"""Recurrent language model with attention over its earlier hidden states."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.recurrent.language_model import RecurrentLM
from course_lib.recurrent.layers import Memory, check_next
from course_lib.recurrent.scores import context_of, make_score, weights_of
from course_lib.tokenizers.batching import Padded


class Past(NamedTuple):
    """State of each row after S tokens, padding of the prompt included."""

    memory: Memory                                                   # states of the layers after the last token
    states: Tensor                                                   # (B, S, H): hidden states h_1, ..., h_S
    seen: Tensor                                                     # (B, S): True for tokens, False for padding
    logits: Tensor                                                   # (B, V): logits of the next token


class AttentiveLM(RecurrentLM):
    r"""Recurrent language model with attention: $z_t = W_{cy} [h_t; c_t] + b_y$ with $c_t = \sum_{\tau < t}
    \alpha_{t,\tau} h_\tau$.

    score  "dot", "scaled dot", "bilinear" or "additive": the score of query h_t and key h_tau

    The other arguments are as in `RecurrentLM`. $z_t$ are the logits of the next token. The context vector $c_t$ is a
    sum over the states *before* h_t, because h_t itself is an input of the output layer: $\alpha_{t,1} + \dots +
    \alpha_{t,t-1} = 1$, and $c_1 = 0$. The cost of token t is O(t H); without attention it does not depend on t.

    Slides: "Storing All Previous Hidden States", "Attention as a Similarity-Based Weighting" (one slide sums to t, the
    other to t - 1). Paper: Daniluk et al. 2017.

    >>> model = AttentiveLM(10, 16, "gru", score="additive", bos_id=0)
    >>> model.log_prob(torch.tensor([[3, 5]])).shape
    torch.Size([1])
    >>> model.attention_weights(torch.tensor([[0, 3, 5]]))[0, 0]     # no earlier state
    tensor([0., 0., 0.])
    """

    def __init__(self, vocab_size: int, hidden: int, cell: str = "lstm", score: str = "additive", layers: int = 1,
                 embedding: int | None = None, dropout: float | int = 0.0, forget_bias: float | int | None = None,
                 bos_id: int | None = None):
        super().__init__(vocab_size, hidden, cell, layers, embedding, dropout, forget_bias, bos_id=bos_id)
        self.kind = score
        self.score = make_score(score, hidden)
        self.head = nn.Linear(2 * hidden, vocab_size)                # W_cy, b_y

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {name: value for name, value in super().config.items() if name != "learned_start"} | {"score": self.kind}

    def read(self, tokens: Padded, memory: Memory | None = None) -> tuple[Float[Tensor, "B T V"], Memory]:
        """Logits of the token after each position, and the states of the layers after the last token.

        tokens  (B, T), or a pair with their mask (B, T), True for real tokens
        memory  has to be None, because it does not contain the earlier hidden states; ValueError otherwise
        """
        if memory is not None:
            raise ValueError(f"memory is a {type(memory).__name__}; expected None, because attention needs all "
                             "earlier hidden states, which memory does not contain: pass the whole text as tokens")
        return super().read(tokens)

    def hidden_states(self, tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None,
                      memory: Memory | None = None) -> tuple[Float[Tensor, "B T R"], Memory]:
        """[h_t; c_t] after each token, R = 2H, and the states of the layers after the last token of each row.

        h_t is the hidden state of the last layer, c_t the context vector. Arguments as in `RecurrentLM.hidden_states`.
        """
        h, memory = super().hidden_states(tokens, mask, memory)            # (B, T, H)
        return torch.cat([h, context_of(self._weights(h, mask), h)], dim=2), memory

    def _weights(self, h: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"] | None) -> Float[Tensor, "B T T"]:
        """Attention weights alpha: row t has the weights of the hidden states before h_t, and 0 elsewhere."""
        T = h.shape[1]
        before = torch.ones(T, T, dtype=torch.bool, device=h.device).tril(-1)
        return weights_of(self.score(h, h), (before if mask is None else before & mask[:, None]).expand(len(h), T, T))

    @torch.no_grad()
    def attention_weights(self, tokens: Padded) -> Float[Tensor, "B T T"]:
        """Attention weights: row t has the weights of the hidden states of the tokens before token t, and 0 elsewhere.

        tokens  (B, T), or a pair with their mask (B, T), True for real tokens
        """
        tokens, mask = self.check_tokens(tokens)
        return self._weights(super().hidden_states(tokens, mask)[0], mask)

    # --- one token at a time: the state holds all hidden states so far ----------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> Past:
        prompt, mask = self.prompt(batch, context)
        h, memory = super().hidden_states(prompt, mask)
        seen = torch.ones_like(prompt, dtype=torch.bool) if mask is None else mask
        return self._past(memory, h, seen)

    @torch.no_grad()
    def update(self, state: Past, x_i: Tensor) -> Past:
        """Return the state after the token x_i (B,): one step of each layer, and attention to all earlier states."""
        x_i = check_next(self, x_i, len(state.logits))
        h, memory = self.layers(self.embedded(x_i[:, None]), state.memory)                  # (B, 1, H)
        seen = F.pad(state.seen, (0, 1), value=True)
        return self._past(memory, torch.cat([state.states, h], dim=1), seen)

    def _past(self, memory: Memory, states: Float[Tensor, "B S H"], seen: Bool[Tensor, "B S"]) -> Past:
        h, before = states[:, -1:], seen.clone()
        before[:, -1] = False
        c = context_of(weights_of(self.score(h, states), before[:, None]), states)           # (B, 1, H)
        return Past(memory, states, seen, self.scores(torch.cat([h, c], dim=2))[:, 0])
