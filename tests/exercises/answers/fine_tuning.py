"""Answers to the exercises of chapter fine-tuning."""
from __future__ import annotations

import json

import torch
import torch.nn.functional as F
from torch import nn

from tests.conftest import ROOT
from tests.exercises.answers.register import right, wrong


@right("best_span: by loops")
def _(start, end, passage, longest):
    spans = []
    for s, e, inside in zip(start.tolist(), end.tolist(), passage.tolist(), strict=True):
        pairs = [(i, j) for i in range(len(s)) for j in range(i, min(i + longest, len(s))) if inside[i] and inside[j]]
        spans.append(max(pairs, key=lambda pair: s[pair[0]] + e[pair[1]]))
    return torch.tensor(spans)


@right("best_span: one diagonal after another")
def _(start, end, passage, longest):
    start, end = start.masked_fill(~passage, -1e9), end.masked_fill(~passage, -1e9)
    best, spans = torch.full((len(start),), -torch.inf), torch.zeros(len(start), 2, dtype=torch.long)
    for length in range(1, min(longest, start.shape[1]) + 1):
        value, i = (start[:, :start.shape[1] - length + 1] + end[:, length - 1:]).max(1)
        better = value > best
        best = torch.where(better, value, best)
        spans[better] = torch.stack([i, i + length - 1], 1)[better]
    return spans


@wrong("best_span: two argmaxes, exchanged where they cross")
def _(start, end, passage, longest):
    i, j = (scores.masked_fill(~passage, -torch.inf).argmax(1) for scores in (start, end))
    return torch.stack([torch.minimum(i, j), torch.maximum(i, j)], 1)


@wrong("best_span: the end is cut to the length", called="start_first")
def _(start, end, passage, longest):
    first = start.masked_fill(~passage, -torch.inf).argmax(1)
    j = torch.arange(start.shape[1])
    allowed = passage & (j >= first[:, None]) & (j < first[:, None] + longest)
    return torch.stack([first, end.masked_fill(~allowed, -torch.inf).argmax(1)], 1)


@wrong("best_span: probabilities of tokens outside the passage set to zero")
def _(start, end, passage, longest):
    scores = (start * passage)[:, :, None] + (end * passage)[:, None, :]
    best = scores.triu().flatten(1).argmax(1)
    return torch.stack([best // start.shape[1], best % start.shape[1]], 1)


def encoder(body):
    """The encoder that the cell of fine_tune_bert gives, with the weights of body."""
    stored = json.loads((ROOT / "course_lib" / "exercises" / "solutions.json").read_text("utf-8"))["fine_tune_bert"]
    space = {"torch": torch, "F": F, "nn": nn}
    exec(stored["source"], space)
    made = space["Encoder"]()
    made.load_state_dict(body)
    return made


def kept_weights(model, head):
    return {name: one.detach().clone() for name, one in model.state_dict().items()} | {
        f"head.{name}": one.detach().clone() for name, one in head.named_parameters()}


@right("fine_tune_bert: epochs, plain steps with momentum, a head of zeros")
def _(body, train, valid, steps):
    torch.manual_seed(3)
    model, head = encoder(body), nn.Linear(32, 4)
    for one in head.parameters():
        nn.init.zeros_(one)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
    done, best, kept = 0, float("inf"), {}
    while True:
        for rows in torch.randperm(len(train[0])).split(12):
            if done % 10 == 0:
                with torch.no_grad():
                    log_p = head(model(valid[0])[:, 0]).log_softmax(1)
                found = -log_p.gather(1, valid[1][:, None]).mean().item()
                if found <= best:
                    best, kept = found, kept_weights(model, head)
            if done == steps:
                return kept
            log_p = head(model(train[0][rows])[:, 0]).log_softmax(1)
            optimizer.zero_grad()
            (-log_p[torch.arange(len(rows)), train[1][rows]].mean()).backward()
            optimizer.step()
            done += 1


@right("fine_tune_bert: all rows at once, tensors by name, two rates, clipped, smoothed classes")
def _(body, train, valid, steps):
    model, head = encoder(body), nn.Linear(32, 4)
    optimizer = torch.optim.Adam([{"params": list(head.parameters()), "lr": 0.01}, {"params": list(model.parameters()), "lr": 0.002}])
    looks = []
    for done in range(steps + 1):
        if not done % 10:
            looks.append((F.cross_entropy(head(model(valid[0])[:, 0]), valid[1]).item(), kept_weights(model, head)))
        if done < steps:
            loss = F.cross_entropy(head(model(train[0])[:, 0]), train[1], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return {name: one.double() for name, one in min(looks, key=lambda look: look[0])[1].items()}


def tuned(body, train, valid, steps, lr=0.003, parts=None, last=False, loss_of=F.cross_entropy, shared=False,
          read=lambda vectors, tokens: vectors[:, 0]):
    """A fine-tuning of the body's parts whose names begin with one of `parts`: of all, if it is None."""
    model, head = encoder(body), nn.Linear(32, 4)
    for name, one in model.named_parameters():
        one.data = body[name] if shared else one.data
    learned = [*head.parameters(), *(one for name, one in model.named_parameters() if parts is None or name.startswith(parts))]
    optimizer, best, kept = torch.optim.Adam(learned, lr=lr), float("inf"), {}
    for done in range(steps + 1):
        if done % 10 == 0 or last:
            with torch.no_grad():
                found = loss_of(head(read(model(valid[0]), valid[0])), valid[1]).item()
            if found < best or last:
                best, kept = found, kept_weights(model, head)
        if done < steps:
            rows = torch.randperm(len(train[0]))[:16]
            optimizer.zero_grad()
            loss_of(head(read(model(train[0][rows]), train[0][rows])), train[1][rows]).backward()
            optimizer.step()
    return kept


@wrong("fine_tune_bert: the head on the last place", called="elsewhere")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, read=lambda vectors, tokens: vectors[:, -1])


@wrong("fine_tune_bert: the head on the mean of what is not padding", called="elsewhere")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, read=lambda vectors, tokens: (
        vectors * (tokens != 0)[..., None]).sum(1) / (tokens != 0).sum(1, keepdim=True))


@wrong("fine_tune_bert: the head on the last token", called=("elsewhere", None))
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, read=lambda vectors, tokens: vectors[
        torch.arange(len(tokens)), (tokens != 0).sum(1) - 1])


@wrong("fine_tune_bert: the head alone, at a rate for it", called="frozen")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, 0.03, ())


@wrong("fine_tune_bert: the block, and not the embeddings")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, parts=("blocks",))


@wrong("fine_tune_bert: from scratch", called="fresh_body")
def _(body, train, valid, steps):
    made = encoder(body)
    return tuned({name: 0.1 * torch.randn_like(one) for name, one in made.state_dict().items()}, train, valid, steps)


@wrong("fine_tune_bert: a rate a hundred times too large, the last weights", called="hot")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, 0.3, last=True)


@wrong("fine_tune_bert: a rate a hundred times too small")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, 3e-5)


@wrong("fine_tune_bert: both sets trained on", called="on_valid")
def _(body, train, valid, steps):
    return tuned(body, tuple(map(torch.cat, zip(train, valid))), valid, steps)


@wrong("fine_tune_bert: the last weights", called="last_weights")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, last=True)


@wrong("fine_tune_bert: the best on train", called="last_weights")
def _(body, train, valid, steps):
    return tuned(body, train, train, steps)


@wrong("fine_tune_bert: classes from the other end")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, loss_of=lambda z, y: F.cross_entropy(z, 3 - y))


@wrong("fine_tune_bert: uphill", called=("stays", None))
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, loss_of=lambda z, y: F.cross_entropy(z, y) * (-1 if z.requires_grad else 1))


@wrong("fine_tune_bert: steps of 0 are taken for 10")
def _(body, train, valid, steps):
    return tuned(body, train, train, steps or 10, last=True)


@wrong("fine_tune_bert: the tensors of body are the parameters")
def _(body, train, valid, steps):
    return tuned(body, train, valid, steps, shared=True)


def spans_of(start, end, passage, longest):
    S = start.shape[1]
    fits = torch.ones(S, S, dtype=torch.bool).triu().tril(longest - 1) & passage[:, :, None] & passage[:, None]
    best = (start[:, :, None] + end[:, None]).masked_fill(~fits, -torch.inf).flatten(1).argmax(1)
    return torch.stack([best // S, best % S], dim=1)


@wrong("best_span: a batch of one loses its axis")
def _(start, end, passage, longest):
    return spans_of(start, end, passage, longest).squeeze(0)


@wrong("best_span: the first token is never in an answer")
def _(start, end, passage, longest):
    return spans_of(start, end, passage & (torch.arange(start.shape[1]) > 0), longest)


@wrong("best_span: the last token is never in an answer")
def _(start, end, passage, longest):
    return spans_of(start, end, passage & (torch.arange(start.shape[1]) < start.shape[1] - 1), longest)
