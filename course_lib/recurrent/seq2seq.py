r"""Recurrent encoder-decoder (sequence-to-sequence model), $p(y_t \mid y_{<t}, x)$, with and without attention.

At each step t the decoder depends on a context vector c_t. Without attention it is the encoder's last state at every
step; with attention it is a weighted mean of all encoder states, with new weights at each step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.recurrent.layers import Memory, Recurrent, check_next
from course_lib.recurrent.scores import context_of, make_score, weights_of
from course_lib.tokenizers.batching import Padded, tokens_and_mask
from course_lib.training.losses import cross_entropy

PLACEMENTS = ("before", "after")


class Source(NamedTuple):
    """The encoded source, computed once for all steps of the decoder."""

    states: Tensor                                                   # (B, S, C): encoder states h_1, ..., h_S
    prepared: Tensor                                                 # (B, S, E): result of `Score.prepare`
    seen: Tensor                                                     # (B, S): True where the source has a token
    last: Tensor                                                     # (B, C): encoder state after the last token


class State(NamedTuple):
    """State of each row during decoding."""

    source: Source                                                   # the encoded source
    memory: Memory                                                   # state of the decoder
    over: Tensor                                                     # (B,): True where the target has ended
    logits: Tensor                                                   # (B, V): logits of the next token
    weights: Tensor                                                  # (B, S): attention weights of the last step


class Seq2Seq(AutoregressiveModel):
    r"""Recurrent encoder-decoder of source x and target y, with attention "before" the decoder's step,

    $$c_t = \sum_\tau \alpha_{t,\tau}\, h_\tau^{\mathrm{enc}}, \quad
      \alpha_{t,\cdot} = \mathrm{softmax}_\tau\, s(h_{t-1}^{\mathrm{dec}}, h_\tau^{\mathrm{enc}}),$$

    $$h_t^{\mathrm{dec}} = f(h_{t-1}^{\mathrm{dec}}, [y_{t-1}; c_t]), \quad
      p(y_t) = \mathrm{softmax}(W_{hy} h_t^{\mathrm{dec}} + b_y),$$

    or "after" it,

    $$h_t^{\mathrm{dec}} = f(h_{t-1}^{\mathrm{dec}}, y_{t-1}), \quad
      \alpha_{t,\cdot} = \mathrm{softmax}_\tau\, s(h_t^{\mathrm{dec}}, h_\tau^{\mathrm{enc}}),$$

    $$p(y_t) = \mathrm{softmax}(W_{cy} [h_t^{\mathrm{dec}}; c_t] + b_y).$$

    source, target  sizes of the two vocabularies
    hidden          H, size of the decoder, and of each direction of the encoder
    score           "dot", "scaled dot", "bilinear" or "additive"; None: no attention, c_t is the encoder's last state
    placement       attention "before" (Bahdanau) or "after" (Luong) the decoder's step
    cell            "rnn", "lstm" or "gru", in encoder and decoder
    embedding       E, size of the token embeddings; None: H
    bidirectional   whether the encoder runs in both directions: its states are then [forward; backward] of size C = 2H,
                    and its last state concatenates the last states of both directions; otherwise C = H
    tied            whether the output layer shares the weights of the target embeddings, after a tanh layer of size E
    dropout         dropout probability of embeddings and of inputs of the output layer
    smoothing       label smoothing of the training loss, in torch's form: see `cross_entropy`
    pad_id          padding token of source and target
    bos_id          first input of the decoder
    eos_id          last token of a target

    An autoregressive model of the target y (B, T). Its `context` is the source: tokens (B, S), padded with `pad_id` on
    the right, or a pair with their mask, True for real tokens. The decoder's initial state is $\tanh(W_s h_n + b_s)$,
    where h_n is the encoder's last state; in training its inputs are the true tokens (teacher forcing).

    A target ends with `eos_id`. It is followed by padding with probability 1, so that a tensor can hold targets of
    different lengths.

    Slides: "Encoder-Decoder Architecture", "Integrating Attention in Seq2Seq". The slide computes the weights from h_t,
    which depends on c_t. In this class, as in the paper, they depend on h_{t-1}. Papers: Sutskever et al. 2014, Cho et
    al. 2014, Bahdanau et al. 2015, Luong et al. 2015.

    >>> model = Seq2Seq(source=9, target=8, hidden=6, score="additive")
    >>> source = torch.tensor([[4, 5, 6], [7, 8, 0]])
    >>> # of "3 7 end" and "5 end", given the sources
    >>> model.log_prob(torch.tensor([[3, 7, 2], [5, 2, 0]]), context=source).shape
    torch.Size([2])
    >>> model.sample(2, context=source, length=5).shape
    torch.Size([2, 5])
    """

    def __init__(self, source: int, target: int, hidden: int, score: str | None = "additive", placement: str = "before",
                 cell: str = "gru", embedding: int | None = None, bidirectional: bool = True, tied: bool = False,
                 dropout: float | int = 0.0, smoothing: float | int = 0.0, pad_id: int = 0, bos_id: int = 1,
                 eos_id: int = 2):
        super().__init__(None, Categorical(target))
        if placement not in PLACEMENTS:
            raise ValueError(f"placement is {placement!r}; expected one of {', '.join(map(repr, PLACEMENTS))}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; expected a probability, at least 0 and less than 1")
        for name, value, size in (("pad_id", pad_id, min(source, target)), ("bos_id", bos_id, target),
                                  ("eos_id", eos_id, target)):
            if not 0 <= value < size:
                raise ValueError(f"{name} is {value}; expected 0 to {size - 1}, a token of the vocabulary")
        if eos_id == pad_id:
            raise ValueError(f"eos_id and pad_id are both {pad_id}; expected different tokens")
        self._config = {"source": source, "target": target, "hidden": hidden, "score": score, "placement": placement,
                        "cell": cell, "embedding": embedding, "bidirectional": bidirectional, "tied": tied,
                        "dropout": dropout, "smoothing": smoothing, "pad_id": pad_id, "bos_id": bos_id, "eos_id": eos_id}
        E, C = hidden if embedding is None else embedding, (1 + bidirectional) * hidden
        self.pad_id, self.bos_id, self.eos_id = pad_id, bos_id, eos_id
        self.placement, self.dropout, self.smoothing = placement, dropout, smoothing
        self.source = nn.Embedding(source, E)
        self.target = nn.Embedding(target, E)
        self.encoder = Recurrent(cell, E, hidden, bidirectional=bidirectional)
        self.decoder = Recurrent(cell, E + C if placement == "before" else E, hidden)
        self.bridge = nn.Linear(C, self.decoder.cells[0].parts * hidden)                     # W_s, b_s
        self.score = None if score is None else make_score(score, hidden, C)
        read = hidden if placement == "before" else hidden + C
        self.readout = nn.Sequential(nn.Linear(read, E), nn.Tanh()) if tied else nn.Identity()
        self.head = nn.Linear(E if tied else read, target)           # W_hy or W_cy, b_y
        if tied:
            nn.init.normal_(self.target.weight, std=E ** -0.5)
            self.head.weight = self.target.weight

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return dict(self._config)

    # --- encoder -----------------------------------------------------------------------------------------------------

    def encode(self, source: Padded) -> Source:
        """Encode the source, tokens (B, S) padded with `pad_id` on the right, or a pair with their mask."""
        tokens, seen = self._source(source)
        states, memory = self.encoder(self._drop(self.source(tokens)), lengths=seen.sum(dim=1))           # (B, S, C)
        last = torch.cat([state[0] for state in memory], dim=1)      # (B, C): each direction at its own end
        return Source(states, states if self.score is None else self.score.prepare(states), seen, last)

    def _initial_memory(self, source: Source) -> Memory:
        """Initial state of the decoder, computed from the encoder's last state."""
        return tuple(torch.tanh(self.bridge(source.last)).chunk(self.decoder.cells[0].parts, dim=1)),

    # --- attention ---------------------------------------------------------------------------------------------------

    def _attend(self, h: Float[Tensor, "B T H"], source: Source) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B T S"]]:
        """Context vectors and attention weights of decoder states h.

        Without attention the context vector is the last encoder state, and its position has weight 1.
        """
        if self.score is None:
            B, T, S = *h.shape[:2], source.states.shape[1]
            ends = torch.arange(S, device=h.device) == source.seen.sum(dim=1, keepdim=True) - 1              # (B, S)
            return source.last[:, None].expand(-1, T, -1), ends.to(h.dtype)[:, None].expand(B, T, S)
        weights = weights_of(self.score.match(h, source.prepared), source.seen[:, None])                     # (B, T, S)
        return context_of(weights, source.states), weights           # (B, T, C)

    # --- every factor at once: teacher forcing -----------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Padded | None = None) -> Distribution:
        h, _ = self.decode(x, self.encode(self._require_context(context)))
        ends = x == self.eos_id
        return self.conditional(self._padded(self.logits(h), ends.cumsum(dim=1) > ends))    # True after the end

    def decode(self, x: Integer[Tensor, "B T"],
               source: Source) -> tuple[Float[Tensor, "B T R"], Float[Tensor, "B T S"]]:
        """h_t or [h_t; c_t] for the output layer, and the attention weights."""
        # (B, T, E): shifted
        y = self._drop(self.target(F.pad(x[:, :-1], (1, 0), value=self.bos_id)))
        memory = self._initial_memory(source)
        if self.placement == "after":  # the steps do not depend on c
            h, _ = self.decoder(y, memory)
            c, weights = self._attend(h, source)
            return torch.cat([h, c], dim=2), weights
        if self.score is None:                                       # c is constant
            c, weights = self._attend(y, source)
            return self.decoder(torch.cat([y, c], dim=2), memory)[0], weights
        outputs, looks = [], []
        for y_t in y.split(1, dim=1):  # c_t depends on h_(t-1)
            c, weights = self._attend(memory[0][0][:, None], source)  # (B, 1, C)
            h, memory = self.decoder(torch.cat([y_t, c], dim=2), memory)
            outputs.append(h)
            looks.append(weights)
        return torch.cat(outputs, dim=1), torch.cat(looks, dim=1)

    def loss(self, batch: tuple[Padded, Padded]) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per token, with label smoothing, and the number of predicted tokens.

        batch  source (B, S) and target (B, T), the target without bos and with eos; each padded with `pad_id` on the
               right, or a pair with its mask, True for real tokens. Padding is neither an input nor a target
        """
        target, real = self._read(batch[1], self.conditional.num_values, "target")
        columns = int(real.sum(dim=1).max())
        target, real = self.conditional.check(target, "target")[:, :columns], real[:, :columns]
        h, _ = self.decode(target, self.encode(batch[0]))
        return cross_entropy(self.logits(h[real]), target[real], self.smoothing), int(real.sum())

    @torch.no_grad()
    def attention_weights(self, source: Padded, target: Tensor) -> Float[Tensor, "B T S"]:
        """Attention weights: row t has the weights of the source positions when token t of the target is predicted.

        source  tokens (B, S), padded with `pad_id` on the right, or a pair with their mask
        target  (B, T), without bos
        """
        return self.decode(self.conditional.check(target, "target"), self.encode(source))[1]

    # --- one token at a time -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> State:
        source = self.encode(self._require_context(context))
        first = torch.full((batch,), self.bos_id, device=source.last.device)
        over = torch.zeros_like(first, dtype=torch.bool)
        return self._step(State(source, self._initial_memory(source), over, source.last, source.seen), first)

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits)

    @torch.no_grad()
    def update(self, state: State, x_i: Tensor) -> State:
        """Return the state after one step of the decoder with the token x_i (B,) as input."""
        x_i = check_next(self, x_i, len(state.over)).to(state.over.device)
        return self._step(state._replace(over=state.over | (x_i == self.eos_id)), x_i)

    def _step(self, state: State, tokens: Integer[Tensor, "B"]) -> State:
        y, memory = self.target(tokens)[:, None], state.memory       # (B, 1, E)
        if self.placement == "before":
            c, weights = self._attend(memory[0][0][:, None], state.source)
            h, memory = self.decoder(torch.cat([y, c], dim=2), memory)
        else:
            h, memory = self.decoder(y, memory)
            c, weights = self._attend(h, state.source)
            h = torch.cat([h, c], dim=2)
        logits = self._padded(self.logits(h)[:, 0], state.over)
        return state._replace(memory=memory, logits=logits, weights=weights[:, 0])

    # --- the output layer --------------------------------------------------------------------------------------------

    def logits(self, h: Float[Tensor, "... R"]) -> Float[Tensor, "... V"]:
        """Output layer: logits (..., V) from its inputs h (..., R), which `decode` returns."""
        return self.head(self._drop(self.readout(h)))

    def _drop(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.dropout(x, self.dropout, self.training)

    def _padded(self, logits: Float[Tensor, "*B V"], over: Bool[Tensor, "*B"]) -> Float[Tensor, "*B V"]:
        """Set the logits of all tokens except `pad_id` to -inf where `over` is True, after the end of the target."""
        other = torch.arange(logits.shape[-1], device=logits.device) != self.pad_id
        return logits.masked_fill(over[..., None] & other, -torch.inf)

    # --- input -------------------------------------------------------------------------------------------------------

    def check_context(self, context: Padded, batch: int) -> None:
        tokens, _ = self._source(context)
        if len(tokens) != batch:
            raise ValueError(f"context has shape {tuple(tokens.shape)}; expected (B, S) with B = {batch}, the "
                             "number of rows")

    def _source(self, source: Padded) -> tuple[Integer[Tensor, "B S"], Bool[Tensor, "B S"]]:
        tokens, seen = self._read(source, self.source.num_embeddings, "context")
        if not seen[:, 0].all():
            raise ValueError("context has a row without tokens; expected at least one token in each row")
        columns = int(seen.sum(dim=1).max())                         # drop columns that are padding in all rows
        return tokens[:, :columns], seen[:, :columns]

    def _read(self, side: Padded, vocab_size: int, name: str) -> tuple[Integer[Tensor, "B T"], Bool[Tensor, "B T"]]:
        """Tokens of source or target on the model's device, and their mask, True for real tokens.

        side  tokens (B, T), whose mask is True where they differ from `pad_id`, or a pair with their mask
        name  name of `side` in error messages

        Raises ValueError if a token is outside 0..vocab_size-1, or if there is padding left of a token.
        """
        tokens, mask = tokens_and_mask(side, vocab_size, name)
        if tokens.dim() != 2 or tokens.numel() == 0 or tokens.is_floating_point():
            raise ValueError(f"{name} has shape {tuple(tokens.shape)} and dtype {tokens.dtype}; expected integer tokens "
                             "(B, T) with B and T at least 1")
        tokens = tokens.to(self.head.weight.device)
        real = tokens != self.pad_id if mask is None else mask.to(tokens.device)
        if tokens.min() < 0 or tokens.max() >= vocab_size:
            raise ValueError(f"{name} contains tokens from {int(tokens.min())} to {int(tokens.max())}; expected 0 to "
                             f"{vocab_size - 1}")
        if (real[:, 1:] & ~real[:, :-1]).any():
            raise ValueError(f"{name} has padding left of a token; expected padding on the right, as pad adds it")
        return tokens, real

    @staticmethod
    def _require_context(context: Padded | None) -> Padded:
        if context is None:
            raise ValueError("context is None; expected the tokens of the source (B, S), or a pair with their mask")
        return context
