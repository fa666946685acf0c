"""N-grams against dictionaries, EM, and bad input."""
from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

import pytest
import torch

from course_lib.contract import check_all
from course_lib.counting import NGram
from course_lib.counting.counts import distinct
from tests.support.text import SCHEMES, some_text

# --- against dictionaries ---------------------------------------------------------------------------------------------


class Dictionary:
    """Every scheme written out literally, one probability at a time, from windows in dictionaries."""

    def __init__(self, sequences, order, vocabulary, bos_id, scheme, alpha=None, weights=None):
        self.order, self.scheme, self.alpha, self.weights, self.bos = order, scheme, alpha, weights, bos_id
        self.allowed = vocabulary - (bos_id is not None)
        windows = []
        for s in sequences:
            padded = ([] if bos_id is None else [bos_id] * order) + list(s)
            windows += [tuple(padded[i - order:i + 1]) for i in range(order, len(padded))]
        self.count = [Counter(w[order - k:] for w in windows) for k in range(order + 1)]      # level k: k + 1 symbols
        if scheme == "kneser-ney":
            true = self.count
            self.count = [dict(c) for c in true]
            for k in range(order):
                for gram in true[k]:
                    if k == 0 or gram[0] != bos_id:
                        self.count[k][gram] = sum(1 for longer in true[k + 1] if longer[1:] == gram)
            self.discount = []
            for c in self.count:
                n1, n2 = (sum(1 for v in c.values() if v == r) for r in (1, 2))
                self.discount.append(n1 / (n1 + 2 * n2) if n1 and n2 else 0.5)
        self.after = [defaultdict(dict) for _ in self.count]
        for k, c in enumerate(self.count):
            for gram, number in c.items():
                self.after[k][gram[:-1]][gram[-1]] = number

    def p(self, w, history):
        history = tuple(history)[len(history) - self.order:]
        if w == self.bos:
            return 0.0
        if self.scheme == "add":
            row = self.after[self.order].get(history, {})
            return (row.get(w, 0) + self.alpha) / (sum(row.values()) + self.alpha * self.allowed)
        return self.level(self.order, w, history)

    def level(self, k, w, history):
        if k < 0:
            return 1 / self.allowed
        row = self.after[k].get(history[len(history) - k:])
        shorter = self.level(k - 1, w, history)
        if row is None:
            return shorter
        total = sum(row.values())
        if self.scheme == "none":
            return row.get(w, 0) / total
        if self.scheme == "interpolated":
            weight = self.weights[k][min(total.bit_length() - 1, len(self.weights[k]) - 1)]
            return weight * row.get(w, 0) / total + (1 - weight) * shorter
        d = self.discount[k]
        return max(row.get(w, 0) - d, 0) / total + d * len(row) / total * shorter


@pytest.mark.parametrize("bos_id", [None, 2])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_smoothing_equals_dictionaries(scheme, order, bos_id):
    vocabulary = 5
    lengths = (90, 7, 33, *[3] * 12)                                 # many starts, some of them alike
    sequences = [some_text(vocabulary, length, seed, without=bos_id) for seed, length in enumerate(lengths)]
    model = NGram(n=order + 1, vocab_size=vocabulary, bos_id=bos_id, smoothing=scheme, **SCHEMES[scheme]).double().fit_counts(sequences)
    model.smoothing.randomize(torch.Generator().manual_seed(order))
    if scheme == "kneser-ney":
        model.fit_counts(sequences)                                  # the discounts of the counts
    weights = model.smoothing.weights.tolist() if scheme == "interpolated" else None
    literal = Dictionary(sequences, order, vocabulary, bos_id, scheme, SCHEMES[scheme].get("alpha"), weights)

    x = torch.tensor([some_text(vocabulary, 40, 77), some_text(vocabulary, 40, 78)])            # with unseen histories
    prompt = None if bos_id is not None else torch.tensor([[4, 4, 0, 1], [1, 1, 1, 1]])
    table = model.conditionals(x, prompt).probs
    factors = model.conditionals(x, prompt).log_prob(x)
    for b in range(2):
        before = [bos_id] * order if prompt is None else prompt[b].tolist()
        for i in range(x.shape[1]):
            history = before + x[b, :i].tolist()
            expected = [literal.p(w, history) for w in range(vocabulary)]
            assert table[b, i].tolist() == pytest.approx(expected, abs=1e-12)
    assert torch.allclose(model.log_prob(x, prompt), factors.sum(1), rtol=1e-12)


def test_fit_counts_large_vocabulary():
    """Windows of five symbols out of three million do not fit an integer of 63 bits when read as one number."""
    vocabulary, order = 3_000_000, 4
    rng = random.Random(1)
    common = [rng.randrange(vocabulary) for _ in range(12)]
    text = [common[0]]
    for _ in range(400):
        text.append(rng.choice(common[:3]) if rng.random() < 0.7 else rng.choice(common))
    model = NGram(n=order + 1, vocab_size=vocabulary, smoothing="kneser-ney").double().fit_counts(text)
    literal = Dictionary([text], order, vocabulary, None, "kneser-ney")
    x = torch.tensor([text[50:90]])
    got = model.log_prob(x, torch.tensor([text[40:50]])).item()
    expected = sum(math.log(literal.p(text[i], text[:i])) for i in range(50, 90))
    assert got == pytest.approx(expected, rel=1e-10)
    grams, counts = distinct(torch.tensor([text[i:i + 5] for i in range(len(text) - 4)]))
    by_hand = Counter(tuple(text[i:i + 5]) for i in range(len(text) - 4))
    assert grams.tolist() == sorted(map(list, by_hand)) and counts.tolist() == [by_hand[g] for g in sorted(by_hand)]


@pytest.mark.parametrize("text", [[0, 1, 2, 3, 4], [0, 1] * 6, [0, 1, 0, 1, 0, 1, 2, 3]])
def test_kneser_ney_few_counts(text):
    """Where no pair was counted once, or none twice, a pair that was seen is still more probable than one that was not."""
    model = NGram(n=2, vocab_size=6, smoothing="kneser-ney").fit_counts(text)
    assert (model.smoothing.discounts < 1).all() and (model.smoothing.discounts > 0).all()
    p = model.conditionals(torch.tensor([[1]]), torch.tensor([[0]])).probs[0, 0]
    assert p[1] > p[5] > 0 and p.sum().item() == pytest.approx(1)


# --- weights of interpolation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("buckets", [1, 4])
def test_fit_weights_likelihood(buckets):
    text = some_text(6, 3000, seed=5)
    model = NGram(n=4, vocab_size=6, smoothing="interpolated", buckets=buckets).double().fit_counts(text[:1000])
    curve = model.fit_weights(text[1000:2000], steps=40)
    assert len(curve) == 40 and curve[-1] > curve[0] + 0.01
    assert all(b >= a - 1e-12 for a, b in zip(curve, curve[1:]))
    x, prompt = torch.tensor([text[1003:2000]]), torch.tensor([text[1000:1003]])
    own = model.log_prob(x, prompt).item() / 997                     # the curve is the model's own log-likelihood
    assert own >= curve[-1] and model.fit_weights(text[1000:2000], steps=1) == pytest.approx([own], abs=1e-12)


# --- input and use ----------------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_ngram_on_gpu():
    model = NGram(n=3, vocab_size=5, bos_id=4, smoothing="interpolated", buckets=3).fit_counts([some_text(4, 80)])
    x = torch.tensor([some_text(4, 9, seed) for seed in range(6)])
    expected = model.log_prob(x)
    gpu = NGram(n=3, vocab_size=5, bos_id=4, smoothing="interpolated", buckets=3).cuda().fit_counts([some_text(4, 80)])
    assert torch.allclose(gpu.log_prob(x.cuda()).cpu(), expected)
    assert torch.allclose(model.cuda().conditionals(x.cuda()).log_prob(x.cuda()).sum(1).cpu(), expected)
    model.fit_weights(some_text(4, 50, 3))
    check_all(model, length=4)


@pytest.mark.parametrize("act, message", [
    (lambda: NGram(n=0, vocab_size=5), r"n is 0; expected at least 1 \(1 for a unigram, 2 for a"),
    (lambda: NGram(n=2, vocab_size=5, bos_id=5), "bos_id is 5; expected 0 to 4, the ids of this vocabulary"),
    (lambda: NGram(n=2, vocab_size=1), "k is 1"),
    (lambda: NGram(n=2, vocab_size=5, smoothing="good-turing"), "smoothing is 'good-turing'; expected one of 'none', 'add'"),
    (lambda: NGram(n=2, vocab_size=5, smoothing="add", alpha=0.0), r"alpha is 0\.0; expected a finite number above 0"),
    (lambda: NGram(n=2, vocab_size=5, smoothing="interpolated", buckets=0), "buckets is 0"),
    (lambda: NGram(n=2, vocab_size=5).fit_counts([]), "tokens is empty"),
    (lambda: NGram(n=2, vocab_size=5).fit_counts([[0, 1], []]), "tokens contains an empty sequence"),
    (lambda: NGram(n=2, vocab_size=5).fit_counts([0, 7]), "tokens contains 7; expected 0 to 4, the ids of this vocabulary"),
    (lambda: NGram(n=2, vocab_size=5).fit_counts([0, -1]), "tokens contains -1"),
    (lambda: NGram(n=2, vocab_size=5).fit_counts("abc"), "tokens is a string; expected integers 0 to 4, as tokenizer"),
    (lambda: NGram(n=2, vocab_size=5).fit_counts([[0.5, 1.0]]), "expected integers"),
    (lambda: NGram(n=2, vocab_size=5, bos_id=0).fit_counts([1, 0, 2]), "tokens contains bos_id = 0; expected texts without it, because the model prepends"),
    (lambda: NGram(n=4, vocab_size=5).fit_counts([[0, 1, 2], [1, 2]]), "tokens has sequences of at most 3 symbols; expected a sequence of at least n = 4 symbols"),
    (lambda: NGram(n=2, vocab_size=5).log_prob(torch.tensor([[0]]), torch.tensor([[0]])), r"the n-gram model has no counts, .*; call fit_counts\(tokens\) first"),
    (lambda: NGram(n=2, vocab_size=5).fit_weights([0, 1]), "smoothing is 'none'; expected \"interpolated\", which has weights to fit"),
    (lambda: _fitted().log_prob(torch.tensor([[0, 1]])), r"context is None; expected a prompt \(B, P\) with P at least n - 1 = 2"),
    (lambda: _fitted().sample(2, context=torch.tensor([[0, 1]] * 2)), "length is None"),
    (lambda: _fitted().log_prob(torch.tensor([[0]]), torch.tensor([[1]])), "context has 1 symbols; expected at least 2"),
    (lambda: _fitted().sample(2, length=3, context=torch.tensor([[0, 1]])), r"expected \(B, P\) with B = 2"),
    (lambda: _fitted().log_prob(torch.zeros(1, 0, dtype=torch.long), torch.tensor([[1, 1]])), r"x has shape \(1, 0\); expected at least one symbol in each"),
    (lambda: _fitted().log_prob(torch.zeros(0, 3, dtype=torch.long)), "empty batch"),
    (lambda: NGram(n=5, vocab_size=65).randomize(), "randomize would sample 65"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()


def _fitted():
    return NGram(n=3, vocab_size=5).fit_counts(some_text())
