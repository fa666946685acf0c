"""GPT with rotary positions instead of position embeddings, and with an optional rolling cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from course_lib.tokenizers.batching import Padded
from course_lib.transformer._fast_decode import decode_step
from course_lib.transformer.dropout import drop
from course_lib.transformer.gpt import GPT, GPTConfig, State
from course_lib.transformer.pretrained import HubError
from course_lib.transformer.rotary_attention import RollingCache, RotaryAttention
from course_lib.validation import values_checked


@dataclass(frozen=True)
class RotaryGPTConfig(GPTConfig):
    """`GPTConfig` with two further arguments:

    base     n in the frequencies: see `rotary`
    rolling  method of generation beyond the window. False: encode the last `window` tokens at every step, as GPT does.
             True: drop the oldest key and value of each layer, which changes the probabilities (see `RotaryGPT`)

    >>> RotaryGPTConfig(vocab_size=10, rolling=True).base
    10000.0
    """

    base: float | int = 10000.0
    rolling: bool = False


class RotaryGPT(GPT):
    """`GPT` with rotary positions: $h^0 = E[x]$, and queries and keys of every layer are rotated by their positions.

    E are the token embeddings. Scores depend on distances only, so cached keys stay valid when older keys are dropped.
    With `rolling=True` the oldest keys are dropped in generation beyond the window, so the cost of a step is constant.

    Rolling is sliding-window attention over the whole text, not the model applied to the last `window` tokens: the keys
    of layer l depend on earlier states, so its output depends on the last l (window - 1) + 1 tokens. With one layer both
    methods give the same probabilities. With more layers the probabilities differ, and a model trained on texts of at
    most `window` tokens was not trained for this case.

    Distances are counted in columns, so padding may be on either side of a row's tokens but not between them.

    Papers: Su et al. 2021, "RoFormer"; for the sliding window Jiang et al. 2023, "Mistral 7B", section 2.

    >>> model = RotaryGPT(dict(vocab_size=10, window=8, layers=2, heads=2, d_model=8, bos_id=0,
    ...                        rolling=True))
    >>> model.sample(2, length=30).shape                 # 22 of them beyond the window
    torch.Size([2, 30])
    """

    config: RotaryGPTConfig

    def __init__(self, config: RotaryGPTConfig | dict):
        c = config if isinstance(config, RotaryGPTConfig) else RotaryGPTConfig(**config)
        super().__init__(c)
        self.positions = None
        for block in self.blocks:
            rotary = RotaryAttention(c.d_model, c.heads, c.dropout, base=c.base)
            rotary.load_state_dict(block.attention.state_dict())
            block.attention = rotary

    def _embed(self, tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B S"] | None,
                  past: int) -> Float[Tensor, "B T D"]:
        """Return the token embeddings (B, T, D), without positions; `past` is the number of cached tokens.

        Raises ValueError if the mask has padding between tokens of a row.
        """
        if mask is not None and past == 0 and values_checked():
            begins = mask & ~F.pad(mask[:, :-1], (1, 0), value=False)
            if (begins.sum(dim=1) > 1).any():
                raise ValueError("the mask has padding between tokens of a row; expected padding only before or after them, "
                                 "because rotary positions count columns")
        x = self.tokens(tokens)
        return drop(x, self.config.dropout) if self.training else x

    # --- one token at a time, with a rolling cache -------------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> State:
        state = super().start(batch, context)
        if not self.config.rolling:
            return state
        return state._replace(caches=tuple(RollingCache.from_cache(cache, self.window) for cache in state.caches))

    @torch.no_grad()
    def update(self, state: State, x_i: Tensor) -> State:
        """Return the state after the token x_i (B,), whose query attends to the last `window` keys, its own included."""
        if not self.config.rolling:
            return super().update(state, x_i)
        known, caches = state.tokens.shape[1], state.caches
        tokens = torch.cat([state.tokens, x_i[:, None].long()], dim=1)
        mask = None if state.mask is None else F.pad(state.mask, (0, 1), value=True)
        if caches[0].length != known or caches[0].full:              # new buffers, so that this state remains usable
            caches = tuple(cache.select(length=known) for cache in caches)
        near = None if mask is None else mask[:, -self.window:]      # (B, S), mask of the keys in the window
        hidden = decode_step(self, tokens, near, caches)             # (B, D)
        return State(tokens, mask, caches, self.logits(hidden))

    # --- files -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name: str | Path) -> RotaryGPT:
        """Raise HubError, because GPT-2's format has position embeddings; use `hub.load` instead."""
        raise HubError(f"{name} cannot be read as a {cls.__name__}: GPT-2's format has a table of positions; use "
                       "hub.load")

    def save_pretrained(self, folder: str | Path) -> None:
        """Raise HubError, because GPT-2's format has position embeddings; use `hub.save` instead."""
        raise HubError(f"a {type(self).__name__} cannot be saved in GPT-2's format, which has a table of positions; use "
                       "hub.save")
