"""What rotary attention, a rolling cache and a GPT of both do; the tests and the mutants use these checks."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from course_lib.transformer import GPT, left_pad
from tests.support.loops import attention_by_loops
from tests.support.random import normal, redrawn, rng
from tests.support.tensors import same

SIZES = {"vocab_size": 7, "window": 5, "layers": 3, "heads": 2, "d_model": 12, "d_ff": 20, "bos_id": 0, "base": 50.0}


def small(module, **changes):
    return redrawn(module.RotaryGPT({**SIZES, **changes}), scale=2.0).eval()


# --- references ------------------------------------------------------------------------------------------------------


def turned(x, base):
    """Pairs of numbers as complex ones, each multiplied by exp(i omega position)."""
    T, K = x.shape[-2:]
    omega = base ** (-torch.arange(0, K, 2).double() / K)
    turns = torch.polar(torch.ones(T, K // 2).double(), torch.arange(T).double()[:, None] * omega)
    return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous()) * turns).flatten(-2)


def by_loops(attention, x, mask, base):
    """`attention` of x (B, T, D), head by head, from its weights."""
    B, T, D = x.shape
    q, k, v = (F.linear(x, w, b).view(B, T, attention.heads, -1).transpose(1, 2)
               for w, b in zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3)))
    heads = attention_by_loops(turned(q, base), turned(k, base), v, mask.expand(B, attention.heads, T, T))
    return F.linear(heads.transpose(1, 2).reshape(B, T, D), attention.out.weight, attention.out.bias)


def sliding_window(model, tokens):
    """Log-probabilities after each position of a text (T,) of any length: every query sees itself and window - 1 before."""
    at, D = torch.arange(len(tokens)), model.config.d_model
    distance = at[:, None] - at
    near = (distance >= 0) & (distance < model.window)
    x = model.tokens.weight[tokens][None]
    for block in model.blocks:
        n1, n2, network = block.residual1.norm, block.residual2.norm, block.feed_forward
        x = x + by_loops(block.attention, F.layer_norm(x, (D,), n1.gamma, n1.beta, n1.eps), near, model.config.base)
        h = F.layer_norm(x, (D,), n2.gamma, n2.beta, n2.eps)
        h = F.gelu(F.linear(h, network.widen.weight, network.widen.bias), approximate="tanh")
        x = x + F.linear(h, network.narrow.weight, network.narrow.bias)
    x = F.layer_norm(x, (D,), model.norm.gamma, model.norm.beta, model.norm.eps)
    return (x @ model.tokens.weight.T).log_softmax(-1)[0]


# --- checks ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def turns_queries_and_keys(module):
    """Against complex numbers and loops; in parts with a cache as at once."""
    ours, x = redrawn(module.RotaryAttention(12, 2, base=50.0)), normal(2, 6, 12)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    want = by_loops(ours, x, causal, 50.0)
    same(ours(x, causal=True), want)
    same(ours(x), by_loops(ours, x, causal | True, 50.0))
    for cache in (module.KVCache(), module.RollingCache(6, room=2)):
        same(torch.cat([ours(part, causal=True, cache=cache) for part in x.split([2, 3, 1], dim=1)], dim=1), want)


def keeps_the_last(module):
    """Beside a list of all positions: whatever the room, step by step, in copies, from states that went on elsewhere."""
    for window, room, first in ((4, 1, 1), (4, 4, 3), (3, 64, 3), (1, 1, 1)):
        cache, all_ = module.RollingCache(window, room), normal(2, 3, 1, 30, 2)
        seen = torch.stack(cache.append(*all_[:, :, :, :first]))
        for t in range(first, 30):
            same(seen, all_[:, :, :, max(0, t - window):t])
            assert cache.length == t and cache.room <= max(room, 2 * window + 2)
            if t % 7 == 3:
                rows = torch.tensor([2, 0, 2])
                other = normal(2, 3, 1, 1, 2, seed=t)
                want = torch.cat([all_[:, rows][:, :, :, max(0, t + 1 - window):t], other], dim=3)
                same(torch.stack(cache.select(rows).append(*other)), want)
            seen = torch.stack(cache.append(*all_[:, :, :, t:t + 1]))
        if room < 30:
            with pytest.raises(ValueError, match="length is 2; expected at least .*, because the positions before .* were dropped"):
                cache.select(length=2)
        else:
            same(torch.stack(cache.select(length=20).append(*other)), torch.cat([all_[:, :, :, 18:20], other], dim=3))


@torch.no_grad()
def rolls_as_a_sliding_window(module):
    """Far past the window, one row, prompts of unequal lengths, rows reordered, two futures of one state."""
    model, W = small(module, rolling=True), SIZES["window"]
    text = torch.randint(7, (4 * W,), generator=rng(4))
    want = sliding_window(model, text)
    for P in (1, W - 1, W):
        state = model.start(1, text[None, :P])
        for t in range(P, len(text)):
            same(model.predict(state).logits[0], want[t - 1])
            other = model.update(state, torch.tensor([(int(text[t]) + 1) % 7]))
            state = model.update(state, text[t:t + 1])
        same(model.predict(other).logits[0], sliding_window(model, torch.cat([text[:-1], (text[-1:] + 1) % 7]))[-1])

    rows = [[1, 2, 3, 4, 5], [6], [2, 2, 5]]
    state = model.start(3, left_pad(rows))
    for step in range(14):
        if step in (3, 9):
            state, rows = model.select(state, torch.tensor([2, 2, 1])), [rows[2], rows[2], rows[1]]
        new = [(3 * b + step) % 7 for b in range(3)]
        state, rows = model.update(state, torch.tensor(new)), [[*row, v] for row, v in zip(rows, new)]
        if step % 4 == 3 or step == 13:
            for b, row in enumerate(rows):
                same(model.predict(state).logits[b], sliding_window(model, torch.tensor(row))[-1])


@torch.no_grad()
def reads_anew_unless_told(module):
    """The default: past the window the last tokens by themselves. With one layer that is what rolling gives, with more not."""
    text = torch.randint(7, (14,), generator=rng(4))
    for layers in (1, 2):
        exact, rolling = (small(module, layers=layers, rolling=rolling) for rolling in (False, True))
        a, b = (model.start(1, text[None, :3]) for model in (exact, rolling))
        for t in range(3, 14):
            a, b = exact.update(a, text[t:t + 1]), rolling.update(b, text[t:t + 1])
            same(exact.predict(a).logits[0], exact(text[None, max(0, t - 4):t + 1])[0, -1].log_softmax(-1))
            apart = (exact.predict(a).logits - rolling.predict(b).logits).abs().max()
            assert (apart > 1e-3) == (layers > 1 and t >= 5) and (apart > 1e-3 or apart < 1e-9)
    assert isinstance(exact, GPT)
