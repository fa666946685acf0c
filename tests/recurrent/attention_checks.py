"""What right scores, selections and models that look back do. The mutants are caught by it."""
from __future__ import annotations

import math

import torch

from course_lib.contract import check_causal, check_normalized, check_views_agree
from course_lib.recurrent import scores as scores_library
from course_lib.recurrent import seq2seq as seq2seq_library
from tests.support.random import drawn, normal, redrawn, rng
from tests.support.tensors import gradients, same

SOURCE = torch.tensor([[3, 4, 5, 0], [6, 7, 8, 9], [10, 0, 0, 0]])
TARGET = torch.tensor([[5, 6, 2, 0, 0], [7, 8, 9, 4, 2], [3, 2, 0, 0, 0]])
ARMS = [(score, placement) for score in (None, *scores_library.SCORES) for placement in seq2seq_library.PLACEMENTS]


# --- scores ----------------------------------------------------------------------------------------------------------


def by_loops(score, queries, keys):
    """The slide's formula, one pair after another."""
    name, found = type(score).__name__, []
    for q, k in ((q, k) for q in queries for k in keys):
        if name == "DotScore":
            found.append(sum(a * b for a, b in zip(q, k)))
        elif name == "ScaledDotScore":
            found.append(sum(a * b for a, b in zip(q, k)) / math.sqrt(len(q)))
        elif name == "BilinearScore":
            found.append(sum(q[i] * score.W[i, j] * k[j] for i in range(len(q)) for j in range(len(k))))
        else:
            inner = [sum(score.W[a, i] * q[i] for i in range(len(q))) + sum(score.U[a, j] * k[j] for j in range(len(k)))
                     for a in range(len(score.v))]
            found.append(sum(score.v[a] * torch.tanh(each) for a, each in enumerate(inner)))
    return torch.stack(found).view(len(queries), len(keys))


def is_written_out(name, module=scores_library):
    """Value, and gradient by queries, keys and parameters, as in the loops over pairs."""
    score = redrawn(module.SCORES[name](4, 4 if "dot" in name else 5), seed=3)
    width = score.key
    inputs = [normal(2, 3, 4, grad=True), normal(2, 6, width, seed=1, grad=True), *score.parameters()]
    got = score(*inputs[:2])
    want = torch.stack([by_loops(score, q, k) for q, k in zip(*inputs[:2])])
    same(got, want)
    for ours, loops in zip(gradients(got, inputs), gradients(want, inputs)):
        same(ours, loops)


def shares_sum_to_one(module=scores_library):
    """Over what the mask allows; a row without anything is zero, and its gradient too."""
    s, mask = normal(3, 4, grad=True), torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]]).bool()
    weights = module.weights_of(s, mask)
    want = torch.zeros(3, 4, dtype=torch.float64)
    want[0, [0, 1, 3]], want[2, 2] = s[0, [0, 1, 3]].exp() / s[0, [0, 1, 3]].exp().sum(), 1.0
    same(weights, want)
    (slope,) = gradients(weights, [s])
    assert torch.isfinite(slope).all() and (slope[1] == 0).all()
    same(module.weights_of(s).sum(-1), torch.ones(3, dtype=torch.float64))


# --- selection -------------------------------------------------------------------------------------------------------


def estimators_are_right(module):
    """Means of many draws: REINFORCE hits the exact gradient with and without a baseline, which lowers the deviation."""
    memory, wanted, scores = normal(5, 3), normal(3, seed=1), normal(5, seed=2) / 2
    loss = lambda c: (c - wanted).square().sum(dim=1)                # noqa: E731
    free = scores.clone().requires_grad_()
    (free.softmax(0) @ loss(memory)).backward()
    exact = module.expected_loss_gradient(scores, memory, loss)
    same(exact, free.grad)
    num, spread = 40000, []
    for baseline in (False, True):
        found = module.reinforce(scores, memory, loss, num, rng(4), baseline)
        error = (found.mean(0) - exact) / (found.std(0) / math.sqrt(num))
        assert error.abs().max() < 4.5, f"REINFORCE is off by {error.abs().max():.1f} standard errors"
        spread.append(float(found.var(0).sum()))
    assert spread[1] < 0.7 * spread[0]


def gumbel_is_right(module):
    """The relaxed loss is that of the softmax of s + g, and in the limit the slots are drawn with their probabilities."""
    memory, scores = normal(4, 4), normal(4, seed=2)
    hard = []
    module.gumbel_softmax(scores, torch.eye(4, dtype=torch.float64), lambda y: hard.append(y.detach()) or y.sum(1), 40000,
                          rng(1), straight_through=True)
    assert torch.isin(hard[0].round(decimals=9), torch.tensor([0.0, 1.0], dtype=torch.float64)).all()
    p = scores.softmax(0)
    assert ((hard[0].mean(0) - p).abs() < 4.5 * (p * (1 - p) / 40000).sqrt()).all()
    soft = []
    slope = module.gumbel_softmax(scores, memory, lambda c: soft.append(c.detach()) or c.square().sum(1), 3, rng(2),
                                  temperature=0.7)
    u = torch.rand(3, 4, generator=rng(2), dtype=torch.float64)
    free = scores.expand(3, 4).clone().requires_grad_()
    c = ((free - (-u.log()).log()) / 0.7).softmax(1) @ memory
    same(soft[0], c.detach())
    same(slope, torch.autograd.grad(c.square().sum(), free)[0])


# --- encoder and decoder ---------------------------------------------------------------------------------------------


def small(module=seq2seq_library, score="additive", placement="before", **changes):
    torch.manual_seed(0)
    return module.Seq2Seq(11, 13, 6, score, placement, **{"bidirectional": "dot" not in (score or ""), **changes})


def written_out(model, source, target):
    """log p of one target, step by step, from the equations: the sum, and the weights of each step."""
    c = model.config
    states, memory = model.encoder(model.source(torch.tensor([source])))
    last = torch.cat([part[0] for part in memory], dim=1)
    h = tuple(torch.tanh(last @ model.bridge.weight.T + model.bridge.bias).chunk(2 if c["cell"] == "lstm" else 1, dim=1))
    total, looks, before = 0.0, [], c["bos_id"]

    def look(h):
        if model.score is None:
            return last, torch.tensor([0.0] * (len(source) - 1) + [1.0], dtype=last.dtype)
        s = model.score(h, states[0])[0]
        a = s.exp() / s.exp().sum()
        return (a[:, None] * states[0]).sum(0, keepdim=True), a

    for token in target:
        y = model.target.weight[before][None]
        if c["placement"] == "before":
            context, a = look(h[0])
            h = model.decoder.cells[0](torch.cat([y, context], dim=1), h)
            read = h[0]
        else:
            h = model.decoder.cells[0](y, h)
            context, a = look(h[0])
            read = torch.cat([h[0], context], dim=1)
        logits = model.head(model.readout(read))[0]
        total, before = total + logits[token] - logits.logsumexp(0), token
        looks.append(a)
    return total, torch.stack(looks)


def follows_its_equations(score, placement, module=seq2seq_library, **changes):
    """Three pairs of unequal lengths in one batch are the three by themselves: value, gradient, weights, loss."""
    model = redrawn(small(module, score, placement, **changes))
    parameters = list(model.parameters())
    pairs = [([v for v in s if v], [v for v in t if v]) for s, t in zip(SOURCE.tolist(), TARGET.tolist())]
    want, looks = zip(*(written_out(model, *pair) for pair in pairs))
    got = model.log_prob(TARGET, SOURCE)
    same(got, torch.stack(want))
    weight = normal(3, seed=4)
    for ours, loops in zip(torch.autograd.grad((weight * got).sum(), parameters, allow_unused=True),
                           torch.autograd.grad((weight * torch.stack(want)).sum(), parameters, allow_unused=True)):
        assert (ours is None) == (loops is None)
        if ours is not None:
            same(ours, loops)
    weights = model.attention_weights(SOURCE, TARGET)
    for row, (look, (source, target)) in enumerate(zip(looks, pairs)):
        same(weights[row, :len(target), :len(source)], look.detach())
        assert (weights[row, :len(target), len(source):] == 0).all()
    loss, count = model.loss((SOURCE, TARGET))
    assert count == 10
    same(loss, -torch.stack(want).sum() / 10)
    wide = torch.nn.functional.pad(TARGET, (0, 2)), torch.nn.functional.pad(SOURCE, (0, 3))
    same(model.log_prob(*wide), got)


def keeps_the_contract(score, placement, module=seq2seq_library, **changes):
    """Leaks nothing, sums to one past the end token, and both views agree, for sources of unequal lengths."""
    torch.manual_seed(0)
    model = module.Seq2Seq(11, 4, 4, score, placement, bidirectional="dot" not in (score or ""), **changes).double()
    check_causal(model, length=4, context=SOURCE[:1])
    check_normalized(model, length=4, context=SOURCE[:1])
    check_views_agree(model, length=5, context=SOURCE)
    sampled = drawn(model).sample(100, context=SOURCE[1:2].expand(100, -1), length=6, generator=rng())
    over = (sampled == 2).cumsum(dim=1) > (sampled == 2)
    assert over.any() and (sampled[over] == 0).all()


# --- the language model that looks back ------------------------------------------------------------------------------


def looks_back(module, score="additive", **changes):
    """z_t = W_cy [h_t; c_t] + b_y with the sum over the states before t, written out."""
    model = redrawn(module.AttentiveLM(7, 6, "gru", score, **changes))
    text = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 5]])
    h, _ = model.layers(model.embedded(text))
    want = []
    for t in range(5):
        c = torch.zeros(2, 6, dtype=torch.float64)
        if t:
            s = torch.cat([model.score(h[:, t:t + 1], h[:, k:k + 1])[:, 0] for k in range(t)], dim=1)          # (2, t)
            a = s.exp() / s.exp().sum(dim=1, keepdim=True)
            c = sum(a[:, k:k + 1] * h[:, k] for k in range(t))
        want.append(torch.cat([h[:, t], c], dim=1) @ model.head.weight.T + model.head.bias)
    same(model(text), torch.stack(want, dim=1))
    weights = model.attention_weights(text)
    assert (weights[:, 0] == 0).all() and (weights.triu() == 0).all()
    same(weights[:, 1:].sum(-1), torch.ones(2, 4, dtype=torch.float64))


def continues_prompts(module, score="additive"):
    """After prompts of unequal lengths, filled up on the left: each as by itself, in both views."""
    model = drawn(module.AttentiveLM(5, 4, "gru", score))
    tokens, mask = torch.tensor([[0, 0, 3], [1, 4, 2]]), torch.tensor([[0, 0, 1], [1, 1, 1]]).bool()
    x = torch.tensor([[2, 1, 1], [0, 3, 2]])
    both = model.log_prob(x, (tokens, mask))
    same(both, torch.cat([model.log_prob(x[:1], tokens[:1, 2:]), model.log_prob(x[1:], tokens[1:])]))
    check_views_agree(model, length=4, context=(tokens, mask))
    check_causal(model, length=4, context=(tokens, mask))
