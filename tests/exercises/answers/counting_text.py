"""Answers to the exercises of chapter counting-text."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from tests.exercises.answers.register import right, wrong


@right("bigram_bits: loops, a float")
def _(train, test, V, alpha):
    counts = [[alpha] * V for _ in range(V)]
    for v, w in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[v][w] += 1
    pairs = list(zip(test[:-1].tolist(), test[1:].tolist(), strict=True))
    return -sum(math.log2(counts[v][w] / sum(counts[v])) for v, w in pairs) / len(pairs)


@wrong("bigram_bits: alpha is always 1")
def _(train, test, V, alpha):
    counts = torch.ones(V, V)
    for v, w in zip(train[:-1], train[1:], strict=True):
        counts[v, w] += 1
    return -(counts / counts.sum(1, keepdim=True))[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: each pair counted once at most", called="once")
def _(train, test, V, alpha):
    counts = torch.full((V, V), alpha)
    counts[train[:-1], train[1:]] += 1
    return -(counts / counts.sum(1, keepdim=True))[test[:-1], test[1:]].log2().mean()


def pairs(train, V):
    return F.one_hot(train[:-1], V).double().T @ F.one_hot(train[1:], V).double()


@right("bigram_bits: counts by a product of one-hot rows, logarithms subtracted")
def _(train, test, V, alpha):
    counts = pairs(train, V) + alpha
    log_p = counts.log() - counts.sum(1, keepdim=True).log()
    return F.nll_loss(log_p[test[:-1]], test[1:]) / math.log(2)


@wrong("bigram_bits: alpha after dividing", called="smoothed_late")
def _(train, test, V, alpha):
    p = pairs(train, V)
    p = p / p.sum(1, keepdim=True) + alpha
    return -p[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: alpha after dividing, divided again", called="smoothed_late_and_divided")
def _(train, test, V, alpha):
    p = pairs(train, V)
    p = p / p.sum(1, keepdim=True) + alpha
    p /= p.sum(1, keepdim=True)
    return -p[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: not a number")
def _(train, test, V, alpha):
    return float("nan")


@wrong("bigram_bits: the columns sum to one", called="columns")
def _(train, test, V, alpha):
    kinds = train[:-1] * V + train[1:]
    table = torch.bincount(kinds, minlength=V * V).reshape(V, V).double() + alpha
    return -(table / table.sum(dim=0))[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: the table read by next and previous", called="transposed_use")
def _(train, test, V, alpha):
    counts = pairs(train, V) + alpha
    return -(counts / counts.sum(1, keepdim=True))[test[1:], test[:-1]].log2().mean()


@wrong("bigram_bits: pairs counted as next and previous", called="backwards")
def _(train, test, V, alpha):
    counts = pairs(train, V).T + alpha
    return -(counts / counts.sum(1, keepdim=True))[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: alpha once in the denominator", called="alpha_once")
def _(train, test, V, alpha):
    counts = torch.zeros(V, V, dtype=torch.float64)
    for v, w in zip(train[:-1].tolist(), train[1:].tolist()):
        counts[v, w] += 1
    p = (counts + alpha) / (counts.sum(1, keepdim=True) + alpha)
    return -p[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: the last symbol counted as a history", called="last_history")
def _(train, test, V, alpha):
    history = torch.bincount(train, minlength=V)
    return -((pairs(train, V) + alpha) / (history[:, None] + V * alpha))[test[:-1], test[1:]].log2().mean()


class Counted(AutoregressiveModel):
    """What the answers share that is right."""

    def __init__(self, train):
        super().__init__(None, Categorical(len(set(train)) + 1))
        self.number = {one: k for k, one in enumerate(sorted(set(train)))}
        V = self.conditional.num_values
        ids = [V, V, *self.encode(train).tolist()]
        tables = [torch.zeros(V), torch.zeros(V + 1, V), torch.zeros(V + 1, V + 1, V)]
        for u, v, w in zip(ids, ids[1:], ids[2:]):
            tables[0][w] += 1
            tables[1][v, w] += 1
            tables[2][u, v, w] += 1
        for k, table in enumerate(tables):
            self.register_buffer(f"counts{k}", table)
        self.mix = nn.Parameter(torch.zeros(3))

    def encode(self, text):
        return torch.tensor([self.number.get(one, len(self.number)) for one in text])

    def parents(self, i):
        return [j for j in (i - 2, i - 1) if j >= 0]

    def p(self, u, v):
        """p(w | u, v), (..., V)."""
        V = self.conditional.num_values
        p = torch.ones(V).to(self.mix) / V
        for k, counts in enumerate((self.counts0, self.counts1[v], self.counts2[u, v])):
            total = counts.sum(-1, keepdim=True)
            mixed = torch.sigmoid(self.mix[k]) * counts / total.clamp(min=1) + torch.sigmoid(-self.mix[k]) * p
            p = torch.where(total > 0, mixed, p)
        return p

    def conditionals(self, x, context=None):
        marks = torch.full((len(x), 2), self.conditional.num_values)
        past = torch.cat([marks, x], 1)
        return self.conditional(self.p(past[:, :-2], past[:, 1:-1]).log())

    def bits(self, text):
        return -self.log_prob(self.encode(text)[None])[0] / math.log(2) / len(text)

    def fit(self, held_out):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        for _ in range(120):
            loss = self.bits(held_out)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@right("OwnTrigram: three tables, bits by a loop")
class ByALoop(Counted):
    def bits(self, text):
        x, total, V = self.encode(text).tolist(), 0.0, self.conditional.num_values
        for u, v, w in zip([V, V, *x], [V, *x], x):
            total -= math.log2(float(self.p(u, v)[w].detach()))
        return total / len(x)

    def fit(self, held_out):
        optimizer = torch.optim.LBFGS(self.parameters(), max_iter=60)

        def loss():
            optimizer.zero_grad()
            value = -self.log_prob(self.encode(held_out)[None]).mean() / len(held_out)
            value.backward()
            return value

        optimizer.step(loss)


@right("OwnTrigram: counts in dictionaries, the weights by expectation maximization")
class Dictionaries(Counted):
    def __init__(self, train):
        super().__init__(train)
        V = self.conditional.num_values
        self.seen = {}
        ids = [V, V, *self.encode(train).tolist()]
        for u, v, w in zip(ids, ids[1:], ids[2:]):
            for history in ((), (v,), (u, v)):
                self.seen.setdefault(history, torch.zeros(V, dtype=torch.float64))[w] += 1

    def levels(self, u, v):
        """For a place: what is estimated from each history that was seen, with its weight's number; (V,) each."""
        found = [(k, self.seen[h] / self.seen[h].sum()) for k, h in enumerate(((), (v,), (u, v))) if h in self.seen]
        return [(None, torch.full_like(found[0][1], 1 / self.conditional.num_values)), *found]

    def p(self, u, v):
        marks = range(self.conditional.num_values + 1)
        return torch.stack([torch.stack([self.of(a, b) for b in marks]) for a in marks])[u, v]

    def of(self, u, v):
        (_, p), *rest = self.levels(u, v)
        p = p.to(self.mix)
        for k, estimate in rest:
            p = p + torch.sigmoid(self.mix[k]) * (estimate.to(p) - p)
        return p

    def fit(self, held_out):
        x, V = self.encode(held_out).tolist(), self.conditional.num_values
        places = [[(k, float(estimate[w])) for k, estimate in self.levels(u, v)] for u, v, w in zip([V, V, *x], [V, *x], x)]
        weight = [0.5, 0.5, 0.5]
        for _ in range(60):
            stops, visits = [0.0] * 3, [0.0] * 3
            for (_, p), *rest in places:
                ladder = [p]
                for k, estimate in rest:
                    ladder.append(weight[k] * estimate + (1 - weight[k]) * ladder[-1])
                reached = 1.0
                for (k, estimate), whole in zip(reversed(rest), reversed(ladder)):
                    stop = reached * weight[k] * estimate / whole
                    stops[k], visits[k], reached = stops[k] + stop, visits[k] + reached, reached - stop
            weight = [stop / visit for stop, visit in zip(stops, visits)]
        with torch.no_grad():
            self.mix.copy_(torch.logit(torch.tensor(weight)))


@wrong("OwnTrigram: add one instead of an interpolation")
class AddOne(Counted):
    def p(self, u, v):
        counts = self.counts2[u, v] + 1 + 0 * self.mix.sum()
        return counts / counts.sum(-1, keepdim=True)


@wrong("OwnTrigram: the weights by a softmax")
class Softmax(Counted):
    def p(self, u, v):
        weight, estimates = self.mix.softmax(0), (self.counts0, self.counts1[v], self.counts2[u, v])
        return sum(w * (c + 0.1) / (c + 0.1).sum(-1, keepdim=True) for w, c in zip(weight, estimates))


@wrong("OwnTrigram: parents are all that come before")
class AllParents(Counted):
    def parents(self, i):
        return list(range(i))


@wrong("OwnTrigram: bits without the first two characters", called="from_the_third")
class WithoutTheFirst(Counted):
    def bits(self, text):
        x = self.encode(text)[None]
        return -self.conditionals(x).log_prob(x)[0, 2:].mean() / math.log(2)


@wrong("OwnTrigram: marks that are the unknown symbol", called="no_marks")
class MarksUnknown(Counted):
    def conditionals(self, x, context=None):
        past = torch.cat([torch.full((len(x), 2), self.conditional.num_values - 1), x], 1)
        return self.conditional(self.p(past[:, :-2], past[:, 1:-1]).log())


@wrong("OwnTrigram: three steps of a small size")
class ThreeSteps(Counted):
    def fit(self, held_out):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            self.bits(held_out).backward()
            optimizer.step()


@right("sample_ngram: searchsorted, the history by slicing the text")
def _(p, uniforms, eos):
    n, text = p.ndim, [p.shape[-1]] * (p.ndim - 1)
    for u in uniforms:
        row = p[tuple(text[len(text) - n + 1:])]
        cdf = row.cumsum(0)
        text.append(torch.searchsorted(cdf / cdf[-1], u, right=True).item())
        if text[-1] == eos:
            return text[n - 1:-1]
    return text[n - 1:]


@right("sample_ngram: a loop over tokens, recursive")
def _(p, uniforms, eos):
    def rest(history, numbers):
        if not numbers:
            return []
        row, below = p, 0.0
        for token in history:
            row = row[token]
        for k, mass in enumerate(row.tolist()):
            below += mass
            if mass > 0:
                token = k
            if numbers[0] < below:
                break
        return [] if token == eos else [token, *rest([*history, token][1:], numbers[1:])]

    return rest([p.shape[-1]] * (p.ndim - 1), uniforms.tolist())


@wrong("sample_ngram: searchsorted from the left", called="lower_token")
def _(p, uniforms, eos):
    history, text = [p.shape[-1]] * (p.ndim - 1), []
    for u in uniforms:
        token = torch.searchsorted(p[tuple(history)].cumsum(0), u).item()
        if token == eos:
            break
        text.append(token)
        history = [*history, token][1:]
    return text


@wrong("sample_ngram: renormalizes without the end symbol")
def _(p, uniforms, eos):
    history, text = [p.shape[-1]] * (p.ndim - 1), []
    for u in uniforms:
        row = p[tuple(history)].clone()
        row[eos] = 0
        text.append(int((row.cumsum(0) / row.sum() <= u).sum()))
        history = [*history, text[-1]][1:]
    return text


@right("perplexity_and_bits: floats, two to the bits per token")
def _(log_prob, words, characters):
    bits = -sum(log_prob.tolist()) / math.log(2)
    return 2 ** (bits / (sum(words.tolist()) + len(words))), bits / sum(characters.tolist())


@right("perplexity_and_bits: the inverse of a geometric mean, means over the texts in both parts of a fraction")
def _(log_prob, words, characters):
    tokens = words.double() + 1
    return 1 / (log_prob.mean() / tokens.mean()).exp(), -(log_prob / math.log(2)).mean() / characters.double().mean()


@wrong("perplexity_and_bits: no end symbols, a mean over texts for the bits")
def _(log_prob, words, characters):
    return (-log_prob.sum() / words.sum()).exp(), -(log_prob / characters).mean() / math.log(2)


@wrong("perplexity_and_bits: two to the nats per token", called="two_to_the_nats")
def _(log_prob, words, characters):
    loss = -log_prob.sum() / (words + 1).sum()
    return 2 ** loss, -log_prob.sum() / characters.sum() / math.log(2)


@right("class_bigram_table: loops and dictionaries")
def _(tokens, classes):
    g, C, V = classes.tolist(), int(classes.max()) + 1, len(classes)
    text = tokens.tolist()
    labels = [g[w] for w in text]
    table = torch.zeros(V, V, dtype=torch.float64)
    for v in range(V):
        after = [b for a, b in zip(labels, labels[1:]) if a == g[v]]
        for w in range(V):
            moves = after.count(g[w]) / len(after) if after else 1 / C
            table[v, w] = moves * (text.count(w) / labels.count(g[w]) if g[w] in labels else 1 / g.count(g[w]))
    return table


@right("class_bigram_table: products with one-hot rows of classes")
def _(tokens, classes):
    G, T = F.one_hot(classes).double(), F.one_hot(tokens, len(classes)).double()      # (V, C), (T, V)
    pairs = (T[:-1] @ G).T @ (T[1:] @ G)
    pairs[pairs.sum(1) == 0] = 1
    count = T.sum(0)
    count[(G @ (G.T @ count)) == 0] = 1
    emission = G * count[:, None] / (G.T @ count)                                     # (V, C), p(w | c)
    return G @ (pairs / pairs.sum(1, keepdim=True)) @ emission.T


@wrong("class_bigram_table: add one to the counts of classes")
def _(tokens, classes):
    G, T = F.one_hot(classes).double(), F.one_hot(tokens, len(classes)).double()
    pairs = (T[:-1] @ G).T @ (T[1:] @ G) + 1
    emission = G * T.sum(0)[:, None] / (G.T @ T.sum(0)).clamp(min=1)
    return G @ (pairs / pairs.sum(1, keepdim=True)) @ emission.T


@wrong("class_bigram_table: divided by the words of a class where a pair begins", called="occurrences_with_successor")
def _(tokens, classes):
    G, T = F.one_hot(classes).double(), F.one_hot(tokens, len(classes)).double()
    pairs, count = (T[:-1] @ G).T @ (T[1:] @ G), T.sum(0)
    occurs = G.T @ count
    transition = torch.where(pairs.sum(1, keepdim=True) > 0, pairs / occurs.clamp(min=1)[:, None], 1 / G.shape[1])
    count[(G @ occurs) == 0] = 1
    return G @ transition @ (G * count[:, None] / (G.T @ count)).T


@wrong("class_bigram_table: one over V for the words of a class that does not occur", called="uniform_over_vocabulary")
def _(tokens, classes):
    G, T = F.one_hot(classes).double(), F.one_hot(tokens, len(classes)).double()
    pairs, count = (T[:-1] @ G).T @ (T[1:] @ G), T.sum(0)
    pairs[pairs.sum(1) == 0] = 1
    emission = torch.where((G @ (G.T @ count)) > 0, count / (G @ (G.T @ count)), 1 / len(classes))
    return G @ (pairs / pairs.sum(1, keepdim=True)) @ (G * emission[:, None]).T


@wrong("class_bigram_table: all words of a class alike", called="same_for_all")
def _(tokens, classes):
    G, g = F.one_hot(classes).double(), classes[tokens]
    pairs = torch.zeros(G.shape[1], G.shape[1], dtype=torch.float64)
    for a, b in zip(g[:-1], g[1:]):
        pairs[a, b] += 1
    pairs[pairs.sum(1) == 0] = 1
    return G @ (pairs / pairs.sum(1, keepdim=True)) @ (G / G.sum(0)).T


@wrong("sample_ngram: u beyond the last cumulative probability", called="beyond_the_end")
def _(p, uniforms, eos):
    history, text = (p.shape[-1],) * (p.ndim - 1), []
    for u in uniforms.tolist():
        token = int(torch.searchsorted(p[history].cumsum(0), u, right=True))
        if token == eos:
            break
        text.append(token)
        history = (*history, token)[1:]
    return text


def chain(text, V):
    p = torch.zeros(V, V, dtype=torch.float64)
    for a, b in zip(text.tolist(), text[1:].tolist()):
        p[a, b] += 1
    return p / p.sum(1, keepdim=True)


@right("entropy_rate: repeated products, a loop over pairs")
def _(text, V):
    p = chain(text, V)
    pi = torch.ones(V, dtype=torch.float64) / V
    for _ in range(2000):
        pi = pi @ p
    rate = 0.0
    for a in range(V):
        for b in range(V):
            rate -= float(pi[a] * p[a, b]) * math.log2(p[a, b])
    return pi, rate


@right("entropy_rate: an eigenvector, conditional entropy as a difference of two entropies")
def _(text, V):
    p = chain(text, V)
    values, vectors = torch.linalg.eig(p.T)
    pi = vectors[:, values.real.argmax()].real
    pi = pi / pi.sum()
    pairs = pi[:, None] * p
    return pi, (pi * pi.log2()).sum() - (pairs * pairs.log2()).sum()


@wrong("entropy_rate: shares of the text as stationary distribution", called="frequencies")
def _(text, V):
    p, pi = chain(text, V), torch.bincount(text, minlength=V) / len(text)
    return pi.double(), -(pi.double()[:, None] * p * p.log2()).sum()


@wrong("entropy_rate: mean over rows", called="rows_alike")
def _(text, V):
    p = chain(text, V)
    return torch.linalg.matrix_power(p, 4096)[0], -(p * p.log2()).sum(1).mean()


@wrong("entropy_rate: mean loss of the text")
def _(text, V):
    p = chain(text, V)
    return torch.linalg.matrix_power(p, 4096)[0], -p[text[:-1], text[1:]].log2().mean()


@right("kneser_ney_bigram: sets and loops")
def _(train, V, D):
    pairs = list(zip(train.tolist(), train[1:].tolist()))
    different = set(pairs)
    result = torch.zeros(V, V, dtype=torch.float64)
    for v in range(V):
        after = [w for a, w in pairs if a == v]
        for w in range(V):
            base = sum(b == w for _, b in different) / len(different)
            p = max(after.count(w) - D, 0) + D * len(set(after)) * base
            result[v, w] = p / len(after) if after else base
    return result


@right("kneser_ney_bigram: one-hot products, weights that complete the rows to 1")
def _(train, V, D):
    c = F.one_hot(train[:-1], V).double().T @ F.one_hot(train[1:], V).double()
    base = (c > 0).double().mean(0)
    base = base / base.sum()
    first = F.relu(c - D) / c.sum(1, keepdim=True).clamp(min=1)
    return first + (1 - first.sum(1, keepdim=True)) * base


@wrong("kneser_ney_bigram: absolute discounting with the unigram distribution of the text")
def _(train, V, D):
    c = F.one_hot(train[:-1], V).double().T @ F.one_hot(train[1:], V).double()
    base = torch.bincount(train, minlength=V).double() / len(train)
    first = F.relu(c - D) / c.sum(1, keepdim=True).clamp(min=1)
    return first + (1 - first.sum(1, keepdim=True)) * base


@wrong("kneser_ney_bigram: ordinary counts of the second token", called="ordinary_counts")
def _(train, V, D):
    c = F.one_hot(train[:-1], V).double().T @ F.one_hot(train[1:], V).double()
    base = c.sum(0) / c.sum()
    first = F.relu(c - D) / c.sum(1, keepdim=True).clamp(min=1)
    return first + (1 - first.sum(1, keepdim=True)) * base


@wrong("kneser_ney_bigram: a row without counts is uniform", called="uniform_rows")
def _(train, V, D):
    c = torch.bincount(train[:-1] * V + train[1:], minlength=V * V).view(V, V).double()
    total, base = c.sum(1, keepdim=True), (c > 0).sum(0) / (c > 0).sum()
    p = (F.relu(c - D) + D * (c > 0).sum(1, keepdim=True) * base) / total.clamp(min=1)
    return torch.where(total > 0, p, torch.full_like(p, 1 / V))


@wrong("kneser_ney_bigram: the discount added back once", called="discount_once")
def _(train, V, D):
    c = F.one_hot(train[:-1], V).double().T @ F.one_hot(train[1:], V).double()
    base = (c > 0).sum(0) / (c > 0).sum()
    total = c.sum(1, keepdim=True)
    return torch.where(total > 0, (F.relu(c - D) + D * base) / total.clamp(min=1), base)


@right("em_weights: loops over tokens and components")
def _(p, weights):
    rows = []
    for row in p.tolist():
        joint = [w * q for w, q in zip(weights.tolist(), row)]
        rows.append([j / sum(joint) if sum(joint) > 0 else 0.0 for j in joint])
    used = [row for row in rows if sum(row) > 0]
    new = [sum(column) / len(used) for column in zip(*used)]
    return torch.tensor(rows, dtype=torch.float64), torch.tensor(new, dtype=torch.float64)


@right("em_weights: new weights from ratios, responsibilities by a softmax of logarithms")
def _(p, weights):
    total = p @ weights
    seen = total > 0
    new = weights * (p[seen] / total[seen, None]).mean(dim=0)
    r = torch.zeros_like(p)
    r[seen] = (p[seen].log() + weights.log()).softmax(dim=1)
    return r, new


@wrong("em_weights: a small constant in the denominator, mean over all tokens", called="all_tokens")
def _(p, weights):
    joint = p * weights
    r = joint / (joint.sum(dim=1, keepdim=True) + 1e-12)
    return r, r.mean(dim=0)


@wrong("em_weights: tokens with probability 0 share their weight equally")
def _(p, weights):
    joint = p * weights
    total = joint.sum(dim=1, keepdim=True)
    r = torch.where(total > 0, joint / total, 1 / p.shape[1])
    return r, r.mean(dim=0)


@wrong("em_weights: the most probable component", called="hard")
def _(p, weights):
    joint = p * weights
    r = F.one_hot(joint.argmax(dim=1), p.shape[1]).double() * (joint.sum(dim=1, keepdim=True) > 0)
    return r, r.sum(dim=0) / r.sum()


@wrong("em_weights: no division by the probability of the token", called="not_normalized")
def _(p, weights):
    joint = p * weights
    return joint, joint.sum(dim=0) / (joint.sum(dim=1) > 0).sum()
