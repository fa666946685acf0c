"""Wrong answers to the exercises of chapter attention, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("additive_attention: masks with -1e9: a row without a real token gets the mean of its keys, not zeros")
def _(query, keys, mask, W, U, v):
    q = torch.einsum("ah,bh->ba", W, query)
    k = torch.einsum("ak,bsk->bsa", U, keys)
    scores = torch.einsum("a,bsa->bs", v, torch.tanh(q.unsqueeze(1) + k))
    alpha = torch.softmax(scores.masked_fill(~mask, -1e9), dim=1)
    return torch.einsum("bs,bsk->bk", alpha, keys)


@blind("additive_attention: padding gets the score 0 instead of minus infinity: it keeps a share")
def _(query, keys, mask, W, U, v):
    scores = torch.tanh((query @ W.T)[:, None] + keys @ U.T) @ v        # (B, S)
    alpha = torch.softmax(scores * mask, dim=1)
    alpha = alpha * mask.any(dim=1, keepdim=True)
    return (alpha[:, :, None] * keys).sum(dim=1)


@blind("additive_attention: the scores are divided by the square root of A, as in scaled dot products")
def _(query, keys, mask, W, U, v):
    hidden = torch.tanh(torch.einsum("ah,bh->ba", W, query).unsqueeze(1)
                        + torch.einsum("ak,bsk->bsa", U, keys))
    scores = torch.einsum("a,bsa->bs", v, hidden) / len(v) ** 0.5
    scores = scores.masked_fill(~mask, -1e9)
    alpha = scores.softmax(dim=-1) * mask
    return torch.einsum("bs,bsk->bk", alpha, keys)


@blind("additive_attention: the softmax runs over all tokens, and the shares of padding are put to 0 "
       "afterwards: the rest does not sum to 1")
def _(query, keys, mask, W, U, v):
    q = (query @ W.T).unsqueeze(1)
    s = torch.tanh(q + keys @ U.T) @ v
    alpha = torch.softmax(s, dim=-1)
    alpha = alpha.masked_fill(~mask, 0.0)
    return torch.bmm(alpha.unsqueeze(1), keys).squeeze(1)


@blind("choice_gradients: takes the gradient of P(tau), not of log P(tau): a factor P(tau) too many")
def _(scores, losses, slots):
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


@blind("choice_gradients: the sign of the score function: p minus one-hot, the gradient of minus log P")
def _(scores, losses, slots):
    p = scores.softmax(dim=0)
    N = len(slots)
    L = losses[slots]
    baseline = (L.sum() - L) / (N - 1)
    grad_log = p - F.one_hot(slots, len(scores))
    return (L - baseline)[:, None] * grad_log


@blind("choice_gradients: the sum of the others' losses is divided by N, not by N - 1")
def _(scores, losses, slots):
    N, S = slots.shape[0], scores.shape[0]
    drawn = losses[slots]
    others = 1 - torch.eye(N, dtype=losses.dtype)
    b = (others @ drawn) / N
    grad = F.one_hot(slots, S) - torch.softmax(scores, dim=0)
    return (drawn - b).unsqueeze(1) * grad


@blind("choice_gradients: the baseline is the expected loss under softmax(scores), not the mean of the other draws")
def _(scores, losses, slots):
    p = torch.softmax(scores, dim=-1)
    baseline = (p * losses).sum()
    rows = []
    for slot in slots:
        gradient = -p.clone()
        gradient[slot] += 1
        rows.append((losses[slot] - baseline) * gradient)
    return torch.stack(rows)


@blind("find_scores: takes the bilinear score with W transposed, k W q")
def _(functions, W, Wa, Ua, v):
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


@blind("find_scores: the scaled score is divided by H, not by its root")
def _(functions, W, Wa, Ua, v):
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


@blind("find_scores: 'scaled' is divided by the square root of the number of keys, not of H")
def _(functions, W, Wa, Ua, v):
    torch.manual_seed(1)
    q = torch.randn(6, len(v), dtype=v.dtype)
    k = torch.randn(9, len(v), dtype=v.dtype)
    dot = q @ k.T
    formulas = [("dot", dot), ("scaled", dot / len(k) ** 0.5), ("bilinear", q @ W @ k.T),
                ("additive", ((q @ Wa.T).unsqueeze(1) + k @ Ua.T).tanh() @ v)]
    result = []
    for function in functions:
        name = "none"
        for candidate, values in formulas:
            if torch.allclose(function(q, k), values, atol=1e-4, rtol=0):
                name = candidate
        result.append(name)
    return result


@blind("find_scores: tried out on queries and keys of ones only: what a transposed matrix or an exchange of "
       "q and k changes does not show there")
def _(functions, W, Wa, Ua, v):
    H = W.shape[1]
    q, k = torch.ones(3, H, dtype=W.dtype), torch.ones(4, H, dtype=W.dtype)
    def additive(q, k):
        return torch.tanh((q @ Wa.T)[:, None, :] + (k @ Ua.T)[None, :, :]) @ v
    references = {"dot": lambda q, k: q @ k.T,
                  "scaled": lambda q, k: q @ k.T / H ** 0.5,
                  "bilinear": lambda q, k: q @ W @ k.T,
                  "additive": additive}
    answer = []
    for f in functions:
        for name, reference in references.items():
            if (f(q, k) - reference(q, k)).abs().max() < 5e-4:
                answer.append(name)
                break
        else:
            answer.append("none")
    return answer
