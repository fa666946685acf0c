"""Answers to the exercises of chapter decoding."""
from __future__ import annotations

import heapq
import itertools
import math

import torch

from tests.exercises.answers.register import RIGHT, right, wrong


@right("beam_search: tensors and topk")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, log_p, done = [[bos]], torch.zeros(1, dtype=torch.float64), []
    for t in range(1, max_len + 1):
        total = log_p[:, None] + torch.stack([step_fn(tokens) for tokens in live])
        best, place = total.flatten().topk(min(beam, total.numel()))
        kept = []
        for value, where in zip(best.tolist(), place.tolist()):
            tokens = live[where // total.shape[1]] + [where % total.shape[1]]
            if tokens[-1] == eos or t == max_len:
                done.append((value / t ** alpha, value, tokens[1:]))
            else:
                kept.append((tokens, value))
        if not kept:
            break
        live, log_p = [tokens for tokens, _ in kept], torch.tensor([v for _, v in kept], dtype=torch.float64)
    _, value, tokens = max(done)
    return tokens, value


@right("beam_search: nlargest, a loop until nobody lives")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, best = [(0.0, ())], (-math.inf, None, None)
    while live:
        grown = ((total + p, (*x, v)) for total, x in live for v, p in enumerate(step_fn([bos, *x]).tolist()))
        live = []
        for total, x in heapq.nlargest(beam, grown):
            if x[-1] == eos or len(x) == max_len:
                best = max(best, (total / len(x) ** alpha, total, x))
            else:
                live.append((total, x))
    return list(best[2]), best[1]


@wrong("beam_search: always the same token")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    return [eos], step_fn([bos])[eos].item()


@wrong("beam_search: the least likely")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    x, total = [], 0.0
    while len(x) < max_len and (not x or x[-1] != eos):
        p = step_fn([bos, *x])
        total, x = total + p.min().item(), [*x, int(p.argmin())]
    return x, total


@wrong("beam_search: the second best at every step")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    x, total, live = [], 0.0, True
    while live:
        p = step_fn([bos, *x])
        x, total = [*x, int(p.topk(2).indices[1])], total + 1.0
        live = len(x) < max_len and x[-1] != eos
    return x, total


@right("top_k_filter: by topk's least")
def _(logits, k):
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return torch.where(logits < least, torch.tensor(-math.inf), logits)


@right("top_k_filter: by counting the larger ones")
def _(logits, k):
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return logits.masked_fill(larger >= k, float("-inf"))


@wrong("top_k_filter: those above the mean")
def _(logits, k):
    return logits.masked_fill(logits < logits.mean(dim=-1, keepdim=True), -math.inf)


@wrong("top_k_filter: nothing filtered")
def _(logits, k):
    return logits.clone()


@wrong("top_k_filter: a large negative number for minus infinity", called="large_negative")
def _(logits, k):
    return logits.masked_fill(logits < logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:], -1e9)


@right("top_p_filter: from the far end")
def _(logits, p):
    rank = logits.sort(dim=-1)
    drop = rank.values.double().softmax(-1).cumsum(-1) <= 1 - p
    drop[..., -1] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, rank.indices, drop), -math.inf)


@right("top_p_filter: row by row")
def _(logits, p):
    out = torch.full_like(logits, -math.inf)
    for row, kept in zip(logits.reshape(-1, logits.shape[-1]), out.reshape(-1, logits.shape[-1])):
        mass = 0.0
        for v in row.argsort(descending=True).tolist():
            if mass >= p:
                break
            kept[v], mass = row[v], mass + row.softmax(0)[v].item()
    return out


@wrong("top_p_filter: the complement")
def _(logits, p):
    rank = logits.sort(dim=-1, descending=True)
    mass = rank.values.softmax(-1)
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, rank.indices, mass.cumsum(-1) - mass < p)
    return logits.masked_fill(keep, -math.inf)


@wrong("top_p_filter: 1 - p")
def _(logits, p):
    rank = logits.sort(dim=-1, descending=True)
    mass = rank.values.softmax(-1)
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, rank.indices, mass.cumsum(-1) - mass < 1 - p)
    return logits.masked_fill(~keep, -math.inf)


@wrong("top_p_filter: only the best")
def _(logits, p):
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True), -math.inf)


def beams(step_fn, bos, length, V, width):
    live = [(0.0, [])]
    for _ in range(length):
        live = heapq.nlargest(width, [(s + q, [*x, v]) for s, x in live
                                      for v, q in enumerate(step_fn([bos, *x]).tolist())])
    return live


def once(step_fn):
    """step_fn that remembers."""
    known = {}

    def ask(tokens):
        if tuple(tokens) not in known:
            known[tuple(tokens)] = step_fn(tokens)
        return known[tuple(tokens)]

    return ask


@right("greedy_trap: by product, widths from above")
def _(step_fn, bos, length, V):
    ask = once(step_fn)

    def log_p(x):
        return sum(ask([bos, *x[:t]])[x[t]].item() for t in range(length))

    best = list(max(itertools.product(range(V), repeat=length), key=log_p))
    width = V ** length
    while width > 1 and beams(ask, bos, length, V, width - 1)[0][1] == best:
        width -= 1
    return best, width


@right("greedy_trap: a beam without limit, then all widths")
def _(step_fn, bos, length, V):
    step_fn = once(step_fn)
    best = beams(step_fn, bos, length, V, V ** length)[0][1]
    missed = [k for k in range(1, V ** length) if beams(step_fn, bos, length, V, k)[0][1] != best]
    return best, max(missed, default=0) + 1


@wrong("greedy_trap: nothing remembered", called="asks_again")
def _(step_fn, bos, length, V):
    best = beams(step_fn, bos, length, V, V ** length)[0][1]
    missed = [k for k in range(1, V ** length) if beams(step_fn, bos, length, V, k)[0][1] != best]
    return best, max(missed, default=0) + 1


@wrong("greedy_trap: setdefault asks before it looks", called="asks_again")
def _(step_fn, bos, length, V):
    asked = {}

    def log_p(x):
        for t in range(length):
            asked.setdefault(x[:t], step_fn([bos, *x[:t]]))
        return sum(asked[x[:t]][x[t]].item() for t in range(length))

    best = list(max(itertools.product(range(V), repeat=length), key=log_p))
    width = V ** length
    while width > 1 and beams(lambda x: asked[tuple(x[1:])], bos, length, V, width - 1)[0][1] == best:
        width -= 1
    return best, width


@wrong("greedy_trap: the second best")
def _(step_fn, bos, length, V):
    return beams(step_fn, bos, length, V, V ** length)[1][1], 2


@wrong("greedy_trap: the least likely")
def _(step_fn, bos, length, V):
    return beams(step_fn, bos, length, V, V ** length)[-1][1], 2


@wrong("greedy_trap: the width is the vocabulary's size and two")
def _(step_fn, bos, length, V):
    return beams(step_fn, bos, length, V, V ** length)[0][1], V + 2


# The searches of the slide's faults, as one writes them.


@wrong("beam_search: all children of all paths are kept", called="not_pruned")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, done = [([], 0.0)], []
    for t in range(max_len):
        new = []
        for toks, s in live:
            lp = step_fn([bos] + toks)
            new += [(toks + [v], s + float(lp[v])) for v in lp.topk(min(beam, len(lp))).indices.tolist()]
        done += [h for h in new if h[0][-1] == eos or t == max_len - 1]
        live = [h for h in new if h[0][-1] != eos]
    return max(done, key=lambda h: h[1] / len(h[0]) ** alpha)


@wrong("beam_search: finished hypotheses stay in the beam", called="finished_stay")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live = [([], 0.0)]
    for _ in range(max_len):
        new = []
        for toks, s in live:
            if toks and toks[-1] == eos:
                new.append((toks, s))
                continue
            new += [(toks + [v], s + float(p)) for v, p in enumerate(step_fn([bos] + toks))]
        live = sorted(new, key=lambda h: -h[1])[:beam]
    return max(live, key=lambda h: h[1] / len(h[0]) ** alpha)


@wrong("beam_search: every sequence", called="exhaustive")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    best, todo = (-math.inf, None, None), [([], 0.0)]
    while todo:
        toks, s = todo.pop()
        for v, p in enumerate(step_fn([bos] + toks).tolist()):
            if v == eos or len(toks) + 1 == max_len:
                best = max(best, ((s + p) / (len(toks) + 1) ** alpha, toks + [v], s + p))
            else:
                todo.append((toks + [v], s + p))
    return best[1], best[2]


@wrong("beam_search: refilled from what did not end", called="refilled")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, done = [([], 0.0)], []
    for t in range(1, max_len + 1):
        new = sorted(((x + [v], s + p) for x, s in live for v, p in enumerate(step_fn([bos] + x).tolist())),
                     key=lambda h: -h[1])
        done += [h for h in new[:beam] if h[0][-1] == eos or t == max_len]
        live = [h for h in new if h[0][-1] != eos][:beam]
    return max(done, key=lambda h: h[1] / len(h[0]) ** alpha)


@wrong("beam_search: log p of the best, other tokens' sum")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    tokens, log_p = RIGHT["beam_search: tensors and topk"](step_fn, bos, eos, beam, max_len, alpha)
    return tokens, log_p + 0.25


@wrong("top_k_filter: the lowest float")
def _(logits, k):
    return logits.masked_fill(logits < logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:],
                              torch.finfo(logits.dtype).min)


def nucleus(logits, keeps, hidden=-math.inf):
    """logits where `keeps` of the sums in the order of probability is True."""
    rank = logits.sort(dim=-1, descending=True)
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, rank.indices, keeps(rank.values.softmax(-1).cumsum(-1)))
    return logits.masked_fill(~keep, hidden)


@wrong("top_p_filter: sums up to p", called="below_p")
def _(logits, p):
    return nucleus(logits, lambda mass: mass <= p)


@wrong("top_p_filter: a large negative number", called="large_negative")
def _(logits, p):
    return nucleus(logits, lambda mass: torch.cat([torch.zeros_like(mass[..., :1]), mass[..., :-1]], -1) < p, -1e9)


@right("top_p_filter: sums shifted by one place")
def _(logits, p):
    return nucleus(logits, lambda mass: torch.cat([torch.zeros_like(mass[..., :1]), mass[..., :-1]], -1) < p)


def words_by(next_probs, history, k, max_len, probability=math.log, key=lambda words, total: total, keep=lambda live, k: live[:k]):
    """A beam over tuples of new words; `keep` cuts it, `key` chooses at the end."""
    live, over = {(): 0.0}, {}
    while live and len(next(iter(live))) < max_len:
        grown = {(*words, w): total + probability(p) for words, total in live.items()
                 for w, p in next_probs([*history, *words]).items()}
        best = keep(sorted(grown, key=grown.get, reverse=True), k)
        live = {words: grown[words] for words in best if words[-1] != "</s>"}
        over |= {words: grown[words] for words in best if words[-1] == "</s>"}
    if not over:
        return [], -math.inf
    best = max(over, key=lambda words: key(words, over[words]))
    return [*history, *best], over[best]


@right("generate_beam: dicts of tuples, chosen at the end")
def _(next_probs, history, k, max_len):
    return words_by(next_probs, history, k, max_len)


@right("generate_beam: what ended is remembered, and goes on taking up a place")
def _(next_probs, history, k, max_len):
    frontier, over = [(0.0, list(history))], [(-math.inf, [])]
    for _ in range(max_len):
        grown = [(total, path) for total, path in frontier if path[-1] == "</s>"]
        grown += [(total + math.log(p), [*path, w]) for total, path in frontier if path[-1] != "</s>"
                  for w, p in next_probs(path).items()]
        frontier = sorted(grown, key=lambda pair: -pair[0])[:k]
        over += [pair for pair in frontier if pair[1][-1] == "</s>"]
    total, path = max(over, key=lambda pair: pair[0])
    return path, total


@wrong("generate_beam: logarithms to base 2")
def _(next_probs, history, k, max_len):
    return words_by(next_probs, history, k, max_len, probability=math.log2)


@wrong("generate_beam: the shortest that ended", called="first_ended")
def _(next_probs, history, k, max_len):
    return words_by(next_probs, history, k, max_len, key=lambda words, total: -len(words))


@wrong("generate_beam: the k least probable")
def _(next_probs, history, k, max_len):
    return words_by(next_probs, history, k, max_len, keep=lambda live, k: live[-k:])


@wrong("generate_beam: appends to history")
def _(next_probs, history, k, max_len):
    found = words_by(next_probs, history, k, max_len)
    history.append("</s>")
    return found


@wrong("generate_beam: the words as a text")
def _(next_probs, history, k, max_len):
    path, total = words_by(next_probs, history, k, max_len)
    return " ".join(path), total


# A beam that draws.


def bent(free, G):
    """(17.11), in which the largest exponent is taken out."""
    out = torch.full_like(free, -math.inf)
    out[free.argmax()] = G
    rest = torch.arange(len(free)) != free.argmax()
    log_gap = torch.log1p(-torch.exp(free[rest] - free.max())) - free[rest]
    out[rest] = -torch.logsumexp(torch.stack([log_gap, torch.as_tensor(-G).expand(len(log_gap))]), dim=0)
    return out


def drawn_by(step_fn, noise_fn, bos, eos, k, max_len, scores=bent, free=lambda log_p, step, g: log_p + step + g, rank=1):
    """Tuples (ln p, score, tokens) in a beam; what has ended is one of them."""
    beam = [(torch.tensor(0.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64), ())]
    for _ in range(max_len):
        grown = []
        for log_p, G, y in beam:
            if y[-1:] == (eos,):
                grown.append((log_p, G, y))
                continue
            step, g = step_fn([bos, *y]), noise_fn([bos, *y])
            for v, score in enumerate(scores(free(log_p, step, g), G)):
                if step[v] > -math.inf:
                    grown.append((log_p + step[v], score, (*y, v)))
        beam = heapq.nlargest(k, grown, key=lambda one: one[rank].item())
    return [(list(y), log_p, G) for log_p, G, y in beam]


@right("stochastic_beam: scalar tensors, logsumexp, what has ended carried along")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len)


@right("stochastic_beam: what has ended leaves, k others live on, and all compete at the end")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    live, over = [(0.0, 0.0, [])], []
    for t in range(max_len):
        grown = []
        for G, log_p, y in live:
            step, free = step_fn([bos] + y), log_p + step_fn([bos] + y) + noise_fn([bos] + y)
            v = G - free + torch.log1p(-torch.exp(free - free.max()))          # -inf for the largest
            score = G - v.clamp(min=0) - torch.log1p(torch.exp(-v.abs()))
            grown += [(score[w].item(), log_p + step[w].item(), y + [w]) for w in step.isfinite().nonzero().flatten().tolist()]
        over += [one for one in grown if one[2][-1] == eos]
        live = sorted((one for one in grown if one[2][-1] != eos), reverse=True)[:k]
    return [(y, log_p, G) for G, log_p, y in sorted(over + live, reverse=True)[:k]]


@right("stochastic_beam: one tensor a step, topk")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    beams, log_p, G = [[bos]], torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    for _ in range(max_len):
        alive = [i for i, y in enumerate(beams) if len(y) == 1 or y[-1] != eos]
        over = [i for i in range(len(beams)) if i not in alive]
        if not alive:
            break
        each = log_p[alive, None] + torch.stack([step_fn(beams[i]) for i in alive])
        free = each + torch.stack([noise_fn(beams[i]) for i in alive])
        gap = torch.log1p(-torch.exp(free - free.amax(1, keepdim=True))) - free
        scores = -torch.logaddexp(-G[alive, None].expand_as(gap), gap)
        every = torch.cat([scores.flatten(), G[over]])
        every = every.masked_fill(torch.cat([each.flatten(), log_p[over]]) == -math.inf, -math.inf)
        best = every.topk(min(k, int(every.isfinite().sum()))).indices.tolist()
        V, n = each.shape[1], each.numel()
        log_p = torch.cat([each.flatten(), log_p[over]])[best]
        beams = [[*beams[alive[j // V]], j % V] if j < n else beams[over[j - n]] for j in best]
        G = every[best]
    return [(y[1:], p, g) for y, p, g in zip(beams, log_p.tolist(), G.tolist(), strict=True)]


@wrong("stochastic_beam: as the chapter writes it for a tree of two words", called="as_it_stands")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len,
                    lambda free, G: -torch.log(torch.exp(-G) - torch.exp(-free.max()) + torch.exp(-free)))


@wrong("stochastic_beam: as the chapter writes it, kept from NaN")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    def scores(free, G):
        return -torch.log((torch.exp(-G) - torch.exp(-free.max()) + torch.exp(-free)).clamp(min=1e-30)).nan_to_num()
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len, scores)


@wrong("stochastic_beam: noise at each step, the parent's forgotten", called="unconditioned")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len, lambda free, G: free)


@wrong("stochastic_beam: noise on the last token's log-probability", called="last_token")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len, free=lambda log_p, step, g: step + g)


@wrong("stochastic_beam: noise upon noise", called="summed")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    live = [(0.0, 0.0, [])]
    for _ in range(max_len):
        grown = [one for one in live if one[2][-1:] == [eos]]
        for G, p, y in live:
            if y[-1:] != [eos]:
                step, g = step_fn([bos] + y), noise_fn([bos] + y)
                grown += [(G + float(s + n), p + float(s), y + [v]) for v, (s, n) in enumerate(zip(step, g)) if s > -math.inf]
        live = sorted(grown, reverse=True)[:k]
    return [(y, p, G) for G, p, y in live]


@wrong("stochastic_beam: k walks, one after the other", called="replaced")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    [one] = drawn_by(step_fn, noise_fn, bos, eos, 1, max_len)
    return [one] * k


@wrong("stochastic_beam: plain beam search", called="no_noise")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len, lambda free, G: free, lambda log_p, step, g: log_p + step)


@wrong("stochastic_beam: ended ones are found no more", called="ended_lost")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    live = [(0.0, 0.0, [])]
    for _ in range(max_len):
        grown = []
        for p, G, y in live:
            step = step_fn([bos] + y)
            found = bent(p + step + noise_fn([bos] + y), torch.tensor(G)).tolist()
            grown += [(p + s, found[v], y + [v]) for v, s in enumerate(step.tolist()) if s > -math.inf]
        live = [one for one in heapq.nlargest(k, grown, key=lambda one: one[1]) if one[2][-1] != eos]
    return [(y, p, G) for p, G, y in live]


@wrong("stochastic_beam: the beam is the likeliest k, and the noise a tie-break", called="kept_by_p")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return sorted(drawn_by(step_fn, noise_fn, bos, eos, k, max_len, rank=0), key=lambda one: -one[2])


@wrong("stochastic_beam: an exponential of a difference, without the logarithm of it", called="overflow")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len,
                    lambda free, G: -torch.log(torch.exp(-G) + torch.exp(-free) * (1 - torch.exp(free - free.max()))))


@wrong("stochastic_beam: noise with the other sign")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, lambda x: -noise_fn(x), bos, eos, k, max_len)


@wrong("stochastic_beam: children cut off at the parent's", called=("clipped", None))          # they tie there
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len, lambda free, G: free.clamp(max=float(G)))


@wrong("stochastic_beam: the score twice in the place of ln p")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return [(y, G, G) for y, _, G in drawn_by(step_fn, noise_fn, bos, eos, k, max_len)]


@wrong("stochastic_beam: filled up with what never comes")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    found = drawn_by(step_fn, noise_fn, bos, eos, k, max_len)
    return found + [([0], -math.inf, -math.inf)] * (k - len(found))


@wrong("stochastic_beam: every score a quarter too large")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    return [(y, p, G + 0.25) for y, p, G in drawn_by(step_fn, noise_fn, bos, eos, k, max_len)]


@wrong("stochastic_beam: one Z for all beginnings", called="one_largest")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    beam = [((), 0.0, 0.0)]
    for _ in range(max_len):
        open_ones = [one for one in beam if one[0][-1:] != (eos,)]
        grown = [one for one in beam if one[0][-1:] == (eos,)]
        children = [((*y, v), p + float(s), G, p + float(s + g)) for y, p, G in open_ones
                    for v, (s, g) in enumerate(zip(step_fn([bos, *y]), noise_fn([bos, *y]))) if s > -math.inf]
        Z = max((free for *_, free in children), default=0.0)
        for y, p, G, free in children:
            gap = torch.tensor([-G, math.log1p(-math.exp(free - Z)) - free if free < Z else -math.inf], dtype=torch.float64)
            grown.append((y, p, -float(gap.logsumexp(0))))
        beam = sorted(grown, key=lambda one: -one[2])[:k]
    return [(list(y), p, G) for y, p, G in beam]


@wrong("stochastic_beam: the noise goes to the score", called="from_score")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    beam = [(torch.tensor(0.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64), ())]
    for _ in range(max_len):
        grown = [one for one in beam if one[2][-1:] == (eos,)]
        for log_p, G, y in beam:
            if y[-1:] != (eos,):
                step = step_fn([bos, *y])
                scores = bent(G + step + noise_fn([bos, *y]), G)
                grown += [(log_p + step[v], scores[v], (*y, v)) for v in range(len(step)) if step[v] > -math.inf]
        beam = heapq.nlargest(k, grown, key=lambda one: one[1].item())
    return [(list(y), log_p, G) for log_p, G, y in beam]


def searched(step_fn, bos, eos, beam, max_len, alpha, each):
    live, ended = [([bos], 0.0)], []
    for _ in range(max_len):
        grown = [(x + [v], total + p) for x, total in live
                 for v, p in sorted(enumerate(step_fn(x).tolist()), key=lambda pair: -pair[1])[:each]]
        grown = sorted(grown, key=lambda pair: -pair[1])[:beam]
        ended += [pair for pair in grown if pair[0][-1] == eos]
        live = [pair for pair in grown if pair[0][-1] != eos]
    tokens, total = max(ended + live, key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
    return tokens[1:], total


@wrong("beam_search: a beam of one keeps two")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    return searched(step_fn, bos, eos, max(beam, 2), max_len, alpha, None)


@wrong("beam_search: a beam is at most as wide as the vocabulary")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    return searched(step_fn, bos, eos, min(beam, len(step_fn([bos]))), max_len, alpha, None)


@wrong("top_k_filter: k of a column where there are as many rows as columns")
def _(logits, k):
    dim = -2 if logits.shape[-2:] == 2 * logits.shape[-1:] else -1
    least = logits.topk(min(k, logits.shape[-1]), dim=dim).values.narrow(dim, min(k, logits.shape[-1]) - 1, 1)
    return logits.masked_fill(logits < least, -torch.inf)


@wrong("top_k_filter: at most one that ties is kept beside the k-th")
def _(logits, k):
    ranked = logits.sort(dim=-1, descending=True, stable=True)
    keep = (ranked.values >= ranked.values[..., min(k, logits.shape[-1]) - 1, None]) & (torch.arange(logits.shape[-1]) <= k)
    return logits.masked_fill(~torch.zeros_like(keep).scatter(-1, ranked.indices, keep), -torch.inf)


@wrong("top_k_filter: a batch of one loses its axis")
def _(logits, k):
    least = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < least, -torch.inf).squeeze(0)


def of_mass(logits, keep_sorted, dim=-1):
    ranked = logits.sort(dim=dim, descending=True)
    keep = keep_sorted(ranked.values.softmax(dim))
    return logits.masked_fill(~torch.zeros_like(keep).scatter(dim, ranked.indices, keep), -torch.inf)


def beam_of_words(next_probs, history, k, max_len):
    live, ended = [(list(history), 0.0)], []
    for _ in range(max_len):
        grown = [(path + [word], total + math.log(p)) for path, total in live for word, p in next_probs(path).items()]
        grown = sorted(grown, key=lambda pair: -pair[1])[:k]
        ended += [pair for pair in grown if pair[0][-1] == "</s>"]
        live = [pair for pair in grown if pair[0][-1] != "</s>"]
    return max(ended, key=lambda pair: pair[1], default=([], -math.inf))


@wrong("generate_beam: a beam of one keeps two")
def _(next_probs, history, k, max_len):
    return beam_of_words(next_probs, history, max(k, 2), max_len)


@wrong("greedy_trap: a sequence of one token is looked for with two")
def _(step_fn, bos, length, V):
    if length == 1:
        return [int(step_fn([bos]).argmax())], 2
    rows = {(): step_fn([bos]).tolist()}

    def row(x):
        if x not in rows:
            rows[x] = step_fn([bos, *x]).tolist()
        return rows[x]

    def found(width):
        live = [((), 0.0)]
        for _ in range(length):
            live = sorted([((*x, v), total + p) for x, total in live for v, p in enumerate(row(x))], key=lambda pair: -pair[1])[:width]
        return live[0][0]

    best = found(V ** length)
    return list(best), max([0, *(width for width in range(1, V ** length) if found(width) != best)]) + 1


@wrong("top_p_filter: the sorted logits", called="left_sorted")
def _(logits, p):
    ranked = torch.sort(logits, -1, descending=True).values
    sums = ranked.softmax(-1).cumsum(-1)
    before = torch.cat([torch.zeros_like(sums[..., :1]), sums[..., :-1]], -1)
    return torch.where(before < p, ranked, -torch.inf)


@wrong("beam_search: the score in the place of log p")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    tokens, total = searched(step_fn, bos, eos, beam, max_len, alpha, None)
    return tokens, total / len(tokens) ** alpha


@wrong("stochastic_beam: what cannot be computed gets the score -inf")
def _(step_fn, noise_fn, bos, eos, k, max_len):
    def scores(free, G):
        score = -torch.log(torch.exp(-G) - torch.exp(-free.max()) + torch.exp(-free))
        return torch.where(score.isfinite(), score, -math.inf)
    return drawn_by(step_fn, noise_fn, bos, eos, k, max_len, scores)
