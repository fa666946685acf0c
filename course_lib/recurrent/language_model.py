r"""Recurrent language model: $p(x_{t+1} \mid x_{\le t})$ from a hidden state that is updated at every token."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.recurrent._torch_kernels import run_one_step
from course_lib.recurrent.layers import Memory, Recurrent, check_next
from course_lib.tokenizers.batching import Padded, tokens_and_mask
from course_lib.validation import check_sizes


class RecurrentLM(AutoregressiveModel):
    r"""Recurrent language model: $h_t = \mathrm{cell}(x_t, h_{t-1})$,
    $p(x_{t+1} \mid x_{\le t}) = \mathrm{softmax}(W_{hy} h_t + b_y)$.

    vocab_size     V, number of tokens
    hidden         H, size of each layer
    cell           "rnn", "lstm" or "gru"
    layers         number of layers
    embedding      size of the token embeddings; None: one-hot vectors of size V, as on the slide
    dropout        dropout probability of embeddings and of outputs of layers; not applied along time
    forget_bias    initial b_f of an LSTM; None: random
    learned_start  whether h_0 is a parameter, the slide's $h_0 = b_0$; otherwise it is 0
    bos_id         token that precedes a text without a prompt

    The state has a fixed size, whatever the length of the text. As a distribution over
    sequences, the model continues a prompt, `context`, or starts after `bos_id`. Without
    either, a learned start predicts the first token from h_0, and any other model raises
    ValueError. A context is a tensor of tokens (B, P) or, for prompts of unequal lengths,
    a pair (tokens, mask) from `left_pad`.

    Slides: "RNN: Recurrent neural nets", "Recurrence in a Standard Elman RNN LM".
    Paper: Mikolov et al. 2010.

    >>> model = RecurrentLM(vocab_size=10, hidden=16, cell="lstm", bos_id=0)
    >>> # logits of the next token, at each position
    >>> model(torch.tensor([[0, 3, 5]])).shape
    torch.Size([1, 3, 10])
    >>> model.log_prob(torch.tensor([[3, 5]])).shape, model.sample(2, length=6).shape
    (torch.Size([1]), torch.Size([2, 6]))
    """

    def __init__(self, vocab_size: int, hidden: int, cell: str = "lstm", layers: int = 1, embedding: int | None = None,
                 dropout: float | int = 0.0, forget_bias: float | int | None = None, learned_start: bool = False,
                 bos_id: int | None = None):
        check_sizes(2, vocab_size=vocab_size)
        super().__init__(None, Categorical(vocab_size))
        if embedding is not None and embedding < 1:
            raise ValueError(f"embedding is {embedding}; expected at least 1, or None for one-hot vectors")
        if bos_id is not None and not 0 <= bos_id < vocab_size:
            raise ValueError(f"bos_id is {bos_id}; expected 0 to {vocab_size - 1}, a token of the vocabulary, or None")
        self._config = {"vocab_size": vocab_size, "hidden": hidden, "cell": cell, "layers": layers,
                        "embedding": embedding, "dropout": dropout, "forget_bias": forget_bias,
                        "learned_start": learned_start, "bos_id": bos_id}
        self.vocab_size, self.bos_id, self.dropout = vocab_size, bos_id, dropout
        self.tokens = None if embedding is None else nn.Embedding(vocab_size, embedding)
        self.layers = Recurrent(cell, embedding or vocab_size, hidden, layers, dropout=dropout,
                                learned_start=learned_start, forget_bias=forget_bias)
        self.head = nn.Linear(hidden, vocab_size)                    # W_hy, b_y

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return dict(self._config)

    # --- the network -------------------------------------------------------------------------------------------------

    def forward(self, tokens: Tensor, mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position of `tokens` (B, T).

        mask  (B, T), True for real tokens, which must be contiguous: padding before or after
              them is ignored, and its logits are meaningless; None: no padding

        Raises ValueError if a token is outside the vocabulary, or if the mask has a wrong shape
        or dtype, or padding between tokens.
        """
        return self.read((tokens, mask))[0]

    def read(self, tokens: Padded, memory: Memory | None = None) -> tuple[Float[Tensor, "B T V"], Memory]:
        """Logits of the token after each position, and the states of the layers after the last token.

        tokens  (B, T), or a pair with their mask, as in `forward`
        memory  states of the layers after the text before these tokens; None: the initial
                states. A text can thus be processed in pieces, with the same result as at once
        """
        tokens, mask = self.check_tokens(tokens)
        h, memory = self.hidden_states(tokens, mask, memory)
        return self.scores(h), memory

    def hidden_states(self, tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None,
                      memory: Memory | None = None) -> tuple[Float[Tensor, "B T H"], Memory]:
        """Hidden states of the last layer after each token, and the states of all layers after each row's last token.

        mask    (B, T), True for real tokens, contiguous in each row; None: no padding
        memory  states of all layers before the tokens; None: the initial states
        """
        if mask is None or mask.all():
            return self.layers(self.embedded(tokens), memory)
        first, t = mask.int().argmax(dim=1), torch.arange(tokens.shape[1], device=tokens.device)
        rows = torch.arange(len(tokens), device=tokens.device)[:, None]
        place = (t + first[:, None]) % len(t)                        # (B, T): rows rotated to their first token
        h, memory = self.layers(self.embedded(tokens[rows, place]), memory, mask.sum(dim=1))
        return h[rows, (t - first[:, None]) % len(t)], memory        # rotated back

    def embedded(self, tokens: Integer[Tensor, "... T"]) -> Float[Tensor, "... T I"]:
        """Inputs of the first layer, of size I: token embeddings, or one-hot vectors of size V."""
        if self.tokens is None:
            return F.one_hot(tokens, self.vocab_size).to(self.head.weight.dtype)
        e = self.tokens(tokens)
        return F.dropout(e, self.dropout) if self.training else e

    def scores(self, h: Float[Tensor, "... H"]) -> Float[Tensor, "... V"]:
        """Logits of the next token, W_hy h + b_y, from hidden states h of the last layer."""
        return self.head(F.dropout(h, self.dropout) if self.training else h)

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per token, and the number of predicted tokens.

        batch  tokens (B, T), or a pair with their mask (B, T), True for real tokens. Each token
               except the first of its row is predicted from the tokens before it
        """
        tokens, mask = self.check_tokens(batch)
        if tokens.shape[1] < 2:
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}; expected (B, T) with T at least 2")
        logits, target = self.read((tokens, mask) if mask is not None else tokens)[0][:, :-1], tokens[:, 1:]
        if mask is not None:
            counted = mask[:, 1:] & mask[:, :-1]
            logits, target = logits[counted], target[counted]
        return F.cross_entropy(logits.flatten(0, -2), target.flatten()), target.numel()

    # --- the distribution: every factor at once ----------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Padded | None = None) -> Distribution:
        if x.shape[1] == 0:
            raise ValueError("x has no tokens; expected at least 1")
        prompt, mask = self.prompt(len(x), context)
        if prompt is None:  # the first token comes from h_0
            memory = self.layers.start(len(x))
            h = memory[-1][0][:, None]                               # (B, 1, H)
            if x.shape[1] > 1:
                h = torch.cat([h, self.hidden_states(x[:, :-1], None, memory)[0]], dim=1)
        else:
            # shifted: the tokens before each token of x
            tokens = torch.cat([prompt, x[:, :-1]], dim=1)
            if mask is not None:
                mask = F.pad(mask, (0, x.shape[1] - 1), value=True)
            h = self.hidden_states(tokens, mask)[0][:, prompt.shape[1] - 1:]
        return self.conditional(self.scores(h))                     # (B, n, V)

    # --- one token at a time -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> State:
        prompt, mask = self.prompt(batch, context)
        memory = (self.layers.start(batch) if prompt is None
                  else self.hidden_states(prompt, mask)[1])
        return State(memory, self.scores(memory[-1][0]))

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits)

    @torch.no_grad()
    def update(self, state: State, x_i: Tensor) -> State:
        """One step of each layer: O(H^2), whatever the length of the text."""
        x_i = check_next(self, x_i, len(state.logits))
        first, *others = self.layers.cells
        if self.tokens is None:
            a = first.W_x.T[x_i] + first.b  # (B, G): a one-hot vector selects a column
            memory = [first.step(a, state.memory[0])]
        else:
            memory = [run_one_step(first, self.embedded(x_i), state.memory[0])]
        for cell, past in zip(others, state.memory[1:]):
            h = F.dropout(memory[-1][0], self.layers.dropout, self.training)
            memory.append(run_one_step(cell, h, past))
        return State(tuple(memory), self.scores(memory[-1][0]))

    # --- input -------------------------------------------------------------------------------------------------------

    def check_context(self, context: Padded, batch: int) -> None:
        self.prompt(batch, context)

    def prompt(self, batch: int, context: Padded | None) -> tuple[Tensor | None, Tensor | None]:
        """Return the tokens (B, P) that precede x, and their mask (B, P), which is None if there is no padding.

        batch    B, number of rows
        context  prompts (B, P), or a pair with their mask; None: the prompt is `bos_id`

        Returns (None, None) if there is neither a context nor a `bos_id`; the first token is then predicted from the
        learned start. Raises ValueError if there is no learned start either, or if the context is invalid.
        """
        device = self.head.weight.device
        if context is None:
            if self.bos_id is not None:
                return torch.full((batch, 1), self.bos_id, device=device), None
            if self.layers.first is None:
                raise ValueError("context is None; expected a prompt (B, P) with P at least 1, because this model has "
                                 "neither a bos_id nor a learned start")
            return None, None
        tokens, mask = self.check_tokens(context, "context")
        if len(tokens) != batch:
            raise ValueError(f"context has shape {tuple(tokens.shape)}; expected (B, P) with B = {batch}, the "
                             "number of rows")
        if mask is not None and not mask[:, -1].all():
            raise ValueError("the mask of context is False at the end of a row; expected padding on the "
                             'left, as pad(prompts, 0, side="left") does')
        return tokens.to(device), None if mask is None else mask.to(device)

    def check_tokens(self, batch: Padded, name: str = "tokens") -> tuple[Tensor, Tensor | None]:
        """Return the tokens (B, T) and their mask (B, T), which is None if the batch has no mask.

        batch  tokens (B, T), or a pair with their mask
        name   name of the batch in error messages

        Raises ValueError if a token is outside the vocabulary, or if a row of the mask is empty or not contiguous.
        """
        tokens, mask = tokens_and_mask(batch, self.vocab_size, name)
        if tokens.dim() != 2 or tokens.numel() == 0:
            raise ValueError(f"{name} has shape {tuple(tokens.shape)}; expected (B, T) with B and T at least 1")
        tokens = self.conditional.check(tokens, name)
        if mask is not None:
            edges = (F.pad(mask, (1, 1))[:, 1:] != F.pad(mask, (1, 1))[:, :-1]).sum(dim=1)
            if (edges != 2).any():
                raise ValueError(f"the mask of {name} has a row without tokens, or with padding between tokens; expected "
                                 "contiguous tokens in each row, with padding before or after them")
        return tokens, mask


class State(NamedTuple):
    """State of each row: the states of the layers, and the logits of the next token."""

    memory: Memory                                                   # (h,) or (h, c) of each layer, (B, H) each
    logits: Tensor                                                   # (B, V): logits of the next token
