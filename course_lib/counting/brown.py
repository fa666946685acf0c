"""Brown clustering: word classes by greedy merging under mutual information, refined by exchange."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor

from course_lib.tokenizers.sequences import Tokens, as_sequences


class Bigrams(NamedTuple):
    """The M distinct bigrams of a text, and the counts of its words."""

    left: np.ndarray                                                 # (M,): id of the first word of each bigram
    right: np.ndarray                                                # (M,): id of the second word
    count: np.ndarray                                                # (M,): count of the bigram
    frequency: np.ndarray                                            # (V,): count of each word


def bigrams(tokens: Tokens, vocab_size: int) -> Bigrams:
    """Count the words and bigrams of `tokens`, one text (T,) or several texts, with ids 0 to `vocab_size` - 1.

    A bigram does not cross the boundary of two texts. Raises ValueError if there is no bigram.
    """
    sequences = [s.cpu() for s in as_sequences(tokens, vocab_size)]
    pairs = torch.cat([s[:-1] * vocab_size + s[1:] for s in sequences])
    if len(pairs) == 0:
        raise ValueError("tokens has only texts of one symbol; expected a text of at least two, one bigram")
    pairs, count = torch.unique(pairs, return_counts=True)
    return Bigrams((pairs // vocab_size).numpy(), (pairs % vocab_size).numpy(), count.double().numpy(),
                   torch.bincount(torch.cat(sequences), minlength=vocab_size).numpy())


def mutual_information(table: np.ndarray) -> float:
    r"""Mutual information $I = \sum_{c, c'} p(c, c') \ln \frac{p(c, c')}{p(c)\, p(c')}$ of adjacent classes, in nats.

    table  (C, C), the count of class c (row) followed by class c' (column)

    The log-likelihood per word of a class bigram model is I minus the entropy of the words, so the classes that
    maximize I maximize the likelihood. Source: Brown et al. 1992, section 3.
    """
    total = table.sum()
    return float((_f(table).sum() - _f(table.sum(1)).sum() - _f(table.sum(0)).sum() + _f(total)) / total)


def class_table(classes: Integer[Tensor, "V"], pairs: Bigrams) -> np.ndarray:
    """Count of class c (row) followed by class c' (column), (C, C).

    classes  (V,), the class of each word, 0 to C - 1; C is the largest entry + 1
    pairs    the word bigrams of a text
    """
    label = classes.cpu().numpy()
    size = int(label.max()) + 1
    return np.bincount(label[pairs.left] * size + label[pairs.right], pairs.count, size ** 2).reshape(size, size)


def brown_classes(tokens: Tokens, vocab_size: int, num_classes: int, bos_id: int | None = None,
                  exchange: int = 0) -> Integer[Tensor, "V"]:
    """Brown clustering: the class of each word, (V,), by greedy merging under average mutual information.

    Each of the C most frequent words starts in its own class. Then each other word, in order of decreasing frequency,
    is added as a further class, and the two classes whose merge loses the least mutual information are merged.

    tokens       one text (T,), or several texts
    vocab_size   V, number of words
    num_classes  C, number of classes of words, numbered 0 to C - 1; words that do not occur get the rarest class
    bos_id       id of the start symbol, which is prepended to every text and gets one more class of its own, number
                 C, as `ClassNGram` requires; None: no start symbol
    exchange     maximum number of exchange passes after the merging: each moves single words to the class that
                 maximizes the mutual information. They stop when no word moves

    A merge costs O(C^2), because the losses of all pairs are updated and not recomputed. Papers: Brown et al. 1992,
    section 3; Martin, Liermann and Ney 1998 for the exchange.
    """
    pairs = bigrams(as_sequences(tokens, vocab_size, bos_id=bos_id), vocab_size)
    ranked = np.argsort(-pairs.frequency, kind="stable")
    ranked = ranked[pairs.frequency[ranked] > 0]
    if not 2 <= num_classes <= len(ranked):
        raise ValueError(f"num_classes is {num_classes}; expected 2 to {len(ranked)}, the number of distinct words "
                         "in tokens")
    label = _merge(pairs, ranked, num_classes)
    for _ in range(exchange):
        if not _exchange(pairs, ranked, label, num_classes):
            break
    size = np.bincount(label[ranked], pairs.frequency[ranked], num_classes)
    label[label < 0] = size.argmin()
    if bos_id is not None:
        label[bos_id] = num_classes
    return torch.from_numpy(label)


def _merge(pairs: Bigrams, ranked: np.ndarray, num_classes: int) -> np.ndarray:
    r"""Classes (V,) after greedy merging, -1 for words that do not occur.

    ranked  ids of the words that occur, by decreasing frequency; the first `num_classes` start in their own classes

    With N bigrams, counts $N_{ij}$ of class bigrams and mutual information I, N I is, up to constants,
    $\sum f(N_{ij}) - \sum f(N_{i\cdot}) - \sum f(N_{\cdot j})$ with f(x) = x ln x. With
    g(a, b) = f(a + b) - f(a) - f(b), merging i and j adds $\sum_k g(N_{ik}, N_{jk})$ for the rows, the same for the
    columns, and subtracts g of the margins. `rows` and `columns` hold these two sums for every pair.
    """
    m = num_classes + 1                                              # one more slot than classes
    label = np.full(len(pairs.frequency), -1)
    label[ranked[:num_classes]] = np.arange(num_classes)
    inside = (label[pairs.left] >= 0) & (label[pairs.right] >= 0)
    n = np.zeros((m, m))
    np.add.at(n, (label[pairs.left[inside]], label[pairs.right[inside]]), pairs.count[inside])
    rows = np.stack([_g(n[i], n).sum(1) for i in range(m)])          # (m, m)
    columns = np.stack([_g(n[:, i], n.T).sum(1) for i in range(m)])
    after, before = _neighbours(pairs)
    possible = np.triu(np.ones((m, m), dtype=bool), 1)
    free = num_classes                                               # the empty slot

    for word in ranked[num_classes:]:
        label[word] = free                                           # its own class
        n[free] = _by_class(after[word], label, m)
        n[:, free] = _by_class(before[word], label, m)
        rows += _outer(n[:, free])
        columns += _outer(n[free])
        rows[free] = rows[:, free] = _g(n[free], n).sum(1)
        columns[free] = columns[:, free] = _g(n[:, free], n.T).sum(1)

        gain = np.where(possible, _gain(n, rows, columns), -np.inf)  # at most 0
        i, j = np.unravel_index(np.round(gain, 6).argmax(), gain.shape)                # rounded, so that ties are exact
        label[label == j] = i
        rows += _outer(n[:, i] + n[:, j]) - _outer(n[:, i]) - _outer(n[:, j])
        columns += _outer(n[i] + n[j]) - _outer(n[i]) - _outer(n[j])
        n[i] += n[j]
        n[:, i] += n[:, j]
        n[j] = n[:, j] = 0
        rows[i] = rows[:, i] = _g(n[i], n).sum(1)
        columns[i] = columns[:, i] = _g(n[:, i], n.T).sum(1)
        rows[j] = rows[:, j] = columns[j] = columns[:, j] = 0
        free = j

    label[label == num_classes] = free                               # classes are 0..C-1 again
    return label


def _gain(n: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Change of N times the mutual information if classes i and j are merged, (m, m); see `_merge` for the sums.

    n              (m, m), counts of class bigrams
    rows, columns  (m, m), the sums of g over the rows, and over the columns, of n for each pair of classes
    """
    own = np.diag(n)
    gain = rows - _g(own[:, None], n.T) - _g(n, own)                 # k other than i and j
    gain = gain + columns - _g(own[:, None], n) - _g(n.T, own)
    gain = gain + _f(own[:, None] + own + n + n.T) - _f(own)[:, None] - _f(own) - _f(n) - _f(n.T)
    return gain - _outer(n.sum(1)) - _outer(n.sum(0))


def _exchange(pairs: Bigrams, ranked: np.ndarray, label: np.ndarray, num_classes: int) -> int:
    """Move each word to the class that maximizes the mutual information; return the number of words that moved.

    ranked  ids of the words that occur, by decreasing frequency; the last word of a class is not moved
    label   (V,), class of each word, changed in place
    """
    n = class_table(torch.from_numpy(np.where(label < 0, 0, label)), pairs)
    size = np.bincount(label[ranked], minlength=num_classes)
    after, before = _neighbours(pairs)
    moved = 0
    for word in ranked:
        a = label[word]
        if size[a] == 1:
            continue
        label[word] = -1                                             # removed from its class
        out, into = _by_class(after[word], label, num_classes), _by_class(before[word], label, num_classes)
        right, number = after[word]
        own = number[right == word].sum()                            # bigrams of the word with itself
        n[a] -= out
        n[:, a] -= into
        n[a, a] -= own
        gain = np.round(_entry(n, out, into, own), 6)
        b = a if gain[a] == gain.max() else int(gain.argmax())       # on a tie the word stays
        n[b] += out
        n[:, b] += into
        n[b, b] += own
        label[word] = b
        size[a] -= 1
        size[b] += 1
        moved += a != b
    return int(moved)


def _entry(n: np.ndarray, out: np.ndarray, into: np.ndarray, own: float) -> np.ndarray:
    """Change of N times the mutual information if a word is added to each of the C classes, (C,); N counts bigrams.

    n          (C, C), counts of class bigrams without those of the word
    out, into  (C,), counts of the classes that follow and that precede the word
    own        count of the bigram of the word with itself
    """
    each = np.arange(len(n))
    gain = (_f(n + out) - _f(n)).sum(1) + (_f(n + into[:, None]) - _f(n)).sum(0)
    diagonal = n[each, each]
    gain += _f(diagonal + out + into + own) - _f(diagonal + out) - _f(diagonal + into) + _f(diagonal)
    # the margins of other classes contain the word in any case
    for margin, more in ((n.sum(1) + into, out.sum() + own), (n.sum(0) + out, into.sum() + own)):
        gain -= _f(margin + more) - _f(margin)
    return gain


def _neighbours(pairs: Bigrams) -> tuple[list, list]:
    """Two lists with an entry (ids, counts) for each word: of its successors, and of its predecessors."""
    sides = []
    for key, other in ((pairs.left, pairs.right), (pairs.right, pairs.left)):
        by_key = np.argsort(key, kind="stable")
        edges = np.searchsorted(key[by_key], np.arange(1, len(pairs.frequency)))
        sides.append(list(zip(np.split(other[by_key], edges), np.split(pairs.count[by_key], edges))))
    return sides[0], sides[1]


def _by_class(neighbours: tuple[np.ndarray, np.ndarray], label: np.ndarray, size: int) -> np.ndarray:
    """Sum the counts of a word's neighbors by class, (size,).

    neighbours  (ids, counts) of the neighbors
    label       class of each word of the vocabulary; neighbors of label -1 are omitted
    """
    words, count = neighbours
    inside = label[words] >= 0
    return np.bincount(label[words[inside]], count[inside], size)


def _f(x):
    """x ln x of a count or an array of counts; 0 at x = 0."""
    return x * np.log(np.maximum(x, 1))


def _g(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _f(a + b) - _f(a) - _f(b)


def _outer(v: np.ndarray) -> np.ndarray:
    """`_g` of every pair of entries of v (m,), (m, m)."""
    fv = _f(v)
    return _f(v[:, None] + v) - fv[:, None] - fv
