"""Wrong answers to the exercises on self-attention."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("attention", "the scores are divided by d instead of by its square root", "open", """
import torch

def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ v
"""),
    wrong("attention", "forbidden scores become 0, not -inf: those keys still get weight", "sealed", """
import math
import torch

def attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores * mask
    return scores.softmax(-1) @ v
"""),
    wrong("attention", "a query that may attend nowhere gets the mean of all values instead of zeros", "open", """
import math
import torch

def attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(k.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.matmul(torch.softmax(scores, dim=-1), v)
"""),
    wrong("attention", "the softmax runs over the queries instead of the keys", "sealed", """
import math
import torch

def attention(q, k, v, mask=None):
    s = torch.einsum("...nd,...md->...nm", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = torch.where(mask, s, -1e30)
    w = torch.softmax(s, dim=-2)
    if mask is not None:
        w = w * mask
    return w @ v
"""),
    wrong("attention", "nan after the softmax is turned into zeros, but the gradient stays nan", "open", """
import math
import torch

def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, float("-inf"))
        scores = scores + bias
    weights = torch.nan_to_num(scores.softmax(dim=-1))
    return weights @ v
"""),
    wrong("causal_mask", "the new queries start at position 0: the offset m - n is forgotten", "sealed", """
import torch

def causal_mask(n, m=None):
    m = n if m is None else m
    return torch.tril(torch.ones(n, m, dtype=torch.bool))
"""),
    wrong("causal_mask", "a query may not attend to its own position", "open", """
import torch

def causal_mask(n, m=None):
    if m is None:
        m = n
    rows = torch.arange(n)[:, None] + (m - n)
    return torch.arange(m)[None, :] < rows
"""),
    wrong("causal_mask", "True where attention is forbidden: the mask is inverted", "sealed", """
import torch

def causal_mask(n, m=None):
    m = m or n
    return torch.triu(torch.ones(n, m), diagonal=m - n + 1).bool()
"""),
    wrong("causal_mask", "zeros and ones as floats instead of booleans", "open", """
import torch

def causal_mask(n, m=None):
    if m is None:
        m = n
    return torch.ones(n, m).tril(diagonal=m - n)
"""),
    wrong("cross_attention", "keys and values are taken from the decoder: self-attention", "sealed", """
import math
import torch

def cross_attention(dec, enc, Wq, Wk, Wv, src_mask):
    q, k, v = dec @ Wq, dec @ Wk, dec @ Wv
    scores = q @ k.transpose(1, 2) / math.sqrt(dec.shape[-1])
    scores = scores.masked_fill(~src_mask[:, None, :], float("-inf"))
    return scores.softmax(-1) @ v
"""),
    wrong("cross_attention", "the mask is inverted: the padding is attended, the real tokens are hidden", "open", """
import torch

def cross_attention(dec, enc, Wq, Wk, Wv, src_mask):
    q, k, v = dec @ Wq, enc @ Wk, enc @ Wv
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(src_mask.unsqueeze(1), -1e9)
    return torch.softmax(scores, dim=-1) @ v
"""),
    wrong("cross_attention", "the projections are applied transposed, as a Linear layer does", "sealed", """
import torch
import torch.nn.functional as F

def cross_attention(dec, enc, Wq, Wk, Wv, src_mask):
    q, k, v = F.linear(dec, Wq), F.linear(enc, Wk), F.linear(enc, Wv)
    scores = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
    scores = torch.where(src_mask[:, None], scores, float("-inf"))
    return torch.bmm(scores.softmax(dim=2), v)
"""),
    wrong("cross_attention", "the mask multiplies the weights after the softmax: they no longer sum to one", "open", """
import math
import torch

def cross_attention(dec, enc, Wq, Wk, Wv, src_mask):
    Q = dec @ Wq
    K = enc @ Wk
    V = enc @ Wv
    A = torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), dim=-1)
    return (A * src_mask[:, None, :]) @ V
"""),
    wrong("split_heads", "reshaped straight to (B, h, T, d): positions and features are mixed", "sealed", """
import torch

def split_heads(x, h):
    B, T, D = x.shape
    return x.reshape(B, h, T, D // h)
"""),
    wrong("split_heads", "head j gets every h-th feature instead of d neighbouring ones", "open", """
import torch

def split_heads(x, h):
    B, T, D = x.shape
    return x.view(B, T, D // h, h).permute(0, 3, 1, 2)
"""),
    wrong("split_heads", "the heads stay behind the positions: (B, T, h, d)", "sealed", """
import torch

def split_heads(x, h):
    return x.unflatten(-1, (h, x.shape[-1] // h))
"""),
    wrong("merge_heads", "reshaped without putting the positions in front of the heads", "open", """
import torch

def merge_heads(x):
    B, h, T, d = x.shape
    return x.reshape(B, T, h * d)
"""),
    wrong("merge_heads", "the features of the heads are interleaved: d before h", "sealed", """
import torch

def merge_heads(x):
    B, h, T, d = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, h * d)
"""),
    wrong("merge_heads", "view after a transpose: not contiguous, it raises", "open", """
import torch

def merge_heads(x):
    B, h, T, d = x.shape
    return x.transpose(1, 2).view(B, T, h * d)
"""),
    wrong("find_peeking", "asks for gradients, and none comes through: the list is always empty", "sealed", """
import torch

def find_peeking(layer, T, d):
    found = []
    x = torch.randn(1, T, d, requires_grad=True)
    for i in range(T):
        out = layer(x)[0, i].sum()
        if out.requires_grad:
            g = torch.autograd.grad(out, x)[0][0].abs().sum(-1)
            found += [(i, j) for j in range(i + 1, T) if g[j] > 0]
    return sorted(found)
"""),
    wrong("find_peeking", "one input and one change: a path open only for some inputs is missed", "open", """
import torch

def find_peeking(layer, T, d):
    x = torch.zeros(1, T, d)
    base = layer(x)
    pairs = []
    for j in range(T):
        y = x.clone()
        y[0, j] += 1
        diff = (layer(y) - base)[0].abs().amax(dim=-1)
        pairs += [(i, j) for i in range(j) if diff[i] > 1e-6]
    return sorted(pairs)
"""),
    wrong("find_peeking", "the whole future is changed at once, the next position blamed for all", "sealed", """
import torch

def find_peeking(layer, T, d):
    found = set()
    for _ in range(50):
        x = 3 * torch.randn(1, T, d)
        for i in range(T - 1):
            y = x.clone()
            y[:, i + 1:] = 3 * torch.randn(1, T - i - 1, d)
            if (layer(x)[0, i] - layer(y)[0, i]).abs().max() > 1e-6:
                found.add((i, i + 1))
    return sorted(found)
"""),
]
