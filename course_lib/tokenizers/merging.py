"""Learn a subword vocabulary: repeatedly merge the adjacent pair of symbols that has the highest score."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush

Pair = tuple[str, str]
Score = Callable[[int, int, int], float]           # of (count of the pair, count of its left, count of its right)


def by_count(pair: int, left: int, right: int) -> float:
    """The score of byte-pair encoding: the count `pair` of the pair of symbols (Sennrich, Haddow and Birch 2016).

    left, right  counts of the two symbols, not used
    """
    return float(pair)


def by_association(pair: int, left: int, right: int) -> float:
    """The score of WordPiece, an association: count(ab) / (count(a) count(b)) (Schuster and Nakajima 2012).

    pair, left, right  counts of the pair ab, of its left symbol a and of its right symbol b
    """
    return pair / (left * right)


def merges(words: Mapping[Sequence[str], int], num: int, join: Callable[[str, str], str] = str.__add__,
           score: Score = by_count, min_count: int = 2) -> list[Pair]:
    """Learn merges: return the first `num` pairs of symbols that are merged, in order.

    Each step merges the pair with the highest score; of equal scores, the first in alphabetical order.

    words      {word, a sequence of symbols: its count}
    join       function from two symbols to the merged symbol
    score      function from the count of a pair and the counts of its left and right symbol to the score
    min_count  least count of a pair that is merged; if no such pair is left, fewer than `num` are returned
    """
    spelt = [list(word) for word in words]
    weight = list(words.values())
    pairs: Counter[Pair] = Counter()
    symbols: Counter[str] = Counter()
    where: dict[Pair, set[int]] = defaultdict(set)                   # pair -> words that contained it
    about: dict[str, set[Pair]] = defaultdict(set)                   # symbol -> its pairs
    for w, symbols_of in enumerate(spelt):
        _count(symbols_of, weight[w], pairs, symbols)
        for pair in zip(symbols_of, symbols_of[1:]):
            where[pair].add(w)

    rank: dict[Pair, float] = {}                                     # pair -> minus its score
    heap: list[tuple[float, Pair]] = []                              # current and outdated ranks

    def renew(changed: Iterable[Pair]) -> None:
        for pair in changed:
            if pairs[pair] < min_count:
                rank.pop(pair, None)
                continue
            now = -score(pairs[pair], symbols[pair[0]], symbols[pair[1]])
            if rank.get(pair) != now:
                rank[pair] = now
                heappush(heap, (now, pair))
            for symbol in pair:
                about[symbol].add(pair)

    renew(list(pairs))
    found: list[Pair] = []
    while len(found) < num and rank:
        now, best = heappop(heap)
        if rank.get(best) != now:
            continue
        found.append(best)
        (a, b), ab, changed = best, join(*best), {best}
        for w in where.pop(best):
            word, count = spelt[w], weight[w]
            for i in range(len(word) - 1):
                if i + 1 >= len(word):                               # the word is shorter now
                    break
                if word[i] != a or word[i + 1] != b:
                    continue
                word[i:i + 2] = [ab]                                 # changes the pairs of its neighbors only
                pairs[best] -= count
                symbols[a] -= count
                symbols[b] -= count
                symbols[ab] += count
                before = ((word[i - 1], a), (word[i - 1], ab)) if i else None
                after = ((b, word[i + 1]), (ab, word[i + 1])) if i + 1 < len(word) else None
                for former, pair in filter(None, (before, after)):
                    pairs[former] -= count
                    pairs[pair] += count
                    where[pair].add(w)
                    changed.update((former, pair))
        if score is not by_count:                                    # its count enters the score of all its pairs
            for symbol in (a, b, ab):
                changed |= about[symbol]
        renew(changed)
    return found


def merged(symbols: Sequence[str], pair: Pair, join: Callable[[str, str], str] = str.__add__) -> list[str]:
    """Merge every occurrence of `pair` in a sequence of symbols, from the left; `join` as in `merges`."""
    result, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            result.append(join(*pair))
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


def _count(symbols: Sequence[str], weight: int, pairs: Counter, singles: Counter) -> None:
    for pair in zip(symbols, symbols[1:]):
        pairs[pair] += weight
    for symbol in symbols:
        singles[symbol] += weight
