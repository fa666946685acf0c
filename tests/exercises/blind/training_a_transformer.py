"""Wrong answers to the exercises of chapter training-a-transformer, written without knowing its checks."""
from __future__ import annotations

import math
from collections import Counter

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind
from tests.exercises.answers.training_a_transformer import given


@blind("label_smoothing_loss: shares eps among the K - 1 other classes: the target takes no part")
def _(logits, target, eps, pad):
    real = target != pad
    log_p, t = logits[real].log_softmax(-1), target[real]
    K = logits.shape[-1]
    q = torch.full_like(log_p, eps / (K - 1))
    q.scatter_(1, t[:, None], 1 - eps)
    return -(q * log_p).sum(-1).mean()


@blind("label_smoothing_loss: divides by all rows, those of padding included")
def _(logits, target, eps, pad):
    log_p = F.log_softmax(logits, dim=-1)
    hit = log_p.gather(1, target.unsqueeze(1)).squeeze(1)
    loss = -(1 - eps) * hit - eps * log_p.mean(dim=1)
    return torch.where(target == pad, torch.zeros_like(loss), loss).mean()


@blind("slide_smoothing_loss: calls torch's loss with eps (K - 1) / K where eps K / (K - 1) is right")
def _(logits, target, eps, pad):
    K = logits.shape[1]
    return F.cross_entropy(logits, target, ignore_index=pad,
                           label_smoothing=eps * (K - 1) / K)


@blind("slide_smoothing_loss: the target keeps its part of the sharing: 1 - eps + eps / (K - 1), a sum above 1")
def _(logits, target, eps, pad):
    K = logits.shape[1]
    total, rows = 0.0, 0
    for row, t in zip(logits, target.tolist()):
        if t == pad:
            continue
        log_p = torch.log_softmax(row, dim=0)
        q = torch.full((K,), eps / (K - 1), dtype=row.dtype)
        q[t] += 1 - eps
        total, rows = total - q @ log_p, rows + 1
    return total / rows


@blind("noam_lr: the warm-up has tau to the power -1/2 where -3/2 is asked")
def _(step, d_model, warmup):
    rise = step * warmup ** -0.5
    fall = step ** -0.5
    return d_model ** -0.5 * min(rise, fall)


@blind("noam_lr: multiplies by the root of d_model instead of dividing by it")
def _(step, d_model, warmup):
    if step < warmup:
        shape = step / warmup ** 1.5
    else:
        shape = 1 / math.sqrt(step)
    return math.sqrt(d_model) * shape


@blind("byte_pair_step: a pair counts once a word, however often it stands in it")
def _(words):
    counts = {}
    for pieces, count in words:
        for pair in set(zip(pieces, pieces[1:])):
            counts[pair] = counts.get(pair, 0) + count
    left, right = min(counts, key=lambda pair: (-counts[pair], pair))
    merged = []
    for pieces, count in words:
        new, k = [], 0
        while k < len(pieces):
            if pieces[k:k + 2] == [left, right]:
                new.append(left + right)
                k += 2
            else:
                new.append(pieces[k])
                k += 1
        merged.append([new, count])
    return [[left, right], merged]


@blind("byte_pair_step: of equally frequent pairs takes the one that the text has first, not the alphabet")
def _(words):
    pairs = Counter()
    for pieces, count in words:
        for k in range(len(pieces) - 1):
            pairs[pieces[k], pieces[k + 1]] += count
    pair = max(pairs, key=pairs.get)

    def merge(pieces):
        new = []
        rest = list(pieces)
        while rest:
            if tuple(rest[:2]) == pair:
                new.append(rest.pop(0) + rest.pop(0))
            else:
                new.append(rest.pop(0))
        return new

    return [list(pair), [[merge(pieces), count] for pieces, count in words]]


@blind("clipped_ngrams: adds the counts of all references, not the largest of a single one")
def _(hypothesis, references, n):
    def grams(words):
        return Counter(tuple(words[k:k + n]) for k in range(len(words) - n + 1))

    have, limit = grams(hypothesis), Counter()
    for reference in references:
        limit.update(grams(reference))
    return sum(min(c, limit[g]) for g, c in have.items()), sum(have.values())


@blind("clipped_ngrams: does not clip: every n-gram that some reference has counts as often as it comes")
def _(hypothesis, references, n):
    def grams(words):
        return list(zip(*(words[k:] for k in range(n))))

    known = {g for reference in references for g in grams(reference)}
    mine = grams(hypothesis)
    return sum(g in known for g in mine), len(mine)


@blind("clipped_step: always scales to the length c: a gradient that is shorter is made longer")
def _(grads, counts, c):
    share = [n / sum(counts) for n in counts]
    mean = [sum(s * g for s, g in zip(share, parts)) for parts in zip(*grads)]
    norm = torch.cat([g.flatten() for g in mean]).norm().item()
    factor = c / norm if norm > 0 else 1.0
    return [g * factor for g in mean], norm


@blind("clipped_step: clips every parameter at c by its own length, not all as one long vector")
def _(grads, counts, c):
    total = sum(counts)
    mean = [torch.zeros_like(g) for g in grads[0]]
    for part, n in zip(grads, counts):
        for k, g in enumerate(part):
            mean[k] = mean[k] + g * (n / total)
    norm = math.sqrt(sum(float((g ** 2).sum()) for g in mean))
    clipped = []
    for g in mean:
        own = float(g.norm())
        clipped.append(g * (c / own) if own > c else g)
    return clipped, norm


@blind("train_translator: the decoder reads the target itself, not shifted by one: it sees the word that it "
       "is to predict")
def _(source, target, words):
    torch.manual_seed(0)
    model = given()["Translator"](*words)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        for rows in torch.randperm(len(source)).split(64):
            logits = model(source[rows], target[rows])
            loss = F.cross_entropy(logits.transpose(1, 2), target[rows], ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.state_dict()


@blind("train_translator: the end sign is left out of the loss along with the padding: the translator never "
       "learns to stop")
def _(source, target, words):
    torch.manual_seed(0)
    model = given()["Translator"](*words)
    start = torch.ones(len(target), 1, dtype=torch.long)
    before = torch.cat([start, target[:, :-1]], dim=1)
    wanted = target.masked_fill(target == 2, 0)           # real words only
    epochs, batch = 14, 64
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 4e-3, total_steps=epochs * -(-len(source) // batch))
    for epoch in range(epochs):
        for rows in torch.randperm(len(source)).split(batch):
            logits = model(source[rows], before[rows])
            loss = F.cross_entropy(logits.flatten(0, 1), wanted[rows].flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.state_dict()


@blind("train_translator: the shifted input is filled up with 0 in front, the padding, where the start sign "
       "1 belongs: the start sign is never read in training")
def _(source, target, words):
    torch.manual_seed(1)
    model = given()["Translator"](*words)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    before = F.pad(target[:, :-1], (1, 0))
    for step in range(700):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50, (700 - step) / 300)
        rows = torch.randint(len(source), (64,))
        logits = model(source[rows], before[rows])               # (B, T, V)
        loss = F.cross_entropy(logits.mT, target[rows], ignore_index=0)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.state_dict()
