"""What a right attention, block or GPT does. The mutants are caught by it."""
from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.contract import check_causal, check_views_agree
from course_lib.transformer import GPT, causal_mask, left_pad
from course_lib.transformer.attention import attention
from tests.support.loops import attention_by_loops
from tests.support.random import normal, redrawn, rng
from tests.support.tensors import gradients, same
from tests.support.types import untyped

F64 = torch.float64


def some_mask(*shape, seed=3):
    """True for about half; no row empty, and none the same as another one."""
    mask = torch.rand(shape, generator=rng(seed)) < 0.5
    mask[..., 0] |= ~mask.any(dim=-1)
    return mask


# --- attention as a function -----------------------------------------------------------------------------------------


def is_the_equation(attention):
    """Against loops; six different lengths of axes, so that none can stand for another."""
    q, k, v = normal(2, 3, 4, 6), normal(2, 3, 5, 6, seed=1), normal(2, 3, 5, 7, seed=2)
    same(attention(q, k, v), attention_by_loops(q, k, v))
    mask = some_mask(2, 3, 4, 5)
    same(attention(q, k, v, mask), attention_by_loops(q, k, v, mask))
    whole = some_mask(4, 5, seed=4)
    same(attention(q, k, v, whole), attention_by_loops(q, k, v, whole.expand(2, 3, 4, 5)))


def gives_zeros_where_nothing_may_be_seen(attention):
    q, k, v = (normal(2, 3, *shape, seed=s, grad=True) for s, shape in enumerate([(4, 6), (5, 6), (5, 7)]))
    mask = some_mask(2, 3, 4, 5)
    mask[0, 1, 2] = mask[1, :, 0] = False
    out = attention(q, k, v, mask)
    assert (out[0, 1, 2] == 0).all() and (out[1, :, 0] == 0).all() and torch.isfinite(out).all()
    for g in gradients(out, (q, k, v)):
        assert torch.isfinite(g).all()
    assert (gradients(attention(q, k, v, mask), (q,))[0][0, 1, 2] == 0).all()


def refuses_what_only_happens_to_fit(attention):
    """(B, T, S) would broadcast against (B, H, T, S) where B = H."""
    q = normal(3, 3, 4, 6)
    for mask in (some_mask(3, 4, 4), some_mask(4), some_mask(4, 5), torch.zeros(4, 4), torch.ones(4, 4).long()):
        with untyped(), pytest.raises(ValueError, match="mask has"):
            attention(q, q, q, mask)


def drops_weights(attention):
    """The share p of the weights is dropped, the rest is divided by 1 - p."""
    q, k, v = torch.zeros(1, 1, 200, 4), torch.zeros(1, 1, 50, 4), torch.ones(1, 1, 50, 1)
    torch.manual_seed(0)
    out = attention(q, k, v, None, 0.2).flatten()
    kept = out * 50 * 0.8
    same(kept, kept.round(), 1e-3)                                   # a whole number of weights of 1 / (50 * 0.8)
    assert 38 < kept.mean() < 42 and 1.5 < kept.std() < 4.5
    same(attention(q, k, v, None, 0.0), torch.ones(1, 1, 200, 1), 1e-6)


def drops_under_masks(fused_attention):
    """A dropout too small to happen: the plain result and gradients, masks, empty rows and the future included."""
    q, k, v = (normal(2, 3, *shape, seed=s, grad=True) for s, shape in enumerate([(4, 6), (4, 6), (4, 7)]))
    mask = some_mask(2, 3, 4, 4)
    mask[0, 1, 2] = False
    torch.manual_seed(0)
    for m, causal in ((None, False), (mask, False), (some_mask(2, 1, 1, 4), True), (None, True)):
        got, want = (fused_attention(q, k, v, m, dropout, causal) for dropout in (1e-9, 0.0))
        same(got, want)
        for a, b in zip(gradients(got, (q, k, v)), gradients(want, (q, k, v))):
            same(a, b)


def is_causal_past_padding(module, long=0):
    """Keys hidden on the left, on the right, in the middle, by head, all of them; values wider than keys."""
    before, module.LONG = module.LONG, long
    try:
        q, k, v = (normal(3, 2, 6, n, seed=n, grad=True) for n in (4, 5, 9))
        k = k[..., :4]
        hidden = torch.ones(3, 1, 1, 6, dtype=torch.bool)
        hidden[0, ..., :2] = hidden[1, ..., 4:] = hidden[2, ..., 1:3] = False
        heads = hidden.repeat(1, 2, 1, 1)
        heads[0, 1] = False                                          # no key at all
        for mask in (hidden, heads, hidden[0, 0]):
            both = (mask & causal_mask(6)).expand(3, 2, 6, 6)
            got = module.fused_attention(q, k, v, mask, causal=True)
            same(got.detach(), attention_by_loops(*(t.detach() for t in (q, k, v)), both))
            want = attention(q, k, v, both)                   # its gradients are those of finite differences
            for a, b in zip(gradients(got, (q, k, v)), gradients(want, (q, k, v))):
                same(a, b)
    finally:
        module.LONG = before


def drops_independently(drop):
    """Each component by itself, at its place modulo four as elsewhere; the mean stays, and so does the gradient's."""
    torch.manual_seed(0)
    x = torch.ones(4003, 61, dtype=F64, requires_grad=True)
    for p in (0.1, 0.5):
        y = drop(x, p)
        kept = (y != 0).double()
        same(y, kept / (1 - p), 1e-4)
        g, = torch.autograd.grad(y.sum(), x)
        assert torch.equal(g, y.detach())
        flat = kept.flatten()[:244180]
        assert (flat.view(-1, 4).mean(0) - (1 - p)).abs().max() < 5 * (p * (1 - p) / 61045) ** 0.5
        centred = (flat - (1 - p)).view(-1, 4) / (p * (1 - p)) ** 0.5
        assert (centred.T @ centred / len(centred) - torch.eye(4, dtype=F64)).abs().max() < 0.03
    assert torch.equal(drop(x, 0), x) and drop(torch.ones(0, 3), 0.5).shape == (0, 3)


def is_causal(causal_mask):
    assert causal_mask(3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert causal_mask(2, 4).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]], "the queries are the last positions"
    assert causal_mask(1, 3).all() and causal_mask(1, 3).dtype == torch.bool


def hides_padding(padding_mask):
    mask = padding_mask(torch.tensor([2, 0, 3]), 3)
    assert mask.shape == (3, 1, 3) and mask[:, 0].tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 1]]


# --- several heads ---------------------------------------------------------------------------------------------------


def as_torchs(mha):
    """torch.nn.MultiheadAttention with the same weights."""
    theirs = nn.MultiheadAttention(mha.d_model, mha.heads, batch_first=True).double().eval()
    theirs.in_proj_weight, theirs.in_proj_bias = mha.qkv.weight, mha.qkv.bias
    theirs.out_proj.weight, theirs.out_proj.bias = mha.out.weight, mha.out.bias
    return theirs


def is_torchs_multihead(MultiHeadAttention):
    """Outputs, weights of every head, gradients of inputs and of parameters; masks of every kind; self and cross."""
    ours = redrawn(MultiHeadAttention(12, 3))
    theirs = as_torchs(ours)
    parameters = [ours.qkv.weight, ours.qkv.bias, ours.out.weight, ours.out.bias]
    x, m = normal(3, 5, 12, grad=True), normal(3, 7, 12, seed=1, grad=True)
    each = some_mask(3, 5, 7)
    for memory, mask in ((None, None), (None, causal_mask(5)), (None, some_mask(3, 1, 5)), (m, None), (m, each),
                         (m, some_mask(3, 3, 5, 7))):
        S = 5 if memory is None else 7
        hidden = None
        if mask is not None:
            per_head = (mask[:, None] if mask.dim() == 3 else mask).expand(3, 3, 5, S)
            hidden = ~per_head.reshape(9, 5, S)
        y = x if memory is None else memory
        want, alpha = theirs(x, y, y, attn_mask=hidden, average_attn_weights=False)
        got = ours(x, memory, mask)
        same(got, want)
        same(ours.weights(x, memory, mask), alpha)
        inputs = [x, *([] if memory is None else [m]), *parameters]
        for a, b in zip(gradients(got, inputs), gradients(want, inputs)):
            same(a, b)
    same(ours(x, causal=True), ours(x, mask=causal_mask(5)))
    same(ours.weights(x, causal=True), ours.weights(x, mask=causal_mask(5)))
    same(ours(x, causal=True, mask=some_mask(3, 1, 5)), ours(x, mask=causal_mask(5) & some_mask(3, 1, 5)))
    same(ours(x, ours.keys_values(m), each), ours(x, m, each))


def tells_rows_from_heads(MultiHeadAttention):
    """As many rows as heads: a mask for each row must not be taken for one for each head."""
    ours = redrawn(MultiHeadAttention(12, 3))
    x, mask = normal(3, 5, 12), some_mask(3, 5, 5)
    for b in range(3):
        same(ours(x, mask=mask)[b:b + 1], ours(x[b:b + 1], mask=mask[b]))


def drops_in_training_alone(MultiHeadAttention):
    ours = redrawn(MultiHeadAttention(12, 3, dropout=0.5))
    x = normal(2, 5, 12)
    plain = redrawn(MultiHeadAttention(12, 3))
    same(ours(x), plain(x))
    same(ours(x), ours(x))
    ours.train()
    torch.manual_seed(0)
    assert (ours(x) - plain(x)).abs().max() > 0.05


def continues_from_its_cache(thing):
    """In chunks of any size, the cached keys and values give what the whole gives at once."""
    MultiHeadAttention, KVCache = thing.MultiHeadAttention, thing.KVCache
    ours, x = redrawn(MultiHeadAttention(12, 3)), normal(2, 9, 12)
    whole = ours(x, causal=True)
    for cuts, room in (((1,) * 9, 1), ((4, 1, 1, 3), 2), ((9,), 64), ((2, 7), 3)):
        cache, parts = KVCache(room), []
        with torch.no_grad():
            for part in x.split(cuts, dim=1):
                parts.append(ours(part, causal=True, cache=cache))
        same(torch.cat(parts, dim=1), whole)
        assert cache.length == 9
    swapped, cut = cache.select(torch.tensor([1, 1, 0])), cache.select(length=4)
    with torch.no_grad():
        more = normal(3, 1, 12, seed=5)
        same(ours(more, causal=True, cache=swapped),
             ours(torch.cat([x[[1, 1, 0]], more], dim=1), causal=True)[:, -1:])
        same(ours(more[:2], causal=True, cache=cut), ours(torch.cat([x[:, :4], more[:2]], dim=1), causal=True)[:, -1:])
    assert cache.length == 9, "the cache that was selected from changed"


def selects_without_writing(thing):
    """A selected cache continues from its rows and leaves the cache that it was selected from alone, and the reverse."""
    def appended(cache, kv):
        return torch.stack(cache.append(*kv))

    kv, more, rows = normal(2, 3, 1, 4, 2), normal(2, 3, 1, 2, 2, seed=1), torch.tensor([2, 0, 1])
    first = thing.KVCache(8)
    first.append(*kv)
    selected, again = first.select(rows), first.select(length=3)
    twice = selected.select(torch.tensor([0, 0, 1]))
    assert selected.kv is first.kv, "a copy was made before it was needed"
    same(appended(first, more), torch.cat([kv, more], dim=3))
    same(appended(selected, more), torch.cat([kv[:, rows], more], dim=3))
    same(appended(again, more), torch.cat([kv[:, :, :, :3], more], dim=3))
    same(appended(twice, normal(2, 3, 1, 9, 2, seed=2)), torch.cat([kv[:, [2, 2, 0]], normal(2, 3, 1, 9, 2, seed=2)], dim=3))     # a larger room
    same(appended(first, kv), torch.cat([kv, more, kv], dim=3))
    with torch.inference_mode():
        made = first.select(rows)
        made.append(*kv)
    same(appended(made.select(), kv)[:, :, :, -4:], kv)


# --- positions -------------------------------------------------------------------------------------------------------


def is_the_table(sinusoidal):
    """By the formula, one number at a time, odd widths and large positions too; in single precision as in double."""
    for d, base in ((1, 10000.0), (4, 100.0), (5, 10000.0), (6, 10000.0), (7, 50.0)):
        positions = torch.tensor([0, 1, 2, 17, 512, 5000])
        want = [[(math.cos if j % 2 else math.sin)(k / base ** (2 * (j // 2) / d)) for j in range(d)]
                for k in positions.tolist()]
        same(sinusoidal(positions, d, base, F64), torch.tensor(want, dtype=F64), 1e-9)
        same(sinusoidal(positions, d, base, torch.float32).double(), torch.tensor(want, dtype=F64), 1e-6)
        assert sinusoidal(3, d, base).shape == (3, d)


def turns_pairs(rotary):
    """The product of a turned query and a turned key is a function of their distance, and norms stay."""
    q, k = normal(1, 6), normal(1, 6, seed=1)
    for distance in (0, 1, 5):
        products = [(rotary(q, torch.tensor([p + distance])) * rotary(k, torch.tensor([p]))).sum() for p in (0, 3, 40)]
        same(products[0], products[1])
        same(products[0], products[2])
    same(rotary(q, torch.tensor([0])), q)
    same(rotary(q, torch.tensor([7])).norm(), q.norm())
    x, angle = torch.tensor([[0.0, 0.0, 1.0, 0.0]]).double(), 3 * 100.0 ** -0.5
    same(rotary(x, torch.tensor([3]), 100.0), torch.tensor([[0, 0, math.cos(angle), math.sin(angle)]], dtype=F64))
    same(rotary(normal(2, 4, 6))[:, 2:3], rotary(normal(2, 4, 6)[:, 2:3], torch.tensor([2])))


# --- blocks ----------------------------------------------------------------------------------------------------------


def is_torchs_layer_norm(layer_norm):
    """Values and gradients, where numbers are large, rows constant, eps small or large."""
    gamma, beta = normal(6, seed=1, grad=True), normal(6, seed=2, grad=True)
    for mean, scale, eps in ((0, 1, 1e-5), (1e4, 1, 1e-5), (0, 1e-3, 1e-5), (0, 1, 1e-12), (2, 0, 1e-5), (0, 1, 0.5)):
        x = (mean + scale * normal(4, 3, 6)).requires_grad_()
        got, want = layer_norm(x, gamma, beta, eps), F.layer_norm(x, (6,), gamma, beta, eps)
        same(got, want, 1e-8)
        for a, b in zip(gradients(got, (x, gamma, beta)), gradients(want, (x, gamma, beta))):
            same(a, b, 1e-6)


def encoder_layers(module, norm, activation):
    """Our block and torch's layer with the same weights."""
    ours = redrawn(module.TransformerBlock(12, 3, 20, norm=norm, activation=activation))
    theirs = nn.TransformerEncoderLayer(12, 3, 20, 0.0, activation, batch_first=True, norm_first=norm == "pre")
    copy_layer(theirs.double().eval(), ours)
    return ours, theirs


def copy_layer(theirs, ours):
    """Share our tensors with torch's layer of an encoder or a decoder."""
    pairs = [(theirs.self_attn, ours.attention)]
    norms = [(theirs.norm1, ours.residual1.norm), (theirs.norm2, ours.residual2.norm)]
    if hasattr(theirs, "multihead_attn"):
        pairs.append((theirs.multihead_attn, ours.cross_attention))
        norms.append((theirs.norm3, ours.residual3.norm))
    for t, o in pairs:
        t.in_proj_weight, t.in_proj_bias = o.qkv.weight, o.qkv.bias
        t.out_proj.weight, t.out_proj.bias = o.out.weight, o.out.bias
    for t, o in norms:
        t.weight, t.bias = o.gamma, o.beta
    for t, o in ((theirs.linear1, ours.feed_forward.widen), (theirs.linear2, ours.feed_forward.narrow)):
        t.weight, t.bias = o.weight, o.bias


def is_torchs_encoder_layer(module):
    for norm in ("post", "pre"):
        for activation in ("relu", "gelu"):
            ours, theirs = encoder_layers(module, norm, activation)
            x, mask = normal(3, 5, 12, grad=True), some_mask(3, 1, 5)
            inputs = [x, *ours.parameters()]
            for m, kwargs in ((None, {}), (mask, {"src_key_padding_mask": ~mask[:, 0]}),
                              (causal_mask(5), {"src_mask": ~causal_mask(5)})):
                got, want = ours(x, m), theirs(x, **kwargs)
                same(got, want)
                for a, b in zip(gradients(got, inputs), gradients(want, inputs)):
                    same(a, b)


def is_torchs_decoder_layer(module):
    for norm in ("post", "pre"):
        ours = redrawn(module.DecoderBlock(12, 3, 20, norm=norm))
        theirs = nn.TransformerDecoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=norm == "pre").double().eval()
        copy_layer(theirs, ours)
        x, m, mask = normal(3, 5, 12, grad=True), normal(3, 7, 12, seed=1, grad=True), some_mask(3, 1, 7)
        inputs = [x, m, *ours.parameters()]
        got = ours(x, m, memory_mask=mask)
        want = theirs(x, m, tgt_mask=~causal_mask(5), memory_key_padding_mask=~mask[:, 0])
        same(got, want)
        for a, b in zip(gradients(got, inputs), gradients(want, inputs)):
            same(a, b)
        same(ours(x, ours.cross_attention.keys_values(m), memory_mask=mask), got)


def is_the_six_equations(module):
    block = redrawn(module.TransformerBlock(12, 3, 20, bias=False))
    x = normal(5, 12)
    same(module.transformer_function(x, **module.slide_weights(block)), block(x[None])[0])


def drops_what_a_layer_adds(Residual):
    """In training a share p of what the layer adds is zero, the rest divided by 1 - p; in eval nothing happens."""
    layer = Residual(400, "pre", dropout=0.2).double()
    x = normal(3, 20, 400)
    torch.manual_seed(0)
    added = (layer.train()(x, torch.ones_like) - x).detach()
    zero = added.abs() < 1e-9
    assert abs(zero.double().mean() - 0.2) < 0.01
    same(added[~zero], torch.full_like(added[~zero], 1 / 0.8), 1e-4)
    same(layer.eval()(x, torch.ones_like), x + 1)


def stands_where_it_says(Residual):
    x, f = normal(2, 3, 8), lambda y: 2 * y.roll(1, dims=-1) + 1
    made = {norm: redrawn(Residual(8, norm)) for norm in ("post", "pre", "inner")}
    norm = made["post"].norm
    same(made["post"](x, f), norm(x + f(x)))
    same(made["pre"](x, f), x + f(norm(x)))
    same(made["inner"](x, f), x + norm(f(x)))


# --- GPT -------------------------------------------------------------------------------------------------------------


def small(module=None, **changes):
    """A GPT with every size different from every other; module: where its class is from."""
    cls = GPT if module is None else module.GPT
    sizes = {"vocab_size": 7, "window": 10, "layers": 2, "heads": 3, "d_model": 12, "d_ff": 20, "bos_id": 0}
    return redrawn(cls({**sizes, **changes}), scale=2.0)


def keeps_the_past_from_the_future(module):
    """Exact zeros: the gradient of what stands at t by every later embedding."""
    model = small(module)
    tokens = torch.randint(7, (2, 8), generator=rng())
    embedded = model.tokens(tokens).detach().requires_grad_()
    hook = model.tokens.register_forward_hook(lambda *_: embedded)
    logits = model(tokens)
    for t in range(8):
        g, = torch.autograd.grad(logits[:, t].square().sum(), embedded, retain_graph=True)
        assert (g[:, t + 1:] == 0).all(), f"position {t} reads what follows it"
        assert (g[:, :t + 1].abs().amax(dim=-1) > 1e-9).all(), f"position {t} does not read all before it"
    hook.remove()


def keeps_the_contract(module):
    check_causal(small(module, vocab_size=3), length=4)
    check_views_agree(small(module, vocab_size=3, bos_id=None), length=5, context=torch.tensor([[0, 2], [1, 1]]))


def next_logits(model, tokens):
    """Logits of the token after `tokens`, a list, by the plain forward pass on the last window of them."""
    return model(torch.tensor([tokens[-model.window:]]))[0, -1].log_softmax(-1)


def generates_as_without_cache(module):
    """Step by step, far past the window, from prompts of every length: the logits of the plain forward pass.

    In eval mode a step does not call the blocks; in training, without dropout, it does.
    """
    model = small(module)
    text = torch.randint(7, (16,), generator=rng(4)).tolist()
    for P, training in ((1, False), (3, False), (9, False), (10, False), (1, True), (9, True)):
        model.train(training)
        state = model.start(2, torch.tensor([text[:P]] * 2))
        for t in range(P, 15):
            same(model.predict(state).logits[0], next_logits(model, text[:t]))
            state = model.update(state, torch.tensor([text[t]] * 2))


def takes_unequal_prompts(module):
    """A batch of prompts of different lengths gives each what it gets alone, past the window and reordered."""
    model = small(module)
    rows = [[1, 2, 3, 4, 5], [6], [2, 2, 5]]
    state = model.start(3, left_pad(rows))
    for step in range(12):
        for b, row in enumerate(rows):
            same(model.predict(state).logits[b], next_logits(model, row))
        if step in (2, 9):
            state, rows = model.select(state, torch.tensor([2, 2, 1])), [rows[2], rows[2], rows[1]]
        new = [(3 * b + step) % 7 for b in range(3)]
        state = model.update(state, torch.tensor(new))
        rows = [row + [v] for row, v in zip(rows, new)]
    x = torch.tensor([[1, 2, 3], [3, 0, 6]])
    both = model.conditionals(x, left_pad([[4, 5], [1]])).logits
    same(both[1:], model.conditionals(x[1:], torch.tensor([[1]])).logits)
    padded = model(torch.tensor([[0, 0, 5, 1], [5, 1, 0, 0]]), torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]]).bool())
    same(padded[0, 2:], model(torch.tensor([[5, 1]]))[0])
    same(padded[1, :2], model(torch.tensor([[5, 1]]))[0])


def may_branch(module):
    """Two updates from one state are two futures; neither disturbs the other, nor the state."""
    model = small(module)
    first = model.update(model.start(1), torch.tensor([3]))
    before = model.predict(first).logits.clone()
    a, b = (model.update(first, torch.tensor([v])) for v in (1, 2))
    a2, b2 = model.update(a, torch.tensor([4])), model.update(b, torch.tensor([4]))
    same(model.predict(a2).logits[0], next_logits(model, [0, 3, 1, 4]))
    same(model.predict(b2).logits[0], next_logits(model, [0, 3, 2, 4]))
    same(model.predict(first).logits, before)


def loss_is_the_mean_of_the_next_tokens(module):
    model = small(module)
    x = torch.randint(7, (3, 9), generator=rng(1))
    mean, count = model.loss(x)
    log_p = model(x).log_softmax(-1)
    want = [-log_p[b, t, x[b, t + 1]] for b in range(3) for t in range(8)]
    same(mean, sum(want) / 24)
    assert count == 24
    same(mean, -model.log_prob(x[:, 1:], x[:, :1]).mean() / 8)
    mask = torch.arange(9) < torch.tensor([9, 2, 5])[:, None]
    mean, count = model.loss((x, mask))
    want = [-log_p[b, t, x[b, t + 1]] for b, n in enumerate((9, 2, 5)) for t in range(n - 1)]
    assert count == len(want) == 13
    same(mean, sum(want) / 13)


def ties_its_embeddings(module):
    model, untied = small(module), small(module, tied=False)
    block = 4 * 12 * 12 + 4 * 12 + 2 * 12 * 20 + 12 + 20 + 4 * 12
    size = 7 * 12 + 10 * 12 + 2 * block + 2 * 12
    assert sum(p.numel() for p in model.parameters()) == size
    assert sum(t.numel() for t in model.state_dict().values()) == size
    assert sum(p.numel() for p in untied.parameters()) == size + 7 * 12
    before = model(torch.tensor([[1, 2]]))
    with torch.no_grad():
        model.tokens.weight[5] += 1                                  # a token that is not read, only predicted
    after = model(torch.tensor([[1, 2]]))
    assert (after != before)[..., 5].all() and (after == before)[..., :5].all()
