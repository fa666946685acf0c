r"""Encoder-decoder transformer, $p(y_t \mid y_{<t}, x)$ of a target y given a source x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, select_rows
from course_lib.conditional import Categorical
from course_lib.tokenizers.batching import Padded, tokens_and_mask
from course_lib.training.losses import cross_entropy
from course_lib.transformer.attention import KeysValues
from course_lib.transformer.blocks import DecoderBlock, LayerNorm, TransformerBlock
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.positions import SinusoidalPositions, positions_among
from course_lib.validation import values_checked

TIED = ("none", "target", "all")


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of an encoder-decoder; the defaults are the sizes of the base model of Vaswani et al. 2017.

    source, target  numbers of tokens in the vocabularies of source and target
    pad_id          id of the padding token, which follows the end of a target; without a mask it also marks padding of
                    a source
    bos_id, eos_id  ids of the first input of the decoder, and of the last token of a target
    d_model, d_ff   D, size of the hidden states, and hidden size of the feed-forward networks
    heads           number of attention heads of each block
    encoder_layers, decoder_layers  numbers of blocks of encoder and decoder
    dropout         dropout probability of embeddings, sublayers and attention weights
    norm            "post" as in the paper, or "pre", which adds a norm after each stack
    tied            which matrices are shared: "none", "target" (target embeddings and output layer), or "all" (these and
                    the source embeddings, for a shared vocabulary)
    smoothing, form  label smoothing of the training loss, and its form, "torch" or "slide": see `cross_entropy`

    >>> TransformerConfig(source=9, target=8, pad_id=0, bos_id=1, eos_id=2).encoder_layers
    6
    """

    source: int
    target: int
    pad_id: int
    bos_id: int
    eos_id: int
    d_model: int = 512
    heads: int = 8
    d_ff: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float | int = 0.1
    norm: str = "post"
    tied: str = "target"
    smoothing: float | int = 0.0
    form: str = "torch"

    def __post_init__(self):
        if self.tied not in TIED:
            raise ValueError(f"tied is {self.tied!r}; expected one of {', '.join(TIED)}")
        if self.tied == "all" and self.source != self.target:
            raise ValueError(f"tied is 'all', source is {self.source} and target is {self.target}; expected equal "
                             "sizes of the vocabularies, because 'all' shares their embeddings")
        for name, size in (("pad_id", min(self.source, self.target)), ("bos_id", self.target), ("eos_id", self.target)):
            if not 0 <= getattr(self, name) < size:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 to {size - 1}, an id of the vocabulary")


class Past(NamedTuple):
    """Sampling state of the decoder: keys and values of the target so far, and keys and values of the source."""

    length: int                                                      # number of target tokens, including bos
    caches: tuple[KVCache, ...]                                      # keys and values of the target, one per layer
    memory: tuple[KeysValues, ...]                                   # keys and values of the source, one per layer
    source: Integer[Tensor, "B"]                                     # index of each row's source in the first batch
    seen: Bool[Tensor, "B 1 S"]                                      # True where the source has a real token
    over: Bool[Tensor, "B"]                                          # True where the target has ended
    logits: Float[Tensor, "B V"]                                     # logits of the next target token


class Transformer(AutoregressiveModel):
    r"""Transformer: $m = \mathrm{encoder}(x)$ and $p(y_t \mid y_{<t}, x) = \mathrm{softmax}(\mathrm{decoder}(y_{<t},
    m)_t\, E^\top)$.

    E are the target embeddings, or a separate output layer: see `tied` in `TransformerConfig`.

    It is an autoregressive model of the target y (B, T). Its `context` is the source x: tokens (B, S), padded with
    `pad_id`, or a pair (tokens, mask), with True for real tokens, as from `pad`. Embeddings are multiplied by the root
    of D, and sinusoidal positions are added. In training the inputs of the decoder are the true tokens (teacher
    forcing), so one pass scores all positions. Decoding caches keys and values.

    A target ends with `eos_id`. It is followed by padding with probability 1, so that a tensor can hold targets of
    different lengths. `log_prob` is the log-probability of the target including its end token, a sample ends with
    padding, and probabilities sum to one.

    Slides: "Transformer", "Teacher forcing". Paper: Vaswani et al. 2017.

    >>> config = TransformerConfig(source=9, target=8, pad_id=0, bos_id=1, eos_id=2, d_model=8,
    ...                            heads=2, d_ff=16)
    >>> model, source = Transformer(config), torch.tensor([[4, 5, 6]])
    >>> # of "3 7 end", given the source
    >>> model.log_prob(torch.tensor([[3, 7, 2]]), context=source).shape
    torch.Size([1])
    >>> model.sample(1, context=source, length=5).shape
    torch.Size([1, 5])
    """

    settings = TransformerConfig

    def __init__(self, config: TransformerConfig | dict):
        c = config if isinstance(config, TransformerConfig) else self.settings(**config)
        super().__init__(None, Categorical(c.target))
        self.config, self.bos_id, self.eos_id = c, c.bos_id, c.eos_id
        self.build(c)
        self._initialize()

    def build(self, c: TransformerConfig) -> None:
        """Create the layers of the configuration `c`; BART and T5 override this method."""
        self.source = nn.Embedding(c.source, c.d_model)
        self.target = self.source if c.tied == "all" else nn.Embedding(c.target, c.d_model)
        self.positions = self.target_positions = SinusoidalPositions(c.d_model, scale=True)
        self.dropout = nn.Dropout(c.dropout)
        size = (c.d_model, c.heads, c.d_ff, c.dropout, c.norm)
        self.encoder = nn.ModuleList(TransformerBlock(*size) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(*size) for _ in range(c.decoder_layers))
        last = LayerNorm if c.norm == "pre" else lambda width: nn.Identity()
        self.encoder_norm, self.decoder_norm = last(c.d_model), last(c.d_model)
        self.head = nn.Linear(c.d_model, c.target, bias=False) if c.tied == "none" else None

    # --- encoder -----------------------------------------------------------------------------------------------------

    def encode(self,
               source: Padded) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B 1 S"]]:
        """Output of the encoder, and the mask of real source tokens."""
        tokens, real = self._read(source, "context")
        self.check_context((tokens, real), len(tokens))
        seen = real[:, None]                                         # (B, 1, S)
        return self._encode(tokens, real), seen

    # --- every factor at once: teacher forcing -----------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Padded | None = None) -> Distribution:
        logits = self.logits(self.decode(self.shift_right(x),
                                         *self.encode(self._require_context(context))))
        ends = x == self.eos_id
        # an end before this token
        return self.conditional(self._padded(logits, ends.cumsum(dim=1) > ends))

    def loss(self, batch: tuple[Padded, Padded]) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per token, label-smoothed as configured, and the
        number of predicted tokens.

        batch  source (B, S) and target (B, T), the target without bos and with eos; each
               padded with `pad_id`, or a pair with its mask. Padding is neither an input
               nor a target
        """
        source = self._trim_padding(*self._read(batch[0], "source"))
        target, real = self._trim_padding(*self._read(batch[1], "target"))
        target = self.conditional.check(target, "target")
        if (real[:, 1:] & ~real[:, :-1]).any():
            raise ValueError("the mask of target has padding left of a token; expected "
                             "padding on the right, as pad adds it")
        hidden = self.decode(self.shift_right(target), *self.encode(source))
        logits = self.logits(hidden[real])  # (N, V), without padding
        return cross_entropy(logits, target[real], self.config.smoothing,
                             self.config.form), int(real.sum())

    # --- one token at a time -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> Past:
        memory, seen = self.encode(self._require_context(context))
        caches = tuple(KVCache() for _ in self.decoder)
        projected = tuple(block.cross_attention.keys_values(memory) for block in self.decoder)
        first = torch.full((batch, 1), self.bos_id, device=memory.device)
        over = torch.zeros(batch, dtype=torch.bool, device=memory.device)
        source = torch.arange(batch, device=memory.device)
        return self._step(first, Past(0, caches, projected, source, seen, over, memory))

    def predict(self, state: Past) -> Distribution:
        return self.conditional(state.logits)

    @torch.no_grad()
    def update(self, state: Past, x_i: Tensor) -> Past:
        """Return the state after the token x_i (B,), whose query attends to the cached keys of target and source."""
        if state.caches[0].length != state.length:                   # another update has used this state
            state = state._replace(caches=tuple(cache.select(length=state.length) for cache in state.caches))
        x_i = x_i.long().to(state.over.device)
        return self._step(x_i[:, None], state._replace(over=state.over | (x_i == self.eos_id)))

    def select(self, state: Past, rows: Tensor) -> Past:
        caches, source = tuple(cache.select(rows, state.length) for cache in state.caches), state.source[rows]
        if torch.equal(source, state.source):                        # beams of the same sources: no copy of their keys
            return state._replace(caches=caches, over=state.over[rows], logits=state.logits[rows])
        return select_rows(state._replace(caches=()), rows)._replace(caches=caches)

    def _step(self, tokens: Integer[Tensor, "B 1"], past: Past) -> Past:
        logits = self.logits(self._decode_next(tokens, past))[:, -1]
        return past._replace(length=past.length + 1, logits=self._padded(logits, past.over))

    # --- the network -------------------------------------------------------------------------------------------------

    def _encode(self, tokens: Integer[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        m, seen = self.dropout(self.positions(self.source(tokens), positions_among(real))), real[:, None]
        for block in self.encoder:
            m = block(m, seen)
        return self.encoder_norm(m)

    def decode(self, tokens: Integer[Tensor, "B T"], memory: Float[Tensor, "B S D"],
               seen: Bool[Tensor, "B 1 S"]) -> Float[Tensor, "B T D"]:
        """Return the hidden states (B, T, D) of the decoder for target tokens (B, T) that are shifted right.

        memory, seen  result of `encode`: output of the encoder, and mask of real source tokens
        """
        h = self.dropout(self.target_positions(self.target(tokens)))  # (B, T, D)
        for block in self.decoder:
            h = block(h, memory, memory_mask=seen)
        return self.decoder_norm(h)

    def _decode_next(self, tokens: Integer[Tensor, "B 1"], past: Past) -> Float[Tensor, "B 1 D"]:
        position = torch.full((1,), past.length, device=tokens.device)
        h = self.dropout(self.target_positions(self.target(tokens), position))
        for block, cache, memory in zip(self.decoder, past.caches, past.memory):
            h = block(h, memory, memory_mask=past.seen, cache=cache)
        return self.decoder_norm(h)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Output layer: logits (..., V) of the target tokens from the decoder's hidden states (..., D)."""
        return F.linear(hidden, self.target.weight if self.head is None else self.head.weight)

    def _padded(self, logits: Float[Tensor, "*B V"],
                over: Bool[Tensor, "*B"]) -> Float[Tensor, "*B V"]:
        """After the end of the target, only padding has a positive probability."""
        other = torch.arange(logits.shape[-1], device=logits.device) != self.config.pad_id
        return logits.masked_fill(over[..., None] & other, -torch.inf)

    def shift_right(self, target: Integer[Tensor, "B T"]) -> Integer[Tensor, "B T"]:
        """Input of the decoder for a target (B, T): bos, then all but the last token."""
        return F.pad(target[:, :-1], (1, 0), value=self.bos_id)

    def _read(self, side: Padded, name: str) -> tuple[Tensor, Bool[Tensor, "..."]]:
        """Return the tokens of source or target on the model's device, and their mask; by default `pad_id` defines it.

        side  tokens, or a pair (tokens, mask)
        name  name of the argument in error messages; "target" selects the target's vocabulary
        """
        c, device = self.config, self.source.weight.device
        tokens, mask = tokens_and_mask(side, c.target if name == "target" else c.source, name)
        tokens = tokens.to(device)
        return tokens, tokens != c.pad_id if mask is None else mask.to(device)

    @staticmethod
    def _trim_padding(tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"]
                 ) -> tuple[Integer[Tensor, "B L"], Bool[Tensor, "B L"]]:
        """Drop the last columns of tokens and mask (B, T) that are padding in all rows."""
        columns = real.any(dim=0).nonzero()
        last = int(columns.max()) + 1 if len(columns) else real.shape[1]
        return tokens[:, :last], real[:, :last]

    @torch.no_grad()
    def attention_weights(self, source: Padded, target: Tensor) -> list[Float[Tensor, "B H T S"]]:
        """Return the cross-attention weights (B, H, T, S) of each layer: row t when token t of the target is predicted.

        source  tokens (B, S), padded with `pad_id`, or a pair (tokens, mask)
        target  tokens (B, T), without bos
        """
        memory, seen = self.encode(source)
        h, weights = self.dropout(self.target_positions(self.target(self.shift_right(self.conditional.check(target))))), []
        for block in self.decoder:
            u = block.residual1(h, lambda y: block.attention(y, causal=True))
            query = block.residual2.norm(u) if self.config.norm == "pre" else u
            weights.append(block.cross_attention.weights(query, memory, seen))
            h = block(h, memory, memory_mask=seen)
        return weights

    @torch.no_grad()
    def _initialize(self) -> None:
        """Initialize linear layers by Glorot's uniform distribution, biases by 0, and embeddings by N(0, 1/D)."""
        for name, p in self.named_parameters():
            if name in ("source.weight", "target.weight"):
                p.normal_(0, self.config.d_model ** -0.5)
            elif p.dim() == 2:
                parts = p.chunk(3) if name.endswith("qkv.weight") else [p]
                for part in parts:                                   # three square matrices, stored as one
                    nn.init.xavier_uniform_(part)
            elif name.endswith("bias"):
                p.zero_()

    def check_batch(self, batch: tuple[Padded, Padded]) -> None:
        """Raise the ValueError that `loss` raises if tokens or masks are invalid."""
        source, target = batch
        source = self._read(source, "source")
        self.check_context(source, len(source[0]))
        self.conditional.check(self._read(target, "target")[0], "target")

    # --- input -------------------------------------------------------------------------------------------------------

    def check_context(self, context: Padded, batch: int) -> None:
        tokens, _ = self._read(context, "context")
        if tokens.dim() != 2 or len(tokens) != batch or tokens.shape[1] == 0 or tokens.is_floating_point():
            raise ValueError(f"context has shape {tuple(tokens.shape)} and dtype {tokens.dtype}; expected integer "
                             f"tokens of the source (B, S) with B = {batch}")
        if values_checked() and (tokens.min() < 0 or tokens.max() >= self.config.source):
            raise ValueError(f"context contains tokens from {tokens.min()} to {tokens.max()}; expected 0 to "
                             f"{self.config.source - 1}")

    @staticmethod
    def _require_context(context: Padded | None) -> Padded:
        if context is None:
            raise ValueError("context is None; expected the tokens of the source (B, S), or a pair with their mask")
        return context
