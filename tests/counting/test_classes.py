"""Brown's classes against brute force on small texts, and the class n-gram against its formula."""
from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
import torch

from course_lib.contract import check_all
from course_lib.counting import ClassNGram, NGram, brown_classes, mutual_information
from course_lib.counting.brown import bigrams, class_table
from tests.support.text import SCHEMES


def source(vocabulary, length, seed):
    rng = random.Random(seed)
    rows = [[rng.random() ** 4 for _ in range(vocabulary)] for _ in range(vocabulary)]
    text = [0]
    while len(text) < length:
        text.append(rng.choices(range(vocabulary), rows[text[-1]])[0])
    return text


def information(label, text):
    """I of the classes of neighbours, both in `label`, straight from the definition: sum p ln (p / (p p'))."""
    pairs = [(label[a], label[b]) for a, b in zip(text, text[1:]) if a in label and b in label]
    total = len(pairs)
    joint, left, right = ({}, {}, {})
    for a, b in pairs:
        joint[a, b] = joint.get((a, b), 0) + 1 / total
        left[a], right[b] = left.get(a, 0) + 1 / total, right.get(b, 0) + 1 / total
    return total, sum(p * math.log(p / left[a] / right[b]) for (a, b), p in joint.items())


def merge_by_brute_force(text, num_classes):
    """Brown's window with every candidate merger tried out and its information computed anew."""
    words = sorted(set(text), key=lambda w: (-text.count(w), w))
    label = {}
    for rank, word in enumerate(words):
        label[word] = word
        if rank < num_classes:
            continue
        candidates = [{w: (a if c == b else c) for w, c in label.items()}
                      for a, b in combinations(sorted(set(label.values())), 2)]
        label = max(candidates, key=lambda c: math.prod(information(c, text)))
    return {frozenset(w for w in label if label[w] == c) for c in label.values()}


def as_sets(classes):
    return {frozenset((classes == c).nonzero()[:, 0].tolist()) for c in range(int(classes.max()) + 1)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("num_classes", [2, 3, 5])
def test_brown_classes_equals_brute_force(seed, num_classes):
    text = source(11, 1500, seed)
    assert as_sets(brown_classes(text, 11, num_classes)) == merge_by_brute_force(text, num_classes)


@pytest.mark.parametrize("seed", range(4))
def test_brown_classes_exchange(seed):
    text = source(11, 1500, seed)
    pairs = bigrams(text, 11)
    worth = [mutual_information(class_table(brown_classes(text, 11, 3, exchange=e), pairs)) for e in (0, 1, 2, 50)]
    assert all(b >= a - 1e-12 for a, b in zip(worth, worth[1:]))
    classes = brown_classes(text, 11, 3, exchange=50)
    for word in range(11):
        for other in range(3):
            moved = classes.clone()
            moved[word] = other
            if len(moved.unique()) == 3:
                assert mutual_information(class_table(moved, pairs)) <= worth[-1] + 1e-9


def test_brown_classes_unseen_words():
    text = [0, 1, 0, 2, 0, 1, 0, 2, 3, 0]
    classes = brown_classes(text, 7, 3, bos_id=6)
    assert sorted(classes.unique().tolist()) == [0, 1, 2, 3]
    assert (classes == classes[6]).sum() == 1 and classes[6] == 3    # alone, and last
    assert classes[4] == classes[5]                                  # never seen: the rarest class
    size = [sum(classes[w] == c for w in text) for c in range(3)]
    assert size[classes[4]] == min(size)


# --- the class n-gram -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_class_ngram_formula(scheme):
    classes, text = torch.tensor([0, 0, 1, 1, 1, 2]), [0, 2, 1, 3, 4, 0, 2, 2, 1, 3, 0, 4, 2]
    model = ClassNGram(classes, n=3, bos_id=5, smoothing=scheme, word_alpha=0.5, **SCHEMES[scheme]).double()
    model.fit_counts(text)
    chain = NGram(n=3, vocab_size=3, bos_id=2, smoothing=scheme, **SCHEMES[scheme]).double().fit_counts([int(classes[w]) for w in text])
    x = torch.tensor([[0, 2, 4, 1, 1], [3, 3, 0, 1, 2]])
    own = [(text.count(w) + 0.5) / sum(text.count(v) + 0.5 for v in range(6) if classes[v] == classes[w])
           for w in range(6)]
    expected = chain.log_prob(classes[x]) + torch.tensor([[math.log(own[w]) for w in row] for row in x.tolist()]).sum(1)
    assert torch.allclose(model.log_prob(x), expected, rtol=1e-6)
    assert torch.allclose(model.conditionals(x).log_prob(x).sum(1), model.log_prob(x), rtol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contract(scheme):
    model = ClassNGram([0, 0, 1, 2], n=2, bos_id=3, smoothing=scheme, word_alpha=0.1, **SCHEMES[scheme]).fit_counts([0, 2, 1, 1, 0, 2])
    check_all(model, length=5)
    model = ClassNGram([1, 0, 1], n=3, bos_id=None, smoothing=scheme, **SCHEMES[scheme]).fit_counts([0, 2, 1, 1, 0, 2])
    check_all(model, length=5, context=torch.tensor([0, 1]))


@pytest.mark.parametrize("act, message", [
    (lambda: brown_classes([0, 1, 2], 3, 4), "num_classes is 4; expected 2 to 3, the number of distinct words"),
    (lambda: brown_classes([0, 1, 2], 3, 2, bos_id=2), "tokens contains bos_id = 2"),
    (lambda: brown_classes([[0], [1]], 3, 2), "tokens has only texts of one symbol; expected a text of at least two"),
    (lambda: brown_classes([0, 5], 3, 2), "tokens contains 5"),
    (lambda: ClassNGram([0, 2]), "expected every class from 0 to the largest to have at least one word"),
    (lambda: ClassNGram([0, 0]), "classes is 0 for all words, so there is one class"),
    (lambda: ClassNGram(torch.tensor([0.0, 1.0])), "expected integers"),
    (lambda: ClassNGram([0, 1, 1], bos_id=2), "bos_id = 2 shares its class"),
    (lambda: ClassNGram([0, 1], bos_id=2), "bos_id is 2; expected 0 to 1, the ids of this vocabulary"),
    (lambda: ClassNGram([0, 1], word_alpha=-1.0), "word_alpha is -1.0"),
    (lambda: ClassNGram([0, 1]).fit_counts([0, 1, 1]).log_prob(torch.tensor([[0]])), "context is None"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()
