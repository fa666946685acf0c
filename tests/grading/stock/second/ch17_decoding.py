"""Wrong answers to the exercises on decoding."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("generate_beam", "the words of history count against max_len: only max_len - len(history) words may follow", "second", """
import math

def generate_beam(next_probs, history, k, max_len):
    frontier = [(list(history), 0.0)]
    best, best_p = [], -math.inf
    while frontier and len(frontier[0][0]) < max_len:
        extensions = []
        for path, log_p in frontier:
            for word, p in next_probs(path).items():
                extensions.append((path + [word], log_p + math.log(p)))
        extensions.sort(key=lambda e: e[1], reverse=True)
        frontier = []
        for path, log_p in extensions[:k]:
            if path[-1] != "</s>":
                frontier.append((path, log_p))
            elif log_p > best_p:
                best, best_p = path, log_p
    return best, best_p
"""),
    wrong("generate_beam", "the ended paths are compared by their mean log-probability per word, not by the sum", "second", """
import math

def generate_beam(next_probs, history, k, max_len):
    live, ended = [([], 0.0)], []
    for _ in range(max_len):
        everything = []
        for words, log_p in live:
            for word, p in next_probs(history + words).items():
                everything.append((words + [word], log_p + math.log(p)))
        everything = sorted(everything, key=lambda e: -e[1])[:k]
        ended += [e for e in everything if e[0][-1] == "</s>"]
        live = [e for e in everything if e[0][-1] != "</s>"]
    if not ended:
        return [], -math.inf
    words, log_p = max(ended, key=lambda e: e[1] / len(e[0]))
    return history + words, log_p
"""),
    wrong("generate_beam", "an extension that ends takes no place among the k: it is remembered in any case, and the k are chosen from those that go on", "second", """
import heapq
import math

def generate_beam(next_probs, history, k, max_len):
    paths = [(0.0, tuple(history))]
    max_path, max_log_p = [], -math.inf
    for step in range(max_len):
        going_on = []
        for log_p, path in paths:
            for word, p in next_probs(list(path)).items():
                new_log_p, new_path = log_p + math.log(p), path + (word,)
                if word == "</s>":
                    if new_log_p > max_log_p:
                        max_path, max_log_p = list(new_path), new_log_p
                else:
                    going_on.append((new_log_p, new_path))
        paths = heapq.nlargest(k, going_on)
    return max_path, max_log_p
"""),
    wrong("stochastic_beam", "Z is the largest over the children of all beginnings together, not over those of each beginning by itself", "second", """
import math

import torch

def stochastic_beam(step_fn, noise_fn, bos, eos, k, max_len):
    beam = [([], 0.0, 0.0)]
    for _ in range(max_len):
        kept, children = [], []
        for tokens, log_p, G in beam:
            if tokens and tokens[-1] == eos:
                kept.append((tokens, log_p, G))
                continue
            logs = step_fn([bos] + tokens).tolist()
            noise = noise_fn([bos] + tokens).tolist()
            for v, (l, g) in enumerate(zip(logs, noise)):
                if l > -math.inf:
                    children.append((tokens + [v], log_p + l, G, log_p + l + g))
        if not children:
            break
        Z = max(child[3] for child in children)
        for tokens, log_p, G, noisy in children:
            if noisy == Z:
                score = G
            else:
                a = G - noisy + math.log1p(-math.exp(noisy - Z))
                score = G - max(0.0, a) - math.log1p(math.exp(-abs(a)))
            kept.append((tokens, log_p, score))
        beam = sorted(kept, key=lambda one: one[2], reverse=True)[:k]
    return beam
"""),
    wrong("stochastic_beam", "the noise is added to the parent's score G + ln p(v | y) instead of to ln p of the whole sequence", "second", """
import torch
import torch.nn.functional as F

def stochastic_beam(step_fn, noise_fn, bos, eos, k, max_len):
    beam = [([bos], 0.0, 0.0)]
    for step in range(max_len):
        new = []
        for tokens, log_p, G in beam:
            if len(tokens) > 1 and tokens[-1] == eos:
                new.append((tokens, log_p, G))
                continue
            logs = step_fn(tokens).double()
            noisy = G + logs + noise_fn(tokens).double()
            Z = noisy.max()
            a = G - noisy + torch.log1p(-torch.exp(noisy - Z))
            scores = torch.where(noisy == Z, G, G - F.softplus(a, threshold=700))
            for v in range(len(logs)):
                if logs[v] > float("-inf"):
                    new.append((tokens + [v], log_p + logs[v].item(), scores[v].item()))
        new.sort(key=lambda one: one[2], reverse=True)
        beam = new[:k]
    return [(tokens[1:], log_p, score) for tokens, log_p, score in beam]
"""),
    wrong("stochastic_beam", "what stays is returned from the largest log-probability down, not from the largest score down", "second", """
import math

import torch

def stochastic_beam(step_fn, noise_fn, bos, eos, k, max_len):
    def children(tokens, log_p, G):
        logs = [float(l) for l in step_fn([bos, *tokens])]
        noise = [float(g) for g in noise_fn([bos, *tokens])]
        tilde = {v: log_p + l + noise[v] for v, l in enumerate(logs) if l != -math.inf}
        Z = max(tilde.values())
        for v, t in tilde.items():
            if t == Z:
                score = G
            else:
                a = G - t + math.log1p(-math.exp(t - Z))
                score = G - max(0.0, a) - math.log1p(math.exp(-abs(a)))
            yield tokens + [v], log_p + logs[v], score

    beam = [([], 0.0, 0.0)]
    for _ in range(max_len):
        candidates = []
        for one in beam:
            if one[0][-1:] == [eos]:
                candidates.append(one)
            else:
                candidates.extend(children(*one))
        beam = sorted(candidates, key=lambda c: c[2])[-k:]
    return sorted(beam, key=lambda c: c[1], reverse=True)
"""),
]
