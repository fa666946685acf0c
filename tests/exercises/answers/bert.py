"""Answers to the exercises of chapter bert."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

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


@wrong("nsp_pair: the document after A's in the place of A's, and never the last", called="last_left_out")
def _(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    k = rng.randrange(len(docs) - 1)
    return docs[d][i], rng.choice(docs[k + (k == d)]), 1


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

    def scale(self, K):
        return K ** -0.5

    def attend(self, x, part, mask):
        q, k, v = part.qkv(x).unflatten(-1, (3, self.H, -1)).unbind(2)          # (B, T, H, K) each
        scores = torch.einsum("bthk,bshk->bhts", q, k) * self.scale(q.shape[-1])
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


@wrong("OwnBERT: divided by the root of D", called="scaled_by_width")
class OfD(Encoder):
    def scale(self, K):
        return (self.H * K) ** -0.5


@wrong("OwnBERT: the mean of the losses of the rows", called="mean_of_rows")
class RowMeans(Encoder):
    def masked_loss(self, *x):
        losses = []
        for row in zip(*x):
            losses.append(super().masked_loss(*(part[None] for part in row)))
        return sum(losses) / len(losses)


@wrong("OwnBERT: one block again and again")
class OneBlock(Encoder):
    def forward(self, tokens, types, mask):
        blocks = self.blocks
        try:
            self.blocks = nn.ModuleList([blocks[0]] * len(blocks))
            return super().forward(tokens, types, mask)
        finally:
            self.blocks = blocks


@wrong("bert_embed: positions along the batch where it is as large as a text")
def _(tok, seg, E_tok, E_seg, E_pos):
    B, T = tok.shape
    places = E_pos[:T]
    return E_tok[tok] + E_seg[seg] + (places[:, None] if B == T else places)


@wrong("bert_embed: a batch of one loses its axis")
def _(tok, seg, E_tok, E_seg, E_pos):
    return (E_tok[tok] + E_seg[seg] + E_pos[:tok.shape[1]]).squeeze(0)


@wrong("bert_embed: segments left out where there is one only")
def _(tok, seg, E_tok, E_seg, E_pos):
    return E_tok[tok] + E_pos[:tok.shape[1]] + (E_seg[seg] if seg.any() else 0)


@wrong("OwnBERT: a batch of one loses its axis")
class OneRow(Encoder):
    def forward(self, *x):
        return super().forward(*x).squeeze(0)


@wrong("mlm_mask: at least one token is chosen")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    chosen[0, 0] |= not chosen.any()
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, tokens)
    inputs = torch.where(chosen & (fate > 0.9), torch.randint(vocab_size, tokens.shape, generator=g), inputs)
    return inputs, torch.where(chosen, tokens, -100)


@wrong("bert_embed: positions by the token", called="position_of_token")
def _(tok, seg, E_tok, E_seg, E_pos):
    return F.embedding(tok, E_tok) + F.embedding(seg, E_seg) + F.embedding(tok.remainder(E_pos.shape[0]), E_pos)


@wrong("bert_embed: nothing for the first segment", called="second_row_only")
def _(tok, seg, E_tok, E_seg, E_pos):
    return E_tok[tok] + E_pos[None, :tok.shape[1]] + torch.where(seg[..., None] == 1, E_seg[1], 0.0)


@wrong("OwnBERT: padding keeps its vectors", called="padding_kept")
class KeepsPadding(Encoder):
    def forward(self, tokens, types, mask):
        x = self.norm(self.embedded(tokens, types))
        for block in self.blocks:
            x = block.residual1.norm(x + self.attend(x, block.attention, mask))
            x = block.residual2.norm(x + block.feed_forward.narrow(self.gelu(block.feed_forward.widen(x))))
        return x
