"""Grow a vocabulary by merging: the two neighbouring symbols that score highest become one, again and again."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

Pair = tuple[str, str]
Score = Callable[[int, int, int], float]           # of (count of the pair, count of its left, count of its right)


def by_count(pair: int, left: int, right: int) -> float:
    """Byte-pair encoding: the most frequent pair (Sennrich, Haddow and Birch 2016)."""
    return float(pair)


def by_association(pair: int, left: int, right: int) -> float:
    """WordPiece: the pair whose parts prefer each other, count(ab) / (count(a) count(b)) (Schuster and Nakajima 2012)."""
    return pair / (left * right)


def merges(words: Mapping[Sequence[str], int], num: int, join: Callable[[str, str], str] = str.__add__,
           score: Score = by_count, min_count: int = 2) -> list[Pair]:
    """The first `num` merges for words, each a sequence of symbols with its count. Equal scores: in alphabetical order.

    join: the symbol that two become. No pair seen less than `min_count` times is merged; then the list is shorter.
    Only the words that hold the merged pair are looked at again.
    """
    spelt = [list(word) for word in words]
    weight = list(words.values())
    pairs: Counter[Pair] = Counter()
    symbols: Counter[str] = Counter()
    where: dict[Pair, set[int]] = defaultdict(set)
    for w, symbols_of in enumerate(spelt):
        _count(symbols_of, weight[w], pairs, symbols)
        for pair in zip(symbols_of, symbols_of[1:]):
            where[pair].add(w)
    found: list[Pair] = []
    while len(found) < num:
        frequent = [pair for pair, count in pairs.items() if count >= min_count]
        if not frequent:
            break
        best = min(frequent, key=lambda pair: (-score(pairs[pair], symbols[pair[0]], symbols[pair[1]]), pair))
        found.append(best)
        for w in where.pop(best):
            _count(spelt[w], -weight[w], pairs, symbols)
            spelt[w] = merged(spelt[w], best, join)
            _count(spelt[w], weight[w], pairs, symbols)
            for pair in zip(spelt[w], spelt[w][1:]):
                where[pair].add(w)
        pairs = +pairs                               # those that are gone, with count 0, are dropped
    return found


def merged(symbols: Sequence[str], pair: Pair, join: Callable[[str, str], str] = str.__add__) -> list[str]:
    """The symbols with every occurrence of the pair joined, from the left."""
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
