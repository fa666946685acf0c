"""Programs that people copy, written anew in their manner: the Annotated Transformer, minGPT and nanoGPT, d2l, Hugging Face,
rank_bm25, scikit-learn, and what assistants answer. Each is right, or its report says what differs."""
from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers.register import right, wrong

# The Annotated Transformer

@wrong("attention: the Annotated Transformer's", called="averaged")
def _(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = F.softmax(scores, dim=-1)
    return torch.matmul(p_attn, value)


@right("causal_mask: the Annotated Transformer's subsequent_mask, of the last rows")
def _(n, m=None):
    m = n if m is None else m
    subsequent = torch.triu(torch.ones(1, m, m), diagonal=1).type(torch.uint8)
    return (subsequent == 0)[0, m - n:]


@wrong("causal_mask: the Annotated Transformer's subsequent_mask, of the first size", called="square")
def _(size, m=None):
    return torch.triu(torch.ones(size, size), diagonal=1).type(torch.uint8) == 0


@wrong("layer_norm: the Annotated Transformer's")
def _(x, a_2, b_2, eps=1e-6):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return a_2 * (x - mean) / (std + eps) + b_2


@right("positional_encoding: the Annotated Transformer's, of an even or odd width")
def _(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)[:, :d_model // 2]
    return pe


@right("noam_lr: the Annotated Transformer's rate")
def _(step, model_size, warmup):
    return model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))


@wrong("slide_smoothing_loss: the Annotated Transformer's LabelSmoothing")
def _(x, target, smoothing, padding_idx):
    x, size = x.log_softmax(-1), x.size(1)
    true_dist = x.data.clone()
    true_dist.fill_(smoothing / (size - 2))
    true_dist.scatter_(1, target.data.unsqueeze(1), 1 - smoothing)
    true_dist[:, padding_idx] = 0
    true_dist[target == padding_idx] = 0
    return F.kl_div(x, true_dist, reduction="sum") / (target != padding_idx).sum()


@wrong("label_smoothing_loss: the Annotated Transformer's LabelSmoothing")
def _(x, target, smoothing, padding_idx):
    x, size = x.log_softmax(-1), x.size(1)
    true_dist = torch.full_like(x, smoothing / (size - 2))
    true_dist.scatter_(1, target.unsqueeze(1), 1 - smoothing)
    true_dist[:, padding_idx] = 0
    true_dist[target == padding_idx] = 0
    return F.kl_div(x, true_dist, reduction="sum") / (target != padding_idx).sum()


class Copied(nn.Module):
    """Heads as the Annotated Transformer views them: one product, then a view and a transpose."""

    def __init__(self, d_model, heads):
        super().__init__()
        assert d_model % heads == 0
        self.d_k, self.h = d_model // heads, heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, memory=None, mask=None):
        memory, D, size = x if memory is None else memory, x.size(-1), x.size(0)
        query, _, _ = self.qkv(x).split(D, dim=2)
        _, key, value = self.qkv(memory).split(D, dim=2)
        query, key, value = (one.view(size, -1, self.h, self.d_k).transpose(1, 2) for one in (query, key, value))
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, -1e9)
        x = torch.matmul(F.softmax(scores, dim=-1), value)
        return self.out(x.transpose(1, 2).contiguous().view(size, -1, self.h * self.d_k))


wrong("OwnMultiHeadAttention: the Annotated Transformer's MultiHeadedAttention", called="even_rows")(Copied)


# minGPT and nanoGPT

@wrong("attention: minGPT's, causal by a buffer", called="always_causal")
def _(q, k, v, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    bias = torch.tril(torch.ones(q.size(-2), k.size(-2)))
    att = att.masked_fill(bias == 0, float("-inf"))
    return F.softmax(att, dim=-1) @ v


@wrong("next_token_loss: nanoGPT's, which has its targets shifted already", called="read_tokens")
def _(logits, tokens, lengths):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), tokens.clamp(0, logits.size(-1) - 1).view(-1))


@wrong("next_token_loss: GPT-2's of Hugging Face, shifted, all tokens", called="padding_counted")
def _(logits, labels, lengths):
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].clamp(0, logits.shape[-1] - 1).contiguous()
    return F.cross_entropy(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))


@right("next_token_loss: Hugging Face's, padding labelled -100")
def _(logits, labels, lengths):
    labels = labels.masked_fill(torch.arange(labels.shape[1]) >= lengths[:, None], -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


@right("top_k_filter: nanoGPT's generate")
def _(logits, top_k):
    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
    logits = logits.clone()
    logits[logits < v[..., [-1]]] = -float("Inf")
    return logits


@wrong("top_k_filter: nanoGPT's generate, in place")
def _(logits, top_k):
    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
    logits[logits < v[..., [-1]]] = -float("Inf")
    return logits


# d2l

@wrong("attention: d2l's masked_softmax", called="averaged")
def _(queries, keys, values, mask=None):
    scores = torch.matmul(queries, keys.transpose(-2, -1)) / math.sqrt(queries.shape[-1])
    if mask is None:
        return F.softmax(scores, dim=-1) @ values
    scores = torch.where(mask, scores, torch.tensor(-1e6))
    return F.softmax(scores, dim=-1) @ values


@wrong("additive_attention: d2l's AdditiveAttention", called="mean_of_padding")
def _(query, keys, mask, W, U, v):
    features = torch.tanh((query @ W.T).unsqueeze(1) + keys @ U.T)
    scores = features @ v
    scores = scores.masked_fill(~mask, -1e6)
    return torch.bmm(F.softmax(scores, dim=-1).unsqueeze(1), keys).squeeze(1)


@right("positional_encoding: d2l's P, of an odd width too")
def _(max_len, num_hiddens):
    P = torch.zeros((1, max_len, num_hiddens))
    X = torch.arange(max_len, dtype=torch.float32).reshape(-1, 1) / torch.pow(
        10000, torch.arange(0, num_hiddens, 2, dtype=torch.float32) / num_hiddens)
    P[:, :, 0::2] = torch.sin(X)
    P[:, :, 1::2] = torch.cos(X)[:, :num_hiddens // 2]
    return P[0]


@right("split_heads: d2l's transpose_qkv")
def _(X, num_heads):
    return X.reshape(X.shape[0], X.shape[1], num_heads, -1).permute(0, 2, 1, 3)


@right("merge_heads: d2l's transpose_output")
def _(X):
    X = X.permute(0, 2, 1, 3)
    return X.reshape(X.shape[0], X.shape[1], -1)


# Hugging Face

def collated(tokens, special, vocab_size, mask_id, g, replaced=0.5):
    inputs, labels = tokens.clone(), tokens.clone()
    probability_matrix = torch.full(labels.shape, 0.15)
    probability_matrix.masked_fill_(special, value=0.0)
    masked_indices = torch.bernoulli(probability_matrix, generator=g).bool()
    labels[~masked_indices] = -100
    indices_replaced = torch.bernoulli(torch.full(labels.shape, 0.8), generator=g).bool() & masked_indices
    inputs[indices_replaced] = mask_id
    indices_random = torch.bernoulli(torch.full(labels.shape, replaced), generator=g).bool() & masked_indices & ~indices_replaced
    inputs[indices_random] = torch.randint(vocab_size, labels.shape, generator=g)[indices_random]
    return inputs, labels


right("mlm_mask: Hugging Face's collator")(collated)


@wrong("mlm_mask: Hugging Face's collator, a tenth of the rest replaced", called="tenth_of_the_rest")
def _(tokens, special, vocab_size, mask_id, g):
    return collated(tokens, special, vocab_size, mask_id, g, 0.1)


@wrong("mlm_mask: Hugging Face's collator without the generator", called="unseeded")
def _(tokens, special, vocab_size, mask_id, g):
    return collated(tokens, special, vocab_size, mask_id, None)


@right("top_k_filter: Hugging Face's warper")
def _(scores, top_k):
    top_k = min(top_k, scores.size(-1))
    indices_to_remove = scores < torch.topk(scores, top_k)[0][..., -1, None]
    return scores.masked_fill(indices_to_remove, -float("inf"))


@right("top_p_filter: Hugging Face's warper, of least one token")
def _(scores, top_p):
    sorted_logits, sorted_indices = torch.sort(scores, descending=False)
    cumulative_probs = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    sorted_indices_to_remove = cumulative_probs <= (1 - top_p)
    sorted_indices_to_remove[..., -1:] = 0
    indices_to_remove = sorted_indices_to_remove.scatter(-1, sorted_indices, sorted_indices_to_remove)
    return scores.masked_fill(indices_to_remove, -float("inf"))


@right("top_p_filter: the well-known filter, shifted by one to the right")
def _(logits, top_p):
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative_probs = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative_probs > top_p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    return logits.masked_fill(torch.zeros_like(remove).scatter(-1, sorted_indices, remove), -float("inf"))


@wrong("top_p_filter: the well-known filter without the shift", called="below_p")
def _(logits, top_p):
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    remove = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1) > top_p
    return logits.masked_fill(torch.zeros_like(remove).scatter(-1, sorted_indices, remove), -float("inf"))


@wrong("top_p_filter: the well-known filter, its mask in sorted order", called="positions")
def _(logits, top_p):
    sorted_logits, _ = torch.sort(logits, descending=True)
    cumulative_probs = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative_probs > top_p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    return logits.masked_fill(remove, -float("inf"))


# rank_bm25, scikit-learn

@wrong("bm25: rank_bm25's BM25Okapi", called="okapi_idf")
def _(corpus, query, k1, b):
    doc_freqs, nd, doc_len = [], {}, []
    for document in corpus:
        doc_len.append(len(document))
        frequencies = Counter(document)
        doc_freqs.append(frequencies)
        for word in frequencies:
            nd[word] = nd.get(word, 0) + 1
    avgdl, idf, negative = sum(doc_len) / len(corpus), {}, []
    for word, freq in nd.items():
        idf[word] = math.log(len(corpus) - freq + 0.5) - math.log(freq + 0.5)
        if idf[word] < 0:
            negative.append(word)
    eps = 0.25 * sum(idf.values()) / max(len(idf), 1)
    for word in negative:
        idf[word] = eps
    score, doc_len = np.zeros(len(corpus)), np.array(doc_len)
    for q in query:
        q_freq = np.array([doc.get(q) or 0 for doc in doc_freqs])
        score += (idf.get(q) or 0) * (q_freq * (k1 + 1) / (q_freq + k1 * (1 - b + b * doc_len / avgdl)))
    return score.tolist()


def vectorized(docs, norm):
    df = Counter(word for doc in docs for word in set(doc))
    rows = []
    for doc in docs:
        row = {word: count * (math.log((1 + len(docs)) / (1 + df[word])) + 1) for word, count in Counter(doc).items()}
        length = math.sqrt(sum(value ** 2 for value in row.values())) if norm else 1
        rows.append({word: value / length for word, value in row.items()})
    return rows


@wrong("tfidf: scikit-learn's TfidfVectorizer", called="unit_rows")
def _(docs):
    return vectorized(docs, norm=True)


@wrong("tfidf: scikit-learn's TfidfTransformer with norm=None", called="raw_counts")
def _(docs):
    return vectorized(docs, norm=False)


# What assistants answer

@wrong("tfidf: ln(N / df)")
def _(docs):
    df = defaultdict(int)
    for doc in docs:
        for word in set(doc):
            df[word] += 1
    return [{word: (count / len(doc)) * math.log(len(docs) / df[word]) for word, count in Counter(doc).items()} for doc in docs]


@wrong("tfidf: ln(N / (1 + df))")
def _(docs):
    N = len(docs)
    return [{word: doc.count(word) / len(doc) * math.log(N / (1 + sum(1 for d in docs if word in d))) for word in set(doc)}
            for doc in docs]


@wrong("label_smoothing_loss: the mean over all classes of the rest", called="padding_in_the_count")
def _(logits, target, eps, pad):
    log_probs = F.log_softmax(logits, dim=-1)
    nll = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    smooth = -log_probs.mean(dim=-1)
    loss = (1 - eps) * nll + eps * smooth
    return loss.masked_fill(target == pad, 0.0).mean()


@right("label_smoothing_loss: fairseq's two terms, over the rows that count")
def _(logits, target, eps, pad):
    log_probs = F.log_softmax(logits, dim=-1)
    nll = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    smooth = -log_probs.sum(dim=-1)
    keep = target != pad
    return ((1 - eps) * nll[keep] + eps / logits.size(-1) * smooth[keep]).mean()


@wrong("stable_log_softmax: a softmax, and a small number in its logarithm")
def _(a):
    e = torch.exp(a - a.max(dim=-1, keepdim=True).values)
    return torch.log(e / e.sum(dim=-1, keepdim=True) + 1e-9)


@wrong("stable_log_softmax: the formula as it stands")
def _(a):
    return torch.log(torch.exp(a) / torch.exp(a).sum(-1, keepdim=True))


@right("causal_mask: tril with a diagonal")
def _(n, m=None):
    if m is None:
        m = n
    return torch.tril(torch.ones((n, m), dtype=torch.bool), diagonal=m - n)


@wrong("sgns_loss: a mean over the negatives", called="mean_over_negatives")
def _(center, context, negatives):
    positive = F.logsigmoid((center * context).sum(dim=1))
    negative = F.logsigmoid(-torch.bmm(negatives, center.unsqueeze(2)).squeeze(2)).mean(dim=1)
    return -(positive + negative).mean()


@wrong("sgns_loss: a small number in the logarithm")
def _(center, context, negatives):
    positive = torch.log(torch.sigmoid((center * context).sum(1)) + 1e-10)
    negative = torch.log(torch.sigmoid(-torch.bmm(negatives, center.unsqueeze(2)).squeeze(2)) + 1e-10).sum(1)
    return -(positive + negative).mean()


@wrong("attention: softmax over the queries, no scale")
def _(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-2) @ v


@right("attention: NaN of the weights replaced")
def _(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.nan_to_num(F.softmax(scores, dim=-1)) @ v


@wrong("lstm_step: the gates f, i, g, o and no tanh of the memory")
def _(x, h, c, W, U, b):
    f, i, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.stack([torch.sigmoid(o) * c, c])
