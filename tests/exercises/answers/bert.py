"""Answers to the exercises of chapter 18."""
from __future__ import annotations

import json

import torch
import torch.nn.functional as F
from torch import nn

from tests.conftest import ROOT
from tests.exercises.answers.register import right, wrong


@right("bert_segments: sign by sign")
def _(a_len, b_len):
    segments = [0] + [0] * a_len + [0] + [1] * b_len + [1]
    return torch.tensor(segments), torch.tensor(list(range(len(segments))))


@wrong("bert_segments: halves of equal length")
def _(a_len, b_len):
    T = a_len + b_len + 3
    return (torch.arange(T) >= T / 2 + 1).long(), torch.arange(T)


@wrong("bert_segments: positions backwards")
def _(a_len, b_len):
    T = a_len + b_len + 3
    return (torch.arange(T) >= a_len + 2).long(), torch.arange(T).flip(0)


@wrong("bert_segments: floats")
def _(a_len, b_len):
    T = a_len + b_len + 3
    return (torch.arange(T) >= a_len + 2).float(), torch.arange(T).float()


@right("bert_embed: one-hot vectors times tables")
def _(tok, seg, E_tok, E_seg, E_pos):
    one = F.one_hot(tok, len(E_tok)).to(E_tok) @ E_tok
    return one + F.one_hot(seg, 2).to(E_seg) @ E_seg + E_pos[torch.arange(tok.shape[1])]


@right("bert_embed: row by row")
def _(tok, seg, E_tok, E_seg, E_pos):
    return torch.stack([F.embedding(t, E_tok) + F.embedding(s, E_seg) + E_pos[:len(t)] for t, s in zip(tok, seg)])


@wrong("bert_embed: normalized", called="normalized")
def _(tok, seg, E_tok, E_seg, E_pos):
    return F.layer_norm(E_tok[tok] + E_seg[seg] + E_pos[:tok.shape[1]], E_tok.shape[1:])


@wrong("bert_embed: tokens detached")
def _(tok, seg, E_tok, E_seg, E_pos):
    return E_tok[tok].detach() + E_seg[seg] + E_pos[:tok.shape[1]]


@wrong("bert_embed: positions backwards")
def _(tok, seg, E_tok, E_seg, E_pos):
    return E_tok[tok] + E_seg[seg] + E_pos[:tok.shape[1]].flip(0)


@right("nsp_pair: a document first, then a sentence")
def _(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    k = rng.randrange(len(docs) - 1)
    return docs[d][i], rng.choice(docs[k + (k >= d)]), 1


@right("nsp_pair: drawn until it fits")
def _(docs, d, i, is_next, rng):
    k, j = (d, i + 1) if is_next else (d, 0)
    while not is_next and k == d:
        k = rng.randrange(len(docs))
        j = rng.randrange(len(docs[k]))
    return docs[d][i], docs[k][j], 0 if is_next else 1


@wrong("nsp_pair: the last sentence of another document")
def _(docs, d, i, is_next, rng):
    k = rng.choice([k for k in range(len(docs)) if k != d])
    return (docs[d][i], docs[d][i + 1], 0) if is_next else (docs[d][i], docs[k][-1], 1)


@wrong("nsp_pair: two sentences on")
def _(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][(i + 2) % len(docs[d])], 0
    return docs[d][i], rng.choice([s for k, doc in enumerate(docs) if k != d for s in doc]), 1


@wrong("nsp_pair: A is drawn too")
def _(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    others = [s for k, doc in enumerate(docs) if k != d for s in doc]
    return rng.choice(others), rng.choice(others), 1


@right("mlm_mask: one draw decides all")
def _(tokens, special, vocab_size, mask_id, g):
    u = torch.rand(tokens.shape, generator=g).masked_fill(special, 1.0)
    inputs = tokens.clone()
    inputs[u < 0.12] = mask_id
    replaced = (u >= 0.12) & (u < 0.135)
    inputs[replaced] = torch.randint(vocab_size, (int(replaced.sum()),), generator=g)
    return inputs, tokens.masked_fill(u >= 0.15, -100)


@right("mlm_mask: three Bernoulli draws, as Hugging Face's collator")
def _(tokens, special, vocab_size, mask_id, g):
    def coin(p):
        return torch.bernoulli(torch.full(tokens.shape, p), generator=g).bool()

    chosen = coin(0.15) & ~special
    hidden = coin(0.8) & chosen
    replaced = coin(0.5) & chosen & ~hidden
    inputs = tokens.masked_fill(hidden, mask_id)
    inputs[replaced] = torch.randint(5, vocab_size, tokens.shape, generator=g)[replaced]
    return inputs, torch.where(chosen, tokens, -100)


@wrong("mlm_mask: twenty in a hundred")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.2) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.9), torch.randint(vocab_size, tokens.shape, generator=g), tokens)
    return torch.where(chosen & (fate < 0.8), mask_id, inputs), torch.where(chosen, tokens, -100)


@wrong("mlm_mask: 70, 15, 15")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.85), torch.randint(vocab_size, tokens.shape, generator=g), tokens)
    return torch.where(chosen & (fate < 0.7), mask_id, inputs), torch.where(chosen, tokens, -100)


@wrong("mlm_mask: replacements from the lower half")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.9), torch.randint(vocab_size // 2, tokens.shape, generator=g), tokens)
    return torch.where(chosen & (fate < 0.8), mask_id, inputs), torch.where(chosen, tokens, -100)


@right("find_masker_fault: counted in a loop")
def _(masker, tokens, special, mask_id):
    ordinary = ~sum((tokens == s for s in special), torch.zeros_like(tokens)).bool()
    total = chosen_total = hidden = kept = 0
    for seed in range(100, 180):
        inputs, labels = masker(tokens, seed)
        chosen = labels >= 0
        if chosen[~ordinary].any():
            return "special"
        if not torch.equal(labels[chosen], tokens[chosen]):
            return "labels"
        total, chosen_total = total + int(ordinary.sum()), chosen_total + int(chosen.sum())
        hidden, kept = hidden + int((inputs[chosen] == mask_id).sum()), kept + int((inputs == tokens)[chosen].sum())
    if not 0.14 < chosen_total / total < 0.16:
        return "rate"
    return "none" if 0.775 < hidden / chosen_total < 0.825 and 0.075 < kept / chosen_total < 0.125 else "shares"


@right("find_masker_fault: one long text")
def _(masker, tokens, special, mask_id):
    x = tokens.repeat(80, 1)
    inputs, labels = masker(x, 7)
    chosen, ordinary = labels != -100, torch.tensor([t not in special for t in x.flatten().tolist()]).reshape(x.shape)
    shares = torch.tensor([(inputs == mask_id)[chosen].sum(), (inputs == x)[chosen].sum()]) / chosen.sum()
    verdicts = {"special": bool((chosen & ~ordinary).any()), "labels": bool((labels[chosen] != x[chosen]).any()),
                "rate": abs(float(chosen.sum() / ordinary.sum()) - 0.15) > 0.01,
                "shares": bool((shares - torch.tensor([0.8, 0.1])).abs().max() > 0.025)}
    return next((name for name, broken in verdicts.items() if broken), "none")


@wrong("find_masker_fault: always the shares")
def _(masker, tokens, special, mask_id):
    return "shares"


@wrong("find_masker_fault: never the rate")
def _(masker, tokens, special, mask_id):
    inputs, labels = masker(tokens.repeat(30, 1), 7)
    x, chosen = tokens.repeat(30, 1), labels != -100
    if (chosen & torch.isin(x, torch.tensor(special))).any():
        return "special"
    if (labels != x)[chosen].any():
        return "labels"
    hidden, kept = ((part & chosen).sum() / chosen.sum() for part in (inputs == mask_id, inputs == x))
    return "none" if abs(hidden - 0.8) < 0.02 and abs(kept - 0.1) < 0.02 else "shares"


@wrong("find_masker_fault: special after the rest")
def _(masker, tokens, special, mask_id):
    x = tokens.repeat(30, 1)
    inputs, labels = masker(x, 7)
    rate = (labels != -100).sum() / (~torch.isin(x, torch.tensor(special))).sum()
    return "rate" if abs(rate - 0.15) > 0.002 else "none"


# The caller's data, and how many draws a verdict rests on.


@right("nsp_pair: a copy without the document")
def _(docs, d, i, is_next, rng):
    others = list(docs)
    mine = others.pop(d)
    return (mine[i], mine[i + 1], 0) if is_next else (mine[i], rng.choice([s for doc in others for s in doc]), 1)


@wrong("nsp_pair: the document is taken out of the caller's list")
def _(docs, d, i, is_next, rng):
    a = docs[d][i]
    if is_next:
        return a, docs[d][i + 1], 0
    others = docs
    others.pop(d)
    return a, rng.choice([s for document in others for s in document]), 1


@wrong("nsp_pair: the sentence is taken out of its document")
def _(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    k = rng.choice([k for k in range(len(docs)) if k != d])
    return docs[d][i], docs[k].pop(rng.randrange(len(docs[k]))), 1


@wrong("nsp_pair: documents shuffled in place")
def _(docs, d, i, is_next, rng):
    a, mine = docs[d][i], docs[d]
    if is_next:
        return a, mine[i + 1], 0
    for document in docs:
        rng.shuffle(document)
    return a, rng.choice([document for document in docs if document is not mine])[0], 1


def verdict(masker, tokens, special, mask_id, seeds, rate=0.01, share=0.025):
    """The part of the rule that is broken, by the draws of `seeds` together."""
    draws = [masker(tokens, seed) for seed in seeds]
    inputs, labels = (torch.stack(part) for part in zip(*draws, strict=True))
    x, chosen = tokens.expand_as(inputs), labels != -100
    closed = torch.isin(x, torch.tensor(special))
    if (chosen & closed).any():
        return "special"
    if (labels != x)[chosen].any():
        return "labels"
    if abs(chosen.sum() / (~closed).sum() - 0.15) > rate:
        return "rate"
    hidden, kept = ((part & chosen).sum() / chosen.sum() for part in (inputs == mask_id, inputs == x))
    return "none" if abs(hidden - 0.8) < share and abs(kept - 0.1) < share else "shares"


@right("find_masker_fault: eighty seeds")
def _(masker, tokens, special, mask_id):
    return verdict(masker, tokens, special, mask_id, range(1000, 1080))


def one_call(seed, rate, share):
    def answer(masker, tokens, special, mask_id):
        return verdict(masker, tokens, special, mask_id, [seed], rate, share)

    return answer


for seed, rate, share in ((0, 0.01, 0.025), (7, 0.015, 0.03), (0, 0.02, 0.05)):
    wrong(f"find_masker_fault: one call with seed {seed}, {rate} and {share} let pass",
          called=("one_draw", None))(one_call(seed, rate, share))


class Gains(nn.Module):
    """Layer norm with gamma and beta."""

    def __init__(self, D):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt() * self.gamma + self.beta


class Part(nn.Module):
    """Named layers, in any order."""

    def __init__(self, **layers):
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)


class Encoder(nn.Module):
    """What the BERTs share: einsum, and the error function written out."""

    def __init__(self, vocab_size, window, layers, heads, d_model, d_ff):
        super().__init__()
        self.H, D = heads, d_model
        self.tokens, self.types = nn.Embedding(vocab_size, D), nn.Embedding(2, D)
        self.positions, self.norm = Part(table=nn.Embedding(window, D)), Gains(D)
        self.blocks = nn.ModuleList(Part(
            attention=Part(qkv=nn.Linear(D, 3 * D), out=nn.Linear(D, D)),
            feed_forward=Part(widen=nn.Linear(D, d_ff), narrow=nn.Linear(d_ff, D)),
            residual1=Part(norm=Gains(D)), residual2=Part(norm=Gains(D))) for _ in range(layers))
        self.mlm = Part(transform=nn.Linear(D, D), norm=Gains(D), bias=nn.Parameter(torch.zeros(vocab_size)))

    def gelu(self, x):
        return x / 2 * (1 + torch.erf(x / 2 ** 0.5))

    def attend(self, x, part, mask):
        q, k, v = part.qkv(x).unflatten(-1, (3, self.H, -1)).unbind(2)          # (B, T, H, K) each
        scores = torch.einsum("bthk,bshk->bhts", q, k) * q.shape[-1] ** -0.5
        p = scores.masked_fill(~mask[:, None, None], -1e9).softmax(-1)
        return part.out(torch.einsum("bhts,bshk->bthk", p, v).flatten(2))

    def embedded(self, tokens, types):
        return self.tokens(tokens) + self.types(types) + self.positions.table(torch.arange(tokens.shape[1]))

    def forward(self, tokens, types, mask):
        x = self.norm(self.embedded(tokens, types))
        for block in self.blocks:
            x = block.residual1.norm(x + self.attend(x, block.attention, mask))
            wide = self.gelu(block.feed_forward.widen(x))
            x = block.residual2.norm(x + block.feed_forward.narrow(wide))
        return x.masked_fill(~mask[..., None], 0.0)

    def log_p(self, h):
        h = self.mlm.norm(self.gelu(self.mlm.transform(h)))
        return (torch.einsum("...d,vd->...v", h, self.tokens.weight) + self.mlm.bias).log_softmax(-1)

    def masked_loss(self, read, types, mask, chosen, targets):
        log_p = self.log_p(self(read, types, mask)).gather(-1, targets[..., None])[..., 0]
        return -log_p[chosen].mean()


@right("OwnBERT: einsum, erf written out, all places and then the chosen")
class AllPlaces(Encoder):
    pass


@right("OwnBERT: row by row, without its padding")
class RowByRow(Encoder):
    def forward(self, tokens, types, mask):
        out = []
        for row, kind, real in zip(tokens, types, mask):
            n = int(real.sum())
            x = super().forward(row[None, :n], kind[None, :n], real[None, :n])[0]
            out.append(F.pad(x, (0, 0, 0, len(row) - n)))
        return torch.stack(out)

    def masked_loss(self, read, types, mask, chosen, targets):
        rows, places = chosen.nonzero(as_tuple=True)
        h = self(read, types, mask)[rows, places]
        return F.nll_loss(self.log_p(h), targets[rows, places])


@wrong("OwnBERT: the segments are read from the other table row")
class Exchanged(Encoder):
    def embedded(self, tokens, types):
        return super().embedded(tokens, 1 - types)


@wrong("OwnBERT: positions counted from the end")
class FromTheEnd(Encoder):
    def embedded(self, tokens, types):
        place = self.positions.table.weight[:tokens.shape[1]].flip(0)
        return self.tokens(tokens) + self.types(types) + place


@wrong("OwnBERT: an output layer of its own")
class Untied(Encoder):
    def __init__(self, *sizes, **named):
        super().__init__(*sizes, **named)
        self.head = nn.Linear(*self.tokens.weight.shape[::-1], bias=False)


@wrong("OwnBERT: the loss in bits")
class Bits(Encoder):
    def masked_loss(self, *x):
        return super().masked_loss(*x) / 0.6931471805599453


@wrong("OwnBERT: one block again and again")
class OneBlock(Encoder):
    def forward(self, tokens, types, mask):
        blocks = self.blocks
        try:
            self.blocks = nn.ModuleList([blocks[0]] * len(blocks))
            return super().forward(tokens, types, mask)
        finally:
            self.blocks = blocks


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
