"""What a right attention, block, GPT or decoder does. The tests ask it of the library, the mutants are caught by it."""
from __future__ import annotations

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.contract import check_causal, check_views_agree
from course_lib.density import FVSBN, Tabular
from course_lib.transformer import GPT, causal_mask, left_pad

F64 = torch.float64


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0, grad=False):
    return torch.randn(shape, generator=rng(seed), dtype=F64).requires_grad_(grad)


def same(a, b, tol=1e-9):
    torch.testing.assert_close(a, b, rtol=tol, atol=tol)


@torch.no_grad()
def drawn(module, seed=0, scale=1.0):
    """Every tensor redrawn, gains and biases too, in float64 and eval mode: nothing is left at 0 or 1."""
    module = module.double().eval()
    generator = rng(seed)
    for p in module.parameters():
        fan = p.shape[-1] if p.dim() > 1 else 4
        p.copy_(scale * fan ** -0.5 * torch.randn(p.shape, generator=generator, dtype=F64) + 0.3 * (p.dim() == 1))
    return module


def gradients(output, inputs, seed=9):
    return torch.autograd.grad((output * normal(*output.shape, seed=seed)).sum(), inputs)


def some_mask(*shape, seed=3):
    """True for about half; no row empty, and none the same as another one."""
    mask = torch.rand(shape, generator=rng(seed)) < 0.5
    mask[..., 0] |= ~mask.any(dim=-1)
    return mask


# --- attention as a function -----------------------------------------------------------------------------------------


def by_loops(q, k, v, mask=None):
    """One query at a time, in plain loops over what it may attend to."""
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for t in range(q.shape[2]):
                seen = [s for s in range(k.shape[2]) if mask is None or mask[b, h, t, s]]
                e = [math.exp(sum(q[b, h, t] * k[b, h, s]) / math.sqrt(q.shape[-1])) for s in seen]
                for weight, s in zip(e, seen):
                    out[b, h, t] += weight / sum(e) * v[b, h, s]
    return out


def is_the_equation(attention):
    """Against loops; six different lengths of axes, so that none can stand for another."""
    q, k, v = normal(2, 3, 4, 6), normal(2, 3, 5, 6, seed=1), normal(2, 3, 5, 7, seed=2)
    same(attention(q, k, v), by_loops(q, k, v))
    mask = some_mask(2, 3, 4, 5)
    same(attention(q, k, v, mask), by_loops(q, k, v, mask))
    whole = some_mask(4, 5, seed=4)
    same(attention(q, k, v, whole), by_loops(q, k, v, whole.expand(2, 3, 4, 5)))


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
        with pytest.raises(ValueError, match="mask has"):
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
    ours = drawn(MultiHeadAttention(12, 3))
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
    ours = drawn(MultiHeadAttention(12, 3))
    x, mask = normal(3, 5, 12), some_mask(3, 5, 5)
    for b in range(3):
        same(ours(x, mask=mask)[b:b + 1], ours(x[b:b + 1], mask=mask[b]))


def drops_in_training_alone(MultiHeadAttention):
    ours = drawn(MultiHeadAttention(12, 3, dropout=0.5))
    x = normal(2, 5, 12)
    plain = drawn(MultiHeadAttention(12, 3))
    same(ours(x), plain(x))
    same(ours(x), ours(x))
    ours.train()
    torch.manual_seed(0)
    assert (ours(x) - plain(x)).abs().max() > 0.05


def continues_from_its_cache(thing):
    """In chunks of any size, the cached keys and values give what the whole gives at once."""
    MultiHeadAttention, KVCache = thing.MultiHeadAttention, thing.KVCache
    ours, x = drawn(MultiHeadAttention(12, 3)), normal(2, 9, 12)
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
    ours = drawn(module.EncoderBlock(12, 3, 20, norm=norm, activation=activation))
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
        ours = drawn(module.DecoderBlock(12, 3, 20, norm=norm))
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
    block = drawn(module.EncoderBlock(12, 3, 20, bias=False))
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
    made = {norm: drawn(Residual(8, norm)) for norm in ("post", "pre", "inner")}
    norm = made["post"].norm
    same(made["post"](x, f), norm(x + f(x)))
    same(made["pre"](x, f), x + f(norm(x)))
    same(made["inner"](x, f), x + norm(f(x)))


# --- GPT -------------------------------------------------------------------------------------------------------------


def small(module=None, **changes):
    """A GPT with every size different from every other; module: where its class is from."""
    cls = GPT if module is None else module.GPT
    sizes = {"vocabulary": 7, "window": 10, "layers": 2, "heads": 3, "d_model": 12, "d_ff": 20, "bos_id": 0}
    return drawn(cls({**sizes, **changes}), scale=2.0)


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
    check_causal(small(module, vocabulary=3), length=4)
    check_views_agree(small(module, vocabulary=3, bos_id=None), length=5, context=torch.tensor([[0, 2], [1, 1]]))


def next_logits(model, tokens):
    """Logits of the token after `tokens`, a list, by the plain forward pass on the last window of them."""
    return model(torch.tensor([tokens[-model.window:]]))[0, -1].log_softmax(-1)


def generates_as_without_cache(module):
    """Step by step, far past the window, from prompts of every length: the logits of the plain forward pass.

    In eval mode a step takes a path of its own; in training, without dropout, the numbers are the same.
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
        drawn_ = [(3 * b + step) % 7 for b in range(3)]
        state = model.update(state, torch.tensor(drawn_))
        rows = [row + [v] for row, v in zip(rows, drawn_)]
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


# --- decoding --------------------------------------------------------------------------------------------------------


class Tree(AutoregressiveModel):
    """Next-token probabilities written down for every beginning: {(): [...], (0,): [...]}; uniform elsewhere."""

    def __init__(self, V, table):
        super().__init__(None, Categorical(V))
        self.V, self.table = V, table
        self.anchor = nn.Parameter(torch.zeros(1, dtype=F64))

    def conditionals(self, x, context=None):
        p = [[self.table.get(tuple(row[:t]), [1 / self.V] * self.V) for t in range(len(row))] for row in x.tolist()]
        return self.conditional(torch.tensor(p, dtype=F64).log())


def models():
    """Of several kinds: sequences with an end, and a fixed number of variables in an order of their own."""
    return [(small(vocabulary=3), 4), (small(vocabulary=4, bos_id=2), 3),
            (drawn(FVSBN(5, order=[2, 0, 3, 4, 1])), None), (random_table(), None)]


def random_table():
    model = Tabular(4, order=[1, 3, 0, 2]).double()
    model.randomize(rng(2))
    return model


def wide_beam_is_exhaustive(beam_search):
    """With room for all sequences: the same ones in the same order with the same scores, for every exponent."""
    from course_lib.text.decoding import exhaustive
    for model, length in models():
        for end in (None, 1) if length else (None,):
            for exponent in (0.0, 0.6, 1.0):
                V, n = model.conditional.num_values, length or model.n
                count = V ** n if end is None else sum((V - 1) ** t for t in range(n)) + (V - 1) ** n
                best = min(5, count)
                want = exhaustive(model, length, end=end, best=best, exponent=exponent)
                got = beam_search(model, length, beams=V ** n, best=best, exponent=exponent, end=end)
                same(got.score, want.score)
                T = want.tokens.shape[-1]
                assert got.tokens[..., :T].tolist() == want.tokens.tolist()
                assert got.length.tolist() == want.length.tolist()
                for tokens, size, log_p in zip(got.tokens[0], got.length[0], got.log_prob[0]):
                    x = tokens[None, :size] if end is not None else tokens[None]
                    same(model.log_prob(x)[0], log_p, 1e-8)


def narrow_beam_is_the_plain_loop(beam_search):
    """Against a beam search in plain Python, hypotheses in a list: several trees, widths and exponents."""
    for seed in range(6):
        tree = random_tree(seed)
        for beams in (1, 2, 3):
            for exponent in (0.0, 0.6, 1.0, 2.0):
                want = beams_in_a_list(tree, 5, beams, exponent, end=1)
                got = beam_search(tree, 5, beams=beams, best=len(want), exponent=exponent, end=1)
                assert [t[:n] for t, n in zip(got.tokens[0].tolist(), got.length[0].tolist())] == [w[1] for w in want]
                same(got.score[0], torch.tensor([w[0] for w in want], dtype=F64))


def random_tree(seed, V=4, depth=5):
    """Every distribution after every beginning drawn anew; some sharp, some flat."""
    generator, table = rng(seed), {}
    for t in range(depth):
        for prefix in product(range(V), repeat=t):
            table[prefix] = (1.5 * torch.randn(V, generator=generator, dtype=F64)).softmax(-1).tolist()
    return Tree(V, table)


def beams_in_a_list(tree, length, beams, exponent, end):
    """The finished hypotheses, best first: (score, tokens)."""
    running, finished = [(0.0, [])], []
    for t in range(1, length + 1):
        every = []
        for log_p, tokens in running:
            every += [(log_p + math.log(p), [*tokens, v]) for v, p in enumerate(tree.table[tuple(tokens)])]
        every = sorted(every, reverse=True)[:2 * beams]
        over = [h[1][-1] == end or t == length for h in every]
        finished += [(p / t ** exponent, tokens) for (p, tokens), o in zip(every[:beams], over) if o]
        finished = sorted(finished, reverse=True)[:beams]
        running = [h for h, o in zip(every, over) if not o][:beams]
        if not running or len(finished) == beams and running[0][0] / t ** exponent <= finished[-1][0]:
            break
    return finished


def width_one_is_greedy(beam_search):
    from course_lib.text.decoding import greedy
    for model, length in models():
        one, plain = beam_search(model, length, beams=1), greedy(model, length)
        assert one.tokens[:, 0].tolist() == plain.tokens.tolist()
        same(one.log_prob[:, 0], plain.log_prob)


def rows_of_a_batch_are_alone(decode):
    """Prompts of unequal lengths: each row gets what it gets by itself."""
    model = drawn(small(vocabulary=5, bos_id=None), seed=2, scale=4.0)           # some of its rows end early on a 2
    prompts = [[1, 2, 3], [4], [2, 0], [3, 3, 3, 3]]
    together = decode(model, 8, left_pad(prompts))
    assert together.length.unique().numel() > 1, "a test of unequal lengths"
    for b, prompt in enumerate(prompts):
        alone = decode(model, 8, torch.tensor([prompt]))
        T = alone.tokens.shape[-1]
        assert together.tokens[b:b + 1, ..., :T].tolist() == alone.tokens.tolist()
        assert together.length[b:b + 1].tolist() == alone.length.tolist()
        same(together.score[b:b + 1], alone.score)


def takes_the_best_step(greedy):
    """The slide's tree: greedy writes yes, yes, and misses ok, ok, which is likelier."""
    tree = Tree(3, {(): [0.2, 0.5, 0.3], (1,): [0.3, 0.4, 0.3], (2,): [0.1, 0.1, 0.8], (1, 1): [1, 0, 0],
                    (2, 2): [1, 0, 0]})
    found = greedy(tree, 5, end=0)
    assert found.tokens.tolist() == [[1, 1, 0]] and found.length.tolist() == [3]
    same(found.log_prob, torch.tensor([0.5 * 0.4], dtype=F64).log())
    assert greedy(Tree(3, {(): [0.6, 0.3, 0.1]}), 4, end=0, batch=2).tokens.tolist() == [[0], [0]]


def keeps_top_k(keep_top_k):
    log_p = torch.tensor([0.4, 0.1, 0.1, 0.3, 0.1]).log()
    assert keep_top_k(log_p, 1).tolist() == [1, 0, 0, 0, 0]
    assert keep_top_k(log_p, 3).tolist() == [1, 1, 1, 1, 1], "all that tie with the third stay"
    assert keep_top_k(log_p, 2).tolist() == [1, 0, 0, 1, 0]
    assert keep_top_k(log_p, 99).all()


def keeps_top_p(keep_top_p):
    log_p = torch.tensor([[0.125, 0.5, 0.25, 0.125], [0.25, 0.25, 0.25, 0.25]]).log()
    for p, want in ((0.5, [0, 1, 0, 0]), (0.51, [0, 1, 1, 0]), (0.75, [0, 1, 1, 0]), (0.76, [0, 1, 1, 1]),
                    (1.0, [1, 1, 1, 1]), (1e-9, [0, 1, 0, 0])):
        assert keep_top_p(log_p, p)[0].tolist() == want, f"p = {p}"
    assert keep_top_p(log_p, 0.5)[1].sum() == 2 and keep_top_p(log_p, 1e-9)[1].sum() == 1


def reshapes(reshape):
    p = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=F64)
    same(reshape(p.log(), 0.5).exp(), p ** 2 / (p ** 2).sum())
    same(reshape(p.log(), 2.0).exp(), p.sqrt() / p.sqrt().sum())
    assert reshape(p.log(), 0.0).exp().tolist() == [1, 0, 0, 0]
    same(reshape(p.log(), 1.0, 2).exp(), torch.tensor([0.625, 0.375, 0, 0], dtype=F64))
    same(reshape(p.log(), 1.0, None, 0.79).exp(), torch.tensor([0.625, 0.375, 0, 0], dtype=F64))
    same(reshape(p.log(), 1.0, 3, 0.9).exp(), torch.tensor([0.5, 0.3, 0.15, 0], dtype=F64) / 0.95)   # of 3, not of 4
    flat = reshape(p.log(), 4.0, None, 0.5).exp()                    # temperature comes first: then two do not do
    assert (flat > 0).sum() == 2 and (reshape(p.log(), 0.1, None, 0.9) > -torch.inf).sum() == 1


def frequencies_fit(decoded, expected):
    """Chi-square of the rows seen against expected probabilities {tokens: p}."""
    num = len(decoded)
    seen = {key: 0 for key in expected}
    for row in decoded:
        seen[tuple(row)] += 1                                        # KeyError: what was drawn is impossible
    statistic = sum((seen[key] - num * p) ** 2 / (num * p) for key, p in expected.items())
    freedom = len(expected) - 1
    tail = torch.special.gammaincc(torch.tensor(freedom / 2).double(), torch.tensor(statistic / 2).double()).item()
    assert tail > 1e-4, f"chi-square {statistic:.0f} on {freedom}"


def draws_what_it_says(sample):
    """Frequencies of whole sequences, with an end, under temperature, top-k and top-p; variables in an order."""
    from course_lib.text.decoding import exhaustive, reshape
    tree = Tree(3, {(): [0.2, 0.5, 0.3], (1,): [0.3, 0.4, 0.3], (2,): [0.1, 0.1, 0.8]})
    for options in ({}, {"temperature": 0.5}, {"top_k": 2}, {"temperature": 2.0, "top_p": 0.8}):
        changed = Tree(3, {key: reshape(torch.tensor(p, dtype=F64).log(), **options).exp().tolist()
                           for key, p in tree.table.items()})
        law = exhaustive(changed, 2, end=0, best=99)
        law = {tuple(t): p for t, p in zip(law.tokens[0].tolist(), law.log_prob[0].exp().tolist()) if p > 0}
        got = sample(tree, 2, batch=3000, end=0, generator=rng(), **options)
        frequencies_fit(got.tokens.tolist(), law)
        same(got.score.exp(), torch.tensor([law[tuple(t)] for t in got.tokens.tolist()]).double(), 1e-6)
    model = random_table()
    got = sample(model, batch=4000, generator=rng(1))
    same(got.log_prob, model.log_prob(got.tokens), 1e-8)
    law = {tuple(s): p for s, p in zip(*all_of(model))}
    frequencies_fit(got.tokens.tolist(), law)


def all_of(model):
    states = torch.cartesian_prod(*[torch.arange(2)] * model.n)
    return states.tolist(), model.log_prob(states).exp().tolist()


def draws_the_same_first_rows(sample):
    model = small(vocabulary=5)
    many = sample(model, 6, batch=9, generator=rng(5), top_k=4)
    for num in (1, 4):
        assert torch.equal(sample(model, 6, batch=num, generator=rng(5), top_k=4).tokens, many.tokens[:num])


def draws_without_replacement(stochastic_beam):
    """All different; the first is a draw from p, the second one from p without the first."""
    tree = Tree(3, {(): [0.2, 0.5, 0.3], (1,): [0.3, 0.4, 0.3], (2,): [0.1, 0.1, 0.8]})
    p = {(0, 0): 0.2, (1, 0): 0.15, (1, 1): 0.2, (1, 2): 0.15, (2, 0): 0.03, (2, 1): 0.03, (2, 2): 0.24}
    pairs = {(*a, *b): p[a] * p[b] / (1 - p[a]) for a in p for b in p if a != b}
    got = stochastic_beam(tree, 2, batch=4000, end=0, beams=2, generator=rng())
    frequencies_fit([a + b for a, b in got.tokens.tolist()], pairs)
    assert (got.score.diff(dim=1) <= 0).all()
    every = stochastic_beam(tree, 2, batch=3, end=0, beams=9, generator=rng())
    for tokens, log_p in zip(every.tokens.tolist(), every.log_prob):
        assert {tuple(t) for t in tokens[:7]} == set(p), "seven sequences exist: all are found"
        same(log_p[:7].exp(), torch.tensor([p[tuple(t)] for t in tokens[:7]]).double(), 1e-6)
        assert (log_p[7:] == -torch.inf).all()
    model = random_table()
    one = stochastic_beam(model, batch=4000, beams=1, generator=rng(2)).tokens[:, 0]
    frequencies_fit(one.tolist(), {tuple(s): q for s, q in zip(*all_of(model))})
