"""Wrong answers to the exercises on attention before transformers."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("additive_attention", "the shares of padding are set to 0 after the softmax", "open", """
import torch

def additive_attention(query, keys, mask, W, U, v):
    s = torch.tanh((query @ W.T)[:, None] + keys @ U.T) @ v
    return ((s.softmax(dim=1) * mask)[..., None] * keys).sum(dim=1)
"""),
    wrong("additive_attention", "there is no tanh", "sealed", """
import math

def additive_attention(query, keys, mask, W, U, v):
    s = (((query @ W.T)[:, None] + keys @ U.T) @ v).masked_fill(~mask, -math.inf)
    return (s.softmax(dim=1).masked_fill(~mask, 0)[..., None] * keys).sum(dim=1)
"""),
    wrong("choice_gradients", "the baseline holds the draw's own loss", "open", """
import torch.nn.functional as F

def choice_gradients(scores, losses, slots):
    found = losses[slots]
    return (found - found.mean())[:, None] * (F.one_hot(slots, len(scores)) - scores.softmax(dim=0))
"""),
    wrong("choice_gradients", "minus P is forgotten", "sealed", """
import torch.nn.functional as F

def choice_gradients(scores, losses, slots):
    found = losses[slots]
    b = (found.sum() - found) / (len(slots) - 1)
    return (found - b)[:, None] * F.one_hot(slots, len(scores))
"""),
    wrong("find_scores", "dot and scaled are exchanged", "open", """
import torch

def find_scores(functions, W, Wa, Ua, v):
    q, k = torch.randn(5, len(v)), torch.randn(8, len(v))
    wanted = {"scaled": q @ k.T, "dot": q @ k.T / len(v) ** 0.5, "bilinear": q @ W.float() @ k.T,
              "additive": torch.tanh((q @ Wa.float().T)[:, None] + k @ Ua.float().T) @ v.float()}
    return [([n for n, want in wanted.items() if (f(q, k) - want).abs().max() < 1e-3] or ["none"])[0] for f in functions]
"""),
    wrong("find_scores", "every function gets the nearest name, no one is none", "sealed", """
import torch

def find_scores(functions, W, Wa, Ua, v):
    q, k = torch.randn(5, len(v)), torch.randn(8, len(v))
    wanted = {"dot": q @ k.T, "scaled": q @ k.T / len(v) ** 0.5, "bilinear": q @ W.float() @ k.T,
              "additive": torch.tanh((q @ Wa.float().T)[:, None] + k @ Ua.float().T) @ v.float()}
    return [min(wanted, key=lambda n: float((f(q, k) - wanted[n]).abs().max())) for f in functions]
"""),
]
