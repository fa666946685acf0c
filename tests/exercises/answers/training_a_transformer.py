"""Answers to the exercises of chapter training-a-transformer."""
from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from tests.conftest import ROOT
from tests.exercises.answers.register import right, wrong


@right("label_smoothing_loss: two terms, row by row")
def _(logits, target, eps, pad):
    losses = []
    for z, t in zip(logits, target.tolist(), strict=True):
        if t != pad:
            log_p = z - z.logsumexp(0)
            losses.append(-(1 - eps) * log_p[t] - eps * log_p.mean())
    return torch.stack(losses).mean()


@wrong("label_smoothing_loss: logarithm of the smoothed probability")
def _(logits, target, eps, pad):
    p = (1 - eps) * logits.softmax(1) + eps / logits.shape[1]
    return F.nll_loss(p.log(), target, ignore_index=pad)


@wrong("label_smoothing_loss: softmax and then the logarithm, without a maximum")
def _(logits, target, eps, pad):
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    q = (1 - eps) * F.one_hot(target, logits.shape[1]) + eps / logits.shape[1]
    return -(q * p.log()).sum(1)[target != pad].mean()


@wrong("label_smoothing_loss: sign")
def _(logits, target, eps, pad):
    z, t = logits[target != pad], target[target != pad]
    return (1 - eps) * -F.cross_entropy(z, t) + eps * z.log_softmax(1).mean()


@right("slide_smoothing_loss: the shares summed")
def _(logits, target, eps, pad):
    keep = target != pad
    z, t = logits[keep].log_softmax(1), target[keep]
    hit = z.gather(1, t[:, None])[:, 0]
    return -((1 - eps) * hit + eps / (z.shape[1] - 1) * (z.sum(1) - hit)).mean()


@right("slide_smoothing_loss: targets as probabilities")
def _(logits, target, eps, pad):
    rows = [(z, t) for z, t in zip(logits, target.tolist(), strict=True) if t != pad]
    K = logits.shape[1]
    q = torch.stack([torch.tensor([1 - eps if k == t else eps / (K - 1) for k in range(K)]) for _, t in rows])
    return F.cross_entropy(torch.stack([z for z, _ in rows]), q)


@wrong("slide_smoothing_loss: torch's with eps as it is", called="torchs_form")
def _(logits, target, eps, pad):
    return F.cross_entropy(logits, target, ignore_index=pad, label_smoothing=eps)


@wrong("slide_smoothing_loss: torch's with eps / (K - 1)")
def _(logits, target, eps, pad):
    return F.cross_entropy(logits, target, ignore_index=pad, label_smoothing=eps / (logits.shape[1] - 1))


@wrong("slide_smoothing_loss: torch's with twice eps")
def _(logits, target, eps, pad):
    return F.cross_entropy(logits, target, ignore_index=pad, label_smoothing=2 * eps / 3)


@right("byte_pair_step: a Counter, and a sorted list")
def _(words):
    counts = Counter()
    for pieces, count in words:
        counts.update({pair: count * times for pair, times in Counter(zip(pieces, pieces[1:])).items()})
    best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0][0]
    return [list(best), [[pairs_made_one(pieces, best), count] for pieces, count in words]]


@right("byte_pair_step: by the text itself")
def _(words):
    text = [pieces for pieces, count in words for _ in range(count)]
    every = sorted(pair for pieces in text for pair in zip(pieces, pieces[1:]))
    best = max(every, key=every.count)
    return [[*best], [[pairs_made_one(list(pieces), best), count] for pieces, count in words]]


def pairs_made_one(pieces, pair):
    done = []
    for piece in pieces:
        if done and done[-1] is not None and not done[-1][1] and (done[-1][0], piece) == tuple(pair):
            done[-1] = (done[-1][0] + piece, True)                   # joined: it joins no further
        else:
            done.append((piece, False))
    return [piece for piece, _ in done]


@wrong("byte_pair_step: the words as they came")
def _(words):
    counts = Counter()
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += count
    return [list(min(counts, key=lambda pair: (-counts[pair], pair))), words]


@wrong("byte_pair_step: a joined symbol joins again")
def _(words):
    counts = Counter()
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += count
    left, right = min(counts, key=lambda pair: (-counts[pair], pair))
    return [[left, right], [["".join(pieces).replace(left + right, " " + left + right + " ").split(), count]
                            for pieces, count in words]]


@wrong("byte_pair_step: the pair of the longest word")
def _(words):
    pieces = max((pieces for pieces, _ in words), key=len)
    return [pieces[:2], [[pairs_made_one(one, tuple(pieces[:2])), count] for one, count in words]]


@right("clipped_ngrams: Counters and their operators")
def _(hypothesis, references, n):
    def grams(words):
        return Counter(zip(*(words[i:] for i in range(n)), strict=False))

    limit = Counter()
    for reference in references:
        limit |= grams(reference)
    mine = grams(hypothesis)
    return (mine & limit).total(), mine.total()


@right("clipped_ngrams: matches used up one by one")
def _(hypothesis, references, n):
    mine = [hypothesis[i:i + n] for i in range(len(hypothesis) - n + 1)]
    matches, seen = 0, []
    for gram in mine:
        seen.append(gram)
        most = max(sum(other[i:i + n] == gram for i in range(len(other))) for other in references)
        matches += seen.count(gram) <= most
    return matches, len(mine)


@wrong("clipped_ngrams: joined without a space, the share")
def _(hypothesis, references, n):
    mine = [tuple(hypothesis[i:i + n]) for i in range(len(hypothesis) - n + 1)]
    theirs = {tuple(other[i:i + n]) for other in references for i in range(len(other) - n + 1)}
    return sum(gram in theirs for gram in mine) / max(1, len(mine)), 1


@wrong("clipped_ngrams: the best of the references, each for itself", called="one_reference")
def _(hypothesis, references, n):
    def grams(words):
        return Counter(zip(*(words[i:] for i in range(n)), strict=False))

    mine = grams(hypothesis)
    return max((mine & grams(reference)).total() for reference in references), mine.total()


@wrong("clipped_ngrams: up to n words in a row")
def _(hypothesis, references, n):
    matches = total = 0
    for size in range(1, n + 1):
        mine = Counter(zip(*(hypothesis[i:] for i in range(size)), strict=False))
        limit = Counter()
        for reference in references:
            limit |= Counter(zip(*(reference[i:] for i in range(size)), strict=False))
        matches, total = matches + (mine & limit).total(), total + mine.total()
    return matches, total


@right("noam_lr: by cases")
def _(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    return peak * step / warmup if step < warmup else peak * math.sqrt(warmup / step)


@wrong("noam_lr: square root of the width twice")
def _(step, d_model, warmup):
    return d_model ** -1 * min(step ** -0.5, step * warmup ** -1.5)


@wrong("noam_lr: falls as 1 / step")
def _(step, d_model, warmup):
    return d_model ** -0.5 * min(warmup ** 0.5 / step, step * warmup ** -1.5)


@wrong("noam_lr: the sum of the two terms")
def _(step, d_model, warmup):
    return d_model ** -0.5 * (step ** -0.5 + step * warmup ** -1.5)


@wrong("label_smoothing_loss: the mean over rows and classes", called="mean_of_all")
def _(logits, target, eps, pad):
    q = (1 - eps) * F.one_hot(target, logits.shape[1]) + eps / logits.shape[1]
    return -(q * F.log_softmax(logits, dim=-1))[target != pad].mean()


class TrainingBase(nn.Module):
    """What the answers to MendedTraining share that is right."""

    def __init__(self, d, hidden, classes, warmup=50, peak=0.03):
        super().__init__()
        self.one, self.two = nn.Linear(d, hidden), nn.Linear(hidden, classes)
        self.warmup, self.peak, self.count = warmup, peak, 0
        self.optimizer = torch.optim.Adam(self.parameters(), lr=peak)

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))

    def rate(self, step):
        return self.peak * min(step / self.warmup, (self.warmup / step) ** 0.5)

    def batch(self, x, y):
        rows = torch.randint(len(x), (64,))
        return x[rows], y[rows]

    def step(self, x, y):
        self.count += 1
        self.optimizer.param_groups[0]["lr"] = self.rate(self.count)
        loss = F.cross_entropy(self(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, x, y):
        for _ in range(500):
            self.step(*self.batch(x, y))


@right("MendedTraining: rows drawn with replacement, 500 steps")
class TrainingAgain(TrainingBase):
    pass


@right("MendedTraining: gradients clipped, and emptied after the step")
class TrainingClipped(TrainingBase):
    def step(self, x, y):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.count)
        loss = F.cross_entropy(self(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(loss)


@right("MendedTraining: gradients clipped, and left there")
class TrainingLeft(TrainingBase):
    def step(self, x, y):
        self.count += 1
        self.optimizer.param_groups[0]["lr"] = self.rate(self.count)
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters(), 0.5)
        self.optimizer.step()
        return loss.item()


@wrong("MendedTraining: a peak one step late")
class TrainingLate(TrainingBase):
    def rate(self, step):
        return self.peak * min((step - 1) / self.warmup, (self.warmup / step) ** 0.5)


@wrong("MendedTraining: the paper's minimum times the peak", called="below_peak")
class TrainingPaper(TrainingBase):
    def rate(self, step):
        return self.peak * min(step ** -0.5, step * self.warmup ** -1.5)


@wrong("MendedTraining: the first 64 rows, always")
class TrainingFirst(TrainingBase):
    def batch(self, x, y):
        return x[:64], y[:64]


@wrong("MendedTraining: the loss as a tensor")
class TrainingTensor(TrainingBase):
    def step(self, x, y):
        super().step(x, y)
        return F.cross_entropy(self(x), y)


@wrong("MendedTraining: ten steps")
class TrainingShort(TrainingBase):
    def fit(self, x, y):
        for _ in range(10):
            self.step(*self.batch(x, y))


@cache
def given() -> dict:
    """What the cell of train_translator gives."""
    stored = json.loads((ROOT / "course_lib" / "exercises" / "solutions.json").read_text("utf-8"))["train_translator"]
    space = {"torch": torch, "F": F, "nn": nn}
    exec(stored["source"], space)
    return space


def in_batches(source, target, words, make, steps, wanted=None, rows=None):
    """A Translator after some steps on the mean loss of the real words."""
    torch.manual_seed(1)
    model = given()["Translator"](*words)
    optimizer = make(model.parameters())
    wanted = target if wanted is None else wanted
    for step in range(steps):
        chosen = torch.arange(64 * step, 64 * step + 64) % (rows or len(source))
        y = wanted[chosen]
        before = torch.cat([torch.ones_like(y[:, :1]), y[:, :-1]], 1)
        log_p = model(source[chosen], before).log_softmax(-1).gather(-1, y[..., None])[..., 0]       # (64, T)
        loss = -(log_p * (y > 0)).sum() / (y > 0).sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@right("train_translator: the rows in turn, real words picked out, clipped, parameters by name")
def _(source, target, words):
    model = in_batches(source, target, words, lambda parameters: torch.optim.AdamW(parameters, lr=0.004), 140)
    return dict(model.named_parameters())


@right("train_translator: epochs, a rate that falls, smoothed targets")
def _(source, target, words):
    torch.manual_seed(2)
    model = given()["Translator"](*words)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(4):
        for group in optimizer.param_groups:
            group["lr"] = 0.006 / (1 + epoch / 4)
        for rows in torch.randperm(len(source)).split(64):
            y = target[rows]
            logits = model(source[rows], F.pad(y, (1, 0), value=1)[:, :-1])
            loss = F.cross_entropy(logits.transpose(1, 2), y, ignore_index=0, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {name: one.detach().double() for name, one in model.state_dict().items()}


def adam(parameters, lr=0.003):
    return torch.optim.Adam(parameters, lr=lr)


@wrong("train_translator: five steps")
def _(source, target, words):
    return in_batches(source, target, words, adam, 5).state_dict()


@wrong("train_translator: thirty pairs again and again")
def _(source, target, words):
    return in_batches(source, target, words, adam, 80, rows=30).state_dict()


@wrong("train_translator: sentences learned from their end")
def _(source, target, words):
    ends = (target > 2).sum(1, keepdim=True)                         # how many words a row has
    places = torch.arange(target.shape[1])
    backwards = target.gather(1, torch.where(places < ends, ends - 1 - places, places))
    return in_batches(source, target, words, adam, 80, wanted=backwards).state_dict()


@wrong("train_translator: a rate of one")
def _(source, target, words):
    return in_batches(source, target, words, lambda parameters: adam(parameters, 1.0), 20).state_dict()


@right("clipped_step: sums over tokens, divided at the end")
def _(grads, counts, c):
    whole = [torch.stack([count * grad for count, grad in zip(counts, parts)]).sum(0) / sum(counts) for parts in zip(*grads)]
    norm = torch.cat([grad.flatten() for grad in whole]).norm()
    return [grad * (c / norm).clamp(max=1) for grad in whole], norm.item()


@right("clipped_step: torch's own clipping")
def _(grads, counts, c):
    weights = torch.tensor(counts) / sum(counts)
    held = [nn.Parameter(torch.zeros_like(grad)) for grad in grads[0]]
    for k, parameter in enumerate(held):
        parameter.grad = torch.einsum("m,m...->...", weights, torch.stack([part[k] for part in grads]))
    norm = nn.utils.clip_grad_norm_(held, c)
    return [parameter.grad for parameter in held], float(norm)


@wrong("clipped_step: the mean over parts, by torch.stack", called="plain_mean")
def _(grads, counts, c):
    whole = [torch.stack(parts).mean(0) for parts in zip(*grads)]
    norm = math.sqrt(sum(grad.square().sum().item() for grad in whole))
    return [grad * min(1.0, c / norm) for grad in whole], norm


@wrong("clipped_step: the norm of the norms of the parts")
def _(grads, counts, c):
    total = sum(counts)
    whole = [sum(count / total * grad for count, grad in zip(counts, parts)) for parts in zip(*grads)]
    norm = sum(math.sqrt(grad.square().sum().item()) for grad in whole)
    return [grad * min(1.0, c / norm) for grad in whole], norm


@wrong("clipped_step: half the limit for each of two parameters")
def _(grads, counts, c):
    total = sum(counts)
    whole = [sum(count / total * grad for count, grad in zip(counts, parts)) for parts in zip(*grads)]
    norm = math.sqrt(sum(grad.square().sum().item() for grad in whole))
    return [grad * min(1.0, c / len(whole) / max(1e-9, grad.norm().item())) for grad in whole], norm


@wrong("clipped_step: in place, in the first batch")
def _(grads, counts, c):
    total = sum(counts)
    for parts in zip(*grads):
        parts[0].mul_(counts[0] / total)
        for count, grad in zip(counts[1:], parts[1:]):
            parts[0].add_(grad, alpha=count / total)
    norm = math.sqrt(sum(grad.square().sum().item() for grad in grads[0]))
    return [grad * min(1.0, c / norm) for grad in grads[0]], norm


def smoothed_loss(log_p, target, eps, pad, rest):
    q = torch.full_like(log_p, rest).scatter(1, target[:, None], 1 - eps + (rest if rest == eps / log_p.shape[1] else 0))
    return -(q * log_p).sum(1)[target != pad].mean()


@wrong("label_smoothing_loss: a softmax over the rows where there are as many as classes")
def _(logits, target, eps, pad):
    N, K = logits.shape
    return smoothed_loss(logits.log_softmax(0 if N == K else 1), target, eps, pad, eps / K)


@wrong("slide_smoothing_loss: a softmax over the rows where there are as many as classes")
def _(logits, target, eps, pad):
    N, K = logits.shape
    return smoothed_loss(logits.log_softmax(0 if N == K else 1), target, eps, pad, eps / (K - 1))


@wrong("label_smoothing_loss: a quotient of exponentials, replaced where it overflows")
def _(logits, target, eps, pad):
    plain = (logits.exp() / logits.exp().sum(1, keepdim=True)).log()
    log_p = torch.where(logits.abs().amax() > 80, logits.log_softmax(1), plain)
    return smoothed_loss(log_p, target, eps, pad, eps / logits.shape[1])


@wrong("MendedTraining: one over the step after the warm-up", called="no_square_root")
class TrainingSteep(TrainingBase):
    def rate(self, step):
        return self.peak * (step / self.warmup if step < self.warmup else self.warmup / step)
