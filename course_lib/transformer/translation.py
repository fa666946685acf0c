r"""The transformer of the paper: an encoder reads the source, a decoder writes the target, $p(y_t \mid y_{<t}, x)$."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, select_rows
from course_lib.conditional import Categorical
from course_lib.training.losses import cross_entropy
from course_lib.transformer.attention import KeysValues, KVCache
from course_lib.transformer.blocks import DecoderBlock, EncoderBlock, LayerNorm
from course_lib.transformer.positions import SinusoidalPositions

TIED = ("none", "target", "all")


@dataclass(frozen=True)
class TranslationConfig:
    """The size of an encoder-decoder; the defaults are those of the paper's base model.

    source, target  sizes of the two vocabularies, S and V
    pad_id          fills up short rows of source and target
    bos_id, eos_id  of the target: what it starts from, and what ends it
    norm            "post" as in the paper, or "pre", which adds a norm after each stack
    tied            which tables are one: "none", "target" (embeddings and output layer of the decoder), or "all" three,
                    for a shared vocabulary
    smoothing       of the targets in the training loss, in the form `form`: see `label_smoothing`
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
            raise ValueError(f"tied is {self.tied!r}; needed is one of {', '.join(TIED)}")
        if self.tied == "all" and self.source != self.target:
            raise ValueError(f"tied is 'all', and the vocabularies have {self.source} and {self.target} symbols; one "
                             "table needs one vocabulary")
        for name, size in (("pad_id", min(self.source, self.target)), ("bos_id", self.target), ("eos_id", self.target)):
            if not 0 <= getattr(self, name) < size:
                raise ValueError(f"{name} is {getattr(self, name)}; needed is 0..{size - 1}")


class Past(NamedTuple):
    """The decoder's state: what each layer has computed of the target so far, and of the source once and for all."""

    length: int                                                      # tokens read, the first of them bos
    caches: tuple[KVCache, ...]                                      # of the target, one a layer
    memory: tuple[KeysValues, ...]                                   # of the source, one a layer
    seen: Bool[Tensor, "B 1 S"]                                      # True where the source has a token
    over: Bool[Tensor, "B"]                                          # True where the target has ended
    logits: Float[Tensor, "B V"]                                     # of the next token


class Translation(AutoregressiveModel):
    r"""$m = \mathrm{encoder}(x)$ and $p(y_t \mid y_{<t}, x) = \mathrm{softmax}(\mathrm{decoder}(y_{<t}, m)_t\, E^\top)$.

    An autoregressive model of the target y (B, T) whose `context` is the source (B, S), filled up with `pad_id` on the
    right. Embeddings are multiplied by the root of D and get sinusoidal positions. One pass scores all targets, each
    position being given the true tokens before it (teacher forcing); decoding keeps the keys and values of the past.

    A target ends with `eos_id`. What follows is padding with probability 1, so that rows of one length hold targets of
    many: `log_prob` is that of the target up to and including its end token, a sample ends with padding, and the
    probabilities of all rows sum to one. Anything but padding after the end has probability 0.

    Slides: "Transformer", "Teacher forcing". Paper: Vaswani et al. 2017.
    """

    def __init__(self, config: TranslationConfig | dict):
        c = config if isinstance(config, TranslationConfig) else TranslationConfig(**config)
        super().__init__(None, Categorical(c.target))
        self.settings, self.bos_id, self.eos_id = c, c.bos_id, c.eos_id
        self.source = nn.Embedding(c.source, c.d_model)
        self.target = self.source if c.tied == "all" else nn.Embedding(c.target, c.d_model)
        self.positions = SinusoidalPositions(c.d_model, scale=True)
        self.dropout = nn.Dropout(c.dropout)
        size = (c.d_model, c.heads, c.d_ff, c.dropout, c.norm)
        self.encoder = nn.ModuleList(EncoderBlock(*size) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(*size) for _ in range(c.decoder_layers))
        last = LayerNorm if c.norm == "pre" else lambda width: nn.Identity()
        self.encoder_norm, self.decoder_norm = last(c.d_model), last(c.d_model)
        self.head = nn.Linear(c.d_model, c.target, bias=False) if c.tied == "none" else None
        self._initialise()

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"config": asdict(self.settings)}

    # --- the source, once --------------------------------------------------------------------------------------------

    def encode(self, source: Tensor) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B 1 S"]]:
        """What the encoder makes of the source, and where it has tokens, for every query alike."""
        self.check_context(source, len(source))
        source = source.to(self.source.weight.device)
        seen = (source != self.settings.pad_id)[:, None]             # (B, 1, S)
        m = self.dropout(self.positions(self.source(source)))        # (B, S, D)
        for block in self.encoder:
            m = block(m, seen)
        return self.encoder_norm(m), seen

    # --- every factor at once: teacher forcing -----------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Tensor | None = None) -> Distribution:
        x = self.check_input(x, self._needed(context))
        logits = self._logits(self._decode(self._shifted(x), *self.encode(context)))
        ends = x == self.eos_id
        return self.conditional(self._padded(logits, ends.cumsum(dim=1) > ends))         # an end before this token

    def loss(self, batch: tuple[Tensor, Tensor]) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats a token, smoothed as configured, and the number of tokens it is a mean over.

        batch  source (B, S) and target (B, T), the target without bos and with eos, both filled up with `pad_id`
        """
        source, target = (self._trimmed(side) for side in batch)
        target = self.conditional.check(target, "target")
        hidden = self._decode(self._shifted(target), *self.encode(source))
        real = target != self.settings.pad_id
        logits = self._logits(hidden[real])                          # (N, V): padding is not worth the output layer
        return cross_entropy(logits, target[real], self.settings.smoothing, self.settings.form), int(real.sum())

    # --- one token at a time -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Tensor | None = None) -> Past:
        self.check_context(self._needed(context), batch)
        memory, seen = self.encode(context)
        caches = tuple(KVCache() for _ in self.decoder)
        projected = tuple(block.cross_attention.keys_values(memory) for block in self.decoder)
        first = torch.full((batch, 1), self.bos_id, device=memory.device)
        over = torch.zeros(batch, dtype=torch.bool, device=memory.device)
        return self._step(first, Past(0, caches, projected, seen, over, memory))

    def predict(self, state: Past) -> Distribution:
        return self.conditional(state.logits)

    @torch.no_grad()
    def update(self, state: Past, x_i: Tensor) -> Past:
        """One token more: its query meets the cached keys, its own layer's of the target and the source's."""
        if state.caches[0].length != state.length:                   # another update went on from this state before
            state = state._replace(caches=tuple(cache.select(length=state.length) for cache in state.caches))
        x_i = x_i.long().to(state.over.device)
        return self._step(x_i[:, None], state._replace(over=state.over | (x_i == self.eos_id)))

    def select(self, state: Past, rows: Tensor) -> Past:
        caches = tuple(cache.select(rows, state.length) for cache in state.caches)
        return select_rows(state._replace(caches=()), rows)._replace(caches=caches)

    def _step(self, tokens: Integer[Tensor, "B 1"], past: Past) -> Past:
        position = torch.full((1,), past.length, device=tokens.device)
        h = self.dropout(self.positions(self.target(tokens), position))
        for block, cache, memory in zip(self.decoder, past.caches, past.memory):
            h = block(h, memory, memory_mask=past.seen, cache=cache)
        logits = self._logits(self.decoder_norm(h))[:, -1]
        return past._replace(length=past.length + 1, logits=self._padded(logits, past.over))

    # --- the network -------------------------------------------------------------------------------------------------

    def _decode(self, tokens: Integer[Tensor, "B T"], memory: Float[Tensor, "B S D"],
                seen: Bool[Tensor, "B 1 S"]) -> Float[Tensor, "B T D"]:
        h = self.dropout(self.positions(self.target(tokens)))        # (B, T, D)
        for block in self.decoder:
            h = block(h, memory, memory_mask=seen)
        return self.decoder_norm(h)

    def _logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        return F.linear(hidden, self.target.weight if self.head is None else self.head.weight)

    def _padded(self, logits: Float[Tensor, "*B V"], over: Bool[Tensor, "*B"]) -> Float[Tensor, "*B V"]:
        """Where the target is over, nothing but padding is possible."""
        other = torch.arange(logits.shape[-1], device=logits.device) != self.settings.pad_id
        return logits.masked_fill(over[..., None] & other, -torch.inf)

    def _shifted(self, target: Integer[Tensor, "B T"]) -> Integer[Tensor, "B T"]:
        """What stands before each token: bos, then all but the last."""
        return F.pad(target[:, :-1], (1, 0), value=self.bos_id)

    def _trimmed(self, rows: Integer[Tensor, "B T"]) -> Integer[Tensor, "B L"]:
        """Without the columns at the end that only fill up: rows cut from a longer table would carry them along."""
        real = (rows != self.settings.pad_id).any(dim=0).nonzero()
        return rows[:, :int(real.max()) + 1] if len(real) else rows

    @torch.no_grad()
    def attention_weights(self, source: Tensor, target: Tensor) -> list[Float[Tensor, "B H T S"]]:
        """Where each target position looks in the source, layer by layer: row t while token t is predicted."""
        memory, seen = self.encode(source)
        h, weights = self.dropout(self.positions(self.target(self._shifted(self.conditional.check(target))))), []
        for block in self.decoder:
            u = block.residual1(h, lambda y: block.attention(y, causal=True))
            query = block.residual2.norm(u) if self.settings.norm == "pre" else u
            weights.append(block.cross_attention.weights(query, memory, seen))
            h = block(h, memory, memory_mask=seen)
        return weights

    @torch.no_grad()
    def _initialise(self) -> None:
        """Glorot's uniform for the layers; embeddings N(0, 1/D), so that scaled by the root of D they are N(0, 1)."""
        for name, p in self.named_parameters():
            if name in ("source.weight", "target.weight"):
                p.normal_(0, self.settings.d_model ** -0.5)
            elif p.dim() == 2:
                parts = p.chunk(3) if name.endswith("qkv.weight") else [p]
                for part in parts:                                   # three square matrices, stored as one
                    nn.init.xavier_uniform_(part)
            elif name.endswith("bias"):
                p.zero_()

    # --- input -------------------------------------------------------------------------------------------------------

    def check_context(self, context: Tensor, batch: int) -> None:
        S = self.settings.source
        if context.dim() != 2 or len(context) != batch or context.shape[1] == 0 or context.is_floating_point():
            raise ValueError(f"context has shape {tuple(context.shape)} and dtype {context.dtype}; needed are the "
                             f"tokens of the source (B, S) with B = {batch}, integers")
        if context.min() < 0 or context.max() >= S:
            raise ValueError(f"context holds {context.min()} to {context.max()}; the source has tokens 0..{S - 1}")

    @staticmethod
    def _needed(context: Tensor | None) -> Tensor:
        if context is None:
            raise ValueError("context is None; a translation needs its source (B, S)")
        return context
