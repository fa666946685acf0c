"""What a right cell, layer or recurrent language model does. The mutants are caught by it."""
from __future__ import annotations

import torch
from torch import nn

from course_lib.recurrent import layers as library
from course_lib.training import fit
from tests.support.random import drawn, normal, redrawn, rng
from tests.support.tensors import same

TORCH = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
LENGTHS = torch.tensor([2, 6, 1, 6, 4])


def twins(cell, recurrent=library.Recurrent, layers=2, bidirectional=True):
    """The same layers twice: torch's, and the course's."""
    theirs = redrawn(TORCH[cell](5, 7, layers, bidirectional=bidirectional, batch_first=True), seed=len(cell))
    return theirs, recurrent.from_torch(theirs)


def in_order(cell, rows):
    """Rows of torch's weights as the course has them: i, f, g, o of an LSTM become i, f, o, g."""
    return torch.cat([rows[:14], rows[21:], rows[14:21]]) if cell == "lstm" else rows


def read_by_torch(theirs, x, state, lengths):
    """Outputs, and the last states as one tensor (layers, B, H) for each part."""
    state = state if len(state) > 1 else state[0]
    if lengths is None:
        outputs, last = theirs(x, state)
    else:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = theirs(packed, state)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
    return outputs, last if isinstance(last, tuple) else (last,)


def is_torchs(cell, recurrent=library.Recurrent, lengths=None, layers=2, bidirectional=True):
    """Outputs, last states, and the gradient of both in the input, the first states and every weight."""
    theirs, ours = twins(cell, recurrent, layers, bidirectional)
    x, parts = normal(5, 6, 5), 1 + (cell == "lstm")
    first = tuple(normal(len(ours.cells), 5, 7, seed=3 + k) for k in range(parts))

    def numbers(model, read):
        inputs = [x.clone().requires_grad_(), *(part.clone().requires_grad_() for part in first)]
        outputs, last = read(inputs[0], tuple(inputs[1:]))
        value = (outputs * normal(*outputs.shape, seed=7)).sum()
        for k, part in enumerate(last):
            value = value + (part * normal(*part.shape, seed=8 + k)).sum()
        model.zero_grad()
        value.backward()
        return outputs, last, [each.grad for each in inputs]

    def by_the_course(x, state):
        memory = tuple(tuple(part[k] for part in state) for k in range(len(ours.cells)))
        outputs, memory = ours(x, memory, lengths)
        return outputs, tuple(torch.stack(part) for part in zip(*memory))

    want = numbers(theirs, lambda x, state: read_by_torch(theirs, x, state, lengths))
    got = numbers(ours, by_the_course)
    for a, b in zip((got[0], *got[1], *got[2]), (want[0], *want[1], *want[2])):
        same(a, b)
    for k, one in enumerate(ours.cells):
        end = f"l{k // ours.directions}" + "_reverse" * (k % ours.directions)
        grads = {name: in_order(cell, getattr(theirs, f"{name}_{end}").grad)
                 for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        same(one.W_x.grad, grads["weight_ih"])
        same(one.W_h.grad, grads["weight_hh"])
        same(one.b.grad, grads["bias_ih"])
        if cell == "gru":
            same(one.b_hn.grad, grads["bias_hh"][-7:])


def rnn_is_torchs(recurrent):
    is_torchs("rnn", recurrent)


def lstm_is_torchs(recurrent):
    is_torchs("lstm", recurrent)


def gru_is_torchs(recurrent):
    is_torchs("gru", recurrent)


def packed_is_torchs(recurrent):
    for cell in TORCH:
        is_torchs(cell, recurrent, LENGTHS)


def never_reads_the_padding(recurrent):
    """Whatever stands behind the end of a row, its outputs and states are those of the row alone."""
    for cell in TORCH:
        _, ours = twins(cell, recurrent)
        x = normal(5, 6, 5)
        filled = torch.where(torch.arange(6)[:, None] < LENGTHS[:, None, None], x, torch.full_like(x, 1e3))
        outputs, memory = ours(filled, lengths=LENGTHS)
        for row, length in enumerate(LENGTHS.tolist()):
            alone, last = ours(x[row:row + 1, :length])
            same(outputs[row, :length], alone[0])
            assert (outputs[row, length:] == 0).all()
            for a, b in zip(memory, last):
                for p, q in zip(a, b):
                    same(p[row], q[0])


def drops_between_layers_only(recurrent):
    """With one layer nothing is dropped; with two, what the second one reads, in training alone."""
    x = normal(3, 4, 5)
    for layers, changes in ((1, False), (2, True)):
        model = redrawn(recurrent("gru", 5, 7, layers, dropout=0.5))
        still = model(x)[0]
        assert torch.equal(model(x)[0], still)
        model.train()
        torch.manual_seed(0)
        assert torch.equal(model(x)[0], still) != changes


def forgets_little_at_first(cell):
    """b_f, and nothing else, is what was asked for; the gate is open then."""
    one = cell(3, 4, forget_bias=7.0)
    assert (one.b[4:8] == 7).all() and (one.b[:4].abs() <= 0.5).all() and (one.b[8:].abs() <= 0.5).all()
    c = 20 * normal(2, 4).float()
    _, kept = one(torch.zeros(2, 3), (torch.zeros(2, 4), c))
    assert (kept - c).abs().max() < 1.1                              # f c + i g, f within .001 of 1, |i g| below 1


# --- the language model ----------------------------------------------------------------------------------------------


def reads_in_pieces(model):
    """With the memory carried on, a text in pieces has the logits of the text at once."""
    model = drawn(model).eval()
    tokens = torch.randint(5, (3, 11), generator=rng())
    whole, last = model.read(tokens)
    memory, found = None, []
    for piece in tokens.split([4, 1, 6], dim=1):
        logits, memory = model.read(piece, memory)
        found.append(logits)
    same(torch.cat(found, dim=1), whole)
    same(memory[-1][0], last[-1][0])


def treats_prompts_alike(model):
    """A prompt gives the same alone and in a batch with longer ones, scored and continued."""
    from course_lib.transformer import left_pad

    model = drawn(model).eval()
    prompts = [[1], [2, 3, 4, 0], [4, 2]]
    x = torch.randint(5, (3, 4), generator=rng(1))
    together = model.log_prob(x, left_pad(prompts))
    state = model.start(3, left_pad(prompts))
    for row, prompt in enumerate(prompts):
        alone = torch.tensor([prompt])
        same(together[row], model.log_prob(x[row:row + 1], alone)[0])
        same(state.logits[row], model.start(1, alone).logits[0])


def predicts_the_next_token(model):
    """The loss is minus the mean log-probability of every token but the first, given those before it."""
    model = drawn(model).eval()
    rows = torch.randint(5, (3, 6), generator=rng(2))
    loss, count = model.loss(rows)
    want = torch.stack([-model(rows[:, :t])[:, -1].log_softmax(-1).gather(1, rows[:, t:t + 1]) for t in range(1, 6)])
    assert count == 15
    same(loss, want.mean())


def ignores_padding_in_the_loss(model):
    model = drawn(model).eval()
    rows = [torch.randint(5, (n,), generator=rng(n)) for n in (6, 3, 2)]
    want = sum(model.loss(row[None])[0] * (len(row) - 1) for row in rows) / 8
    for side in ("left", "right"):
        from course_lib.tokenizers.batching import pad
        loss, count = model.loss(pad(rows, 4, side=side))
        assert count == 8
        same(loss, want)


def starts_from_h0(model):
    """Without a prompt and a bos_id the first token comes from the learned h_0."""
    model = drawn(model).eval()
    first = model.head(model.layers.first[-1, 0]).log_softmax(-1)
    same(model.conditionals(torch.tensor([[2, 1]])).logits[0, 0], first)


# --- streams ---------------------------------------------------------------------------------------------------------


def carries_the_memory(streams):
    """Losses of two batches in turn are those of both read at once, with the gradient cut between them."""
    torch.manual_seed(0)
    text = torch.randint(5, (2 * 2 * 7 + 1,), generator=rng())
    inner = streams.RecurrentLM(5, 6)
    model = streams.Carried(inner, batch=2)
    found = [model.loss(rows)[0] for (rows,) in streams.streams(text, 2, 7)]
    whole = torch.stack([text[:15], text[14:]])
    logits, _ = inner.read(whole[:, :-1])
    nats = nn.functional.cross_entropy(logits.transpose(1, 2), whole[:, 1:], reduction="none")
    same(torch.stack(found), torch.stack([nats[:, :7].mean(), nats[:, 7:].mean()]), 1e-6)
    found[1].backward()                                              # the graph of the first batch is not needed


def leaves_the_training_alone(streams):
    """Validation begins at the start each time, carries its own memory, and does not touch that of the training."""
    torch.manual_seed(0)
    model = streams.Carried(streams.RecurrentLM(5, 6), batch=2)
    text = torch.randint(5, (200,), generator=rng())
    model.loss(next(iter(streams.streams(text, 2, 9)))[0])
    kept = model.memory.clone()
    model.eval()
    first = [model.loss(rows)[0].item() for (rows,) in streams.streams(text, 2, 9)]
    model.train()
    model.eval()
    again = [model.loss(rows)[0].item() for (rows,) in streams.streams(text, 2, 9)]
    assert first == again and torch.equal(model.memory, kept)
    logits = model.model(torch.stack([text[:9], text[99:108]]))      # from the start
    want = nn.functional.cross_entropy(logits.flatten(0, 1), torch.stack([text[1:10], text[100:109]]).flatten())
    assert abs(first[0] - want.item()) < 1e-6


def goes_on_after_a_kill(streams, folder):
    """Stopped after an epoch and resumed, the weights are those of the run that was not stopped: the memory is saved."""
    text = torch.randint(5, (150,), generator=rng())

    def trained(epochs, path):
        torch.manual_seed(0)
        model = streams.Carried(streams.RecurrentLM(5, 6, dropout=0.2), batch=2)
        fit(model, streams.streams(text, 2, 9), epochs=epochs, lr=0.01, checkpoint=path, progress=False)
        return model

    through = trained(2, folder / "a.safetensors")
    trained(1, folder / "b.safetensors")
    resumed = trained(2, folder / "b.safetensors")
    for a, b in zip(through.state_dict().values(), resumed.state_dict().values()):
        assert torch.equal(a, b)
