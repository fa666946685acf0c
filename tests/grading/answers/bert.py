"""Answers to the exercises of chapter 18: what BERT reads, and pairs of sentences."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("bert_segments: sign by sign")
def _(a_len, b_len):
    segments = [0] + [0] * a_len + [0] + [1] * b_len + [1]
    return torch.tensor(segments), torch.tensor(list(range(len(segments))))


@right("bert_segments: by the library's join")
def _(a_len, b_len):
    from course_lib.text import join_segments

    tokens, types = join_segments(torch.zeros(a_len).long(), torch.zeros(b_len).long(), 1, 2)
    return types, torch.arange(len(tokens))


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


@wrong("bert_embed: normalised")
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
