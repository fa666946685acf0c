r"""GPT: a stack of causal transformer blocks that predicts every next token, $p(x_t \mid x_{<t})$."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.transformer import pretrained
from course_lib.transformer.attention import KVCache, causal_mask, combine_masks, drop
from course_lib.transformer.blocks import ACTIVATIONS, EncoderBlock, LayerNorm
from course_lib.transformer.positions import LearnedPositions

NO_TOKEN = -1                                                        # stands left of a prompt shorter than others


@dataclass(frozen=True)
class GPTConfig:
    """The size of a GPT; the defaults are those of the smallest GPT-2, 124 million parameters.

    vocabulary  V, number of tokens
    window      the longest input, in tokens; the table of positions ends there
    d_ff        hidden width of the feed-forward networks; 4 d_model if None
    dropout     probability of dropping, for embeddings, layers and attention weights
    tied        use the table of token embeddings as the output layer too
    bos_id      the token before every text that has no prompt; None: a prompt is needed
    """

    vocabulary: int
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
        for name in ("vocabulary", "window", "layers", "heads", "d_model"):
            if getattr(self, name) < (2 if name == "vocabulary" else 1):
                raise ValueError(f"{name} is {getattr(self, name)}; needed is at least {1 + (name == 'vocabulary')}")
        if self.bos_id is not None and not 0 <= self.bos_id < self.vocabulary:
            raise ValueError(f"bos_id is {self.bos_id}; this vocabulary has 0..{self.vocabulary - 1}")


class State(NamedTuple):
    tokens: Tensor                                                   # (B, L): all that the next token may depend on
    mask: Tensor | None                                              # (B, L): False where a short prompt has no token
    caches: tuple[KVCache, ...] | None                               # one a layer; None once the window is full
    logits: Tensor                                                   # (B, V), of the next token


class GPT(AutoregressiveModel):
    r"""$h^0 = E[x] + P$, $\; h^l = \mathrm{block}_l(h^{l-1})$, $\; p(x_{t+1} \mid x_{\le t}) =
    \mathrm{softmax}\bigl(\mathrm{LN}(h^L_t)\, E^\top\bigr)$.

    Pre-LN blocks with causal self-attention; the embeddings E serve as the output layer too, if tied. Position t has
    read token t, so its output concerns token t + 1.

    As a distribution over sequences it starts after a prompt, `context` (B, P), or after `bos_id`. Prompts of unequal
    lengths share a batch by `left_pad`. Input longer than `window` raises; generation past it encodes the last
    `window` tokens anew at every step, from position 0.

    Slides: "GPT". Papers: Radford et al. 2018 and 2019.
    """

    def __init__(self, config: GPTConfig | dict):
        settings = config if isinstance(config, GPTConfig) else GPTConfig(**config)
        super().__init__(None, Categorical(settings.vocabulary))
        self.settings, c = settings, settings
        self.window, self.bos_id = c.window, c.bos_id
        self.tokens = nn.Embedding(c.vocabulary, c.d_model)          # E
        self.positions = LearnedPositions(c.window, c.d_model)       # P
        self.blocks = nn.ModuleList(
            EncoderBlock(c.d_model, c.heads, c.d_ff or 4 * c.d_model, c.dropout, "pre", c.activation, c.eps)
            for _ in range(c.layers))
        self.norm = LayerNorm(c.d_model, c.eps)
        self.head = None if c.tied else nn.Linear(c.d_model, c.vocabulary, bias=False)
        self._initialise()

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"config": asdict(self.settings)}

    # --- every factor at once ----------------------------------------------------------------------------------------

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the token that follows each position, (B, T, V), from tokens (B, T).

        mask  (B, T), True for real tokens: the others are not attended to and have no position of their own, so they
              may pad on either side; the logits there mean nothing

        Raises ValueError for tokens outside the vocabulary, longer than the window, or a mask that does not fit.
        """
        tokens = self._check_tokens(tokens)
        if mask is not None and (mask.dtype != torch.bool or mask.shape != tokens.shape):
            raise ValueError(f"mask has shape {tuple(mask.shape)} and dtype {mask.dtype}; needed is "
                             f"{tuple(tokens.shape)}, torch.bool, True for real tokens")
        return self._logits(self._hidden(tokens, mask))

    def conditionals(self, x: Tensor, context: Tensor | None = None) -> Distribution:
        x = self.check_input(x, context)
        prompt, mask = self._prompt(len(x), context)
        (_, P), n = prompt.shape, x.shape[1]
        if n == 0 or P + n - 1 > self.window:
            raise ValueError(f"x has {n} tokens after {P}: {P + n - 1} to read; needed are 1 to {self.window}, the "
                             "window, where the last one is predicted and not read")
        tokens = torch.cat([prompt, x[:, :-1]], dim=1)               # shifted: what stands before each token of x
        if mask is not None:
            mask = F.pad(mask, (0, n - 1), value=True)
        return self.conditional(self._logits(self._hidden(tokens, mask)[:, P - 1:]))       # (B, n, V)

    def loss(self, batch: Tensor | tuple[Tensor, Tensor]) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats a token, and the number of tokens it is a mean over.

        batch  tokens (B, T), each row a piece of text: every token but the first is predicted from those before it;
               or a pair with `mask` (B, T), False for padding, which neither predicts nor is predicted
        """
        tokens, mask = batch if isinstance(batch, tuple) else (batch, None)
        tokens = self._check_tokens(tokens, extra=1)
        if tokens.shape[1] < 2:
            raise ValueError(f"a row has {tokens.shape[1]} token; needed are two, one to predict the other from")
        logits = self(tokens[:, :-1], None if mask is None else mask[:, :-1])              # (B, T - 1, V)
        target = tokens[:, 1:]
        if mask is not None:
            counted = mask[:, 1:] & mask[:, :-1]
            logits, target = logits[counted], target[counted]
        return F.cross_entropy(logits.flatten(0, -2), target.flatten()), target.numel()

    # --- one token at a time -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Tensor | None = None) -> State:
        tokens, mask = self._prompt(batch, context)
        caches = tuple(KVCache(min(self.window, tokens.shape[1] + 64)) for _ in self.blocks)
        return State(tokens, mask, caches, self._logits(self._hidden(tokens, mask, caches)[:, -1]))

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits)

    @torch.no_grad()
    def update(self, state: State, x_i: Tensor) -> State:
        """One token more: its query meets the cached keys. O(t) for attention at step t, not O(t^2)."""
        tokens = torch.cat([state.tokens, x_i[:, None].long()], dim=1)
        mask = None if state.mask is None else F.pad(state.mask, (0, 1), value=True)
        if tokens.shape[1] > self.window:                            # every position moves: nothing cached holds
            tokens, mask = tokens[:, -self.window:], None if mask is None else mask[:, -self.window:]
            return State(tokens, mask, None, self._logits(self._hidden(tokens, mask)[:, -1]))
        caches, known = state.caches, state.tokens.shape[1]
        if caches[0].length != known:                                # another update went on from this state before
            caches = tuple(cache.select(length=known) for cache in caches)
        if self.training:                                            # dropout is drawn
            hidden = self._hidden(tokens[:, -1:], mask, caches)[:, -1]
        else:
            hidden = self._step(tokens, mask, caches)
        return State(tokens, mask, caches, self._logits(hidden))

    def select(self, state: State, rows: Tensor) -> State:
        known = state.tokens.shape[1]
        caches = None if state.caches is None else tuple(cache.select(rows, known) for cache in state.caches)
        return State(state.tokens[rows], None if state.mask is None else state.mask[rows], caches, state.logits[rows])

    # --- the network -------------------------------------------------------------------------------------------------

    def _hidden(self, tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B S"] | None = None,
                caches: Sequence[KVCache] | None = None) -> Float[Tensor, "B T D"]:
        """What the last block gives, normalised. With caches, T new tokens after the cached ones, S in all."""
        x = self._embedded(tokens, mask, caches[0].length if caches else 0)
        attend = None if mask is None else mask[:, None, :]          # (B, 1, S): where there is a token
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
            x = block(x, attend, causal=True, cache=cache)
        return self.norm(x)

    def _step(self, tokens: Integer[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None,
              caches: Sequence[KVCache]) -> Float[Tensor, "B D"]:
        """`_hidden` of the last token alone, in eval mode, as plain operations.

        A call of a module costs about what its arithmetic costs at one position. Hooks on the blocks are not called.
        """
        x = self._embedded(tokens[:, -1:], mask, caches[0].length)[:, 0]                   # (B, D)
        attend = None if mask is None else mask[:, None, None]       # (B, 1, 1, S)
        for block, cache in zip(self.blocks, caches):
            attention, network = block.attention, block.feed_forward
            qkv = F.linear(_normed(x, block.residual1.norm), attention.qkv.weight, attention.qkv.bias)
            qkv = qkv.view(len(x), 3, attention.heads, 1, -1).transpose(0, 1)              # (3, B, H, 1, K)
            k, v = cache.append(qkv[1:])                                                   # (B, H, S, K) each
            heads = F.scaled_dot_product_attention(qkv[0], k, v, attend)                   # (B, H, 1, K)
            x = x + F.linear(heads.reshape(x.shape), attention.out.weight, attention.out.bias)
            wide = F.linear(_normed(x, block.residual2.norm), network.widen.weight, network.widen.bias)
            x = x + F.linear(ACTIVATIONS[network.activation](wide), network.narrow.weight, network.narrow.bias)
        return _normed(x, self.norm)

    def _embedded(self, tokens: Tensor, mask: Tensor | None, past: int) -> Float[Tensor, "B T D"]:
        """Tokens and positions; a position counts the real tokens before it."""
        T, table = tokens.shape[1], self.positions.table.weight
        if mask is None:
            positions = table[past:past + T]                         # (T, D)
        else:
            positions = F.embedding((mask.cumsum(dim=1) - 1).clamp(min=0)[:, past:], table)         # (B, T, D)
        x = self.tokens(tokens) + positions
        return drop(x, self.settings.dropout) if self.training else x

    def _logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        return F.linear(hidden, (self.tokens if self.head is None else self.head).weight)

    @torch.no_grad()
    def attention_weights(self, tokens: Tensor, mask: Tensor | None = None) -> list[Float[Tensor, "B H T T"]]:
        """The attention weights of every layer, first to last, for tokens (B, T)."""
        tokens = self._check_tokens(tokens)
        attend = causal_mask(tokens.shape[1], device=tokens.device)
        attend = combine_masks(attend, None if mask is None else mask[:, None, :])
        x, weights = self._embedded(tokens, mask, 0), []
        for block in self.blocks:
            weights.append(block.attention.weights(block.residual1.norm(x), mask=attend))
            x = block(x, attend)
        return weights

    @torch.no_grad()
    def _initialise(self) -> None:
        """N(0, 0.02^2), less for what is added to the residual stream, 2 layers times. Radford et al. 2019."""
        for name, p in self.named_parameters():
            if p.dim() == 2:
                residual = name.endswith(("attention.out.weight", "narrow.weight"))
                p.normal_(0, 0.02 / math.sqrt(2 * self.settings.layers) if residual else 0.02)
            elif name.endswith("bias"):
                p.zero_()

    # --- input -------------------------------------------------------------------------------------------------------

    def check_context(self, context: Tensor, batch: int) -> None:
        self._prompt(batch, context)

    def _prompt(self, batch: int, context: Tensor | None) -> tuple[Integer[Tensor, "B P"], Bool[Tensor, "B P"] | None]:
        """The tokens before x, (B, P), and where there is one; None for the mask if there is one everywhere."""
        device = self.tokens.weight.device
        if context is None or context.dim() == 2 and context.shape[1] == 0:
            if self.bos_id is None:
                raise ValueError("there is no prompt, and this GPT has no bos_id: give a context (B, P), P at least 1")
            return torch.full((batch, 1), self.bos_id, device=device), None
        if context.dim() != 2 or len(context) != batch:
            raise ValueError(f"context has shape {tuple(context.shape)}; needed is (B, P) with B = {batch}")
        context, real = context.to(device), (context != NO_TOKEN).to(device)
        if (real[:, :-1] & ~real[:, 1:]).any() or not real[:, -1].all():
            raise ValueError(f"context has a prompt without tokens, or {NO_TOKEN} right of a token; shorter prompts "
                             "are filled up on the left, as left_pad does")
        tokens = self._check_tokens(context.masked_fill(~real, 0), "context")
        return tokens, None if real.all() else real

    def _check_tokens(self, tokens: Tensor, name: str = "tokens", extra: int = 0) -> Integer[Tensor, "B T"]:
        if tokens.dim() != 2 or tokens.numel() == 0:
            raise ValueError(f"{name} has shape {tuple(tokens.shape)}; needed is (B, T), neither of them 0")
        if tokens.shape[1] > self.window + extra:
            raise ValueError(f"{name} has {tokens.shape[1]} tokens a row; the window of this GPT has {self.window}")
        return self.conditional.check(tokens, name)

    # --- files -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name: str | Path) -> GPT:
        """The GPT-2 in a folder with config.json and its weights, or of that name on the Hugging Face hub; eval mode.

        Mask buffers in the file are ignored, a tied output layer may be absent. Raises HubError, a ValueError, for a
        configuration of another kind and for tensors that are missing, unexpected or of another shape.
        """
        return pretrained.load_gpt(cls, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors as Hugging Face's GPT2LMHeadModel reads them."""
        pretrained.save_gpt(self, folder)


def _normed(x: Tensor, norm: LayerNorm) -> Tensor:
    return F.layer_norm(x, norm.gamma.shape, norm.gamma, norm.beta, norm.eps)


def left_pad(prompts: Sequence[Sequence[int] | Integer[Tensor, "T"]]) -> Integer[Tensor, "B P"]:
    """Prompts of unequal lengths as one context: shorter ones are filled up with -1, on the left."""
    rows = [torch.as_tensor(prompt) for prompt in prompts]
    if not rows or any(row.dim() != 1 or len(row) == 0 for row in rows):
        raise ValueError("prompts is empty or holds an empty one; each prompt needs at least one token")
    width = max(len(row) for row in rows)
    return torch.stack([F.pad(row.long(), (width - len(row), 0), value=NO_TOKEN) for row in rows])
