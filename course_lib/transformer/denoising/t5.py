"""T5: an encoder-decoder whose attention has a learned bias for each relative position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn

from course_lib.transformer.attention import KeysValues
from course_lib.transformer.blocks import ACTIVATIONS
from course_lib.transformer.denoising import pretrained_t5
from course_lib.transformer.dropout import drop
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.masks import causal_mask
from course_lib.transformer.transformer import Past, Transformer, TransformerConfig


@dataclass(frozen=True)
class T5Config(TransformerConfig):
    """`TransformerConfig` with one vocabulary for source and target, and with these further arguments:

    d_kv               size of a head, which need not be D divided by the number of heads
    buckets, distance  number of buckets and largest distance of relative positions: see `bucket`
    activation, gated  as in `T5Network`: "relu" and False in version 1 of T5, "gelu_tanh" and True in version 1.1
    eps                epsilon of the RMS norms
    scale              whether the decoder's output is divided by the root of D before the output layer, as in version 1
    norm               "pre", the only value
    tied               "all", or "none": a separate output layer, as in version 1.1

    >>> T5Config(source=9, target=9, pad_id=0, bos_id=0, eos_id=1).buckets
    32
    """

    d_kv: int = 64
    buckets: int = 32
    distance: int = 128
    activation: str = "relu"
    gated: bool = False
    eps: float | int = 1e-6
    scale: bool = True
    norm: str = "pre"
    tied: str = "all"

    def __post_init__(self):
        super().__post_init__()
        if self.tied not in ("all", "none"):
            raise ValueError(f"tied is {self.tied!r}; expected 'all' or 'none'")
        if self.norm != "pre":
            raise ValueError(f"norm is {self.norm!r}; expected 'pre'")
        if self.source != self.target:
            raise ValueError(f"source is {self.source} and target is {self.target}; expected equal sizes, because "
                             "source and target have one vocabulary")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation is {self.activation!r}; expected one of {', '.join(ACTIVATIONS)}")
        for name, least in (("d_kv", 1), ("heads", 1), ("buckets", 4), ("distance", self.buckets)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least {least}")
        if self.buckets % 4:
            raise ValueError(f"buckets is {self.buckets}; expected a multiple of 4, for near and far offsets in two directions")


class RMSNorm(nn.Module):
    r"""RMS norm $\gamma \odot x / \sqrt{\frac{1}{D} \sum_d x_d^2 + \epsilon}$: a layer norm without mean and shift.

    d_model  D, size of the last axis of x and of the learned gain $\gamma$
    eps      $\epsilon$

    >>> RMSNorm(2)(torch.tensor([[3.0, 4.0]]))
    tensor([[0.8485, 1.1314]], grad_fn=<...>)
    """

    def __init__(self, d_model: int, eps: float | int = 1e-6):
        super().__init__()
        self.gamma, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        return self.gamma * x * (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt()


def bucket(offset: Int[Tensor, "..."], buckets: int = 32, distance: int = 128,
           both: bool = True) -> Int[Tensor, "..."]:
    """Return the bucket of each offset, 0 to `buckets` - 1; an offset is the key position minus the query position.

    Small offsets have a bucket each, larger offsets share buckets of logarithmic ranges.

    buckets   number of buckets
    distance  all offsets of this size or more share the last bucket
    both      whether half of the buckets are for keys after the query; False for a decoder, which has no such keys

    >>> bucket(torch.tensor([-200, -20, -3, 0, 3, 20]), buckets=8, distance=32)
    tensor([3, 3, 2, 0, 6, 7])
    """
    after = torch.zeros_like(offset)
    if both:
        buckets //= 2
        after = buckets * (offset > 0)
        away = offset.abs()
    else:
        away = (-offset).clamp(min=0)
    near = buckets // 2                                              # distances 0..near-1, one bucket each
    far = near + (torch.log(away.clamp(min=1) / near) / math.log(distance / near) * (buckets - near)).long()
    return after + torch.where(away < near, away, far.clamp(max=buckets - 1))


class RelativeBias(nn.Module):
    """Learned bias of the attention scores for each head and bucket of offsets, shared by all layers of a stack.

    heads                    H, number of heads
    buckets, distance, both  as in `bucket`

    >>> RelativeBias(heads=2)(T=3, S=5).shape
    torch.Size([1, 2, 3, 5])
    """

    def __init__(self, heads: int, buckets: int = 32, distance: int = 128, both: bool = True):
        super().__init__()
        self.table, self.buckets, self.distance, self.both = nn.Embedding(buckets, heads), buckets, distance, both

    def forward(self, T: int, S: int) -> Float[Tensor, "1 H T S"]:
        """Return the bias (1, H, T, S) of the scores of T queries, at the last T of S positions, with S keys."""
        place = torch.arange(S, device=self.table.weight.device)
        offset = place[None, :] - place[S - T:, None]                # (T, S)
        return rearrange(self.table(bucket(offset, self.buckets, self.distance, self.both)), "T S H -> 1 H T S")


class T5Attention(nn.Module):
    r"""Multi-head attention $\mathrm{softmax}(q k^\top + b)\, v$ with a bias b of the scores, as from `RelativeBias`.

    Scores are not scaled, and the projections have no biases.

    d_model  D, dimension of input and output
    heads    H, number of heads
    d_kv     K, size of a head
    dropout  dropout probability of the attention weights

    >>> T5Attention(d_model=8, heads=2, d_kv=3)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, heads: int, d_kv: int, dropout: float | int = 0.0):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q, self.k, self.v = (nn.Linear(d_model, heads * d_kv, bias=False) for _ in range(3))
        self.out = nn.Linear(heads * d_kv, d_model, bias=False)

    def forward(self, x: Float[Tensor, "B T D"], memory: Tensor | KeysValues | None = None,
                mask: Bool[Tensor, "... #T S"] | None = None, bias: Float[Tensor, "1 H T S"] | float = 0.0,
                cache: KVCache | None = None) -> Float[Tensor, "B T D"]:
        """Return (B, T, D); `bias` is added to the scores, other arguments are as in `MultiHeadAttention.forward`."""
        k, v = memory if isinstance(memory, KeysValues) else self.keys_values(x if memory is None else memory)
        if cache is not None:
            k, v = cache.append(k, v)
        s = self._heads(self.q(x)) @ k.mT + bias                     # (B, H, T, S)
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            s = s.masked_fill(~mask, -torch.inf)
        weights = s.softmax(dim=-1) if mask is None else s.softmax(dim=-1).masked_fill(~mask, 0)
        heads = drop(weights, self.dropout if self.training else 0.0) @ v
        return self.out(rearrange(heads, "B H T K -> B T (H K)"))

    def keys_values(self, memory: Float[Tensor, "B S D"]) -> KeysValues:
        """Return the keys and values of `memory`, split into heads; a decoder computes them once for all its steps."""
        return KeysValues(self._heads(self.k(memory)), self._heads(self.v(memory)))

    def _heads(self, x: Float[Tensor, "B T E"]) -> Float[Tensor, "B H T K"]:
        return rearrange(x, "B T (H K) -> B H T K", H=self.heads)


class T5Network(nn.Module):
    r"""Feed-forward network $\phi(x W) W_2$, or if `gated` $(\phi(x W) \odot x V) W_2$, without biases.

    $\phi$ is `activation`, "relu", "gelu" or "gelu_tanh"; W, V and $W_2$ are learned, and the hidden layer has `d_ff`
    units. `dropout` is the dropout probability of the hidden layer.

    >>> T5Network(d_model=8, d_ff=16, gated=True)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu", gated: bool = False, dropout: float | int = 0.0):
        super().__init__()
        self.activation, self.dropout = activation, nn.Dropout(dropout)
        self.widen = nn.Linear(d_model, d_ff, bias=False)
        self.gate = nn.Linear(d_model, d_ff, bias=False) if gated else None
        self.narrow = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        wide = ACTIVATIONS[self.activation](self.widen(x))
        return self.narrow(self.dropout(wide if self.gate is None else wide * self.gate(x)))


class T5Block(nn.Module):
    """Pre-norm block of the configuration `c`: self-attention, if `decoder` cross-attention, feed-forward network.

    A call takes x (B, T, D) and the `mask`, `bias` and `cache` of self-attention, as in `T5Attention`. For
    cross-attention, `memory` is the encoder's output, or its keys and values, and `memory_mask` its mask.

    >>> c = T5Config(source=9, target=9, pad_id=0, bos_id=0, eos_id=1, d_model=8, heads=2,
    ...              d_kv=4, d_ff=16)
    >>> T5Block(c)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, c: T5Config, decoder: bool = False):
        super().__init__()
        size = (c.d_model, c.heads, c.d_kv, c.dropout)
        self.attention, self.norm = T5Attention(*size), RMSNorm(c.d_model, c.eps)
        if decoder:
            self.cross_attention, self.cross_norm = T5Attention(*size), RMSNorm(c.d_model, c.eps)
        self.feed_forward = T5Network(c.d_model, c.d_ff, c.activation, c.gated, c.dropout)
        self.last_norm, self.dropout = RMSNorm(c.d_model, c.eps), nn.Dropout(c.dropout)

    def forward(self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "... #T S"] | None = None,
                bias: Float[Tensor, "1 H T S"] | float = 0.0, memory: Tensor | KeysValues | None = None,
                memory_mask: Bool[Tensor, "B 1 L"] | None = None, cache: KVCache | None = None
                ) -> Float[Tensor, "B T D"]:
        x = x + self.dropout(self.attention(self.norm(x), mask=mask, bias=bias, cache=cache))
        if memory is not None:
            x = x + self.dropout(self.cross_attention(self.cross_norm(x), memory, memory_mask))
        return x + self.dropout(self.feed_forward(self.last_norm(x)))


class T5(Transformer):
    r"""Text-to-text transformer, $p(y \mid x)$ of a target y given a source x, pre-trained with `span_corruption`.

    It differs from `Transformer` in its layers, and has no `attention_weights`. The first input of the decoder is the
    padding token.

    Slides: "Other models". Paper: Raffel et al. 2019.

    >>> model = T5(T5Config(source=9, target=9, pad_id=0, bos_id=0, eos_id=1, d_model=8,
    ...                     heads=2, d_kv=4, d_ff=16, encoder_layers=1, decoder_layers=1))
    >>> model.log_prob(torch.tensor([[4, 5, 1]]), context=torch.tensor([[4, 8, 1]])).shape
    torch.Size([1])
    """

    settings = T5Config

    def build(self, c: T5Config) -> None:
        self.source = self.target = nn.Embedding(c.source, c.d_model)
        self.encoder_bias, self.decoder_bias = (RelativeBias(c.heads, c.buckets, c.distance, both) for both in (True, False))
        self.encoder = nn.ModuleList(T5Block(c) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(T5Block(c, decoder=True) for _ in range(c.decoder_layers))
        self.encoder_norm, self.decoder_norm = RMSNorm(c.d_model, c.eps), RMSNorm(c.d_model, c.eps)
        self.head = nn.Linear(c.d_model, c.target, bias=False) if c.tied == "none" else None
        self.dropout = nn.Dropout(c.dropout)

    def _encode(self, tokens: Integer[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        m, S = self.dropout(self.source(tokens)), tokens.shape[1]
        bias = self.encoder_bias(S, S)
        for block in self.encoder:
            m = block(m, real[:, None], bias)
        return self.dropout(self.encoder_norm(m))

    def decode(self, tokens: Integer[Tensor, "B T"], memory: Float[Tensor, "B S D"],
               seen: Bool[Tensor, "B 1 S"]) -> Float[Tensor, "B T D"]:
        h, T = self.dropout(self.target(tokens)), tokens.shape[1]
        bias, past = self.decoder_bias(T, T), causal_mask(T, device=tokens.device)
        for block in self.decoder:
            h = block(h, past, bias, memory, seen)
        return self.dropout(self.decoder_norm(h))

    def _decode_next(self, tokens: Integer[Tensor, "B 1"], past: Past) -> Float[Tensor, "B 1 D"]:
        h, bias = self.dropout(self.target(tokens)), self.decoder_bias(1, past.length + 1)
        for block, cache, memory in zip(self.decoder, past.caches, past.memory):
            h = block(h, None, bias, memory, past.seen, cache)
        return self.dropout(self.decoder_norm(h))

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        hidden = hidden * self.config.d_model ** -0.5 if self.config.scale else hidden
        return hidden @ (self.target if self.head is None else self.head).weight.T

    def attention_weights(self, source, target):
        raise NotImplementedError("T5 does not return attention weights; use Transformer or BART instead")

    @torch.no_grad()
    def _initialize(self) -> None:
        """Initialize as the paper does: scores are not scaled, so queries' weights are smaller by the root of d_kv."""
        c = self.config
        self.source.weight.normal_(0, 1)
        for name, p in self.named_parameters():
            if p.dim() == 2 and name != "source.weight":
                narrower = c.d_kv if name.endswith((".q.weight", "head.weight")) else 1
                p.normal_(0, (p.shape[1] * narrower) ** -0.5 if "table" not in name else c.d_model ** -0.5)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> T5:
        """Load a T5 from the folder `name` with config.json and weights, or by its name on the Hugging Face hub.

        It is in eval mode. Raises HubError, a ValueError, if the configuration is not supported, or if tensors are
        missing, unexpected or of a wrong shape.
        """
        return pretrained_t5.load(cls, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in the format of Hugging Face's T5ForConditionalGeneration."""
        pretrained_t5.save(self, folder)
