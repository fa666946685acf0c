"""A step of GPT's generation without calls of modules: the same numbers, and no call left out that does more than its arithmetic."""
from __future__ import annotations

import pytest
import torch

from course_lib.transformer import _fast_decode
from course_lib.transformer.heads import switched_off
from tests.support.random import rng
from tests.support.tensors import same
from tests.transformer.checks import F64, next_logits, small

PARTS = ["tokens", "norm", *(f"blocks.1{part}" for part in (
    "", ".attention", ".attention.qkv", ".attention.out", ".residual1", ".residual1.norm", ".feed_forward",
    ".feed_forward.widen", ".feed_forward.narrow", ".residual2", ".residual2.norm"))]


def check_steps(model, steps=6):
    """The logits of every step are those of one pass over all tokens."""
    text = torch.randint(7, (2, steps), generator=rng(3))
    state = model.start(2, text[:, :1])
    for t in range(1, steps):
        for b in range(2):
            same(model.predict(state).logits[b], next_logits(model, text[b, :t].tolist()))
        state = model.update(state, text[:, t])


def test_decode_step_is_used(monkeypatch):
    model, calls, attention_step = small(), [], _fast_decode.attention_step
    monkeypatch.setattr(_fast_decode, "attention_step", lambda *given: calls.append(1) or attention_step(*given))
    check_steps(model)
    assert len(calls) == 5 * 2
    with switched_off(model, [(0, 0)]):                              # by a hook on W^O
        check_steps(model)
    assert len(calls) == 5 * 2


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("name", PARTS)
def test_decode_step_with_hook(name, register):
    model, calls = small(), []
    ramp = torch.linspace(-1, 1, 36, dtype=F64)                      # 3 D: as wide as the widest output

    def shift(_, given, out=None):
        calls.append(1)
        x = given[0] if out is None else out
        x = x + ramp[:x.shape[-1]] if x.is_floating_point() else (x + 1) % 7
        return x if out is not None else (x, *given[1:])

    getattr(model.get_submodule(name), register)(shift)
    check_steps(model)
    assert len(calls) > 5, f"the hook of {name} was not called"
