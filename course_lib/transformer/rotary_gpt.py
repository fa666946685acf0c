r"""A GPT without a table of positions: queries and keys are turned by where they stand, and its past may roll."""

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
    """As `GPTConfig`, and

    base     of the angles, see `rotary`
    rolling  what generation does once the window is full. False: it reads the last `window` tokens anew for every
             token, as GPT does. True: it drops the oldest key and value of each layer and goes on; see `RotaryGPT` for
             what is not the same then

    >>> RotaryGPTConfig(vocab_size=10, rolling=True).base
    10000.0
    """

    base: float | int = 10000.0
    rolling: bool = False


class RotaryGPT(GPT):
    r"""`GPT` with rotary positions: $h^0 = E[x]$, and in every layer queries and keys turned by where they stand.

    Scores depend on distances alone, so a key that is kept stays right when older ones are dropped. With
    `rolling=True` generation past the window does that: a step costs the same however much was written.

    What rolling is not: the model reading the last `window` tokens by themselves. Each layer looks back `window`
    positions, but the keys of layer l were made from states that had looked back as far, so its output depends on
    the last l (window - 1) + 1 tokens. It is sliding-window attention over the whole text. One layer gives the same as
    reading anew; more give other probabilities, which the model was not trained for where texts were no longer than
    the window.

    Distances are counted in columns: padding may stand on either side of a row's tokens, not between them.

    Papers: Su et al. 2021, "RoFormer"; for the sliding window Jiang et al. 2023, "Mistral 7B", section 2.

    >>> model = RotaryGPT(dict(vocab_size=10, window=8, layers=2, heads=2, d_model=8, bos_id=0,
    ...                        rolling=True))
    >>> model.sample(2, length=30).shape                 # 22 of them with a rolling past
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
        """E[x]: where tokens stand, attention says."""
        if mask is not None and past == 0 and values_checked():
            begins = mask & ~F.pad(mask[:, :-1], (1, 0), value=False)
            if (begins.sum(dim=1) > 1).any():
                raise ValueError("the mask has padding between tokens of a row; expected it on either side, since "
                                 "rotary positions count columns")
        x = self.tokens(tokens)
        return drop(x, self.config.dropout) if self.training else x

    # --- one token at a time, with a past that rolls -----------------------------------------------------------------

    @torch.no_grad()
    def start(self, batch: int, context: Padded | None = None) -> State:
        state = super().start(batch, context)
        if not self.config.rolling:
            return state
        return state._replace(caches=tuple(RollingCache.from_cache(cache, self.window) for cache in state.caches))

    @torch.no_grad()
    def update(self, state: State, x_i: Tensor) -> State:
        """One token more: its query meets the last `window` keys, its own among them."""
        if not self.config.rolling:
            return super().update(state, x_i)
        known, caches = state.tokens.shape[1], state.caches
        tokens = torch.cat([state.tokens, x_i[:, None].long()], dim=1)
        mask = None if state.mask is None else F.pad(state.mask, (0, 1), value=True)
        if caches[0].length != known or caches[0].full:              # new room: this state can still be gone on from
            caches = tuple(cache.select(length=known) for cache in caches)
        near = None if mask is None else mask[:, -self.window:]      # (B, S): where the keys that are seen have a token
        hidden = decode_step(self, tokens, near, caches)             # (B, D)
        return State(tokens, mask, caches, self.logits(hidden))

    # --- files -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name: str | Path) -> RotaryGPT:
        """Raises HubError: GPT-2's files hold a table of positions. `hub.save` and `hub.load` store this model."""
        raise HubError(f"{name} cannot be read as a {cls.__name__}: GPT-2's format has a table of positions; use "
                       "hub.load")

    def save_pretrained(self, folder: str | Path) -> None:
        """Raises HubError, as `from_pretrained` does."""
        raise HubError(f"a {type(self).__name__} has no place in GPT-2's format, which has a table of positions; use "
                       "hub.save")
