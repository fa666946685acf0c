r"""GPT: causal transformer blocks that predict the next token at every position, $p(x_t \mid x_{<t})$.

Masks are True for real tokens. `caches` has a `KVCache` for each block, with keys and values of past tokens; the mask
(B, S) then covers past and new tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.tokenizers.batching import Padded, tokens_and_mask
from course_lib.transformer import pretrained
from course_lib.transformer._fast_decode import decode_step
from course_lib.transformer.blocks import LayerNorm, TransformerBlock
from course_lib.transformer.dropout import drop
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.masks import causal_mask, combine_masks
from course_lib.transformer.positions import LearnedPositions, positions_among
from course_lib.validation import check_sizes, is_all_true, values_checked


@dataclass(frozen=True)
class GPTConfig:
    """Sizes of a GPT; the defaults are the sizes of the smallest GPT-2, with 124 million parameters.

    vocab_size  V, number of tokens
    window      maximum length of the input in tokens, the number of position embeddings
    layers      number of blocks, each with `heads` attention heads
    d_model     D, size of the hidden states
    d_ff        hidden size of the feed-forward networks; None: 4 d_model
    dropout     dropout probability of embeddings, sublayers and attention weights
    activation  activation of the feed-forward networks: "relu", "gelu" or "gelu_tanh"
    eps         epsilon of the layer norms
    tied        whether the output layer shares the token embeddings
    bos_id      token that precedes a text without a prompt; None: a prompt is required

    >>> GPTConfig(vocab_size=50257).d_model  # the smallest GPT-2
    768
    """

    vocab_size: int
    window: int = 1024
    layers: int = 12
    heads: int = 12
    d_model: int = 768
    d_ff: int | None = None
    dropout: float | int = 0.0
    activation: str = "gelu_tanh"
    eps: float | int = 1e-5
    tied: bool = True
    bos_id: int | None = None

    def __post_init__(self):
        check_sizes(2, vocab_size=self.vocab_size)
        check_sizes(window=self.window, layers=self.layers, heads=self.heads, d_model=self.d_model)
        if self.bos_id is not None and not 0 <= self.bos_id < self.vocab_size:
            raise ValueError(f"bos_id is {self.bos_id}; expected 0 to {self.vocab_size - 1}, a token of the vocabulary")


class GPT(AutoregressiveModel):
    r"""Decoder-only transformer, $p(x_{t+1} \mid x_{\le t}) =
    \mathrm{softmax}\bigl(\mathrm{LN}(h^L_t)\, E^\top\bigr)$, where

    $$h^0 = E[x] + P, \qquad u = h^{l-1} + \mathrm{attention}(\mathrm{LN}(h^{l-1})), \qquad
      h^l = u + \mathrm{FFN}(\mathrm{LN}(u)).$$

    E are the embeddings of tokens and, if tied, the output layer; P are the embeddings of
    positions, and L is the number of layers. Attention is causal: position t attends to the
    tokens up to t, and predicts token t + 1.

    As a distribution over sequences, it continues a prompt, `context`, or starts after `bos_id`.
    A context is a tensor of tokens (B, length) or, for prompts of unequal lengths, a pair (tokens,
    mask) from `left_pad`. Input longer than `window` raises ValueError. Generation beyond the
    window encodes the last `window` tokens at every step, from position 0.

    Slides: "GPT". Papers: Radford et al. 2018 and 2019.

    >>> model = GPT(GPTConfig(vocab_size=10, window=16, layers=2, heads=2, d_model=8, bos_id=0))
    >>> # logits of the next token, at each position
    >>> model(torch.tensor([[0, 3, 5]])).shape
    torch.Size([1, 3, 10])
    >>> model.log_prob(torch.tensor([[3, 5]])).shape, model.sample(2, length=6).shape
    (torch.Size([1]), torch.Size([2, 6]))
    """

    def __init__(self, config: GPTConfig | dict):
        c = config if isinstance(config, GPTConfig) else GPTConfig(**config)
        super().__init__(None, Categorical(c.vocab_size))
        self.config, self.window, self.bos_id = c, c.window, c.bos_id
        self.tokens = nn.Embedding(c.vocab_size, c.d_model)          # E
        self.positions = LearnedPositions(c.window, c.d_model)       # P
        self.blocks = nn.ModuleList(
            TransformerBlock(c.d_model, c.heads, c.d_ff or 4 * c.d_model, c.dropout, "pre", c.activation, c.eps)
            for _ in range(c.layers))
        self.norm = LayerNorm(c.d_model, c.eps)
        self.head = None if c.tied else nn.Linear(c.d_model, c.vocab_size, bias=False)
        self._initialize()

    # --- the network -------------------------------------------------------------------------------------------------

    def forward(self, tokens: Tensor,
                mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits (B, T, V) of the token after each position, from tokens (B, T).

        mask  (B, T), True for real tokens. Padding, on either side, is not attended to and
              has no position; its logits are meaningless

        Raises ValueError if a token is outside the vocabulary, if the input is longer than
        the window, or if the mask has a wrong shape or dtype.
        """
        tokens, mask = self._read((tokens, mask))
        return self.logits(self.run_blocks(self._check_tokens(tokens), mask))

    def run_blocks(self, tokens: Integer[Tensor, "B T"],
                mask: Bool[Tensor, "B S"] | None = None,
                caches: Sequence[KVCache] | None = None) -> Float[Tensor, "B T D"]:
        """Normalized output (B, T, D) of the last block, for tokens after cached tokens."""
        x = self._embed(tokens, mask, caches[0].length if caches else 0)  # (B, T, D)
        attend = None if mask is None else mask[:, None, :]  # (B, 1, S), for every query
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
            x = block(x, attend, causal=True, cache=cache)       # (B, T, D)
        return self.norm(x)

    def hidden(self, tokens: Tensor, mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T D"]:
        """Return the normalized hidden states before the output layer, (B, T, D), of tokens (B, T). Mask and errors are
        as in `forward`."""
        tokens, mask = self._read((tokens, mask))
        return self.run_blocks(self._check_tokens(tokens), mask)

    def _embed(self, tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B S"] | None,
                  past: int) -> Float[Tensor, "B T D"]:
        """Return token plus position embeddings, E[x] + P, of tokens that follow `past` cached tokens.

        mask  (B, S), True for real tokens among all S = `past` + T tokens; only real tokens have positions
        """
        P = self.positions.table
        if mask is None:
            places = P.weight[past:past + tokens.shape[1]]       # (T, D)
        else:
            places = P(positions_among(mask)[:, past:])          # (B, T, D)
        x = self.tokens(tokens) + places
        return drop(x, self.config.dropout) if self.training else x

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Output layer: logits (..., V) from hidden states (..., D)."""
        head = self.tokens if self.head is None else self.head   # E, if tied
        return F.linear(hidden, head.weight)

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per token, and the number of predicted tokens.

        batch  tokens (B, T), of which all but the first of each row are predicted from those
               before them; or a pair with their mask (B, T), True for real tokens: padding is
               neither an input nor a target
        """
        tokens, mask = self._read(batch)
        tokens = self._check_tokens(tokens, extra=1)
        if tokens.shape[1] < 2:
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}; expected (B, T) with "
                             "T at least 2")
        target = tokens[:, 1:]
        # (B, T - 1, V)
        logits = self(tokens[:, :-1], None if mask is None else mask[:, :-1])
        if mask is not None:
            counted = mask[:, 1:] & mask[:, :-1]
            logits, target = logits[counted], target[counted]
        return F.cross_entropy(logits.flatten(0, -2), target.flatten()), target.numel()

    def check_batch(self, batch: Padded) -> None:
        """Raise the ValueError that `loss` raises if tokens or mask are invalid."""
        self._check_tokens(self._read(batch)[0], extra=1)

    # --- the distribution: every factor at once ----------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Padded | None = None) -> Distribution:
        prompt, mask = self._prompt(len(x), context)
        (_, P), n = prompt.shape, x.shape[1]
        if n == 0 or P + n - 1 > self.window:
            raise ValueError(f"x has {n} tokens after a prompt of {P}, an input of {P + n - 1}; expected 1 to "
                             f"{self.window}, the window (the last token of x is predicted, but is not an input)")
        tokens = torch.cat([prompt, x[:, :-1]], dim=1)               # shifted: the tokens before each token of x
        if mask is not None:
            mask = F.pad(mask, (0, n - 1), value=True)
        return self.conditional(self.logits(self.run_blocks(tokens, mask)[:, P - 1:]))       # (B, n, V)

    # --- one token at a time -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> State:
        tokens, mask = self._prompt(batch, context)
        caches = tuple(KVCache(min(self.window, tokens.shape[1] + 64)) for _ in self.blocks)
        hidden = self.run_blocks(tokens, mask, caches)                  # (B, P, D)
        return State(tokens, mask, caches, self.logits(hidden[:, -1]))

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits)

    @torch.no_grad()
    def update(self, state: State, x_i: Tensor) -> State:
        """Append a token, whose query attends to the cached keys: O(t) at step t."""
        tokens = torch.cat([state.tokens, x_i[:, None].long()], dim=1)
        mask = None if state.mask is None else F.pad(state.mask, (0, 1), value=True)
        if tokens.shape[1] > self.window:  # all positions change, so no cached key is valid
            tokens = tokens[:, -self.window:]
            mask = None if mask is None else mask[:, -self.window:]
            return State(tokens, mask, None,
                         self.logits(self.run_blocks(tokens, mask)[:, -1]))
        caches, known = state.caches, state.tokens.shape[1]
        if caches[0].length != known:  # another update has used this state
            caches = tuple(cache.select(length=known) for cache in caches)
        hidden = decode_step(self, tokens, mask, caches)         # (B, D)
        return State(tokens, mask, caches, self.logits(hidden))

    def select(self, state: State, rows: Tensor) -> State:
        known = state.tokens.shape[1]
        caches = None if state.caches is None else tuple(cache.select(rows, known) for cache in state.caches)
        return State(state.tokens[rows], None if state.mask is None else state.mask[rows], caches, state.logits[rows])

    # --- attention weights, initialization ---------------------------------------------------------------------------

    @torch.no_grad()
    def attention_weights(self, tokens: Tensor,
                          mask: Bool[Tensor, "B T"] | None = None) -> list[Float[Tensor, "B H T T"]]:
        """Return the attention weights (B, H, T, T) of each layer, first to last; arguments as in `forward`."""
        tokens, mask = self._read((tokens, mask))
        tokens = self._check_tokens(tokens)
        attend = causal_mask(tokens.shape[1], device=tokens.device)
        attend = combine_masks(attend, None if mask is None else mask[:, None, :])
        x, weights = self._embed(tokens, mask, 0), []
        for block in self.blocks:
            weights.append(block.attention.weights(block.residual1.norm(x), mask=attend))
            x = block(x, attend)
        return weights

    @torch.no_grad()
    def _initialize(self) -> None:
        """Initialize as in Radford et al. 2019: weights from N(0, 0.02^2), biases 0.

        The last linear layers of the sublayers, whose outputs are added in residual connections, have weights that are
        smaller by the root of 2 `layers`, the number of sublayers.
        """
        for name, p in self.named_parameters():
            if p.dim() == 2:
                residual = name.endswith(("attention.out.weight", "narrow.weight"))
                p.normal_(0, 0.02 / math.sqrt(2 * self.config.layers) if residual else 0.02)
            elif name.endswith("bias"):
                p.zero_()

    # --- input -------------------------------------------------------------------------------------------------------

    def check_context(self, context: Padded, batch: int) -> None:
        self._prompt(batch, context)

    def _prompt(self, batch: int, context: Padded | None) -> tuple[Integer[Tensor, "B P"], Bool[Tensor, "B P"] | None]:
        """Return the prompt and its mask, None if all tokens are real. Without a context the prompt is `bos_id`."""
        device = self.tokens.weight.device
        tokens, mask = (None, None) if context is None else self._read(context, "context")
        if tokens is None or tokens.dim() == 2 and tokens.shape[1] == 0:
            if self.bos_id is None:
                raise ValueError("context is None or empty; expected a prompt (B, P) with P at least 1, because this GPT has "
                                 "no bos_id")
            return torch.full((batch, 1), self.bos_id, device=device), None
        if tokens.dim() != 2 or len(tokens) != batch:
            raise ValueError(f"context has shape {tuple(tokens.shape)}; expected (B, P) with B = {batch}")
        tokens = self._check_tokens(tokens.to(device), "context")
        if mask is None or is_all_true(mask):
            return tokens, None
        if values_checked() and ((mask[:, :-1] & ~mask[:, 1:]).any() or not mask[:, -1].all()):
            raise ValueError("the mask of context has an empty row, or False to the right of a token; expected padding "
                             'on the left, as pad(prompts, 0, side="left") adds it')
        return tokens, mask.to(device)

    def _read(self, batch: Padded, name: str = "tokens") -> tuple[Tensor, Tensor | None]:
        return tokens_and_mask(batch, self.config.vocab_size, name)

    def _check_tokens(self, tokens: Tensor, name: str = "tokens", extra: int = 0) -> Integer[Tensor, "B T"]:
        if tokens.dim() != 2 or tokens.numel() == 0:
            raise ValueError(f"{name} has shape {tuple(tokens.shape)}; expected (B, T) with B and T at least 1")
        if tokens.shape[1] > self.window + extra:
            raise ValueError(f"{name} has {tokens.shape[1]} tokens per row; expected at most {self.window + extra}, "
                             f"the window{' and a last token, which is only predicted' if extra else ''}")
        return self.conditional.check(tokens, name)

    # --- files -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name: str | Path) -> GPT:
        """Load a GPT-2 from the folder `name` with config.json and weights, or by its name on the Hugging Face hub.

        It is in eval mode. The weights may be one file or several with an index, safetensors or .bin. Mask buffers are
        ignored, and a tied output layer may be absent. Warns if the dropout probabilities differ (the first is used)
        and if the bos token is outside the vocabulary (it is then unused). Raises HubError, a ValueError, if the
        configuration is not supported, or if tensors are missing, unexpected or of a wrong shape.
        """
        return pretrained.load_gpt(cls, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in the format of Hugging Face's GPT2LMHeadModel."""
        pretrained.save_gpt(self, folder)


class State(NamedTuple):
    """Sampling state of `GPT`: tokens so far, keys and values of every layer, and logits of the next token."""

    tokens: Tensor                                                   # (B, L), all tokens so far
    mask: Tensor | None                                              # (B, L), False for padding; None: no padding
    caches: tuple[KVCache, ...] | None                               # one per layer; None beyond the window
    logits: Tensor                                                   # (B, V), of the next token
