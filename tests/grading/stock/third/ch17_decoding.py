"""Wrong answers to the exercises on decoding."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("beam_search",
          "what has ended does not use its slot: the beam live extensions are kept besides",
          "third", """
def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
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
"""),
    wrong("beam_search",
          "the length |y| leaves out eos: what has ended is divided by a length one too small",
          "third", """
def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
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
"""),
    wrong("top_k_filter",
          "keeps exactly k values of a row: what ties with the k-th largest is lost",
          "third", """
import torch

def top_k_filter(logits, k):
    best = logits.topk(min(k, logits.shape[-1]), dim=-1)
    out = torch.full_like(logits, float("-inf"))
    return out.scatter(-1, best.indices, best.values)
"""),
    wrong("top_k_filter",
          "keeps only what is larger than the k-th largest: k - 1 values",
          "third", """
import torch

def top_k_filter(logits, k):
    V = logits.size(-1)
    if k >= V:
        return logits.clone()
    kth = logits.sort(dim=-1, descending=True).values[..., k - 1, None]
    return torch.where(logits > kth, logits, torch.tensor(float("-inf"), dtype=logits.dtype))
"""),
    wrong("top_p_filter",
          "drops the token with which the sum reaches p, save the first: the set stays below p",
          "third", """
import torch

def top_p_filter(logits, p):
    ordered, index = logits.sort(dim=-1, descending=True)
    mass = ordered.softmax(-1).cumsum(-1)
    keep = mass < p
    keep[..., 0] = True
    keep = torch.zeros_like(keep).scatter(-1, index, keep)
    return logits.masked_fill(~keep, float("-inf"))
"""),
    wrong("top_p_filter",
          "the mask of the sorted row is laid on the row as it came: it is not sorted back",
          "third", """
import torch

def top_p_filter(logits, p):
    share = torch.softmax(logits, dim=-1)
    ordered = torch.sort(share, dim=-1, descending=True)[0]
    before = torch.cumsum(ordered, dim=-1) - ordered
    return logits.masked_fill(before >= p, -float("inf"))
"""),
    wrong("greedy_trap",
          "takes the first width that finds the best, also where a larger one loses it again",
          "third", """
import itertools

def greedy_trap(step_fn, bos, length, V):
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
"""),
    wrong("greedy_trap",
          "does not keep what step_fn returned: the same beginnings are asked for again and again",
          "third", """
import torch

def beam(step_fn, bos, length, width):
    hypotheses = [([], 0.0)]
    for _ in range(length):
        longer = []
        for tokens, score in hypotheses:
            row = step_fn([bos] + tokens)
            longer += [(tokens + [v], score + row[v].item()) for v in range(len(row))]
        longer.sort(key=lambda h: h[1], reverse=True)
        hypotheses = longer[:width]
    return hypotheses[0][0]

def greedy_trap(step_fn, bos, length, V):
    most = V ** length
    best = beam(step_fn, bos, length, most)
    width = most
    while width > 1 and beam(step_fn, bos, length, width - 1) == best:
        width -= 1
    return best, width
"""),
    wrong("generate_beam",
          "multiplies probabilities and takes the logarithm at the end: long sentences underflow",
          "third", """
import math

def generate_beam(next_probs, history, k, max_len):
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
"""),
    wrong("generate_beam",
          "max_len counts the words of history too",
          "third", """
import heapq
import math

def generate_beam(next_probs, history, k, max_len):
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
"""),
    wrong("stochastic_beam",
          "evaluates the formula of the scores as it stands: for a low Z nothing is left of e^-G",
          "third", """
import torch

def stochastic_beam(step_fn, noise_fn, bos, eos, k, max_len):
    beam = [([], 0.0, 0.0, False)]
    for _ in range(max_len):
        pool = [b for b in beam if b[3]]
        for tokens, log_p, G, ended in beam:
            if ended:
                continue
            prefix = [bos] + tokens
            child = log_p + step_fn(prefix).double()
            noisy = child + noise_fn(prefix).double()
            Z = noisy.max()
            scores = -torch.log(torch.exp(torch.tensor(-G).double()) - torch.exp(-Z)
                                + torch.exp(-noisy))
            for v in range(len(child)):
                if child[v] > -float("inf"):
                    pool.append((tokens + [v], child[v].item(), scores[v].item(), v == eos))
        beam = sorted(pool, key=lambda b: -b[2])[:k]
    return [b[:3] for b in beam]
"""),
    wrong("stochastic_beam",
          "the children keep ln p plus their noise as score: they are not tied to their parent's G",
          "third", """
import math

def stochastic_beam(step_fn, noise_fn, bos, eos, k, max_len):
    stay = [((), 0.0, 0.0)]
    for _ in range(max_len):
        candidates = []
        for y, log_p, G in stay:
            if y and y[-1] == eos:
                candidates.append((y, log_p, G))
                continue
            steps = step_fn([bos, *y]).tolist()
            noise = noise_fn([bos, *y]).tolist()
            for v, (s, g) in enumerate(zip(steps, noise)):
                if s != -math.inf:
                    candidates.append((y + (v,), log_p + s, log_p + s + g))
        stay = sorted(candidates, key=lambda c: c[2], reverse=True)[:k]
    return [(list(y), log_p, G) for y, log_p, G in stay]
"""),
]
