"""Wrong answers to the exercises of chapter decoding, written without knowing its checks."""
from __future__ import annotations

import heapq
import itertools
import math

import torch

from tests.exercises.answers.register import blind


@blind("beam_search: what has ended does not use its slot: the beam live extensions are kept besides")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, done = [([bos], 0.0)], []
    for _ in range(max_len):
        extended = []
        for tokens, score in live:
            for v, lp in enumerate(step_fn(tokens).tolist()):
                extended.append((tokens + [v], score + lp))
        done += [h for h in extended if h[0][-1] == eos]
        going = [h for h in extended if h[0][-1] != eos]
        live = sorted(going, key=lambda h: h[1], reverse=True)[:beam]
        if not live:
            break
    tokens, score = max(done + live, key=lambda h: h[1] / (len(h[0]) - 1) ** alpha)
    return tokens[1:], score


@blind("beam_search: the length |y| leaves out eos: what has ended is divided by a length one too small")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    def value(hypothesis):
        tokens, log_p = hypothesis
        length = len([t for t in tokens if t != eos])
        return log_p / max(1, length) ** alpha

    live, ended = [([], 0.0)], []
    while live and len(live[0][0]) < max_len:
        children = [(tokens + [v], log_p + float(s)) for tokens, log_p in live
                    for v, s in enumerate(step_fn([bos] + tokens))]
        children.sort(key=lambda child: -child[1])
        live = []
        for child in children[:beam]:
            (ended if child[0][-1] == eos else live).append(child)
    return max(ended + live, key=value)


@blind("top_k_filter: keeps exactly k values of a row: what ties with the k-th largest is lost")
def _(logits, k):
    best = logits.topk(min(k, logits.shape[-1]), dim=-1)
    out = torch.full_like(logits, float("-inf"))
    return out.scatter(-1, best.indices, best.values)


@blind("top_k_filter: keeps only what is larger than the k-th largest: k - 1 values")
def _(logits, k):
    V = logits.size(-1)
    if k >= V:
        return logits.clone()
    kth = logits.sort(dim=-1, descending=True).values[..., k - 1, None]
    return torch.where(logits > kth, logits, torch.tensor(float("-inf"), dtype=logits.dtype))


@blind("top_p_filter: drops the token with which the sum reaches p, save the first: the set stays below p")
def _(logits, p):
    ordered, index = logits.sort(dim=-1, descending=True)
    mass = ordered.softmax(-1).cumsum(-1)
    keep = mass < p
    keep[..., 0] = True
    keep = torch.zeros_like(keep).scatter(-1, index, keep)
    return logits.masked_fill(~keep, float("-inf"))


@blind("top_p_filter: the mask of the sorted row is laid on the row as it came: it is not sorted back")
def _(logits, p):
    share = torch.softmax(logits, dim=-1)
    ordered = torch.sort(share, dim=-1, descending=True)[0]
    before = torch.cumsum(ordered, dim=-1) - ordered
    return logits.masked_fill(before >= p, -float("inf"))


@blind("greedy_trap: takes the first width that finds the best, also where a larger one loses it again")
def _(step_fn, bos, length, V):
    known = {}
    def log_p(beginning):
        if beginning not in known:
            known[beginning] = step_fn([bos, *beginning]).tolist()
        return known[beginning]

    def total(y):
        return sum(log_p(y[:t])[y[t]] for t in range(length))

    best = max(itertools.product(range(V), repeat=length), key=total)
    width = 0
    while True:
        width += 1
        beam = [((), 0.0)]
        for _ in range(length):
            beam = [(y + (v,), s + log_p(y)[v]) for y, s in beam for v in range(V)]
            beam = sorted(beam, key=lambda h: -h[1])[:width]
        if beam[0][0] == best:
            return list(best), width


@blind("generate_beam: multiplies probabilities and takes the logarithm at the end: long sentences underflow")
def _(next_probs, history, k, max_len):
    live, best, best_p = [(list(history), 1.0)], [], 0.0
    for _ in range(max_len):
        paths = [(path + [word], p * q) for path, p in live
                 for word, q in next_probs(path).items()]
        paths.sort(key=lambda pair: pair[1], reverse=True)
        live = []
        for path, p in paths[:k]:
            if path[-1] != "</s>":
                live.append((path, p))
            elif p > best_p:
                best, best_p = path, p
    return best, math.log(best_p) if best_p > 0 else -math.inf


@blind("generate_beam: max_len counts the words of history too")
def _(next_probs, history, k, max_len):
    answer = ([], -math.inf)
    beam = [(0.0, list(history))]
    while beam and len(beam[0][1]) < max_len:
        new = []
        for log_p, path in beam:
            for word, p in next_probs(list(path)).items():
                new.append((log_p + math.log(p), path + [word]))
        beam = []
        for log_p, path in heapq.nlargest(k, new, key=lambda one: one[0]):
            if path[-1] == "</s>":
                if log_p > answer[1]:
                    answer = (path, log_p)
            else:
                beam.append((log_p, path))
    return answer


@blind("generate_beam: the ended paths are compared by their mean log-probability per word, not by the sum")
def _(next_probs, history, k, max_len):
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


@blind("generate_beam: an extension that ends takes no place among the k: it is remembered in any case, and "
       "the k are chosen from those that go on")
def _(next_probs, history, k, max_len):
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


@blind("stochastic_beam: what stays is returned from the largest log-probability down, not from the largest score down")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    def children(tokens, log_p, G):
        logs = [float(ln_p) for ln_p in step_fn([bos, *tokens])]
        noise = [float(g) for g in noise_fn([bos, *tokens])]
        tilde = {v: log_p + ln_p + noise[v] for v, ln_p in enumerate(logs) if ln_p != -math.inf}
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
