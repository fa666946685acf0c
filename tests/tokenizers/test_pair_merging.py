"""The merging of pairs that byte pairs and word pieces share: the definition, and the textbook's example."""
from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from course_lib.tokenizers.merging import by_association, merged, merges


def naive(words, num, join=str.__add__, score=None):
    """The definition: count all pairs of all words anew before each merge."""
    spelt, found = {tuple(word): count for word, count in words.items()}, []
    for _ in range(num):
        pairs, singles = Counter(), Counter()
        for word, count in spelt.items():
            for pair in pairwise(word):
                pairs[pair] += count
            for symbol in word:
                singles[symbol] += count
        pairs = {pair: count for pair, count in pairs.items() if count >= 2}
        if not pairs:
            break
        value = {p: c if score is None else score(c, singles[p[0]], singles[p[1]]) for p, c in pairs.items()}
        best = min(pairs, key=lambda p: (-value[p], p))
        found.append(best)
        renewed = Counter()
        for word, count in spelt.items():
            renewed[tuple(merged(word, best, join))] += count
        spelt = renewed
    return found


@pytest.mark.parametrize("score", [None, by_association], ids=["by count", "by association"])
def test_merges(prose, score):
    words = Counter(tuple(word) for word in prose[:2500].split())
    more = {} if score is None else {"score": score}
    assert merges(words, 40, **more) == naive(words, 40, score=score)


def test_textbook_example():
    """Sennrich, Haddow and Birch: low, lower, newest, widest; es, est, est</w>, lo, low."""
    words = {("l", "o", "w", "_"): 5, ("l", "o", "w", "e", "r", "_"): 2, ("n", "e", "w", "e", "s", "t", "_"): 6,
             ("w", "i", "d", "e", "s", "t", "_"): 3}
    assert ["".join(pair) for pair in merges(words, 5)] == ["es", "est", "est_", "lo", "low"]
    assert merges({("a", "a", "a", "a", "b"): 2}, 9) == [("a", "a"), ("aa", "aa"), ("aaaa", "b")]
    assert merges({("a", "b"): 1}, 9) == [] == merges({}, 9)
