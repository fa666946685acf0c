"""What a right model of a gap, of a next word or of several tasks does. The mutants are caught by it."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.contract import check_all, check_causal
from course_lib.recurrent import Recurrent
from tests.support.random import normal, redrawn, rng
from tests.support.tensors import gradients, same

TEXT = torch.tensor([[1, 4, 2, 0, 3], [3, 3, 1, 2, 4]])


# --- the model of 2003 -----------------------------------------------------------------------------------------------


def scores_by_hand(model, past):
    """b + W x + U tanh(d + H x) for one history, a list of words."""
    x = torch.cat([model.C.weight[word] for word in past])
    y = model.U.bias + model.U.weight @ torch.tanh(model.H.bias + model.H.weight @ x)
    return y if model.W is None else y + model.W.weight @ x


def is_the_paper(make):
    """Equal to the equation, a word at a time, in value and in the gradient of every parameter."""
    for direct in (False, True):
        model = redrawn(make(3, 5, 2, 4, direct=direct, bos_id=0))
        rows = []
        for text in TEXT.tolist():
            past = [0, 0, *text]
            rows.append(torch.stack([scores_by_hand(model, past[i:i + 2]) for i in range(len(text))]))
        want, got = torch.stack(rows), model.scores(histories(model, TEXT))
        same(got, want)
        parameters = list(model.parameters())
        for a, b in zip(gradients(got, parameters), gradients(want, parameters)):
            same(a, b)
        same(model.log_prob(TEXT), want.log_softmax(-1).gather(2, TEXT[..., None])[..., 0].sum(1))


def histories(model, x):
    padded = torch.cat([x.new_full((len(x), model.memory), model.bos_id), x], dim=1)
    return torch.stack([padded[:, i:i + model.memory] for i in range(x.shape[1])], dim=1)


def keeps_the_contract(model):
    check_all(model, length=4)


# --- several tasks ---------------------------------------------------------------------------------------------------

TABLES, TASKS = [(6, 3), (4, 2)], {"tag": 4, "rank": 1}


def drawn_windows(num=7, width=3, seed=0):
    g = rng(seed)
    return torch.stack([torch.randint(values + 1, (num, width), generator=g) for values, _ in TABLES], dim=2)


def is_the_shared_network(make):
    """Lookup, join, hidden layer, output: by torch's functions, in value and gradient."""
    model = redrawn(make(TABLES, 1, 5, TASKS))
    windows = drawn_windows()
    for task in TASKS:
        x = torch.stack([torch.cat([torch.cat([table.weight[value] for table, value in zip(model.tables, word)])
                                    for word in window.tolist()]) for window in windows])
        h = F.relu(x @ model.hidden.weight.T + model.hidden.bias)
        want, got = h @ model.outputs[task].weight.T + model.outputs[task].bias, model(windows, task)
        same(got, want)
        own = [*model.tables.parameters(), *model.hidden.parameters(), *model.outputs[task].parameters()]
        for a, b in zip(gradients(got, own), gradients(want, own)):
            same(a, b)


def is_torchs_margin_loss(loss):
    real, other = normal(50, seed=1, grad=True), normal(50, seed=2, grad=True)
    want = F.margin_ranking_loss(real, other, torch.ones(50), margin=1.0)
    got = loss(real, other)
    same(got, want)
    for a, b in zip(torch.autograd.grad(got, (real, other)), torch.autograd.grad(want, (real, other))):
        same(a, b)


def changes_the_middle_alone(change):
    windows, middles = drawn_windows(4, 5), drawn_windows(4, 1, seed=3)[:, 0]
    before = windows.clone()
    changed = change(windows, middles)
    assert torch.equal(windows, before)
    for b in range(4):
        for place in range(5):
            assert torch.equal(changed[b, place], middles[b] if place == 2 else before[b, place])


def cuts_every_window(windows_of):
    features = drawn_windows(1, 4)[0]                                # (4, 2)
    found = windows_of(features, 2, (6, 4))
    assert found.shape == (4, 5, 2)
    for i in range(4):
        for offset in range(-2, 3):
            want = features[i + offset].tolist() if 0 <= i + offset < 4 else [6, 4]
            assert found[i, offset + 2].tolist() == want


# --- a masked word ---------------------------------------------------------------------------------------------------


def reads_exactly(model, reach, places=9):
    """The scores of each place change with every word within reach, and with no other: not with its own."""
    model = redrawn(model)
    text = torch.randint(model.vocab_size, (1, places), generator=rng(1))
    before = model(text)[0]
    for j in range(places):
        other = text.clone()
        other[0, j] = (other[0, j] + 1) % model.vocab_size
        moved = (model(other)[0] - before).abs().amax(dim=1) > 1e-12
        want = [0 < abs(i - j) <= reach for i in range(places)]
        assert moved.tolist() == want, f"word {j} reaches {moved.nonzero()[:, 0].tolist()}"


def reads_no_padding(model):
    """A row filled up gives what it gives alone."""
    model = redrawn(model)
    text, real = TEXT.clone(), torch.ones_like(TEXT, dtype=torch.bool)
    real[1, 3:] = False
    other = text.clone()
    other[1, 3:] = (other[1, 3:] + 2) % 5
    a, b, alone = model(text, real), model(other, real), model(text[1:, :3])
    same(a[0], model(text[:1])[0])
    same(a[1, :3], alone[0])
    same(b[1, :3], alone[0])


def windows_read(r):
    def check(make):
        reads_exactly(make(6, 3, r, 5), r)
    return check


def pooling_loses_the_order(make):
    model = redrawn(make(6, 3, 2, 5, pooled=True))
    text = torch.tensor([[1, 2, 3, 4, 5]])
    same(model(text)[0, 2], model(text[:, [4, 1, 2, 0, 3]])[0, 2])


def order_counts(make):
    model = redrawn(make(6, 3, 2, 5))
    text = torch.tensor([[1, 2, 3, 4, 5]])
    assert (model(text)[0, 2] - model(text[:, [1, 0, 2, 3, 4]])[0, 2]).abs().max() > 1e-3


def is_the_window_network(make):
    """U tanh(H x + d) + b on the vectors from left to right, a place at a time."""
    model = redrawn(make(5, 3, 2, 4))
    vectors = model.tokens.weight
    for row, scores in zip(TEXT.tolist(), model(TEXT)):
        padded = [5, 5, *row, 5, 5]
        for i in range(len(row)):
            x = torch.cat([vectors[word] for word in padded[i:i + 2] + padded[i + 3:i + 5]])
            same(scores[i], model.U.weight @ torch.tanh(model.H.weight @ x + model.H.bias) + model.U.bias)


def is_torchs_convolution(make):
    """Against nn.Conv1d on the same numbers, and against the sum written out."""
    layer, x = redrawn(make(3, 5)), normal(2, 7, 3)
    theirs = nn.Conv1d(3, 3, 5, padding=2).double()
    with torch.no_grad():
        theirs.weight.copy_(layer.W.permute(1, 2, 0))
        theirs.bias.copy_(layer.b)
    want = theirs(x.transpose(1, 2)).transpose(1, 2)
    same(layer(x), want)
    for i in range(7):
        y = layer.b + sum(x[:, i + j] @ layer.W[j + 2].T for j in range(-2, 3) if 0 <= i + j < 7)
        same(layer(x)[:, i], y)
    W, w = gradients(layer(x), [layer.W])[0], gradients(want, [theirs.weight])[0]
    same(W.permute(1, 2, 0), w)


def convolutions_read(make):
    reads_exactly(make(6, 3, 3, 2), 2)
    reads_exactly(make(6, 3, 5, 2), 4)


def both_sides_are_read(make):
    for cell in ("rnn", "lstm", "gru"):
        reads_exactly(make(6, 3, 4, cell), 99, places=6)


def is_two_torch_rnns(make):
    """softmax(U [h before; h after] + b) with torch.nn.GRU on the same weights, in value and gradient."""
    torch.manual_seed(0)
    grus = [nn.GRU(3, 4, batch_first=True).double() for _ in range(2)]
    model = redrawn(make(5, 3, 4))
    model.ahead, model.back = map(Recurrent.from_torch, grus)
    x = model.tokens(torch.cat([torch.full((2, 1), 5), TEXT, torch.full((2, 1), 5)], dim=1))
    before, after = grus[0](x[:, :-2])[0], grus[1](x[:, 2:].flip(1))[0].flip(1)
    want, got = model.U(torch.cat([before, after], dim=-1)), model(TEXT)
    same(got, want)
    for a, b in zip(gradients(got, [model.tokens.weight, model.U.weight]),
                    gradients(want, [model.tokens.weight, model.U.weight])):
        same(a, b)


# --- ELMo ------------------------------------------------------------------------------------------------------------


def is_two_torch_lstms(make):
    """Every layer of both directions with torch.nn.LSTM on the same weights, the residual connection added."""
    model = redrawn(make(6, 4))
    x = model.tokens(TEXT)
    for part, name in ((model.ahead, "ahead"), (model.back, "back")):
        h, found = x if name == "ahead" else x.flip(1), []
        for number, layer in enumerate(part):
            lstm = torch_lstm(layer)
            h = lstm(h)[0] + (h if number else 0)
            found.append(h if name == "ahead" else h.flip(1))
        states = model.states(TEXT)
        for number, want in enumerate(found, 1):
            same(states[number][..., :4] if name == "ahead" else states[number][..., 4:], want)
    after, before = model(TEXT)
    same(after, model.states(TEXT)[-1][..., :4] @ model.tokens.weight.T + model.bias)
    same(before, model.states(TEXT)[-1][..., 4:] @ model.tokens.weight.T + model.bias)
    same(model.states(TEXT)[0], torch.cat([x, x], dim=-1))


@torch.no_grad()
def torch_lstm(layer):
    """torch.nn.LSTM with the weights of one of ours: its gates are i, f, g, o, ours i, f, o, g."""
    cell = layer.cells[0]
    theirs = nn.LSTM(layer.inputs, layer.hidden, batch_first=True).double()

    def in_its_order(rows):
        i, f, o, g = rows.chunk(4)
        return torch.cat([i, f, g, o])
    theirs.weight_ih_l0.copy_(in_its_order(cell.W_x))
    theirs.weight_hh_l0.copy_(in_its_order(cell.W_h))
    theirs.bias_ih_l0.copy_(in_its_order(cell.b))
    theirs.bias_hh_l0.zero_()
    return theirs


def neither_direction_looks_ahead(module):
    model = module.BiLM(4, 3)
    check_all(module.OneWay(model, edge=0, n=3))
    check_all(module.OneWay(model, edge=0, backward=True, n=3))


def backward_is_causal(module):
    check_causal(module.OneWay(module.BiLM(4, 3), edge=0, backward=True, n=4))


def loss_is_both_log_probs(module):
    """The mean over both directions: minus the log p of each, from the second word of its reading on."""
    model = redrawn(module.BiLM(5, 3))
    mean, weight = model.loss(TEXT)
    total = 0.0
    for row in TEXT:
        ahead = module.OneWay(model, edge=int(row[0])).log_prob(row[None, 1:])
        back = module.OneWay(model, edge=int(row[-1]), backward=True, n=4).log_prob(row[None, :-1])
        total = total - (ahead + back).sum()
    assert weight == 2 * 2 * 4
    same(mean, total / weight)


def padded_loss_is_that_of_the_rows(make):
    model = redrawn(make(5, 3))
    real = torch.ones_like(TEXT, dtype=torch.bool)
    real[1, 3:] = False
    mean, weight = model.loss((TEXT, real))
    (a, n), (b, m) = model.loss(TEXT[:1]), model.loss(TEXT[1:, :3])
    assert weight == n + m
    same(mean, (a * n + b * m) / (n + m))
    for whole, row in zip(model.states(TEXT, real), model.states(TEXT[1:, :3])):
        same(whole[1, :3], row[0])


def is_the_scalar_mixture(make):
    mix = redrawn(make(3))
    states = [normal(2, 4, 5, seed=seed) for seed in range(3)]
    weights = torch.exp(mix.w) / torch.exp(mix.w).sum()
    want = mix.gamma * (weights[0] * states[0] + weights[1] * states[1] + weights[2] * states[2])
    same(mix(states), want)
    for a, b in zip(gradients(mix(states), [mix.w, mix.gamma]), gradients(want, [mix.w, mix.gamma])):
        same(a, b)


def is_the_mean_of_the_pieces(pool):
    states = normal(2, 5, 3)
    word = torch.tensor([[-1, 0, 0, 1, -1], [-1, 1, 2, 2, 2]])
    got = pool(states, word, 3)
    same(got[0, 0], states[0, 1:3].mean(0))
    same(got[0, 1], states[0, 3])
    same(got[0, 2], torch.zeros(3, dtype=torch.float64))
    same(got[1, 0], torch.zeros(3, dtype=torch.float64))
    same(got[1, 1], states[1, 1])
    same(got[1, 2], states[1, 2:].mean(0))
