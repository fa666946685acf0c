"""Wrong answers to the exercises on attention between two networks."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("additive_attention",
          "masks after the softmax and does not normalise again: padding takes its share away",
          "third", """
import torch

def additive_attention(query, keys, mask, W, U, v):
    hidden = torch.tanh((query @ W.T)[:, None] + keys @ U.T)
    alpha = (hidden @ v).softmax(dim=-1) * mask
    return (alpha.unsqueeze(1) @ keys).squeeze(1)
"""),
    wrong("additive_attention",
          "masks with -1e9: a row without a real token gets the mean of its keys, not zeros",
          "third", """
import torch

def additive_attention(query, keys, mask, W, U, v):
    q = torch.einsum("ah,bh->ba", W, query)
    k = torch.einsum("ak,bsk->bsa", U, keys)
    scores = torch.einsum("a,bsa->bs", v, torch.tanh(q.unsqueeze(1) + k))
    alpha = torch.softmax(scores.masked_fill(~mask, -1e9), dim=1)
    return torch.einsum("bs,bsk->bk", alpha, keys)
"""),
    wrong("choice_gradients",
          "the sum of the other draws' losses is divided by N, not by N - 1",
          "third", """
import torch
import torch.nn.functional as F

def choice_gradients(scores, losses, slots):
    drawn = losses[slots]
    baseline = (drawn.sum() - drawn) / len(slots)
    slope = F.one_hot(slots, len(scores)) - scores.softmax(0)
    return (drawn - baseline)[:, None] * slope
"""),
    wrong("choice_gradients",
          "takes the gradient of P(tau), not of log P(tau): a factor P(tau) too many",
          "third", """
import torch

def choice_gradients(scores, losses, slots):
    p = torch.softmax(scores, dim=0)
    N, rows = len(slots), []
    for i in range(N):
        others = [losses[slots[j]] for j in range(N) if j != i]
        baseline = torch.stack(others).mean()
        tau = slots[i]
        slope = -p[tau] * p
        slope[tau] = slope[tau] + p[tau]
        rows.append((losses[tau] - baseline) * slope)
    return torch.stack(rows)
"""),
    wrong("find_scores",
          "takes the bilinear score with W transposed, k W q",
          "third", """
import torch

def find_scores(functions, W, Wa, Ua, v):
    torch.manual_seed(0)
    H = len(W)
    q, k = torch.randn(7, H), torch.randn(5, H)
    additive = torch.tanh((q @ Wa.T)[:, None] + (k @ Ua.T)[None]) @ v
    right = {"dot": q @ k.T, "scaled": q @ k.T / H ** 0.5,
             "bilinear": (k @ W @ q.T).T, "additive": additive}
    names = []
    for function in functions:
        s = function(q, k)
        fits = [name for name, r in right.items() if (s - r).abs().max() < 1e-4]
        names.append(fits[0] if fits else "none")
    return names
"""),
    wrong("find_scores",
          "the scaled score is divided by H, not by its root",
          "third", """
import torch

def find_scores(functions, W, Wa, Ua, v):
    g = torch.Generator().manual_seed(3)
    H = W.shape[0]
    q = torch.randn(6, H, generator=g)
    k = torch.randn(9, H, generator=g)

    def name(f):
        dot = torch.einsum("th,sh->ts", q, k)
        s = f(q, k)
        if torch.allclose(s, dot, rtol=0, atol=2e-4):
            return "dot"
        if torch.allclose(s, dot / H, rtol=0, atol=2e-4):
            return "scaled"
        if torch.allclose(s, torch.einsum("tg,gh,sh->ts", q, W, k), rtol=0, atol=2e-4):
            return "bilinear"
        hidden = torch.tanh((q @ Wa.T).unsqueeze(1) + (k @ Ua.T).unsqueeze(0))
        return "additive" if torch.allclose(s, hidden @ v, rtol=0, atol=2e-4) else "none"

    return [name(f) for f in functions]
"""),
]
