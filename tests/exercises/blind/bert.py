"""Wrong answers to the exercises of chapter bert, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("bert_segments: the first [SEP] has the segment 1, that of B")
def _(a_len, b_len):
    segments = torch.tensor([0] * (a_len + 1) + [1] * (b_len + 2))
    return segments, torch.arange(len(segments))


@blind("bert_segments: the positions begin at 0 again with B")
def _(a_len, b_len):
    first, second = a_len + 2, b_len + 1
    segments = torch.cat([torch.zeros(first).long(), torch.ones(second).long()])
    positions = torch.cat([torch.arange(first), torch.arange(second)])
    return segments, positions


@blind("bert_embed: multiplies the embeddings of tokens by the root of D, as the transformer of 2017 does")
def _(tok, seg, E_tok, E_seg, E_pos):
    D = E_tok.shape[1]
    return D ** 0.5 * E_tok[tok] + E_seg[seg] + E_pos[:tok.shape[1]]


@blind("bert_embed: segment 0 adds nothing: seg times row 1 of the table, and row 0 is never used")
def _(tok, seg, E_tok, E_seg, E_pos):
    words = F.embedding(tok, E_tok)
    places = F.embedding(torch.arange(tok.size(1)), E_pos)
    return words + seg.unsqueeze(-1) * E_seg[1] + places


@blind("nsp_pair: draws B from all documents, the one of A included, and leaves out A alone")
def _(docs, d, i, is_next, rng):
    A = docs[d][i]
    if is_next:
        return A, docs[d][i + 1], 0
    pool = [s for k, doc in enumerate(docs) for j, s in enumerate(doc) if (k, j) != (d, i)]
    return A, rng.choice(pool), 1


@blind("nsp_pair: the last sentence of the other documents can never come: the draw ends one too early")
def _(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    others = []
    for k in range(len(docs)):
        if k != d:
            others.extend(docs[k])
    return docs[d][i], others[int(rng.random() * (len(others) - 1))], 1


@blind("mlm_mask: replaces a tenth of the chosen that are left after the hiding, 2 % and not 10 %")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    hidden = chosen & (torch.rand(tokens.shape, generator=g) < 0.8)
    replaced = chosen & ~hidden & (torch.rand(tokens.shape, generator=g) < 0.1)
    words = torch.randint(vocab_size, tokens.shape, generator=g)
    inputs = torch.where(hidden, mask_id, torch.where(replaced, words, tokens))
    return inputs, torch.where(chosen, tokens, -100)


@blind("mlm_mask: writes into `tokens` itself: the caller's text is spoilt")
def _(tokens, special, vocab_size, mask_id, g):
    u = torch.rand(tokens.shape, generator=g)
    chosen = (u < 0.15) & ~special
    labels = tokens.masked_fill(~chosen, -100)
    fate = torch.rand(tokens.shape, generator=g)
    inputs = tokens
    inputs[chosen & (fate < 0.8)] = mask_id
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swap] = torch.randint(vocab_size, (int(swap.sum()),), generator=g)
    return inputs, labels


@blind("find_masker_fault: of the shares looks at the hidden 80 % only: all others replaced, or all kept, passes")
def _(masker, tokens, special, mask_id):
    text = tokens.repeat(20, 1)
    ordinary = ~torch.isin(text, torch.tensor(special))
    chosen = hidden = places = 0
    for seed in range(10):
        inputs, labels = masker(text, seed)
        asked = labels != -100
        if (asked & ~ordinary).any():
            return "special"
        if (labels[asked] != text[asked]).any():
            return "labels"
        chosen += int(asked.sum())
        hidden += int((inputs[asked] == mask_id).sum())
        places += int(ordinary.sum())
    if abs(chosen / places - 0.15) > 0.01:
        return "rate"
    return "shares" if abs(hidden / chosen - 0.8) > 0.025 else "none"


@blind("find_masker_fault: measures the rate among all tokens, special ones included, and so too low")
def _(masker, tokens, special, mask_id):
    text = torch.cat([tokens] * 30)
    forbidden = torch.zeros_like(text, dtype=torch.bool)
    for s in special:
        forbidden |= text == s
    picked, before, after = [], [], []
    for seed in range(8):
        inputs, labels = masker(text, seed)
        where = labels != -100
        if forbidden[where].any():
            return "special"
        if not torch.equal(labels[where], text[where]):
            return "labels"
        picked.append(where.double().mean())
        before.append(text[where])
        after.append(inputs[where])
    if not 0.145 < torch.stack(picked).mean() < 0.155:
        return "rate"
    old, new = torch.cat(before), torch.cat(after)
    masked = (new == mask_id).double().mean()
    kept = (new == old).double().mean()
    other = 1 - masked - kept
    ok = abs(masked - 0.8) < 0.025 and abs(kept - 0.1) < 0.025 and abs(other - 0.1) < 0.025
    return "none" if ok else "shares"
